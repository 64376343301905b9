// Walks an index in the order of its values, and entries with equal values by ascending primary key.
//
// Invariants
//   1. The walk passes entries in order and one by one: a caller that has enough stops it, however many entries follow.
//   2. Cut values determine only the place of the run of entries that begin alike: the rows of such a run determine the
//      order within it.

internal import EspalierEngine
internal import EspalierModel

struct IndexWalk {
    /// The number of entries with equal values that a backward walk keeps; it visits a longer run by a forward walk.
    private static let keptCountMax = 16

    /// Gets a row, the codes in its entry, and whether these were cut; returns whether it wants more.
    typealias Visit = (_ candidate: Candidate, _ codes: RawSpan, _ isCut: Bool) throws(StoreError) -> Bool

    let session: ReadSession
    /// The position of the index among the groups of the schema.
    let group: Int
    let range: EntryRange
    let entity: Entity

    private var catalog: StoreCatalog { session.catalog }
    private var tree: Tree<[UInt8]> { catalog.groupTrees[group] }

    /// Calls `body` with the candidates of the range, until it returns `false`.
    ///
    /// - Parameter skipping: whether to skip the next candidates, of which it gets the number, unread; only a forward
    ///   walk calls it.
    /// - Complexity: O(log n) and O(candidates that `body` gets, and those that share cut values with the last one),
    ///   and O(log n) for each skipped leaf.
    func forEach(
        isReversed: Bool, skipping: (Int) -> Bool, _ body: (Candidate) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try forEachEntry(isReversed: isReversed, skipping: skipping) { candidate, _, _ throws(StoreError) in
            try body(candidate)
        }
    }

    /// Calls `body` with the entries of the range, as `forEach` does with their candidates.
    func forEachEntry(isReversed: Bool, skipping: (Int) -> Bool, _ body: Visit) throws(StoreError) {
        assert(catalog.groupTrees.indices.contains(group), "there is no group \(group)")
        if isReversed { return try backward(body) }
        try forward(from: range.lower, endsWithRun: false, skipping: skipping, body)
    }

    /// - Parameter endsWithRun: whether the walk ends with the run of entries whose values are `lower`.
    /// - Returns: whether `body` wants more.
    @discardableResult
    private func forward(
        from lower: [UInt8], endsWithRun: Bool, skipping: (Int) -> Bool = { _ in false }, _ body: Visit
    ) throws(StoreError) -> Bool {
        let (tree, catalog) = (tree, catalog)
        var entries = try session.transaction.lookup(in: tree)
        var run = EntryRun()
        var wantsMore = true
        func skips(_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool {
            if let upper = range.upper, !upper.withRawSpan({ lastKey.precedes($0) }) { return false }
            // A run of cut entries that continues in the next leaf cannot be sorted without its beginning.
            guard !lastValue.isOfCutEntry, skipping(count) else { return false }
            assert(StepCount.note())
            return true
        }
        try entries.forEach(from: lower, skipping: skips) { key, value throws(StoreError) in
            assert(StepCount.note())
            if endsWithRun, !key.isEntry(withValues: lower) { return false }
            if let upper = range.upper, !upper.withRawSpan({ key.precedes($0) }) { return false }
            let candidate = try catalog.candidate(key, value, tree)
            if !run.candidates.isEmpty, !key.isEntry(withValues: run.values) {
                wantsMore = try pass(run, isReversed: false, body)
                run.candidates.removeAll(keepingCapacity: true)
                guard wantsMore else { return false }
            }
            guard value.isOfCutEntry else {
                wantsMore = try body(candidate, key.extracting(0..<key.byteCount - 8), false)
                return wantsMore
            }
            assert(run.candidates.isEmpty || run.isCut, "a run is kept whose order the entries decide")
            run.append(candidate, key, value)
            return true
        }
        guard wantsMore else { return false }
        return try pass(run, isReversed: false, body)
    }

    private func backward(_ body: Visit) throws(StoreError) {
        let (tree, catalog) = (tree, catalog)
        var cursor = try session.transaction.cursor(over: tree)
        var isOnEntry: Bool
        if let upper = range.upper {
            isOnEntry = try cursor.seek(upper) ? cursor.previous() : cursor.last()
        } else {
            isOnEntry = try cursor.last()
        }
        var run = EntryRun()
        while isOnEntry {
            assert(StepCount.note())
            var (isInRange, ended): (Bool, EntryRun?) = (false, nil)
            try cursor.withEntry { key, value throws(StoreError) in
                guard !range.lower.withRawSpan({ key.precedes($0) }) else { return }
                isInRange = true
                if !run.candidates.isEmpty, !key.isEntry(withValues: run.values) {
                    ended = run
                    run.candidates.removeAll()
                }
                run.append(try catalog.candidate(key, value, tree), key, value)
            }
            if let ended, try !pass(ended, isReversed: true, body) { return }
            guard isInRange else { break }
            if run.candidates.count > Self.keptCountMax, !run.isCut {
                // Many rows have this value: a forward walk visits them, then this walk continues before the first one.
                run.candidates.removeAll(keepingCapacity: true)
                guard try forward(from: run.values, endsWithRun: true, body) else { return }
                isOnEntry = try cursor.seek(run.values)
            }
            if isOnEntry { isOnEntry = try cursor.previous() }
        }
        _ = try pass(run, isReversed: true, body)
    }

    /// Calls `body` with the candidates of a run, which a backward walk has found in reverse order; returns whether it
    /// wants more.
    private func pass(_ run: EntryRun, isReversed: Bool, _ body: Visit) throws(StoreError) -> Bool {
        guard !run.candidates.isEmpty else { return true }
        var candidates = run.candidates
        if run.isCut, candidates.count > 1 {
            candidates = try inOrder(candidates, isReversed: isReversed)
        } else if isReversed {
            candidates.reverse()
        }
        return try run.values.withRawSpan { codes throws(StoreError) in
            for candidate in candidates where try !body(candidate, codes, run.isCut) { return false }
            return true
        }
    }

    /// The candidates of cut entries, sorted by the values of their rows, and equal ones by key.
    private func inOrder(_ candidates: [Candidate], isReversed: Bool) throws(StoreError) -> [Candidate] {
        var rows = try session.transaction.lookup(in: catalog.rowTree(of: entity))
        var found: [(codes: [UInt8], candidate: Candidate)] = []
        for candidate in candidates {
            assert(StepCount.note())
            let isThere = try rows.withValue(of: candidate.key) { row throws(StoreError) in
                _ = try catalog.check(row, in: entity, key: candidate.key)
                found.append((GroupKey.codes(catalog.schema.groups[group], row, session.reader), candidate))
            }
            guard isThere else { throw catalog.missingRow(of: candidate) }
        }
        found.sort { left, right in
            if left.codes == right.codes { return left.candidate.key < right.candidate.key }
            return left.codes.precedes(right.codes) != isReversed
        }
        assert(found.count == candidates.count, "\(found.count) rows of \(candidates.count) entries")
        return found.map(\.candidate)
    }
}

/// Consecutive entries with equal values, or with values that are equal up to the cut.
private struct EntryRun {
    var candidates: [Candidate] = []
    private(set) var values: [UInt8] = []
    private(set) var isCut = false

    mutating func append(_ candidate: Candidate, _ key: RawSpan, _ value: RawSpan) {
        if candidates.isEmpty { (values, isCut) = (key.copy(0..<key.byteCount - 8), value.isOfCutEntry) }
        assert(key.isEntry(withValues: values), "an entry with other values joins a run")
        candidates.append(candidate)
    }
}

extension RawSpan {
    /// Whether these bytes are `values` and a primary key.
    fileprivate func isEntry(withValues values: [UInt8]) -> Bool {
        byteCount == values.count + 8 && values.withRawSpan { begins(with: $0) }
    }

    /// Whether this is the value of an entry whose values were cut.
    fileprivate var isOfCutEntry: Bool { GroupEntryValue(self)?.isCut == true }
}
