// What holds the values of rows: the bytes of many in one allocation, shared by the snapshots that read from them.
//
// Invariants
//   1. The bytes of every row passed `RowReader.check`, and never change: rows are written one behind the other before
//      anybody else knows where they lie (`SnapshotBuilder`).
//   2. The bytes are at most `byteCountMax` long unless they are a single longer row: a snapshot that is kept keeps no
//      more than that alive.
// One class for rows in bytes and for rows as values, so that a snapshot holds a reference and no choice between two:
// asking which it is cost two retains for each attribute that was read.

package import EspalierModel

/// Checked row bytes with what is needed to read them, or one row as values.
///
/// Memory of its own, not an array: rows come by thousands, and each that is read would go through one more object.
// SAFETY: immutable but for the bytes, of which those that a `RowPlace` names never change.
@safe
package final class RowContent: @unchecked Sendable {
    static let byteCountMax = 64 << 10

    /// There are `capacity` bytes.
    private let memory: UnsafeMutableRawPointer
    let capacity: Int
    private let reader: RowReader
    /// The one row, if it was never encoded.
    private let decoded: DecodedValues?

    /// Of no row.
    static let none = RowContent(capacity: 0, numbering: .none)

    /// Room for rows of `capacity` bytes.
    init(capacity: Int, numbering: StoreNumbering) {
        // SAFETY: this object's own, until `deinit`.
        unsafe memory = .allocate(byteCount: capacity, alignment: 1)
        (self.capacity, reader, decoded) = (capacity, RowReader(numbering: numbering), nil)
    }

    init(_ row: DecodedValues) {
        // SAFETY: this object's own, until `deinit`.
        unsafe memory = .allocate(byteCount: 0, alignment: 1)
        (capacity, reader, decoded) = (0, RowReader(numbering: .none), row)
    }

    // SAFETY: made so by `init`.
    deinit { unsafe memory.deallocate() }

    /// Whether a place lies within the memory.
    @inline(__always)
    func holds(_ place: RowPlace) -> Bool { Int(place.offset) + Int(place.byteCount) <= capacity }

    /// Writes `row` at `offset`, where no row is yet.
    @inline(__always)
    func write(_ row: RawSpan, at offset: Int) {
        precondition(offset >= 0 && row.byteCount <= capacity - offset, "a row outside of its memory")
        // SAFETY: in bounds by the line above.
        unsafe row.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe (memory + offset).copyMemory(from: start, byteCount: bytes.count)
        }
    }

    /// Calls `body` with the memory of a row that is to be written, where none is yet.
    @inline(__always)
    func withNewRow(at place: RowPlace, _ body: (inout MutableRawSpan) -> Void) {
        precondition(holds(place), "a row outside of its memory")
        // SAFETY: in bounds by the line above; the span does not outlive this call.
        let bytes = unsafe UnsafeMutableRawBufferPointer(
            start: memory + Int(place.offset), count: Int(place.byteCount))
        var span = unsafe MutableRawSpan(_unsafeBytes: bytes)
        body(&span)
    }

    /// Writes the first `byteCount` bytes of `other` at the beginning, where no row is yet.
    func write(_ other: RowContent, byteCount: Int) {
        guard byteCount > 0 else { return }
        other.withRow(at: RowPlace(offset: 0, byteCount: UInt32(byteCount))) { write($0, at: 0) }
    }

    /// Calls `body` with the bytes of a row where they lie.
    @inline(__always)
    func withRow<R, E: Error>(at place: RowPlace, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(holds(place), "a row outside of its memory")
        // SAFETY: in bounds by the line above; the span does not outlive this call.
        return try body(
            unsafe UnsafeRawBufferPointer(start: memory + Int(place.offset), count: Int(place.byteCount)).bytes)
    }

    func version(of place: RowPlace) -> UInt64 {
        if let decoded { return decoded.version }
        return withRow(at: place) { RowReader.version(of: $0) }
    }

    /// The value of the attribute in `slot`.
    package func value(at slot: Int, of place: RowPlace) -> AttributeValue {
        if let decoded { return decoded.values[slot] }
        return withRow(at: place) { reader.value(at: slot, $0) }
    }

    /// The text in attribute `slot`, read without an `AttributeValue` between; `nil` where that has to be asked.
    package func text(at slot: Int, of place: RowPlace) -> String? {
        decoded == nil ? withRow(at: place) { reader.text(at: slot, $0) } : nil
    }

    /// The integer in attribute `slot`, likewise.
    package func integer(at slot: Int, of place: RowPlace) -> Int64? {
        decoded == nil ? withRow(at: place) { reader.integer(at: slot, $0) } : nil
    }

    /// The number in attribute `slot`, likewise.
    package func double(at slot: Int, of place: RowPlace) -> Double? {
        decoded == nil ? withRow(at: place) { reader.double(at: slot, $0) } : nil
    }

    /// The destination of the to-one relationship in `slot`.
    package func destination(at slot: Int, of place: RowPlace) -> ObjectID? {
        if let decoded { return decoded.destinations[slot] }
        return withRow(at: place) { reader.destination(at: slot, $0) }
    }

    /// Replaces `row` by the encoded row; returns `false` if there is none.
    func copyRow(at place: RowPlace, to row: inout [UInt8]) -> Bool {
        guard decoded == nil else { return false }
        row.removeAll(keepingCapacity: true)
        withRow(at: place) { row.append(copying: $0) }
        return true
    }
}

/// Where a row lies within what holds it.
package struct RowPlace: Sendable {
    let offset: UInt32
    let byteCount: UInt32

    /// The place of a row that is not in bytes.
    package static let none = RowPlace(offset: 0, byteCount: 0)
}

/// One row as values.
struct DecodedValues: Sendable {
    let version: UInt64
    let values: [AttributeValue]
    let destinations: [ObjectID?]
}
