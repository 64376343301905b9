// The value of an attribute from the value of its column, by the type of the attribute (MD-18 to MD-26).

import EspalierModel
import EspalierStore
import FoundationEssentials

/// A value that its attribute does not have.
struct ColumnValueError: Error {
    let kind: CoreDataImportFinding.Kind
    let message: String

    init(_ kind: CoreDataImportFinding.Kind, _ message: String) { (self.kind, self.message) = (kind, message) }

    init(_ message: String) { self.init(.value, message) }
}

extension AttributeType {
    /// The value of this type that a column holds.
    ///
    /// Dates are seconds since 2001-01-01 00:00:00 UTC. Decimal numbers that were stored as binary fractions get the
    /// decimal of their shortest text.
    func value(ofColumn value: SQLiteValue) throws(ColumnValueError) -> AttributeValue {
        switch (self, value) {
        case (_, .null): return .null
        case (.string, .text(let text)): return .string(text)
        case (.integer16, .integer(let number)), (.integer32, .integer(let number)),
            (.integer64, .integer(let number)):
            let result = AttributeValue.integer(number)
            guard accepts(result) else { throw ColumnValueError("\(number) is out of range for type \(self)") }
            return result
        case (.boolean, .integer(let number)):
            guard number == 0 || number == 1 else { throw ColumnValueError("\(number) is neither true nor false") }
            return .boolean(number == 1)
        case (.double, .real(let number)): return .double(number)
        case (.double, .integer(let number)): return .double(Double(number))
        case (.float, .real(let number)):
            guard Float(number).isFinite || !number.isFinite else {
                throw ColumnValueError("\(number) is out of range for type \(self)")
            }
            return .float(Float(number))
        case (.float, .integer(let number)): return .float(Float(number))
        case (.date, .real(let seconds)): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.date, .integer(let seconds)): return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        case (.decimal, .integer(let number)): return .decimal(Decimal(number))
        case (.decimal, .real(let number)): return .decimal(try Self.decimal("\(number)"))
        case (.decimal, .text(let text)): return .decimal(try Self.decimal(text))
        case (.binary, .blob(let bytes)): return .binary(Data(bytes))
        case (.transformable, .blob(let bytes)): return .transformable(Data(bytes))
        case (.uuid, .blob(let bytes)):
            guard bytes.count == 16 else { throw ColumnValueError("\(bytes.count) bytes are not a UUID") }
            return .uuid(UUID(bytes: bytes))
        case (.uuid, .text(let text)):
            guard let id = UUID(uuidString: text) else { throw ColumnValueError("the text is not a UUID") }
            return .uuid(id)
        case (.uri, .text(let text)):
            guard let url = URL(string: text) else { throw ColumnValueError("the text is not a URI") }
            return .uri(url)
        default: throw ColumnValueError("\(value.kindDescription) is not a value of type \(self)")
        }
    }

    /// Whether Core Data keeps values of this type in a column that is declared so; a declaration that is none of its
    /// own states nothing.
    func isKept(inColumnDeclared declaration: String) -> Bool {
        let types: Set<AttributeType> =
            switch declaration.prefix(while: { $0 != " " }) {
            case "INTEGER": [.integer16, .integer32, .integer64, .boolean]
            case "FLOAT": [.double, .float]
            case "DECIMAL": [.decimal]
            case "TIMESTAMP": [.date]
            case "VARCHAR": [.string, .uri, .uuid]
            case "BLOB": [.binary, .transformable, .uuid]
            default: [self]
            }
        return types.contains(self)
    }

    private static func decimal(_ text: String) throws(ColumnValueError) -> Decimal {
        guard let number = Decimal(wholeText: text) else {
            throw ColumnValueError("'\(text.prefix(40))' is not a decimal number, or has more than 38 digits")
        }
        return number
    }
}

extension SQLiteValue {
    /// The kind of the value in words.
    var kindDescription: String {
        switch self {
        case .null: "no value"
        case .integer(let number): "the integer \(number)"
        case .real(let number): "the number \(number)"
        case .text(let text): "the text '\(text.prefix(40))'"
        case .blob(let bytes): "a blob of \(bytes.count) bytes"
        case .malformedText(let bytes): "a text of \(bytes.count) bytes that are not in the encoding of the file"
        }
    }
}
