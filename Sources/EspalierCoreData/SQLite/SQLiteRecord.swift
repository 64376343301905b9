// A record: the values of a row or of an index entry (fileformat2.html, section 2.1).
//
// Invariants
//   1. The header describes values within the record; a value is decoded only when it is asked for.
//   2. A record with fewer values than a table has columns is one from before the columns were added.

/// One value.
package enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
    /// Bytes that are no text in the encoding of the file.
    case malformedText([UInt8])
}

/// The values of a row or an entry, where they lie.
package struct SQLiteRecord {
    /// The most columns that a table of SQLite can have.
    static let columnCountMax = 32_767

    private struct Place {
        let type: UInt64
        let offset: Int
    }

    private let encoding: SQLiteTextEncoding
    private var bytes: [UInt8] = []
    private var places: [Place] = []

    init(encoding: SQLiteTextEncoding) { self.encoding = encoding }

    /// The number of values.
    package var count: Int { places.count }

    /// Takes the record at `range` of `bytes`; returns what is wrong with it, if anything is.
    mutating func take(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
        self.bytes = bytes
        places.removeAll(keepingCapacity: true)
        var offset = range.lowerBound
        guard let headerSize = bytes.sqliteVariableInteger(at: &offset, below: range.upperBound),
            headerSize <= UInt64(range.count), range.lowerBound + Int(headerSize) >= offset
        else { return "the header of a record is longer than the record" }
        let headerEnd = range.lowerBound + Int(headerSize)
        var body = headerEnd
        while offset < headerEnd {
            guard let type = bytes.sqliteVariableInteger(at: &offset, below: headerEnd) else {
                return "the header of a record ends within a number"
            }
            guard type != 10, type != 11 else { return "a value has the type \(type), which does not exist" }
            guard places.count < Self.columnCountMax else { return "a record has too many values" }
            places.append(Place(type: type, offset: body))
            let size = Self.size(of: type)
            guard size <= UInt64(range.upperBound - body) else { return "a value ends after the end of its record" }
            body += Int(size)
        }
        return nil
    }

    /// The number of bytes of a value.
    private static func size(of type: UInt64) -> UInt64 {
        switch type {
        case 0, 8, 9: 0
        case 1...4: type
        case 5: 6
        case 6, 7: 8
        default: (type - 12) / 2
        }
    }

    /// Whether the value of a column is null, or the record does not have it.
    package func isNull(_ column: Int) -> Bool { column >= places.count || places[column].type == 0 }

    /// The value of a column if it is an integer.
    package func integer(_ column: Int) -> Int64? {
        guard column < places.count else { return nil }
        let place = places[column]
        switch place.type {
        case 1...6: return bytes.sqliteInteger(at: place.offset, count: Int(Self.size(of: place.type)))
        case 8: return 0
        case 9: return 1
        default: return nil
        }
    }

    /// The value of a column; null if the record does not have it.
    package func value(_ column: Int) -> SQLiteValue {
        guard column < places.count else { return .null }
        let place = places[column]
        switch place.type {
        case 0: return .null
        case 1...6, 8, 9: return integer(column).map { .integer($0) } ?? .null
        case 7:
            let bits = bytes.sqliteInteger(at: place.offset, count: 8)
            let number = Double(bitPattern: UInt64(bitPattern: bits))
            // SQLite has no such number, and reads it as null.
            return number.isNaN ? .null : .real(number)
        default:
            let range = place.offset..<place.offset + Int(Self.size(of: place.type))
            guard place.type & 1 == 1 else { return .blob(Array(bytes[range])) }
            return text(range).map { .text($0) } ?? .malformedText(Array(bytes[range]))
        }
    }

    private func text(_ range: Range<Int>) -> String? {
        guard encoding != .utf8 else {
            // `String(validating:as:)` looks up its generic types at each call, which takes longer than a short text.
            do { return String(copying: try UTF8Span(validating: bytes.span.extracting(range))) } catch { return nil }
        }
        guard range.count.isMultiple(of: 2) else { return nil }
        let isBig = encoding == .utf16BigEndian
        let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map { offset in
            let (first, second) = (UInt16(bytes[offset]), UInt16(bytes[offset + 1]))
            return isBig ? first << 8 | second : second << 8 | first
        }
        return String(validating: units, as: UTF16.self)
    }
}
