// Chooses where to split a page that has no room for one more cell.
//
// Invariants
//   1. Both halves fit their pages with their new fences; such a cut exists whatever the sizes are, because no cell is
//      longer than a quarter of a page and no fence longer than a quarter (StoreGeometry, invariant 2).
//   2. A cut balances bytes, not cells. A run of insertions is cut at its end, so that its pages stay full.

/// The cells of a full page together with the new one that does not fit.
struct SplitPlan {
    /// The page, or a copy of it.
    let view: PageView
    /// The index where the new cell belongs.
    let newIndex: Int
    /// The new cell's key.
    let newKey: TreeKey
    /// The new cell's bytes, without its slot.
    let newCellByteCount: Int

    /// The number of cells, the new one included.
    var count: Int { view.cellCount + 1 }
    private var prefixLength: Int { view.prefixByteCount }

    /// The place of a split.
    struct Cut {
        /// In a leaf: the first entry of the right page.
        ///
        /// In an interior page: the separator that moves up.
        let index: Int
        /// The number of bytes of that key that form the separator between both pages.
        let separatorByteCount: Int
    }

    /// The pattern of the insertions before this one.
    enum Pattern {
        case ascending, descending, scattered
    }

    /// The index in the page of cell `index`; `nil` for the new cell.
    @inline(__always)
    func oldIndex(_ index: Int) -> Int? {
        assert(index >= 0 && index < count, "cell \(index) of \(count)")
        if index == newIndex { return nil }
        return index < newIndex ? index : index - 1
    }

    /// The indices in the page of the cells `range`: those before the new cell, and those after it.
    func oldIndices(of range: Range<Int>) -> (before: Range<Int>, after: Range<Int>) {
        assert(range.lowerBound >= 0 && range.upperBound <= count, "cells \(range) of \(count)")
        return (
            min(range.lowerBound, newIndex)..<min(range.upperBound, newIndex),
            max(range.lowerBound - 1, newIndex)..<max(range.upperBound - 1, newIndex)
        )
    }

    /// The bytes of cell `index` and its slot, with the page's prefix left out.
    func byteCount(_ index: Int) -> Int {
        view.slotByteCount + (oldIndex(index).map { view.cellByteCount($0) } ?? newCellByteCount)
    }

    /// The bytes of all cells and their slots, also with the page's prefix left out.
    var totalByteCount: Int { view.usedByteCount + view.slotByteCount + newCellByteCount }

    /// Key `index` of a bytes page after the page's prefix.
    func suffix(_ index: Int) -> ByteString {
        assert(!view.hasIntegerKeys, "the bytes of an integer are read")
        return oldIndex(index).map { view.suffix($0) } ?? newKey.bytes.dropping(prefixLength)
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

    /// Whether only the new entry is in the right page, and the cells of the left page stay as they are.
    ///
    /// `false` for a bytes page: with a new high fence its prefix changes, which its cells leave out.
    func leavesPageAsItIs(_ cut: Cut) -> Bool { view.hasIntegerKeys && newIndex == count - 1 && cut.index == newIndex }

    /// Chooses the cut.
    ///
    /// - Returns: `nil` only if the page breaks the format.
    func cut(_ pattern: Pattern) -> Cut? {
        let total = totalByteCount
        if let place = preferredIndex(pattern), let cut = cut(at: place, total: total) { return cut }
        return balancedCut(total: total)
    }

    /// The best index for a run of insertions; `nil` without such a run.
    private func preferredIndex(_ pattern: Pattern) -> Int? {
        assert(newIndex >= 0 && newIndex < count, "cell \(newIndex) of \(count) is new")
        let last = count - 1
        let isRightEdge = isAtRightEdge
        guard view.isLeaf else { return isRightEdge && count > 2 ? last - 1 : nil }
        if isRightEdge { return last }
        switch pattern {
        case .ascending: return newIndex > 0 ? newIndex : nil
        case .descending: return newIndex < last ? newIndex + 1 : nil
        // An entry before all others may begin a run of its own; the other entries then stay in one page.
        case .scattered: return newIndex == 0 ? 1 : nil
        }
    }

    /// The cut at `place`, if both halves fit.
    private func cut(at place: Int, total: Int) -> Cut? {
        assert(place > 0 && place < count, "a cut at \(place) of \(count) cells")
        // The cut is usually near one end, so the shorter side is summed.
        let left =
            place * 2 < count
            ? (0..<place).reduce(0) { $0 + byteCount($1) }
            : (place..<count).reduce(total) { $0 - byteCount($1) }
        let cut = Cut(index: place, separatorByteCount: separatorByteCount(place))
        return fits(cut, leftByteCount: left, total: total) ? cut : nil
    }

    /// The cut with the shortest separator within the middle fifth; if there is none, the one nearest to the middle.
    private func balancedCut(total: Int) -> Cut? {
        assert(total == totalByteCount && total > 0, "cells of \(total) bytes")
        var best: (cut: Cut, cost: Int, distance: Int)?
        var left = 0
        let middle = total / 2
        // An interior page moves one separator up, and should keep at least one on each side.
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
