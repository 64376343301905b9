// Finds rows with equal unique values that are longer than an index entry holds, by their whole codes.
//
// Invariants
//   1. The rows whose entries begin alike are read once, at the first new value with this beginning. Later values are
//      looked up by a hash; the codes of a row that is found are compared, and its entry must still exist.
//   2. What a save knows is for the next one, if nothing was committed between them: every save adds the rows whose
//      entries it writes. Rows that are listed although they have changed are harmless by 1. A save that is rolled back
//      leaves nothing: it may have read entries of which it had removed some before, and these are there again.
// A hash of the whole codes in each entry would tell without memory: see Decisions, "Values that are cut".

internal import EspalierEngine
internal import EspalierModel

/// The rows with cut values, by group, beginning of the entry, and hash of the whole codes.
struct CutKeys {
    private struct Run: Hashable {
        let group: Int
        let beginning: [UInt8]
    }

    /// Rows that may have the same codes.
    private struct Candidates {
        private(set) var ids: [ObjectID] = []
        private var isSorted = true

        /// Adds a row; most are added by ascending key.
        mutating func add(_ id: ObjectID) {
            if let last = ids.last, last.key > id.key { isSorted = false }
            ids.append(id)
        }

        /// Brings the rows in the order of their keys, if that was not done before.
        mutating func sort() {
            if !isSorted { ids.sort { $0.key < $1.key } }
            isSorted = true
        }

        mutating func remove(_ gone: [ObjectID]) { ids.removeAll { gone.contains($0) } }
    }

    private var runs: [Run: [Int: Candidates]] = [:]
    /// The number of bytes that all runs take, about.
    private(set) var byteCount = 0
    private static let runByteCount = 256
    private static let rowByteCount = 64

    /// Whether the rows whose entries in a group have this beginning are known.
    func knows(_ group: Int, _ beginning: [UInt8]) -> Bool { runs[Run(group: group, beginning: beginning)] != nil }

    /// Notes that this beginning is known, without rows so far.
    mutating func begin(_ group: Int, _ beginning: [UInt8]) {
        assert(!knows(group, beginning), "rows with the same beginning are read twice")
        assert(beginning.count == GroupKey.valueByteCountMax, "values of \(beginning.count) bytes are not cut")
        runs[Run(group: group, beginning: beginning)] = [:]
        byteCount += beginning.count + Self.runByteCount
    }

    /// The rows that may have these codes, by ascending key.
    ///
    /// - Complexity: O(1) if rows were added by ascending key; otherwise they are sorted, once for many calls.
    mutating func candidates(_ group: Int, _ beginning: [UInt8], _ codes: [UInt8]) -> [ObjectID] {
        assert(knows(group, beginning), "the rows with this beginning were not read")
        let (run, hash) = (Run(group: group, beginning: beginning), codes.hashValue)
        runs[run]?[hash]?.sort()
        return runs[run]?[hash]?.ids ?? []
    }

    /// Adds a row, if the rows with this beginning are known.
    mutating func add(_ id: ObjectID, _ group: Int, _ beginning: [UInt8], _ codes: [UInt8]) {
        assert(beginning.count == GroupKey.valueByteCountMax, "values of \(beginning.count) bytes are not cut")
        runs[Run(group: group, beginning: beginning)]?[codes.hashValue, default: Candidates()].add(id)
        byteCount += Self.rowByteCount
    }

    /// Removes rows that no longer have these codes, so that a value that comes and goes does not become a long list.
    mutating func remove(_ ids: [ObjectID], _ group: Int, _ beginning: [UInt8], _ codes: [UInt8]) {
        guard !ids.isEmpty else { return }
        let run = Run(group: group, beginning: beginning)
        runs[run]?[codes.hashValue]?.remove(ids)
        if runs[run]?[codes.hashValue]?.ids.isEmpty == true { runs[run]?[codes.hashValue] = nil }
        byteCount -= Self.rowByteCount * ids.count
        assert(knows(group, beginning) && byteCount >= 0, "\(byteCount) bytes are left without \(ids.count) rows")
    }

    /// Adds a row by its values, if the rows with this beginning are known.
    mutating func add(
        _ id: ObjectID, _ source: ValueSource, _ keyGroup: KeyGroup, at group: Int, _ beginning: [UInt8],
        _ numbering: StoreNumbering
    ) {
        guard knows(group, beginning) else { return }
        add(id, group, beginning, Self.codes(source, keyGroup, numbering))
    }

    /// The whole codes of a group's values, not cut.
    static func codes(_ source: ValueSource, _ group: KeyGroup, _ numbering: StoreNumbering) -> [UInt8] {
        var codes: [UInt8] = []
        for element in group.elements {
            GroupKey.append(source.value(of: element), element.coding, numbering, to: &codes)
        }
        return codes
    }
}

/// The rows with cut values that the last save knew, for the next one.
struct KnownCutKeys {
    /// More bytes than this are forgotten.
    private static let byteCountMax = 6 << 20
    private var last: (commit: UInt64, keys: CutKeys)?

    /// Returns what the last save knew, if it made this commit, and forgets it.
    mutating func take(after commit: UInt64) -> CutKeys {
        defer { last = nil }
        guard let known = last, known.commit == commit else { return CutKeys() }
        return known.keys
    }

    /// Notes what a save knew that made this commit.
    mutating func keep(_ keys: CutKeys, after commit: UInt64) {
        last = keys.byteCount > 0 && keys.byteCount <= Self.byteCountMax ? (commit, keys) : nil
    }
}

extension SaveExecution {
    /// The row with the lowest key that has the values of `source` in a unique group, of those that count; `newKey` is
    /// their key, which was cut.
    ///
    /// - Complexity: O(log n); O(rows with the same beginning) for the first such key of a save, if the last save has
    ///   not read them, if it was refused, if anything was committed since, or if they are more than about 90,000.
    mutating func holder(
        ofCutKeyInGroup index: Int, _ source: ValueSource, where counts: (ObjectID) -> Bool
    ) throws(StoreError) -> ObjectID? {
        assert(newKey.isCut && !newKey.hasNull, "values without cut are compared by rows")
        assert(catalog.schema.groups[index].isUnique, "\(catalog.schema.groups[index].name) is no constraint")
        let (group, tree, beginning) = (catalog.schema.groups[index], catalog.groupTrees[index], newKey.bytes)
        if !cutKeys.knows(index, beginning) { try readCutKeys(index, beginning) }
        let codes = CutKeys.codes(source, group, catalog.numbering)
        var (holder, stale): (ObjectID?, [ObjectID]) = (nil, [])
        for id in cutKeys.candidates(index, beginning, codes) where counts(id) {
            assert(StepCount.note(rows: 1))
            var entry = beginning
            entry.append(bigEndian: id.key)
            guard try transaction.get(entry, from: tree) != nil, let row = try transaction.snapshot(of: id, catalog)
            else {
                stale.append(id)
                continue
            }
            // A row with other codes stays: it may be listed here because of an equal hash.
            guard CutKeys.codes(.snapshot(row), group, catalog.numbering) == codes else { continue }
            holder = id
            break
        }
        cutKeys.remove(stale, index, beginning, codes)
        return holder
    }

    private mutating func readCutKeys(_ index: Int, _ beginning: [UInt8]) throws(StoreError) {
        let (group, tree, catalog) = (catalog.schema.groups[index], catalog.groupTrees[index], catalog)
        var ids: [ObjectID] = []
        try transaction.forEach(in: tree, beginningWith: beginning) { entry, value throws(StoreError) in
            let found = try catalog.candidate(entry, value, tree)
            guard let id = catalog.numbering.id(entityNumber: found.entityNumber, key: found.key) else { return true }
            ids.append(id)
            return true
        }
        cutKeys.begin(index, beginning)
        for id in ids {
            assert(StepCount.note(rows: 1))
            guard let row = try transaction.snapshot(of: id, catalog) else { continue }
            cutKeys.add(id, index, beginning, CutKeys.codes(.snapshot(row), group, catalog.numbering))
        }
    }
}
