// What holds the values of rows: the bytes of many in one allocation, shared by the snapshots that read from them.
//
// Invariants
//   1. The bytes of every row passed `RowReader.check`, and never change.
//   2. The bytes are at most `byteCountMax` long unless they are a single longer row: a snapshot that is kept keeps no
//      more than that alive.
// One class for rows in bytes and for rows as values, so that a snapshot holds a reference and no choice between two:
// asking which it is cost two retains for each attribute that was read.

package import EspalierModel

/// Checked row bytes with what is needed to read them, or one row as values.
package final class RowContent: Sendable {
    static let byteCountMax = 64 << 10

    private let bytes: [UInt8]
    private let reader: RowReader
    /// The one row, if it was never encoded.
    private let decoded: DecodedRow?

    /// Of no row.
    static let none = RowContent(bytes: [], context: .none)

    init(bytes: [UInt8], context: RowContext) {
        (self.bytes, reader, decoded) = (bytes, RowReader(context: context), nil)
    }

    init(_ row: DecodedRow) { (bytes, reader, decoded) = ([], RowReader(context: .none), row) }

    func version(of place: RowPlace) -> UInt64 {
        if let decoded { return decoded.version }
        return bytes.withRawSpan(place.range) { RowReader.version(of: $0) }
    }

    /// The value of the attribute in `slot`.
    package func value(at slot: Int, of place: RowPlace) -> AttributeValue {
        if let decoded { return decoded.values[slot] }
        return bytes.withRawSpan(place.range) { reader.value(at: slot, $0) }
    }

    /// The destination of the to-one relationship in `slot`.
    package func destination(at slot: Int, of place: RowPlace) -> ObjectID? {
        if let decoded { return decoded.destinations[slot] }
        return bytes.withRawSpan(place.range) { reader.destination(at: slot, $0) }
    }

    /// Replaces `row` by the encoded row; returns `false` if there is none.
    func copyRow(at place: RowPlace, to row: inout [UInt8]) -> Bool {
        guard decoded == nil else { return false }
        row.removeAll(keepingCapacity: true)
        bytes.withRawSpan(place.range) { row.append(copying: $0) }
        return true
    }
}

/// Where a row lies within what holds it.
package struct RowPlace: Sendable {
    let offset: UInt32
    let byteCount: UInt32

    /// The place of a row that is not in bytes.
    package static let none = RowPlace(offset: 0, byteCount: 0)

    fileprivate var range: Range<Int> { Int(offset)..<Int(offset) + Int(byteCount) }
}

/// One row as values.
struct DecodedRow: Sendable {
    let version: UInt64
    let values: [AttributeValue]
    let destinations: [ObjectID?]
}
