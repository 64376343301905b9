// The changes of a check that rebuilds: written in one transaction, while the snapshot before it is read.
//
// Invariants
//   1. No read depends on a write: the order of the changes does not matter, except that an entry is removed before
//      another one with the same key is added.
//   2. Without a transaction (a dry run) changes are counted and nothing is written.

internal import EspalierEngine
internal import EspalierModel

/// Writes and counts changes of derived trees.
final class StoreMender {
    /// The changes of one tree.
    struct Count {
        var added = 0
        var removed = 0
        var replaced = 0
    }

    private var transaction: StoreTransaction<WriteTransaction>?
    private let newTrees: Set<UInt32>
    /// By number of the tree.
    private(set) var counts: [UInt32: Count] = [:]
    private(set) var counters: [RebuildReport.CounterChange] = []

    init(_ transaction: consuming StoreTransaction<WriteTransaction>?, newTrees: Set<UInt32>) {
        self.transaction = transaction
        self.newTrees = newTrees
    }

    /// Whether the tree was missing.
    func isNew<Key>(_ tree: Tree<Key>) -> Bool { newTrees.contains(tree.id) }

    /// Whether anything changes.
    var hasChanges: Bool { !newTrees.isEmpty || !counts.isEmpty || !counters.isEmpty }

    /// Removes an entry that the snapshot has.
    func remove(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StoreError) {
        assert(!isNew(tree), "an entry of a tree that was missing is removed")
        counts[tree.id, default: Count()].removed += 1
        try transaction?.remove(key, from: tree)
    }

    /// Removes a malformed or meaningless counter.
    func removeCounter(_ counter: UInt64, _ catalog: StoreCatalog) throws(StoreError) {
        counters.append(RebuildReport.CounterChange(name: catalog.name(ofCounter: counter), before: nil, after: 0))
        try transaction?.remove(counter, from: catalog.counters)
    }

    /// Adds an entry, or replaces one with a wrong value.
    func put(_ value: [UInt8], for key: [UInt8], in tree: Tree<[UInt8]>, replacing isThere: Bool) throws(StoreError) {
        assert(!isThere || !isNew(tree), "an entry of a tree that was missing is replaced")
        if isThere {
            counts[tree.id, default: Count()].replaced += 1
        } else {
            counts[tree.id, default: Count()].added += 1
        }
        try transaction?.put(value, for: key, in: tree)
    }

    /// Adds a link: at the end of an ordered list.
    func add(_ link: Link, memberNumber: UInt16, to tree: LinkTree) throws(StoreError) {
        assert(link.owner > 0 && link.destination > 0, "a link joins \(link.owner) and \(link.destination)")
        var key = LinkKey.unordered(link.owner, link.destination)
        if tree.isOrdered {
            key = LinkKey.ordered(link.owner, position: try endOfList(link.owner, tree.tree), link.destination)
        }
        try put(LinkKey.value(entityNumber: memberNumber), for: key, in: tree.tree, replacing: false)
    }

    /// The first position after those of a list.
    private func endOfList(_ owner: UInt64, _ tree: Tree<[UInt8]>) throws(StoreError) -> UInt64 {
        guard var cursor = try transaction?.cursor(over: tree) else { return 0 }
        var end: [UInt8] = []
        end.append(bigEndian: owner)
        end.append(bigEndian: UInt64.max)
        end.append(bigEndian: UInt64.max)
        let isOnEntry = try cursor.seek(end) ? try cursor.previous() : try cursor.last()
        guard isOnEntry else { return 0 }
        let key = try cursor.key
        guard key.count == 24, key.withRawSpan({ $0.bigEndianKey(at: 0) }) == owner else { return 0 }
        return key.withRawSpan { $0.bigEndianKey(at: 8) } &+ 1
    }

    /// Sets a counter.
    ///
    /// - Parameter bytes: the value in the snapshot; `nil` if there is none.
    func setCounter(
        _ counter: UInt64, to number: UInt64, was bytes: [UInt8]?, _ catalog: StoreCatalog
    ) throws(StoreError) {
        let before: UInt64? = bytes.flatMap { $0.count == 8 ? $0.number(at: 0) : nil }
        counters.append(
            RebuildReport.CounterChange(name: catalog.name(ofCounter: counter), before: before, after: number))
        try transaction?.setCounter(counter, to: number, catalog)
    }

    /// Commits the changes.
    func commit() throws(StoreError) {
        guard let changed = transaction.take() else { return }
        if hasChanges { try changed.commit(.durable) }
    }
}

extension StoreCatalog {
    /// The thing that a counter counts, in words.
    fileprivate func name(ofCounter counter: UInt64) -> String {
        let number = UInt32(truncatingIfNeeded: counter)
        let entity = numbering.entity(UInt16(truncatingIfNeeded: number))?.name ?? ""
        switch counter >> 32 {
        case 1: return "rows of \(entity)"
        case 2: return "last key of \(entity)"
        case 4: return "greatest version of deleted rows of \(entity)"
        default: return "cut entries of \(groupTrees.first { $0.id == number }?.name ?? "tree \(number)")"
        }
    }
}
