// Distributes the entries of neighboring leaves, and a new one that does not fit, over as many leaves or one more.
//
// Invariants
//   1. The plan owns copies of the leaves, so it stays valid while they are written.
//   2. Every new leaf is measured to the byte, with its new fences and prefix, before anything is written.

/// The entries of adjacent leaves together with a new one, and the cuts between the new leaves.
struct SpreadPlan: ~Copyable {
    /// The greatest number of leaves that share their entries.
    static let leafCountMax = 6

    /// An entry and its present place.
    private struct Entry {
        /// The number of its leaf among the copies; -1 for the new entry.
        let leaf: Int
        let index: Int
        /// The bytes of its slot and its cell, with the whole key.
        let byteCount: Int
    }

    /// The number of new leaves.
    private(set) var leafCount = 0
    /// The place of the new entry: its new leaf, and the index in it.
    private(set) var placeOfNew = (leaf: 0, index: 0)
    private let pageSize: Int
    private let copyCount: Int
    private let key: TreeKey
    private let stored: StoredValue
    /// Copies of the leaves, a key that is compared, and in a bytes tree the keys of the separators.
    private let memory: ScratchBytes
    private var entries: [Entry] = []
    /// The first entry of each leaf but the first.
    private var cuts: [Int] = []
    /// The bytes of the separators before these entries.
    private var separatorByteCounts: [Int] = []

    /// A plan with room for copies of `copyCount` leaves, to which `key` and `stored` will be added.
    init(copyCount: Int, pageSize: Int, _ key: TreeKey, _ stored: StoredValue) {
        assert((1...Self.leafCountMax).contains(copyCount), "\(copyCount) leaves")
        self.copyCount = copyCount
        self.pageSize = pageSize
        self.key = key
        self.stored = stored
        memory = ScratchBytes(byteCount: (copyCount + 1 + Self.leafCountMax) * pageSize)
    }

    /// The copy of a leaf, to be filled by the caller.
    func copy(_ number: Int) -> PageView {
        assert(number >= 0 && number < copyCount, "leaf \(number) of \(copyCount)")
        return memory.view(at: number * pageSize, byteCount: pageSize)
    }

    /// The free bytes that each new leaf must have on average so that a spread is worthwhile.
    static func worthwhileByteCount(pageSize: Int) -> Int { pageSize / 32 }

    /// The bytes of slot and cell of the new entry in a leaf like `view`, with the whole key.
    static func byteCount(of key: TreeKey, _ stored: StoredValue, in view: PageView) -> Int {
        view.slotByteCount + TreeLayout.valueWordByteCount + (view.hasIntegerKeys ? 0 : key.bytes.count)
            + stored.cellByteCount
    }

    /// Lists the entries of the copies, with the new one at `index` of leaf `leaf`.
    mutating func collect(newAt index: Int, of leaf: Int) {
        assert(leaf >= 0 && leaf < copyCount && index >= 0, "entry \(index) of leaf \(leaf)")
        entries.reserveCapacity((0..<copyCount).reduce(1) { $0 + copy($1).cellCount })
        for number in 0..<copyCount {
            let view = copy(number)
            let extra = view.slotByteCount + view.prefixByteCount
            for place in 0...view.cellCount {
                if number == leaf, place == index {
                    entries.append(Entry(leaf: -1, index: 0, byteCount: Self.byteCount(of: key, stored, in: view)))
                }
                guard place < view.cellCount else { break }
                entries.append(Entry(leaf: number, index: place, byteCount: extra + view.cellByteCount(place)))
            }
        }
    }

    /// Chooses the cuts so that `leafCount` leaves get about the same number of bytes.
    ///
    /// - Returns: the number of bytes that stay free in all of them together; `nil` if a leaf cannot hold its share.
    mutating func cut(into leafCount: Int) -> Int? {
        assert(leafCount >= copyCount && leafCount <= copyCount + 1, "\(copyCount) leaves become \(leafCount)")
        self.leafCount = leafCount
        cuts.removeAll()
        separatorByteCounts.removeAll()
        let total = entries.reduce(0) { $0 + $1.byteCount }
        var sum = 0
        for (number, entry) in entries.enumerated() {
            // Cuts at the entry boundary nearest to the leaf's share; at most one cut per boundary.
            let share = total * (cuts.count + 1) / leafCount
            if cuts.count < leafCount - 1, number > cuts.last ?? 0, sum + entry.byteCount / 2 >= share {
                cuts.append(number)
                separatorByteCounts.append(copySeparator(before: number, as: cuts.count - 1))
            }
            if entry.leaf < 0 { placeOfNew = (cuts.count, number - (cuts.last ?? 0)) }
            sum += entry.byteCount
        }
        guard cuts.count == leafCount - 1 else { return nil }
        assert(cuts.first ?? 1 > 0 && zip(cuts, cuts.dropFirst()).allSatisfy { $0 < $1 }, "a leaf is empty")
        var free = 0
        for number in 0..<leafCount {
            let rest = pageSize - byteCount(ofLeaf: number)
            guard rest >= 0 else { return nil }
            free += rest
        }
        return free
    }

    /// The separator between new leaves `number` and `number + 1`.
    func separator(_ number: Int) -> TreeKey {
        assert(number >= 0 && number < cuts.count, "separator \(number) of \(cuts.count)")
        if copy(0).hasIntegerKeys { return TreeKey(integerKey(entries[cuts[number]])) }
        return TreeKey(memory.view(at: placeOfSeparator(number)).bytes(0, separatorByteCounts[number]))
    }

    /// Writes new leaf `number` as page `page` to `view`.
    func build(_ number: Int, as page: PageNumber, to view: PageView) throws(StorageError) {
        let range = range(ofLeaf: number)
        let (low, high) = fences(ofLeaf: number)
        let identity = TreePageIdentity(
            number: page, treeID: copy(0).treeID, level: 0, isInteger: copy(0).hasIntegerKeys)
        assert(!range.isEmpty, "leaf \(number) has no entries")
        var builder = TreePageBuilder(view, identity, count: range.count, low: low, high: high)
        var next = range.lowerBound
        while next < range.upperBound {
            let first = entries[next]
            guard first.leaf >= 0 else {
                try builder.append(key, stored)
                next += 1
                continue
            }
            // Entries that are adjacent in one leaf are copied at once.
            var end = next + 1
            while end < range.upperBound, entries[end].leaf == first.leaf { end += 1 }
            try builder.append(from: copy(first.leaf), first.index..<first.index + end - next)
            next = end
        }
        builder.finish()
        assert(
            view.occupiedByteCount == byteCount(ofLeaf: number), "invariant 2: leaf \(number) was measured otherwise")
    }

    // MARK: - New leaves

    private func range(ofLeaf number: Int) -> Range<Int> {
        assert(number >= 0 && number <= cuts.count, "leaf \(number) of \(cuts.count + 1)")
        return (number == 0 ? 0 : cuts[number - 1])..<(number == cuts.count ? entries.count : cuts[number])
    }

    private func fences(ofLeaf number: Int) -> (low: TreeKey?, high: TreeKey?) {
        assert(number >= 0 && number <= cuts.count, "leaf \(number) of \(cuts.count + 1)")
        return (
            number == 0 ? copy(0).lowFenceKey : separator(number - 1),
            number == cuts.count ? copy(copyCount - 1).highFenceKey : separator(number)
        )
    }

    private func byteCount(ofLeaf number: Int) -> Int {
        let range = range(ofLeaf: number)
        let cells = entries[range].reduce(TreeLayout.slots) { $0 + $1.byteCount }
        if copy(0).hasIntegerKeys { return cells + TreeLayout.integerFenceByteCount }
        let (low, high) = fences(ofLeaf: number)
        // Every key leaves out the common prefix of the fences.
        let prefix = high.flatMap { high in low.map { $0.bytes.commonPrefix(with: high.bytes) } } ?? 0
        return cells - range.count * prefix + (low?.bytes.count ?? 0) + (high?.bytes.count ?? 0)
    }

    // MARK: - Keys

    private func integerKey(_ entry: Entry) -> UInt64 {
        assert(copy(0).hasIntegerKeys && entry.leaf < copyCount, "leaf \(entry.leaf) of \(copyCount)")
        return entry.leaf < 0 ? key.integer : copy(entry.leaf).integerKey(entry.index)
    }

    private func placeOfSeparator(_ number: Int) -> Int {
        assert(number >= 0 && number < Self.leafCountMax, "separator \(number)")
        return (copyCount + 1 + number) * pageSize
    }

    /// Copies the separator before entry `entry`: just enough of its key to tell it from the one before.
    ///
    /// - Returns: its byte count; 0 in an integer tree, whose separators are not copied.
    private func copySeparator(before entry: Int, as number: Int) -> Int {
        assert(entry > 0 && entry < entries.count, "entry \(entry) of \(entries.count)")
        guard !copy(0).hasIntegerKeys else { return 0 }
        let before = copyKey(entries[entry - 1], to: copyCount * pageSize)
        let behind = copyKey(entries[entry], to: placeOfSeparator(number))
        return min(behind.count, before.commonPrefix(with: behind) + 1)
    }

    private func copyKey(_ entry: Entry, to place: Int) -> ByteString {
        assert(place >= 0 && entry.leaf < copyCount, "leaf \(entry.leaf) of \(copyCount)")
        let target = memory.view(at: place, byteCount: pageSize)
        guard entry.leaf >= 0 else {
            target.copy(key.bytes, to: 0)
            return target.bytes(0, key.bytes.count)
        }
        let (prefix, suffix) = (copy(entry.leaf).prefix, copy(entry.leaf).suffix(entry.index))
        target.copy(prefix, to: 0)
        target.copy(suffix, to: prefix.count)
        return target.bytes(0, prefix.count + suffix.count)
    }
}
