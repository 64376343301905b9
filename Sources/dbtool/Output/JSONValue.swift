// JSON for programs (RFC 8259): the same input yields the same bytes, on every machine and in every version.
//
// Invariants
//   1. Members of an object are in the order in which they were given; they are neither sorted nor hashed.
//   2. Output is valid UTF-8 JSON: no NaN, no infinity (they become null), control characters escaped.

/// A JSON value.
enum JSONValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    /// A number that is already in JSON's notation.
    case digits(String)
    case string(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    /// A whole number of any width.
    static func count(_ number: some BinaryInteger) -> JSONValue {
        Int64(exactly: number).map(JSONValue.integer) ?? .unsigned(UInt64(clamping: number))
    }

    /// The text, or null.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// The value on one line, without spaces.
    var compact: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .boolean(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .unsigned(let value): text += String(value)
        case .digits(let value): text += value
        case .number(let value): text += value.isFinite ? "\(value)" : "null"
        case .string(let value): Self.quote(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.quote(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    private static func quote(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                // U+2028 and U+2029 are legal in JSON but end a line in JavaScript.
                if scalar.value < 0x20 || scalar.value == 0x7F || scalar.value == 0x2028 || scalar.value == 0x2029 {
                    let digits = String(scalar.value, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                } else {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        text += "\""
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// An object with its members in the order of the literal.
    init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { (name: $0.0, value: $0.1) })
    }
}
