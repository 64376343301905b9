// Sorts rows by normalized keys; with a limit, keeps only the first ones.
//
// Invariants
//   1. The order is total: sort keys, then the ascending primary key, all in one byte string.
//   2. With a limit, at most 2 x (offset + limit) rows are held at any time, or 16 if that is more.

internal import EspalierModel

struct SortBuffer {
    struct Entry {
        let key: [UInt8]
        let id: ObjectID
        let row: [UInt8]
    }

    private let keep: Int
    private var entries: [Entry] = []
    /// The greatest key that can still be among the first `keep`, once that many were seen.
    private var worst: [UInt8]?

    /// A buffer that keeps the first `keep` rows; `nil` = all.
    init(keep: Int?) {
        assert(keep ?? 0 >= 0, "the first \(keep ?? 0) rows are kept")
        self.keep = keep ?? Int.max
    }

    /// The normalized key of a row.
    static func key(of row: EvaluatedRow, _ sort: [ResolvedSortKey]) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        for key in sort {
            guard let type = key.type else { continue }
            let value = try key.value(of: row)
            KeyCoding.append(value, as: type, options: key.options, isAscending: key.isAscending, to: &bytes)
        }
        bytes.append(bigEndian: row.objectID.key)
        return bytes
    }

    /// Makes `bytes` the normalized key of a checked row, whose own attributes decide the order.
    static func write(
        _ bytes: inout [UInt8], of row: RawSpan, _ id: ObjectID, _ sort: [ResolvedSortKey], _ reader: RowReader
    ) {
        bytes.removeAll(keepingCapacity: true)
        for key in sort {
            guard case .attribute(let slot, let type, _)? = key.path?.terminal else { continue }
            append(slot, type, of: row, reader, options: key.options, isAscending: key.isAscending, to: &bytes)
        }
        bytes.append(bigEndian: id.key)
    }

    /// Appends the code of an attribute of a checked row to `bytes`.
    @inline(__always)
    static func append(
        _ slot: Int, _ type: AttributeType, of row: RawSpan, _ reader: RowReader, options: ComparisonOptions,
        isAscending: Bool, to bytes: inout [UInt8]
    ) {
        let first = bytes.count
        if options.isSubset(of: [.localeSensitive]), let range = reader.textRange(at: slot, row),
            GroupKey.isPlain(row.extracting(range))
        {
            bytes.append(KeyCoding.valueMark)
            bytes.append(copying: row.extracting(range))
            bytes.append(0)
            bytes.append(0)
            if !isAscending { KeyCoding.invert(&bytes, from: first) }
        } else {
            KeyCoding.append(
                reader.value(at: slot, row), as: type, options: options, isAscending: isAscending, to: &bytes)
        }
    }

    /// Whether a row with this key may be among the wanted ones.
    func isWanted(_ key: [UInt8]) -> Bool { worst.map { key.precedes($0) } ?? true }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        guard keep < Int.max / 2, entries.count >= max(2 * keep, 16) else { return }
        entries.sort { $0.key.precedes($1.key) }
        entries.removeLast(entries.count - min(keep, entries.count))
        let former = worst
        worst = entries.last?.key
        assert(
            former == nil || worst == nil || former?.precedes(worst ?? []) == false, "the worst key has become worse")
        assert(checkInvariants())
    }

    /// The wanted rows in order.
    consuming func sorted() -> ArraySlice<Entry> {
        assert(checkInvariants())
        entries.sort { $0.key.precedes($1.key) }
        return entries.prefix(keep)
    }

    /// Asserts invariant 2, and that no row was refused too early; to be called in `assert`.
    private func checkInvariants() -> Bool {
        guard keep < Int.max / 2 else { return true }
        assert(entries.count <= max(2 * keep, 16), "invariant 2: \(entries.count) rows are held for \(keep)")
        if let worst {
            let better = entries.count { !worst.precedes($0.key) }
            assert(better >= min(keep, entries.count), "\(better) rows are at least as good as the worst of \(keep)")
        }
        return true
    }
}
