// The expressions of mapping files, which the editor keeps as keyed archives: constants, key paths from the source
// object, the present time, and what other mappings made. All others are kept as text.
//
// Invariants
//   1. An archive with cycles ends: expressions are nested at most `depthMax` deep.
//   2. Work and memory are bounded: an object or a text that is named several times counts each time.

import EspalierModel

indirect enum ArchivedExpression {
    case constant(AttributeValue)
    /// A path from the source object; empty for the object itself.
    case source(path: String)
    /// The session of the migration.
    case manager
    case now
    /// The objects that a mapping made of those at a path.
    case successors(path: String, through: String?)
    /// Any other expression, as text.
    case other(String)

    /// Operators that make one collection of several: a path across to-many relationships does so anyway.
    private static let unions: Set = [
        "@distinctUnionOfSets", "@unionOfSets", "@distinctUnionOfObjects", "@unionOfObjects",
        "@distinctUnionOfArrays", "@unionOfArrays",
    ]

    /// Reads an archive.
    ///
    /// - Parameter budget: The number of parts that all archives of a file may still have; those read are subtracted.
    /// - Throws: `ArchivedExpressionError` if the bytes are not an archive of an expression, or one of too many parts.
    /// - Complexity: O(bytes + budget).
    init(_ bytes: [UInt8], budget: inout Int) throws(ArchivedExpressionError) {
        guard let list = try? BinaryPropertyList(bytes), let archive = KeyedArchive(list),
            let root = archive.object(archive.root), root.className.hasSuffix("Expression")
        else { throw .noExpression }
        typealias Reader = ArchivedExpressionReader
        let allowed = min(budget, Reader.partCountMax + Reader.parts(in: bytes.count))
        var reader = Reader(archive, budget: allowed)
        defer { budget -= allowed - max(reader.budget, 0) }
        self = try reader.read(root, depth: 0)
    }

    /// The path from the source object that the editor writes as `$source.path`.
    static func relative(_ path: String) -> String {
        path == "$source" ? "" : path.hasPrefix("$source.") ? String(path.dropFirst(8)) : path
    }

    /// The objects that `mapping` made of those that an expression gives.
    static func following(_ sources: ArchivedExpression, through mapping: String?) -> ArchivedExpression {
        guard case .source(let path) = sources else { return .other(sources.text) }
        // Few paths have operators, and only those have to be taken apart.
        guard path.utf8.contains(UInt8(ascii: "@")) else { return .successors(path: path, through: mapping) }
        let steps = path.split(separator: ".", omittingEmptySubsequences: false).filter { !unions.contains(String($0)) }
        guard !steps.contains(where: { $0.hasPrefix("@") }) else { return .other("$source.\(path)") }
        return .successors(path: steps.joined(separator: "."), through: mapping)
    }

    /// The expression as the source of a property.
    var propertySource: PropertyMappingDescription.Source {
        switch self {
        case .constant(let value): .constant(value)
        case .source(let path) where !path.isEmpty && !path.contains("@"): .keyPath(path)
        case .now: .now
        case .successors("", let mapping?): .made(by: mapping)
        case .successors(let path, let mapping) where !path.isEmpty: .following(path, through: mapping)
        case .source, .manager, .successors, .other: .expression(text)
        }
    }

    /// The expression in the notation of the editor.
    var text: String {
        switch self {
        case .constant(let value): "\(value)"
        case .source(let path): path.isEmpty ? "$source" : "$source.\(path)"
        case .manager: "$manager"
        case .now: "now()"
        case .successors(let path, let mapping):
            "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
                + "\"\(mapping ?? "")\", \(Self.source(path: path).text))"
        case .other(let text): text
        }
    }
}

/// The reasons why an archive gives no expression.
enum ArchivedExpressionError: Error {
    /// The bytes are not an archive, or one of another object.
    case noExpression
    /// The expression has more parts than the reader may visit.
    case tooManyParts
}

/// Reads the objects of one archive as expressions.
struct ArchivedExpressionReader {
    /// The maximum nesting of expressions, and the maximum number of arguments that are read of one.
    private static let (depthMax, argumentCountMax) = (16, 16)
    /// The maximum number of parts of one archive, besides those that its own length allows.
    ///
    /// The expressions of real files have about 10.
    static let partCountMax = 10_000

    private let archive: KeyedArchive
    /// The number of parts that may still be read.
    private(set) var budget: Int

    init(_ archive: KeyedArchive, budget: Int) { (self.archive, self.budget) = (archive, budget) }

    /// The number of parts as which a text or an archive of this length counts.
    static func parts(in byteCount: Int) -> Int { byteCount / 256 }

    /// The expression that an object of the archive stands for.
    mutating func read(
        _ object: KeyedArchive.Object, depth: Int
    ) throws(ArchivedExpressionError) -> ArchivedExpression {
        guard depth < Self.depthMax else { return .other("…") }
        let fields = object.fields
        try spend(1 + Self.parts(in: object.className.utf8.count))
        switch object.className {
        case "NSConstantValueExpression":
            if let name = try text(fields["NSConstantValueClassName"]) { return .other(name) }
            return try constant(fields["NSConstantValue"])
        case "NSVariableExpression":
            let name = try text(fields["NSVariable"])
            return name == "source" ? .source(path: "") : name == "manager" ? .manager : .other("$\(name ?? "?")")
        case "NSKeyPathSpecifierExpression":
            let path = try text(fields["NSKeyPath"])
            return .other(path ?? "?")
        default: break
        }
        let operand = try part(fields["NSOperand"], depth: depth)
        let items = archive.items(fields["NSArguments"])
        try spend(items.count)
        var arguments: [ArchivedExpression] = []
        for item in items.prefix(Self.argumentCountMax) {
            let argument = try part(item, depth: depth)
            arguments.append(argument ?? .other("?"))
        }
        let name = try text(fields["NSSelectorName"])
        let selector = name ?? object.className
        switch (selector, operand, arguments.first) {
        case ("valueForKeyPath:", .source("")?, .other(let path)?) where object.className == "NSKeyPathExpression":
            return .source(path: path)
        case ("now", .other("_NSPredicateUtilities")?, nil): return .now
        case ("destinationInstancesForEntityMappingNamed:sourceInstances:", .manager?, .constant(.string(let name))?)
        where arguments.count == 2:
            return ArchivedExpression.following(arguments[1], through: name)
        default:
            let parts = ([operand].compactMap(\.self) + arguments).map(\.text)
            return .other("\(selector)(\(parts.joined(separator: ", ")))")
        }
    }

    /// The expression that a field refers to; `nil` if it refers to no object.
    private mutating func part(
        _ field: KeyedArchive.Value?, depth: Int
    ) throws(ArchivedExpressionError) -> ArchivedExpression? {
        guard let object = archive.object(field) else { return nil }
        return try read(object, depth: depth + 1)
    }

    private mutating func constant(
        _ field: KeyedArchive.Value?
    ) throws(ArchivedExpressionError) -> ArchivedExpression {
        guard let value = archive.constant(field) else {
            let name = archive.object(field)?.className ?? "?"
            try spend(Self.parts(in: name.utf8.count))
            return .other(name)
        }
        switch value {
        case .string(let text): try spend(Self.parts(in: text.utf8.count))
        case .binary(let data): try spend(Self.parts(in: data.count))
        default: break
        }
        return .constant(value)
    }

    private mutating func text(_ field: KeyedArchive.Value?) throws(ArchivedExpressionError) -> String? {
        guard let text = archive.text(field) else { return nil }
        try spend(Self.parts(in: text.utf8.count))
        return text
    }

    private mutating func spend(_ count: Int) throws(ArchivedExpressionError) {
        budget -= count
        guard budget >= 0 else { throw .tooManyParts }
    }
}
