// The expressions of mapping files, which the editor keeps as keyed archives: constants, key paths from the source
// object, the present time, and what other mappings made. All others are kept as text.
//
// Invariants
//   1. An archive with cycles ends: expressions are nested at most `depthMax` deep.

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

    /// The maximum nesting of expressions.
    private static let depthMax = 16
    /// Operators that make one collection of several: a path across to-many relationships does so anyway.
    private static let unions: Set = [
        "@distinctUnionOfSets", "@unionOfSets", "@distinctUnionOfObjects", "@unionOfObjects",
        "@distinctUnionOfArrays", "@unionOfArrays",
    ]

    /// Reads an archive; `nil` if the bytes are not one of an expression.
    init?(_ bytes: [UInt8]) {
        guard let list = try? BinaryPropertyList(bytes), let archive = KeyedArchive(list),
            let root = archive.object(archive.root), root.className.hasSuffix("Expression")
        else { return nil }
        self = Self.read(root, archive, depth: 0)
    }

    /// The path from the source object that the editor writes as `$source.path`.
    static func relative(_ path: String) -> String {
        path == "$source" ? "" : path.hasPrefix("$source.") ? String(path.dropFirst(8)) : path
    }

    /// The objects that `mapping` made of those that an expression gives.
    static func following(_ sources: ArchivedExpression, through mapping: String?) -> ArchivedExpression {
        guard case .source(let path) = sources else { return .other(sources.text) }
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

    // MARK: Archives

    private static func read(_ object: KeyedArchive.Object, _ archive: KeyedArchive, depth: Int) -> ArchivedExpression {
        guard depth < depthMax else { return .other("…") }
        func part(_ field: BinaryPropertyList.Value?) -> ArchivedExpression? {
            archive.object(field).map { read($0, archive, depth: depth + 1) }
        }
        switch object.className {
        case "NSConstantValueExpression":
            if let name = archive.text(object.fields["NSConstantValueClassName"]) { return .other(name) }
            let field = object.fields["NSConstantValue"]
            guard let value = archive.constant(field) else { return .other(archive.object(field)?.className ?? "?") }
            return .constant(value)
        case "NSVariableExpression":
            let name = archive.text(object.fields["NSVariable"]) ?? "?"
            return name == "source" ? .source(path: "") : name == "manager" ? .manager : .other("$\(name)")
        case "NSKeyPathSpecifierExpression": return .other(archive.text(object.fields["NSKeyPath"]) ?? "?")
        default: break
        }
        let operand = part(object.fields["NSOperand"])
        let arguments = archive.items(object.fields["NSArguments"]).prefix(depthMax).map { part($0) ?? .other("?") }
        let selector = archive.text(object.fields["NSSelectorName"]) ?? object.className
        switch (selector, operand, arguments.first) {
        case ("valueForKeyPath:", .source("")?, .other(let path)?) where object.className == "NSKeyPathExpression":
            return .source(path: path)
        case ("now", .other("_NSPredicateUtilities")?, nil): return .now
        case ("destinationInstancesForEntityMappingNamed:sourceInstances:", .manager?, .constant(.string(let name))?)
        where arguments.count == 2:
            return following(arguments[1], through: name)
        default:
            let parts = ([operand].compactMap(\.self) + arguments).map(\.text)
            return .other("\(selector)(\(parts.joined(separator: ", ")))")
        }
    }
}
