// Makes one list of snapshots of the rows that a transaction has found.
//
// Invariants
//   1. Every row that was appended lies in a part, or is among the bytes of the next one.

internal import EspalierModel

/// Collects checked rows into chunks and lists them: one copy of each row, one allocation a chunk.
struct SnapshotBuilder {
    private let context: RowContext
    /// The rows that are in no chunk yet.
    private var bytes: [UInt8] = []
    private var entries: [SnapshotList.Entry] = []
    private var parts: [SnapshotList.Part] = []
    /// How many rows are said to come.
    private var expectedCount = 0

    init(context: RowContext) { self.context = context }

    /// Makes room for rows that come next, all as long as the first, so that memory is asked for once and not again
    /// with each row that does not fit.
    mutating func reserveCapacity(_ count: Int) {
        expectedCount = count
        entries.reserveCapacity(count)
    }

    /// How many rows were collected.
    var count: Int { entries.count }

    /// Appends a row that passed the check.
    mutating func append(_ row: RawSpan, id: ObjectID) {
        if !bytes.isEmpty, bytes.count + row.byteCount > RowContent.byteCountMax {
            parts.append(SnapshotList.Part(content: takeBytes(), end: entries.count))
            bytes.reserveCapacity(RowContent.byteCountMax)
        } else if bytes.isEmpty, expectedCount > 1 {
            bytes.reserveCapacity(min(row.byteCount * expectedCount, RowContent.byteCountMax))
        }
        let place = RowPlace(offset: UInt32(bytes.count), byteCount: UInt32(row.byteCount))
        entries.append(SnapshotList.Entry(id: id, place: place))
        bytes.append(copying: row)
    }

    /// The snapshots of all rows, in the order they came in; the builder is empty afterwards.
    mutating func finish() -> SnapshotList {
        guard !entries.isEmpty else { return SnapshotList() }
        let list = SnapshotList(entries, in: parts, takeBytes())
        (entries, parts) = ([], [])
        return list
    }

    private mutating func takeBytes() -> RowContent {
        let content = RowContent(bytes: bytes, context: context)
        bytes = []
        return content
    }
}
