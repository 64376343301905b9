// Rewrites a tree of integer keys: each entry is kept, removed or gets another value, and all pages become full.
//
// Invariants
//   1. The root keeps its page. Each other page is copied into memory and freed before its entries are visited, so that
//      the new pages take the places of the old ones: the store grows only by as much as the values do.
//   2. A leaf begins where the one before it ends. So even in a damaged tree the keys ascend, no entry is visited
//      twice, and a new page that took the place of an old one is not read as an old one.
//   3. A chain of overflow pages belongs to one entry: it is kept with its value, or freed.
// Not here: the state of a transaction in which a rewrite fails (WriteTransaction+Rewrite).

/// The outcome of a rewrite for one entry.
@usableFromInline
package enum RewrittenEntry {
    /// The entry keeps its value.
    case kept
    /// The entry is removed.
    case removed
    /// The first `byteCount` bytes of the array become the value.
    case replaced(byteCount: Int)
}

/// The position of a rewrite between two leaves.
private struct RewritePlace {
    /// Whether a leaf has been visited.
    var hasBegun = false
    /// The high fence of the last leaf, if it has one.
    var fence: UInt64?
    /// The number of entries that were visited.
    var visitedCount: UInt64 = 0
    /// Memory for new values.
    var bytes: [UInt8] = []
}

extension BTree where Source: WritablePageSource {
    /// Decides about one entry; the new value, if there is one, is at the beginning of `new`, which may be lengthened.
    ///
    /// - Returns: `nil` to end the rewrite.
    package typealias Rewriting = (_ key: UInt64, _ value: RawSpan, _ new: inout [UInt8]) -> RewrittenEntry?

    /// Rewrites the tree of `record`, called `name`, entry by entry in ascending order.
    ///
    /// - Returns: `false` if `body` ended the rewrite. The changes must then be undone, as after an error.
    /// - Throws: `valueTooLarge`, `corruption`, or what the source throws.
    /// - Complexity: O(entries); a value in overflow pages is read as a whole, and pages of it that stay equal at its
    ///   end are not written.
    package func rewrite(
        _ record: inout TreeRecord, name: String, _ body: Rewriting
    ) throws(StorageError) -> Bool {
        precondition(record.kind == .integer, "tree \(record.treeID) has keys of bytes")
        var empty = record
        (empty.entryCount, empty.leafPageCount, empty.height) = (0, 1, 1)
        var load = BulkLoad(source, empty, name: name)
        var place = RewritePlace()
        let root = try copied(record.root, PageView.anyLevel, record) { _ in [] }
        guard try rewrite(below: root.view, record, &place, &load, body) else { return false }
        // A rewrite must not hide that a damaged tree has lost entries.
        guard place.fence == nil else { throw .corrupt(.fencesOfChild, page: record.root, tree: record.treeID) }
        guard place.visitedCount == record.entryCount else {
            throw .corrupt(.entryCount, page: record.root, tree: record.treeID)
        }
        record = try load.finish()
        return true
    }

    /// A copy of a page of the tree.
    private func copied(
        _ page: PageNumber, _ expectedLevel: Int, _ record: TreeRecord, ahead: (_ countMax: Int) -> [PageNumber]
    ) throws(StorageError) -> ScratchPage {
        let copy = ScratchPage(byteCount: source.pageSize)
        let pin = try source.pin(page, ahead: ahead)
        try check(pin.view, page, record, expectedLevel)
        copy.view.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
        return copy
    }

    /// Rewrites the entries of a page, or of the pages below it; the recursion is as deep as the tree.
    ///
    /// - Parameter view: a copy of the page.
    private func rewrite(
        below view: PageView, _ record: TreeRecord, _ place: inout RewritePlace, _ load: inout BulkLoad<Source>,
        _ body: Rewriting
    ) throws(StorageError) -> Bool {
        if view.isLeaf { return try rewriteEntries(of: view, record, &place, &load, body) }
        for index in 0...view.cellCount {
            let child = view.child(index)
            let copy = try copied(child, view.level - 1, record) { countMax in
                (index + 1..<index + 1 + countMax).clamped(to: 0..<view.cellCount + 1).map { view.child($0) }
            }
            try source.free(child)
            guard try rewrite(below: copy.view, record, &place, &load, body) else { return false }
        }
        return true
    }

    private func rewriteEntries(
        of view: PageView, _ record: TreeRecord, _ place: inout RewritePlace, _ load: inout BulkLoad<Source>,
        _ body: Rewriting
    ) throws(StorageError) -> Bool {
        let hasFence = view.lowFenceByteCount > 0
        guard place.hasBegun ? hasFence && place.fence == view.integerLowFence : !hasFence else {
            throw .corrupt(.fencesOfChild, page: view.storedNumber, tree: record.treeID)
        }
        place.visitedCount += UInt64(view.cellCount)
        (place.hasBegun, place.fence) = (true, view.highFenceByteCount > 0 ? view.integerHighFence : nil)
        for index in 0..<view.cellCount {
            let (key, value) = (view.integerKey(index), view.value(index))
            let outcome: RewrittenEntry?
            switch value {
            case .inline(let bytes): outcome = bytes.withSpan { body(key, $0, &place.bytes) }
            case .overflow(let first, let byteCount):
                let bytes = try overflowValue(first, byteCount: byteCount, treeID: record.treeID)
                // SAFETY: the array outlives the call.
                outcome = unsafe body(key, bytes.span.bytes, &place.bytes)
            }
            guard let outcome else { return false }
            switch outcome {
            case .kept: try append(key, value, record, &load)
            case .removed: try freeOverflow(of: value, treeID: record.treeID)
            case .replaced(let byteCount):
                precondition(byteCount >= 0 && byteCount <= place.bytes.count, "\(byteCount) bytes are no new value")
                try append(key, place.bytes, byteCount, replacing: value, record, &load)
            }
        }
        return true
    }

    /// Appends an entry whose value is stored.
    private func append(
        _ key: UInt64, _ value: StoredValue, _ record: TreeRecord, _ load: inout BulkLoad<Source>
    ) throws(StorageError) {
        guard try load.append(TreeKey(key), stored: value) else {
            throw .corrupt(.keyOrder, page: record.root, tree: record.treeID)
        }
    }

    /// Appends an entry with the first `byteCount` of `bytes` in place of `former`.
    private func append(
        _ key: UInt64, _ bytes: [UInt8], _ byteCount: Int, replacing former: StoredValue, _ record: TreeRecord,
        _ load: inout BulkLoad<Source>
    ) throws(StorageError) {
        // SAFETY: the array outlives the closure.
        unsafe try bytes.span.bytes.withUnsafeBytes { buffer throws(StorageError) in
            let value = unsafe ByteString(buffer).prefix(byteCount)
            let stored: StoredValue
            if case .overflow(let first, let length) = former, isLong(value) {
                let chain = try replaceChain(first, byteCount: length, by: value, of: record)
                stored = .overflow(first: chain, byteCount: UInt64(value.count))
            } else {
                stored = try storedForm(checking: TreeKey(key), value, of: record)
                try freeOverflow(of: former, treeID: record.treeID)
            }
            try append(key, stored, record, &load)
        }
    }
}
