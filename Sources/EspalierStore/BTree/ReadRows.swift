// The rows that predicates and sort keys have read across relationships during one call of a snapshot.
//
// Invariants
//   1. At most `rowCountMax` rows are known. The bytes of known rows, and the values behind them that were asked for,
//      take at most `byteCountMax` bytes together, or those of one row if that takes more.
//   2. A row that has to go gives its bytes back, also if a condition still holds it, as one of a long list: the
//      session reads them again when they are used (`ReadSession.reload`).

internal import EspalierModel
internal import FoundationEssentials

struct ReadRows {
    private static let rowCountMax = 4096
    /// Enough for 2,000 rows with pages of their own, of each of which one page of 4 KiB is kept.
    static let byteCountMax = 8 << 20

    /// A row that has pages of its own.
    struct WholeRow {
        /// The root of the hierarchy.
        let root: ManagedObjectModel.EntityIndex
        let key: UInt64
        let bytes: [UInt8]
    }

    private var rows: [ObjectID: EvaluatedRow?] = [:]
    /// The memory of the rows, also of those that were read again.
    private var memory: [SharedBytes] = []
    /// The bytes that `memory` takes.
    private(set) var byteCount = 0
    /// The last row that was read whole: for a value behind its beginning, or as a part of a result.
    var lastWhole: WholeRow?

    var isEmpty: Bool { rows.isEmpty && lastWhole == nil }

    /// The row with this ID, or that there is none; `nil` = it was not read.
    subscript(id: ObjectID) -> EvaluatedRow?? { rows[id] }

    /// Keeps a row, or that there is none with this ID.
    mutating func keep(_ row: EvaluatedRow?, _ id: ObjectID) {
        let added = row?.row.bytes.count ?? 0
        if rows.count >= Self.rowCountMax || memory.count >= Self.rowCountMax || !fits(added) { evict() }
        rows[id] = .some(row)
        guard let row else { return }
        assert(!row.row.isKept, "\(id) is kept twice")
        row.row.isKept = true
        memory.append(row.row)
        byteCount += added
        assert(checkInvariants())
    }

    /// Keeps a value behind the beginning of a row, if the row is kept and there is room.
    mutating func keep(_ value: AttributeValue, at slot: Int, of row: SharedBytes) {
        let added = value.memoryByteCount
        assert(row.others[slot] == nil, "the value at \(slot) is kept twice")
        guard row.isKept, fits(added) else { return }
        row.others[slot] = value
        byteCount += added
    }

    /// Forgets all rows, in time for the next call.
    mutating func removeAll() { self = ReadRows() }

    private func fits(_ added: Int) -> Bool { added <= Self.byteCountMax - byteCount }

    private mutating func evict() {
        for row in memory { row.evict() }
        rows.removeAll(keepingCapacity: true)
        memory.removeAll(keepingCapacity: true)
        byteCount = 0
    }

    /// Asserts the limits; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(
            rows.count <= Self.rowCountMax && memory.count <= Self.rowCountMax,
            "invariant 1: \(rows.count) rows are known, and \(memory.count) are in memory")
        assert(byteCount <= Self.byteCountMax || memory.count == 1, "invariant 1: rows take \(byteCount) bytes")
        return true
    }
}

extension AttributeValue {
    /// About the bytes that the value takes outside of its own.
    fileprivate var memoryByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .binary(let data), .transformable(let data): data.count
        case .uri(let uri): uri.absoluteString.utf8.count
        case .composite(let parts): parts.reduce(0) { $0 + 64 + $1.key.utf8.count + $1.value.memoryByteCount }
        case .null, .integer, .double, .float, .decimal, .boolean, .date, .uuid, .objectID: 0
        }
    }
}
