// Rewrites rows, moves them to other hierarchies, and removes those of removed entities.
//
// A tree of which most rows change is rewritten in one walk. Rows are changed one by one where few of them change,
// where they move to another tree, and where the walk would have to read other trees, which it cannot do.
//
// Invariants
//   1. A row that stays in place and need not be rewritten keeps its bytes; a hierarchy of such rows is not read.
//   2. Only rows of the older model are changed: rows that are moved from another hierarchy have greater keys.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    /// Moves and rewrites the rows of all hierarchies as the newer model requires.
    func changeRows(
        _ catalog: StoreCatalog, _ pairs: GatheredPairs, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let takenOver = Set(match.hierarchies.filter(\.takesOver).map { $0.sources[0] })
        for root in match.old.entities where root.root == root.index {
            let members = members(of: root.index)
            guard visitsRows(of: root) else {
                try countRemoved(members.filter { $0.fate == nil }.map(\.entity), in: transaction)
                continue
            }
            try changeRows(of: root, isTakenOver: takenOver.contains(root.index), catalog, pairs, in: &transaction)
        }
    }

    /// Whether the rows of an older hierarchy are read one by one.
    func visitsRows(of root: Entity) -> Bool {
        let members = members(of: root.index)
        let isTouched = members.contains { entity, fate in
            let change = changes[Int(oldCatalog.numbering.entityNumbers[entity.index])]
            guard let fate, let change else { return true }
            return !fate.staysInPlace || change.rewritesAll || !change.filledSlots.isEmpty || fate.entity.isAbstract
        }
        // If the newer model has no member of this hierarchy, its trees are dropped as a whole.
        return isTouched && members.contains { $0.fate != nil }
    }

    private func countRemoved(
        _ entities: [Entity], in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        for entity in entities {
            let number = oldCatalog.numbering.entityNumbers[entity.index]
            let rowCount = try transaction.counter(Counter.rows(entityNumber: number), oldCatalog)
            outcome.rowsRemoved.add(clamping: rowCount)
        }
    }

    private func changeRows(
        of root: Entity, isTakenOver: Bool, _ catalog: StoreCatalog, _ pairs: GatheredPairs,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(root.root == root.index, "\(root.name) has no tree of its own")
        let tree = try trees.current(oldCatalog.rowTree(of: root))
        let last = fates.formerLastKeys[root.index] ?? 0
        var rewriter = MigrationRewriter(self, catalog, pairs)
        defer { notes.part("rows of \(root.name)", rewriter.rowCount) }
        if try rewritesTree(of: root, in: transaction) {
            assert(isTakenOver, "rows of \(root.name) stay in a tree that is dropped")
            try rewrite(tree, of: root, lastKey: last, &rewriter, in: &transaction)
        } else {
            try changeRows(
                of: root, tree, lastKey: last, isTakenOver: isTakenOver, catalog, &rewriter, in: &transaction)
        }
        outcome.rowsWritten += rewriter.rowCount
    }

    /// Whether the tree of an older hierarchy is rewritten in one walk: all rows that are kept stay in it, at least
    /// half of its rows change, and no row needs others to be read.
    private func rewritesTree(
        of root: Entity, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> Bool {
        var (changed, kept) = (0, 0)
        for (entity, fate) in members(of: root.index) {
            let number = oldCatalog.numbering.entityNumbers[entity.index]
            let rowCount = try transaction.counter(Counter.rows(entityNumber: number), oldCatalog)
            guard let fate, let change = changes[Int(number)] else {
                changed.add(clamping: rowCount)
                continue
            }
            guard fate.staysInPlace, !change.needsPairs else { return false }
            if change.rewritesAll || fate.entity.isAbstract {
                changed.add(clamping: rowCount)
            } else {
                kept.add(clamping: rowCount)
            }
        }
        return changed > 0 && changed >= kept
    }

    /// Rewrites a tree, row by row.
    private func rewrite(
        _ tree: Tree<UInt64>, of root: Entity, lastKey: UInt64, _ rewriter: inout MigrationRewriter,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        try transaction.rewrite(tree) {
            (key: UInt64, row: RawSpan, new: inout [UInt8]) throws(StoreError) -> RewrittenEntry in
            // A row that was moved from another hierarchy (invariant 2).
            if key > lastKey { return .kept }
            try units.advance()
            return try rewriter.rewrite(row, key: key, in: root, into: &new)
        }
    }

    /// Changes rows one by one.
    private func changeRows(
        of root: Entity, _ tree: Tree<UInt64>, lastKey: UInt64, isTakenOver: Bool, _ catalog: StoreCatalog,
        _ rewriter: inout MigrationRewriter, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        var pending = PendingPuts()
        var cursor = try transaction.cursor(over: tree)
        while try cursor.next() {
            try units.advance()
            let key = try cursor.key
            if key > lastKey {
                guard !isTakenOver else { break }
                throw .damaged(entity: root.name, key: key, reason: "the key was never allocated")
            }
            var (number, bytes): (UInt16, [UInt8]?) = (0, nil)
            try cursor.withValue { row throws(StoreError) in
                number = try oldCatalog.check(row, in: root, key: key)
                guard let fate = fates[number], !fate.entity.isAbstract, let change = changes[Int(number)] else {
                    return
                }
                bytes = try rewriter.rewritten(row, key: key, number, fate, change, in: transaction)
                if bytes == nil, !fate.staysInPlace { bytes = row.copy(0..<row.byteCount) }
            }
            guard let fate = fates[number], !fate.entity.isAbstract else {
                noteRemoval(of: number, key: key)
                if isTakenOver { try transaction.remove(key, from: tree) }
                continue
            }
            if !fate.staysInPlace {
                outcome.rowsMoved += 1
                if isTakenOver { try transaction.remove(key, from: tree) }
            }
            guard let bytes else { continue }
            assert(!fate.entity.isAbstract && !bytes.isEmpty, "a row of \(fate.entity.name) has \(bytes.count) bytes")
            try pending.put(bytes, for: key &+ fate.offset, in: catalog.rowTree(of: fate.entity), of: &transaction)
        }
        try pending.write(to: &transaction)
    }

    /// Notes that a row with this entity number is removed: with its entity, or because its entity is abstract now.
    func noteRemoval(of number: UInt16, key: UInt64) {
        if let fate = fates[number] {
            failures.add(
                fate.entity.name, .abstractEntity, oldCatalog.numbering.id(entityNumber: number, key: key))
        }
        outcome.rowsRemoved += 1
    }
}

/// Rows that were built and are not written yet: a cursor finds its place anew after each write to its tree.
private struct PendingPuts {
    private static let byteCountMax = 64 << 10

    private var rows: [(bytes: [UInt8], key: UInt64, tree: Tree<UInt64>)] = []
    private var byteCount = 0

    mutating func put(
        _ bytes: [UInt8], for key: UInt64, in tree: Tree<UInt64>,
        of transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        rows.append((bytes, key, tree))
        byteCount += bytes.count
        if byteCount >= Self.byteCountMax { try write(to: &transaction) }
    }

    mutating func write(to transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        for row in rows { try transaction.put(row.bytes, for: row.key, in: row.tree) }
        rows.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}
