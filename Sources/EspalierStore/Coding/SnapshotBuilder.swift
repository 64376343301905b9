// Builds one list of snapshots from the rows that a transaction has found.
//
// Invariants
//   1. Every appended row is in a part, or in `chunk` before `used`.
//   2. Only the builder writes to `chunk`: the builder cannot be copied, and passes it on after the last write.

internal import EspalierModel

/// Collects checked rows into chunks and lists them: one copy of each row, one allocation a chunk.
struct SnapshotBuilder: ~Copyable {
    private let numbering: StoreNumbering
    /// The memory of the rows that are in no part yet.
    private var chunk = RowContent.none
    private var used = 0
    private var ids: [ObjectID] = []
    private var places: [RowContent.Place] = []
    private var parts: [SnapshotList.Part] = []
    /// The number of rows that the caller expects.
    private var expectedCount = 0

    init(numbering: StoreNumbering) { self.numbering = numbering }

    /// The number of rows that were collected.
    var count: Int { ids.count }

    /// Makes room for `count` rows in all, each as long as the first, so that memory is allocated once and not again
    /// for each row that does not fit.
    mutating func reserveCapacity(_ count: Int) {
        assert(count >= ids.count, "room for \(count) rows, of which \(ids.count) were appended")
        expectedCount = count
        ids.reserveCapacity(count)
        places.reserveCapacity(count)
    }

    /// Appends a row that passed the check.
    @inline(__always)
    mutating func append(_ row: RawSpan, id: ObjectID) {
        assert(row.byteCount > 0, "\(id) passed the check without bytes")
        if row.byteCount > chunk.capacity - used { makeRoom(for: row.byteCount) }
        chunk.write(row, at: used)
        note(id, byteCount: row.byteCount)
    }

    /// Appends a row of `byteCount` bytes that `write` writes; returns its place.
    @inline(__always)
    mutating func append(
        id: ObjectID, byteCount: Int, _ write: (inout MutableRawSpan) -> Void
    ) -> (content: RowContent, place: RowContent.Place) {
        assert(byteCount > 0, "\(id) is measured as \(byteCount) bytes")
        if byteCount > chunk.capacity - used { makeRoom(for: byteCount) }
        let place = RowContent.Place(offset: UInt32(truncatingIfNeeded: used), byteCount: UInt32(byteCount))
        chunk.withNewRow(at: place, write)
        note(id, byteCount: byteCount)
        return (chunk, place)
    }

    @inline(__always)
    private mutating func note(_ id: ObjectID, byteCount: Int) {
        ids.append(id)
        places.append(RowContent.Place(offset: UInt32(truncatingIfNeeded: used), byteCount: UInt32(byteCount)))
        used += byteCount
    }

    /// Enlarges the chunk, or closes it and allocates another.
    ///
    /// A single row gets just the memory that it needs: most fetches return one row.
    @inline(never)
    private mutating func makeRoom(for byteCount: Int) {
        assert(checkInvariants())
        if used > 0, used + byteCount > RowContent.byteCountMax {
            parts.append(SnapshotList.Part(content: takeChunk(), end: ids.count))
            chunk = RowContent(capacity: max(byteCount, RowContent.byteCountMax), numbering: numbering)
        } else {
            let expected = max(2 * chunk.capacity, byteCount * max(1, expectedCount - ids.count))
            let wanted = max(used + byteCount, min(expected, RowContent.byteCountMax))
            let larger = RowContent(capacity: wanted, numbering: numbering)
            larger.write(chunk, byteCount: used)
            chunk = larger
        }
        assert(chunk.capacity - used >= byteCount, "\(byteCount) bytes after \(used) of \(chunk.capacity)")
    }

    /// The snapshots of all rows, in the order in which they were appended; the builder is empty afterwards.
    mutating func finish() -> SnapshotList {
        assert(checkInvariants())
        guard !ids.isEmpty else { return SnapshotList() }
        let list = SnapshotList(ids, at: places, in: parts, takeChunk())
        (ids, places, parts) = ([], [], [])
        return list
    }

    /// Asserts the invariants of the header; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(ids.count == places.count, "\(ids.count) rows at \(places.count) places")
        assert(used >= 0 && used <= chunk.capacity, "invariant 1: \(used) of \(chunk.capacity) bytes are used")
        let firstInChunk = parts.last?.end ?? 0
        assert(firstInChunk <= ids.count, "\(firstInChunk) rows are in parts, \(ids.count) were appended")
        let byteCount = places[firstInChunk...].reduce(0) { $0 + Int($1.byteCount) }
        assert(byteCount == used, "invariant 1: rows of \(byteCount) bytes lie in \(used)")
        return true
    }

    private mutating func takeChunk() -> RowContent {
        defer { (chunk, used) = (.none, 0) }
        return chunk
    }
}
