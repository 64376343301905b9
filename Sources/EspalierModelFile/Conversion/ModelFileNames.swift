// The names of types and rules and the texts of values in model files, in both directions.
//
// Invariants
//   1. A value that is written to a file and read again is equal.

import EspalierModel
import FoundationEssentials

extension AttributeType {
    private static let modelFileNames: [(AttributeType, String)] = [
        (.undefined, "Undefined"), (.integer16, "Integer 16"), (.integer32, "Integer 32"), (.integer64, "Integer 64"),
        (.decimal, "Decimal"), (.double, "Double"), (.float, "Float"), (.string, "String"), (.boolean, "Boolean"),
        (.date, "Date"), (.binary, "Binary"), (.uuid, "UUID"), (.uri, "URI"), (.transformable, "Transformable"),
        (.composite, "Composite"),
    ]

    /// The type with the name `name` in files.
    init?(modelFileName name: String) {
        guard let type = Self.modelFileNames.first(where: { $0.1 == name })?.0 else { return nil }
        self = type
    }

    /// The name in files; `nil` if the type has none.
    var modelFileName: String? { Self.modelFileNames.first { $0.0 == self }?.1 }

    /// The value of this type that a file writes as `text`; `nil` if there is none.
    func value(modelFileText text: String) -> AttributeValue? {
        switch self {
        case .string: .string(text)
        case .boolean:
            switch text.lowercased() {
            case "yes", "true", "1": .boolean(true)
            case "no", "false", "0": .boolean(false)
            default: nil
            }
        case .integer16, .integer32, .integer64:
            // Editors write some whole numbers as 0.0.
            (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }).map(AttributeValue.integer)
        case .double: Double(text).map(AttributeValue.double)
        case .float: Float(text).map(AttributeValue.float)
        case .decimal: Decimal(modelFileText: text).map(AttributeValue.decimal)
        case .date: Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .uuid: UUID(uuidString: text).map(AttributeValue.uuid)
        case .uri: URL(string: text).map(AttributeValue.uri)
        case .undefined, .binary, .transformable, .objectID, .composite: nil
        }
    }
}

extension AttributeValue {
    /// The text of a default in files; `nil` if files cannot express it.
    var modelFileText: String? {
        switch self {
        case .integer(let value): "\(value)"
        case .decimal(let value): value.isFinite ? value.description : nil
        case .double(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let value): value
        case .boolean(let value): value ? "YES" : "NO"
        case .date(let value): "\(value.timeIntervalSinceReferenceDate)"
        case .uuid(let value): value.uuidString
        case .uri(let value): value.absoluteString
        case .null, .binary, .transformable, .objectID, .composite: nil
        }
    }
}

extension Decimal {
    /// The number in plain decimal notation; `nil` for exponents, and if the number is not finite or too large.
    fileprivate init?(modelFileText text: String) {
        guard text.utf8.count <= 200, Double(text) != nil,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }),
            let value = Decimal(string: text), value.isFinite
        else { return nil }
        self = value
    }
}

extension DeleteRule {
    private static let modelFileNames: [(DeleteRule, String)] = [
        (.nullify, "Nullify"), (.cascade, "Cascade"), (.deny, "Deny"), (.noAction, "No Action"),
    ]

    /// The rule with the name `name` in files.
    init?(modelFileName name: String) {
        guard let rule = Self.modelFileNames.first(where: { $0.1 == name })?.0 else { return nil }
        self = rule
    }

    /// The name of the rule in files.
    var modelFileName: String { Self.modelFileNames.first { $0.0 == self }?.1 ?? "Nullify" }
}
