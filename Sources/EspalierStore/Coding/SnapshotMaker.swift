// Room for rows that are given away one by one while others are still to come.
//
// Invariants
//   1. Every row that was given away lies in `content`, or in one that was full before it.
//   2. Nobody else writes to `content`, and what was written is not written again: the chunk cannot be copied.

internal import EspalierModel

/// Copies checked rows to memory that they share: one allocation for rows of equal length, however many.
struct SnapshotMaker: ~Copyable {
    private let numbering: StoreNumbering
    private var content = RowContent.none
    private var used = 0

    init(numbering: StoreNumbering) { self.numbering = numbering }

    /// Takes a row that passed the check; returns where it is until the next one is taken.
    ///
    /// - Parameter count: how many rows may follow; room is made for as many of about the same length.
    @inline(__always)
    mutating func append(_ row: RawSpan, before count: Int) -> RowPlace {
        if row.byteCount > content.capacity - used { makeRoom(for: row.byteCount, count + 1) }
        content.write(row, at: used)
        let place = RowPlace(offset: UInt32(truncatingIfNeeded: used), byteCount: UInt32(row.byteCount))
        used += row.byteCount
        return place
    }

    /// The snapshot of the row that was taken last.
    func snapshot(id: ObjectID, at place: RowPlace) -> ObjectSnapshot {
        ObjectSnapshot(id: id, content: content, place: place)
    }

    @inline(never)
    private mutating func makeRoom(for byteCount: Int, _ count: Int) {
        // Others may be longer by a half.
        let wanted = (byteCount + byteCount / 2).multipliedReportingOverflow(by: count - 1)
        let others = wanted.overflow ? RowContent.byteCountMax : min(wanted.partialValue, RowContent.byteCountMax)
        let capacity = max(byteCount, min(byteCount + others, RowContent.byteCountMax))
        content = RowContent(capacity: capacity, numbering: numbering)
        used = 0
    }
}
