// Memory for rows whose snapshots are passed on one by one, while more rows are appended.
//
// Invariants
//   1. Every row that was passed on is in `content`, or in an earlier one, which is full.
//   2. Only the maker writes to `content`, and never over a written row: the maker cannot be copied.

internal import EspalierModel

/// Copies checked rows to memory that they share: one allocation for many rows of about equal length.
struct SnapshotMaker: ~Copyable {
    private let numbering: StoreNumbering
    private var content = RowContent.none
    private var used = 0

    init(numbering: StoreNumbering) { self.numbering = numbering }

    /// Appends a row that passed the check; returns its place, which is valid until the next row is appended.
    ///
    /// - Parameter count: how many rows may follow; memory is allocated for as many of about the same length.
    @inline(__always)
    mutating func append(_ row: RawSpan, before count: Int) -> RowContent.Place {
        assert(count >= 0 && row.byteCount > 0, "a row of \(row.byteCount) bytes before \(count) others")
        if row.byteCount > content.capacity - used { makeRoom(for: row.byteCount, count + 1) }
        content.write(row, at: used)
        let place = RowContent.Place(offset: UInt32(truncatingIfNeeded: used), byteCount: UInt32(row.byteCount))
        used += row.byteCount
        assert(used <= content.capacity, "\(used) of \(content.capacity) bytes are used")
        return place
    }

    /// The snapshot of the row that was appended last.
    func snapshot(id: ObjectID, at place: RowContent.Place) -> ObjectSnapshot {
        assert(Int(place.offset) + Int(place.byteCount) == used, "the row at \(place.offset) was not appended last")
        return ObjectSnapshot(id: id, content: content, place: place)
    }

    @inline(never)
    private mutating func makeRoom(for byteCount: Int, _ count: Int) {
        assert(count > 0 && byteCount > 0, "room for \(count) rows of \(byteCount) bytes")
        // Later rows may be longer by a half.
        let wanted = (byteCount + byteCount / 2).multipliedReportingOverflow(by: count - 1)
        let others = wanted.overflow ? RowContent.byteCountMax : min(wanted.partialValue, RowContent.byteCountMax)
        let capacity = max(byteCount, min(byteCount + others, RowContent.byteCountMax))
        content = RowContent(capacity: capacity, numbering: numbering)
        used = 0
    }
}
