// The spelling of names and values in Swift source.

import EspalierModel
import FoundationEssentials

enum SwiftText {
    /// The Swift type of a property with values of `type`; `nil` if there is none.
    static func typeName(of type: AttributeType) -> String? {
        switch type {
        case .integer16: "Int16"
        case .integer32: "Int32"
        case .integer64: "Int64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Bool"
        case .date: "Date"
        case .binary: "Data"
        case .uuid: "UUID"
        case .uri: "URL"
        case .undefined, .transformable, .objectID, .composite: nil
        }
    }

    /// The types above that Foundation declares.
    static let foundationTypes: Set = ["Decimal", "Date", "Data", "UUID", "URL"]

    /// The transformer of attributes of `Codable` types, under which an application cannot register another one.
    static let codableTransformer = "Codable"
    /// The transformer that Core Data uses for an attribute that names none.
    static let defaultTransformer = "NSSecureUnarchiveFromData"

    /// `name` as a declaration spells it: in backticks if it is a Swift keyword.
    static func identifier(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// A string literal with the value `text`.
    static func literal(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7F || scalar.properties.generalCategory == .format
                    || scalar.properties.generalCategory == .lineSeparator
                    || scalar.properties.generalCategory == .paragraphSeparator
                {
                    result += "\\u{\(String(scalar.value, radix: 16))}"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }

    /// An expression for a default value; `nil` if no literal or initializer call expresses it.
    static func expression(_ value: AttributeValue, isOptional: Bool) -> String? {
        switch value {
        case .integer(let value): "\(value)"
        case .double(let value): value.isFinite ? "\(value)" : nil
        case .float(let value): value.isFinite ? "\(value)" : nil
        case .string(let value): literal(value)
        case .boolean(let value): "\(value)"
        case .date(let value): "Date(timeIntervalSinceReferenceDate: \(value.timeIntervalSinceReferenceDate))"
        case .decimal(let value):
            "Decimal(string: \(literal(value.description)))\(isOptional ? "" : " ?? 0")"
        case .uuid(let value): "UUID(uuidString: \(literal(value.uuidString)))\(isOptional ? "" : " ?? UUID()")"
        case .uri(let value):
            "URL(string: \(literal(value.absoluteString)))\(isOptional ? "" : " ?? URL(filePath: \"/\")")"
        case .binary(let value): value.isEmpty ? "Data()" : nil
        case .null, .transformable, .objectID, .composite: nil
        }
    }

    /// The option of `@Attribute` for a rule; `nil` if no literal or initializer call expresses its limit.
    static func option(_ rule: ValidationRule) -> String? {
        let (name, argument): (String, String?) =
            switch rule.condition {
            case .minimum(let limit): ("minimum", self.limit(limit))
            case .maximum(let limit): ("maximum", self.limit(limit))
            case .minimumLength(let count): ("minimumLength", "\(count)")
            case .maximumLength(let count): ("maximumLength", "\(count)")
            case .pattern(let pattern): ("pattern", literal(pattern))
            case .predicate(let format): ("predicate", literal(format))
            }
        let message = rule.message.map { ", message: \(literal($0))" } ?? ""
        return argument.map { ".\(name)(\($0)\(message))" }
    }

    /// An expression for the limit of a rule, of the limit's own type.
    private static func limit(_ value: AttributeValue) -> String? {
        let text = expression(value, isOptional: false)
        // A literal alone is a double, which has most values of a float not exactly.
        if case .float = value { return text.map { "Float(\($0))" } }
        return text
    }

    /// The Swift keywords that a property name can be only in backticks.
    static let keywords: Set = [
        "Any", "Protocol", "Self", "Type", "as", "associatedtype", "await", "break", "case", "catch", "class",
        "continue", "default", "defer", "deinit", "do", "else", "enum", "extension", "fallthrough", "false",
        "fileprivate", "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil",
        "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self",
        "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var",
        "where", "while",
    ]

    /// The type and module names that an entity class of the same name would hide.
    static let classNamesInUse: Set = [
        "Attribute", "Bool", "Composite", "Data", "Date", "Decimal", "Double", "Entity", "EntityDescription", "Float",
        "Int16", "Int32", "Int64", "ManagedObject", "OrderedToMany", "PropertyOptions", "Relationship", "String",
        "ToMany", "Transient", "URL", "UUID", "Set", "Array", "Optional", "Swift", "Espalier", "Foundation",
    ]

    /// Whether a type of generated source can have this name.
    static func canNameType(_ name: String) -> Bool {
        name.unicodeScalars.first?.beginsName == true && name.unicodeScalars.allSatisfy(\.continuesName)
            && !classNamesInUse.contains(name) && !keywords.contains(name)
    }

    /// The names of the properties that every entity class inherits.
    static let propertyNamesInUse: Set = [
        "objectID", "entity", "managedObjectContext", "hasChanges", "isInserted", "isUpdated", "isDeleted", "isFault",
        "faultingState", "hasPersistentChangedValues", "description", "debugDescription", "ref", "hashValue",
        "predicateExpression", "entityName", "entityDescription",
    ]
}
