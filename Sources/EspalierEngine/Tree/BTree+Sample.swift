// A sample of the keys of a tree, from the pages near its root: a statistic of its keys without a walk over them.
//
// Invariants
//   1. The keys ascend, even in a damaged tree: the keys of each page were verified when it was read, and two pages
//      that follow each other in a level must have equal fences.
//   2. A sample reads at most `SampledLevel.pageCountMax` pages of each level, twice at most, however many entries the
//      tree has.

extension BTree {
    /// Keys that divide a tree of bytes keys into parts of about equal numbers of entries.
    ///
    /// Key i of n has about (i + 1) / (n + 1) of all entries below it. The keys are entries of a tree with few leaves,
    /// else separators, which are entries or shorter. A level whose pages are few is divided by their children; so the
    /// parts are more than 32, or single entries.
    ///
    /// - Parameter countMax: the greatest number of keys, at least 1.
    /// - Returns: ascending keys; none if the tree has at most one entry.
    /// - Throws: `corruption`, or what the source throws.
    /// - Complexity: O(height) pages.
    package func sampledKeys(of record: TreeRecord, atMost countMax: Int) throws(StorageError) -> [[UInt8]] {
        assert(record.kind == .bytes && countMax > 0, "\(countMax) keys of tree \(record.treeID)")
        var level = try readLevel([record.root], expectedLevel: PageView.anyLevel, in: record)
        while !level.children.isEmpty, level.children.count <= SampledLevel.pageCountMax {
            level = try readLevel(level.children, expectedLevel: level.number - 1, in: record)
        }
        return try keys(of: level, atMost: countMax, in: record)
    }

    /// Reads the pages of one level, from left to right.
    private func readLevel(
        _ pages: [PageNumber], expectedLevel: Int, in record: TreeRecord
    ) throws(StorageError) -> SampledLevel {
        var level = SampledLevel(pages: pages)
        var highFence: [UInt8] = []
        for (index, page) in pages.enumerated() {
            let pin = try source.pin(page)
            let view = pin.view
            try check(view, page, record, expectedLevel)
            guard index == 0 || view.lowFenceByteCount > 0 && view.lowFence.array == highFence else {
                throw .corrupt(.fencesOfChild, page: page, tree: record.treeID)
            }
            highFence = view.highFence.array
            level.number = view.level
            level.partCounts.append(view.partCount)
            if !view.isLeaf { for child in 0..<view.partCount { level.children.append(view.child(child)) } }
        }
        return level
    }

    /// The least keys of parts of `level` at equal distances.
    private func keys(
        of level: SampledLevel, atMost countMax: Int, in record: TreeRecord
    ) throws(StorageError) -> [[UInt8]] {
        let partCount = level.partCounts.reduce(0, +)
        let keyCount = min(countMax, partCount - 1)
        guard keyCount > 0 else { return [] }
        var keys: [[UInt8]] = []
        keys.reserveCapacity(keyCount)
        var first = 0
        for (page, count) in zip(level.pages, level.partCounts) {
            let pin = try source.pin(page)
            let view = pin.view
            try check(view, page, record, level.number)
            // A file that changes below its reader gives another page than before.
            guard view.partCount == count else { throw .corrupt(.fencesOfChild, page: page, tree: record.treeID) }
            while keys.count < keyCount, case let part = (keys.count + 1) * partCount / (keyCount + 1),
                part < first + count
            {
                keys.append(view.lowerBound(ofPart: part - first))
            }
            first += count
        }
        assert(keys.count == keyCount, "\(keys.count) keys of \(keyCount)")
        return keys
    }
}

/// All pages of one level of a tree.
private struct SampledLevel {
    /// The most pages of a level that are read.
    static let pageCountMax = 32

    /// From left to right.
    let pages: [PageNumber]
    /// The level of the pages; 0 for leaves.
    var number = 0
    /// The number of parts into which each page divides its keys.
    var partCounts: [Int] = []
    /// The children of all pages; none of leaves.
    var children: [PageNumber] = []
}

extension PageView {
    /// The number of parts into which this page divides its keys: the entries of a leaf, the children of other pages.
    fileprivate var partCount: Int { isLeaf ? cellCount : cellCount &+ 1 }

    /// The key from which on part `index` of a bytes page has the keys.
    fileprivate func lowerBound(ofPart index: Int) -> [UInt8] {
        assert(index >= 0 && index < partCount, "part \(index) of \(partCount)")
        if isLeaf { return keyArray(index) }
        return index == 0 ? lowFence.array : keyArray(index &- 1)
    }
}
