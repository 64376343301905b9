// Where found rows go: skipped, counted, listed or copied, and when it is enough.
//
// Invariants
//   1. Rows come in the order of the result. The first `offset` are skipped, no more than `limit` are taken.

internal import EspalierModel

/// What a fetch wants of the rows it finds.
enum FetchKind {
    case rows, ids, count
}

struct RowSink: ~Copyable {
    let kind: FetchKind
    private(set) var count = 0
    private(set) var ids: [ObjectID] = []
    private var builder: SnapshotBuilder
    private var toSkip: Int
    private let limit: Int

    init(_ kind: FetchKind, offset: Int, limit: Int?, context: RowContext) {
        self.kind = kind
        builder = SnapshotBuilder(context: context)
        toSkip = offset
        self.limit = limit ?? Int.max
    }

    /// Makes room for rows that come next, at most so many.
    mutating func expect(_ count: Int) {
        if kind == .rows { builder.reserveCapacity(min(count, limit)) }
    }

    /// Takes a row; returns whether more are wanted.
    ///
    /// The bytes are needed for rows only.
    mutating func accept(_ id: ObjectID, _ row: RawSpan) -> Bool {
        guard toSkip == 0 else {
            toSkip -= 1
            return true
        }
        count += 1
        switch kind {
        case .rows: builder.append(row, id: id)
        case .ids: ids.append(id)
        case .count: break
        }
        return count < limit
    }

    /// The rows that were taken.
    consuming func snapshots() -> SnapshotList { builder.finish() }
}
