// The destination of the rows that a fetch finds: skips, counts, lists or copies them, or reads values of them, up to
// the limit.
//
// Invariants
//   1. Rows arrive in the order of the result. The first `offset` rows are skipped, and at most `limit` are accepted.

internal import EspalierModel

/// The kind of result that a fetch returns.
enum FetchKind {
    case rows, ids, count, values
}

struct FetchSink: ~Copyable {
    /// The largest number of rows for which memory is reserved: the number comes from a file, which may be damaged.
    private static let expectedCountMax = 1 << 20

    let kind: FetchKind
    /// Whether the bytes of rows are used.
    let needsRow: Bool
    private(set) var count = 0
    private(set) var ids: [ObjectID] = []
    private var builder: SnapshotBuilder
    /// Reads the values that are asked for.
    private var reader: ColumnReader?
    private var toSkip: Int
    private let offset: Int
    private let limit: Int
    /// Whether the rows come from a scan of all rows, because an index leads to too many, or was left.
    var comesFromScan = false
    /// Whether the rows were sorted, because too few of those along an index have passed.
    var hasLeftIndex = false
    /// The number of bytes that were sorted in a file, because they did not fit into memory.
    var spilledByteCount: UInt64 = 0

    init(
        _ kind: FetchKind, offset: Int, limit: Int?, numbering: StoreNumbering, _ reader: ColumnReader? = nil
    ) {
        assert((kind == .values) == (reader != nil), "values are read by a reader")
        assert(offset >= 0 && limit ?? 0 >= 0, "offset \(offset) and limit \(limit ?? 0) were not checked")
        self.kind = kind
        needsRow = kind == .rows || reader.map { !$0.needsNoRow } ?? false
        self.reader = reader
        builder = SnapshotBuilder(numbering: numbering)
        (self.offset, toSkip) = (offset, offset)
        self.limit = limit ?? Int.max
    }

    /// The attributes that are read in the bytes of each row; `nil` if all of its bytes are used.
    var slots: [Int]? {
        switch kind {
        case .rows: nil
        case .ids, .count: []
        case .values: reader?.slots
        }
    }

    /// The number of rows that were skipped or accepted.
    var foundCount: Int { count + offset - toSkip }

    /// Whether the next row is skipped.
    var isSkipping: Bool { toSkip > 0 }

    /// Reserves memory for `count` rows, or for as many of them as are wanted.
    mutating func reserveCapacity(_ count: Int) {
        assert(count >= 0, "memory for \(count) rows")
        let taken = min(max(0, count - toSkip), limit, Self.expectedCountMax)
        switch kind {
        case .rows: builder.reserveCapacity(taken)
        case .ids: ids.reserveCapacity(taken)
        case .count, .values: break
        }
    }

    /// Skips `count` rows if the offset includes all of them; returns whether it did.
    mutating func skip(_ count: Int) -> Bool {
        assert(count >= 0, "\(count) rows are skipped")
        guard count <= toSkip else { return false }
        toSkip -= count
        return true
    }

    /// Skips or accepts a row; returns whether more are wanted.
    ///
    /// The bytes are used if `needsRow` is true.
    @inline(__always)
    mutating func accept(_ id: ObjectID, _ row: RawSpan) -> Bool {
        guard toSkip == 0 else {
            toSkip -= 1
            return true
        }
        assert(count < limit, "invariant 1: a row follows the last requested one")
        count += 1
        switch kind {
        case .rows: builder.append(row, id: id)
        case .ids: ids.append(id)
        case .count: break
        case .values: if reader?.add(id, row) == false { return false }
        }
        return count < limit
    }

    /// The accepted rows.
    consuming func snapshots() -> SnapshotList {
        assert(checkInvariants())
        return builder.finish()
    }

    /// The values that were read.
    ///
    /// - Throws: the error that has ended the reading.
    consuming func collector(isInOrder: Bool) throws(StoreError) -> ValueCollector {
        assert(kind == .values, "a fetch of \(kind) has no collector of values")
        guard let reader else { preconditionFailure("values are read by a reader") }
        if let failure = reader.failure { throw failure }
        var collector = reader.collector
        collector.isInOrder = isInOrder
        return collector
    }

    /// Asserts that the count agrees with the accepted rows; call it inside `assert`.
    func checkInvariants() -> Bool {
        assert(toSkip >= 0 && count <= limit, "invariant 1: \(count) rows of \(limit), \(toSkip) to skip")
        assert(ids.count == (kind == .ids ? count : 0), "\(ids.count) IDs of \(count) rows")
        assert(builder.count == (kind == .rows ? count : 0), "\(builder.count) snapshots of \(count) rows")
        return true
    }
}
