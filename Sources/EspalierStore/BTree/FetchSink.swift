// Where found rows go: skipped, counted, listed or copied, and when it is enough.
//
// Invariants
//   1. Rows come in the order of the result. The first `offset` are skipped, no more than `limit` are taken.

internal import EspalierModel

/// What a fetch wants of the rows it finds.
enum FetchKind {
    case rows, ids, count
}

struct FetchSink: ~Copyable {
    /// For how many rows room is made at once: how many there are comes from a file, which may be damaged.
    private static let expectedCountMax = 1 << 20

    let kind: FetchKind
    private(set) var count = 0
    private(set) var ids: [ObjectID] = []
    private var builder: SnapshotBuilder
    private var toSkip: Int
    private let limit: Int

    init(_ kind: FetchKind, offset: Int, limit: Int?, numbering: StoreNumbering) {
        self.kind = kind
        builder = SnapshotBuilder(numbering: numbering)
        toSkip = offset
        self.limit = limit ?? Int.max
    }

    /// Whether the next row is skipped.
    var isSkipping: Bool { toSkip > 0 }

    /// Makes room for `count` rows, or as many of them as are wanted.
    mutating func expect(_ count: Int) {
        let taken = min(max(0, count - toSkip), limit, Self.expectedCountMax)
        switch kind {
        case .rows: builder.reserveCapacity(taken)
        case .ids: ids.reserveCapacity(taken)
        case .count: break
        }
    }

    /// Skips so many rows if all of them are to be skipped; returns whether it did.
    mutating func skip(_ count: Int) -> Bool {
        guard count <= toSkip else { return false }
        toSkip -= count
        return true
    }

    /// Takes a row; returns whether more are wanted.
    ///
    /// The bytes are needed for rows only.
    @inline(__always)
    mutating func accept(_ id: ObjectID, _ row: RawSpan) -> Bool {
        guard toSkip == 0 else {
            toSkip -= 1
            return true
        }
        assert(count < limit, "invariant 1: a row comes after the last that is wanted")
        count += 1
        switch kind {
        case .rows: builder.append(row, id: id)
        case .ids: ids.append(id)
        case .count: break
        }
        return count < limit
    }

    /// The rows that were taken.
    consuming func snapshots() -> SnapshotList {
        assert(checkInvariants())
        return builder.finish()
    }

    /// Asserts that what was counted was taken; to be called in `assert`.
    func checkInvariants() -> Bool {
        assert(toSkip >= 0 && count <= limit, "invariant 1: \(count) rows of \(limit), \(toSkip) to skip")
        assert(ids.count == (kind == .ids ? count : 0), "\(ids.count) IDs of \(count) rows")
        assert(builder.count == (kind == .rows ? count : 0), "\(builder.count) snapshots of \(count) rows")
        return true
    }
}
