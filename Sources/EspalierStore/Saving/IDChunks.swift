// Many rows by ID, in chunks that are read one after the other.
//
// Invariants
//   1. A chunk has as many rows as take about `byteCountMax`, by the average of the chunk before; the first one is
//      small, and a chunk is at most eight times as long as the one before.

internal import EspalierModel

/// The IDs of rows, in chunks that fit in memory.
struct IDChunks {
    /// About the most bytes of a chunk.
    static let byteCountMax = 4 << 20

    private let ids: AnyIterator<ObjectID>
    private let countMax: Int
    /// The number of rows of the next chunk.
    private var count: Int

    init(_ rows: RowSet, countMax: Int) {
        (ids, self.countMax, count) = (rows.makeIterator(), countMax, min(64, countMax))
        assert(countMax > 0, "chunks of \(countMax) rows")
    }

    /// The next IDs, by entity and ascending key; `nil` after the last ones.
    mutating func next() -> [ObjectID]? {
        var chunk: [ObjectID] = []
        chunk.reserveCapacity(count)
        while chunk.count < count, let id = ids.next() { chunk.append(id) }
        return chunk.isEmpty ? nil : chunk
    }

    /// Notes how long the rows of the last chunk are.
    mutating func note(_ rows: [ObjectSnapshot]) {
        guard !rows.isEmpty else { return }
        let byteCount = rows.reduce(0) { $0 + Int($1.place.byteCount) }
        let fitting = Self.byteCountMax / max(byteCount / rows.count, 1)
        count = max(1, min(fitting, 8 * count, countMax))
    }
}
