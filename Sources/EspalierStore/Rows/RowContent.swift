// The memory that holds the values of rows: the bytes of many rows in one allocation, shared by the snapshots of them.
//
// Invariants
//   1. The bytes of every row passed `RowReader.check`, and never change: rows are written one after another, each
//      before another object knows its place (`SnapshotBuilder`).
//   2. The bytes are at most `byteCountMax` long unless they are a single longer row: a snapshot keeps no more than
//      that alive.
// One class for encoded and decoded rows: see Decisions, "Reading rows".

package import EspalierModel

/// Checked row bytes with their reader, or one row that was never encoded.
///
/// It allocates memory of its own instead of an array, which would be one more object on the way to each row that is
/// read.
// SAFETY: immutable except for the bytes, of which those that a `RowContent.Place` names never change.
@safe
package final class RowContent: @unchecked Sendable {
    static let byteCountMax = 64 << 10

    /// The rows, in `capacity` bytes.
    private let memory: UnsafeMutableRawPointer
    let capacity: Int
    private let reader: RowReader
    /// The one row, if it was never encoded.
    private let decoded: DecodedRow?

    /// The content of no row.
    static let none = RowContent(capacity: 0, numbering: .none)

    /// The memory of all content without encoded rows.
    // SAFETY: never read, written or freed: no row has a byte of it.
    nonisolated(unsafe) private static let noMemory = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

    /// Room for rows of `capacity` bytes.
    init(capacity: Int, numbering: StoreNumbering) {
        assert(capacity >= 0, "memory of \(capacity) bytes")
        // SAFETY: this object's own, until `deinit`, unless it has no byte.
        unsafe memory =
            capacity > 0 ? UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1) : Self.noMemory
        (self.capacity, reader, decoded) = (capacity, RowReader(numbering: numbering), nil)
    }

    /// The content of one row that was never encoded: one allocation.
    init(_ row: DecodedRow) {
        // SAFETY: as above.
        unsafe memory = Self.noMemory
        (capacity, reader, decoded) = (0, RowReader(numbering: .none), row)
    }

    // SAFETY: allocated by `init` if it has a byte.
    deinit { if capacity > 0 { unsafe memory.deallocate() } }

    /// The one row, if it is kept as differences from another row.
    var changedRow: ChangedRow? { if case .changed(let row)? = decoded { row } else { nil } }

    /// Whether this is one row that is kept as differences from the row at `place` in `base`.
    package func isChange(of base: RowContent, at place: Place) -> Bool {
        guard case .changed(let row)? = decoded else { return false }
        return row.base === base && row.place == place
    }

    /// The one row, if it was made of values.
    var decodedValues: DecodedValues? { if case .values(let row)? = decoded { row } else { nil } }

    /// The numbering of the encoded rows.
    var numbering: StoreNumbering { reader.numbering }

    /// Whether a place is within the memory.
    @inline(__always)
    func holds(_ place: Place) -> Bool { Int(place.offset) + Int(place.byteCount) <= capacity }

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

    /// Calls `body` with the memory of a row that is to be written, where no row is yet.
    @inline(__always)
    func withNewRow(at place: Place, _ body: (inout MutableRawSpan) -> Void) {
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
        assert(other !== self && byteCount <= capacity, "\(byteCount) bytes into \(capacity)")
        other.withRow(at: Place(offset: 0, byteCount: UInt32(byteCount))) { write($0, at: 0) }
    }

    /// Calls `body` with the bytes of a row, in place.
    @inline(__always)
    func withRow<R, E: Error>(at place: Place, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        precondition(holds(place), "a row outside of its memory")
        // SAFETY: in bounds by the line above; the span does not outlive this call.
        return try body(
            unsafe UnsafeRawBufferPointer(start: memory + Int(place.offset), count: Int(place.byteCount)).bytes)
    }

    func version(of place: Place) -> UInt64 {
        assert((decoded == nil) == (place.byteCount > 0), "a place in another content")
        if place.byteCount == 0, let decoded { return decoded.version }
        return withRow(at: place) { RowReader.version(of: $0) }
    }

    /// The value of the attribute in `slot`.
    package func value(at slot: Int, of place: Place) -> AttributeValue {
        assert((decoded == nil) == (place.byteCount > 0), "a place in another content")
        if place.byteCount == 0, let decoded { return decoded.value(at: slot) }
        return withRow(at: place) { reader.value(at: slot, $0) }
    }

    /// The text in attribute `slot`, without an `AttributeValue` between; `nil` if `value(at:of:)` has to be called.
    package func text(at slot: Int, of place: Place) -> String? {
        place.byteCount > 0 ? withRow(at: place) { reader.text(at: slot, $0) } : nil
    }

    /// The integer in attribute `slot`, likewise.
    package func integer(at slot: Int, of place: Place) -> Int64? {
        place.byteCount > 0 ? withRow(at: place) { reader.integer(at: slot, $0) } : nil
    }

    /// The number in attribute `slot`, likewise.
    package func double(at slot: Int, of place: Place) -> Double? {
        place.byteCount > 0 ? withRow(at: place) { reader.double(at: slot, $0) } : nil
    }

    /// The destination of the to-one relationship in `slot`.
    package func destination(at slot: Int, of place: Place) -> ObjectID? {
        assert((decoded == nil) == (place.byteCount > 0), "a place in another content")
        if place.byteCount == 0, let decoded { return decoded.destination(at: slot) }
        return withRow(at: place) { reader.destination(at: slot, $0) }
    }

    /// Replaces `row` by the encoded row; returns `false` if there is none.
    func copyRow(at place: Place, to row: inout [UInt8]) -> Bool {
        assert((decoded == nil) == (place.byteCount > 0), "a place in another content")
        guard decoded == nil else { return false }
        row.removeAll(keepingCapacity: true)
        withRow(at: place) { row.append(copying: $0) }
        return true
    }
}

extension RowContent {
    /// The place of a row in the memory that holds it.
    package struct Place: Equatable, Sendable {
        let offset: UInt32
        let byteCount: UInt32

        /// The place of a decoded row.
        package static let none = Place(offset: 0, byteCount: 0)
    }
}

/// One row as values.
struct DecodedValues: Sendable {
    let version: UInt64
    let values: [AttributeValue]
    let destinations: [ObjectID?]
}
