// Where to split a page that has no room for one more cell.
//
// Invariants
//   1. Both halves fit their pages with their new fences; such a place exists whatever the sizes are, since no cell is
//      longer than a quarter of a page and no fence longer than a quarter (StoreGeometry, invariant 2).
//   2. Counted are bytes, not cells. A run of insertions is split at its end, so that its pages stay full.

/// The cells of a full page together with the one that has no room.
struct SplitPlan {
    /// The page, or a copy of it.
    let view: PageView
    /// Where the new cell belongs.
    let newIndex: Int
    /// The new cell's key.
    let newKey: TreeKey
    /// The new cell's bytes, without its slot.
    let newCellByteCount: Int

    /// How many cells there are with the new one.
    var count: Int { view.cellCount + 1 }
    private var prefixLength: Int { view.prefixByteCount }

    /// Where the split goes.
    struct Cut {
        /// In a leaf: the first entry of the right page.
        ///
        /// In an interior page: the separator that moves up.
        let index: Int
        /// How many bytes of that key make the separator between both pages.
        let separatorByteCount: Int
    }

    /// What is known about the insertions before this one.
    enum Pattern {
        case ascending, descending, scattered
    }

    /// Cell `index` of the page without the new cell, or `nil` for the new one.
    @inline(__always)
    func oldIndex(_ index: Int) -> Int? {
        assert(index >= 0 && index < count, "cell \(index) of \(count)")
        if index == newIndex { return nil }
        return index < newIndex ? index : index - 1
    }

    /// Where the cells `range` are in the page: those before the new one, and those behind it.
    func oldIndices(of range: Range<Int>) -> (before: Range<Int>, behind: Range<Int>) {
        (
            min(range.lowerBound, newIndex)..<min(range.upperBound, newIndex),
            max(range.lowerBound - 1, newIndex)..<max(range.upperBound - 1, newIndex)
        )
    }

    /// The bytes of cell `index` and its slot, with the page's prefix left out.
    func byteCount(_ index: Int) -> Int {
        view.slotByteCount + (oldIndex(index).map { view.cellByteCount($0) } ?? newCellByteCount)
    }

    /// The bytes of all cells and their slots, counted in the same way.
    var totalByteCount: Int { view.usedByteCount + view.slotByteCount + newCellByteCount }

    /// Key `index` of a bytes page after the page's prefix.
    func suffix(_ index: Int) -> ByteString {
        oldIndex(index).map { view.suffix($0) } ?? newKey.bytes.dropping(prefixLength)
    }

    /// The first `byteCount` bytes of key `index`, copied to `buffer`.
    func copyKey(_ index: Int, byteCount: Int, to buffer: inout KeyBuffer) {
        assert(view.hasIntegerKeys || byteCount >= prefixLength, "\(byteCount) bytes of a key")
        if view.hasIntegerKeys {
            buffer.set(oldIndex(index).map { view.integerKey($0) } ?? newKey.integer)
        } else {
            buffer.set(view.prefix, suffix(index).prefix(byteCount - prefixLength))
        }
    }

    /// Whether nothing but the new entry leaves the page, and nothing of what stays is written otherwise.
    ///
    /// A bytes page is another one with another high fence: its cells leave out what the fences have in common.
    func leavesPageAsItIs(_ cut: Cut) -> Bool { view.hasIntegerKeys && newIndex == count - 1 && cut.index == newIndex }

    /// Chooses the cut.
    ///
    /// - Returns: `nil` only if the page breaks the format.
    func cut(_ pattern: Pattern) -> Cut? {
        let total = totalByteCount
        if let place = preferredIndex(pattern), let cut = cut(at: place, total: total) { return cut }
        return balancedCut(total: total)
    }

    /// Where a run of insertions wants the split.
    private func preferredIndex(_ pattern: Pattern) -> Int? {
        let last = count - 1
        let isRightEdge = isAtRightEdge
        guard view.isLeaf else { return isRightEdge && count > 2 ? last - 1 : nil }
        if isRightEdge { return last }
        switch pattern {
        case .ascending: return newIndex > 0 ? newIndex : nil
        case .descending: return newIndex < last ? newIndex + 1 : nil
        // What comes before all others may begin a run of its own, and leaves the full page as it is.
        case .scattered: return newIndex == 0 ? 1 : nil
        }
    }

    /// The cut at `place`, if both halves fit.
    private func cut(at place: Int, total: Int) -> Cut? {
        assert(place > 0 && place < count, "a cut at \(place) of \(count) cells")
        // Mostly it is near one end.
        let left =
            place * 2 < count
            ? (0..<place).reduce(0) { $0 + byteCount($1) }
            : (place..<count).reduce(total) { $0 - byteCount($1) }
        let cut = Cut(index: place, separatorByteCount: separatorByteCount(place))
        return fits(cut, leftByteCount: left, total: total) ? cut : nil
    }

    /// The cut with the shortest separator within the middle fifth; if none is there, the one nearest to the middle.
    private func balancedCut(total: Int) -> Cut? {
        var best: (cut: Cut, cost: Int, distance: Int)?
        var left = 0
        let middle = total / 2
        // An interior page gives one separator up, and should leave at least one on both sides.
        let places = view.isLeaf || count < 3 ? 1..<count : 1..<count - 1
        for index in 0..<places.upperBound {
            defer { left += byteCount(index) }
            guard places.contains(index) else { continue }
            let distance = abs(left - middle)
            let isCentral = distance <= total / 10
            if let best, !isCentral, best.distance <= distance { continue }
            let cut = Cut(index: index, separatorByteCount: separatorByteCount(index))
            let cost = isCentral ? cut.separatorByteCount : Int.max
            if let best, (best.cost, best.distance) <= (cost, distance) { continue }
            if fits(cut, leftByteCount: left, total: total) { best = (cut, cost, distance) }
        }
        return best?.cut
    }

    /// The length of the separator of a cut at `index`: in a leaf just enough to tell the key from the one before it.
    func separatorByteCount(_ index: Int) -> Int {
        assert(index > 0 && index < count || !view.isLeaf, "the separator before cell \(index) of \(count)")
        if view.hasIntegerKeys { return 8 }
        let key = suffix(index)
        guard view.isLeaf else { return prefixLength + key.count }
        return prefixLength + min(key.count, suffix(index - 1).commonPrefix(with: key) + 1)
    }

    private func fits(_ cut: Cut, leftByteCount: Int, total: Int) -> Bool {
        let isLeaf = view.isLeaf
        assert(leftByteCount >= 0 && leftByteCount <= total, "\(leftByteCount) of \(total) bytes")
        let rightByteCount = total - leftByteCount - (isLeaf ? 0 : byteCount(cut.index))
        let rightCount = count - cut.index - (isLeaf ? 0 : 1)
        let room = view.byteCount - TreeLayout.slots
        if view.hasIntegerKeys {
            return max(leftByteCount, rightByteCount) + TreeLayout.integerFenceByteCount <= room
        }
        // Both halves may get a longer prefix from their new fences, which each of their cells leaves out.
        let separator = suffix(cut.index).prefix(cut.separatorByteCount - prefixLength)
        let (low, high) = (view.lowFence, view.highFence)
        let leftGain = low.dropping(min(prefixLength, low.count)).commonPrefix(with: separator)
        let rightGain =
            high.count == 0 ? 0 : high.dropping(min(prefixLength, high.count)).commonPrefix(with: separator)
        let left = leftByteCount - cut.index * leftGain + low.count + cut.separatorByteCount
        let right = rightByteCount - rightCount * rightGain + cut.separatorByteCount + high.count
        return max(left, right) <= room
    }
}
