// Free space: bitmap pages mark the free pages. A freed page can be used again at once, even by its own transaction,
// because old versions are addressed by log position and not by page.
//
// Invariants
//   1. `state.freeCount` = sum of the bitmap pages' free counts = sum of `freeCounts`, at each commit.
//   2. Pages at or beyond `pageCount` are not marked free: extending the store touches no bitmap page.
//   3. A bitmap page is created with the first page of its group, so it always describes itself. Page validation
//      accepts nothing else at its place (rule `bitmapPlace`).

extension WritePages {
    package func allocate(
        near: PageNumber, count: Int
    ) throws(StorageError) -> (first: PageNumber, count: Int) {
        precondition(count > 0, "\(count) pages")
        writes.changeCount &+= 1
        if writes.state.freeCount > 0, let run = try takeFreeRun(near: near, count: count) { return run }
        return try extend(by: count)
    }

    package func free(_ page: PageNumber) throws(StorageError) {
        let geometry = versions.files.geometry
        guard page > FixedPlace.catalogRoot, page < writes.state.pageCount, !geometry.isBitmapPage(page) else {
            throw .corrupt(.pageBeyondEnd, page: page)
        }
        _ = noteForSavepoint(page)
        if let copy = writes.removeCopy(of: page) { release(copy) }
        writes.forget(page)
        let bitmap = try edit(geometry.bitmapPage(of: page))
        let bit = geometry.bitmapBit(of: page)
        guard !bitmap.view.bitmapIsFree(bit) else { throw .corrupt(.pageReachedButFree, page: page) }
        bitmap.view.setBitmap(bit, isFree: true)
        bitmap.view.setBitmap(
            freeCount: bitmap.view.bitmapFreeCount + 1, hint: min(bitmap.view.bitmapHint, bit))
        try adjustFreeCount(ofGroup: Int(page) / geometry.pagesPerBitmap, by: 1)
    }

    func adjustFreeCount(ofGroup group: Int, by difference: Int) throws(StorageError) {
        // The count of a slot is trusted until the bitmap pages are read; if it is wrong, it must not leave its range.
        let freeCount = Int(writes.state.freeCount) + difference
        guard freeCount >= 0, freeCount < Int(writes.state.pageCount) else {
            throw .corrupt(.freeCountWrong, page: FixedPlace.superblock)
        }
        writes.state.freeCount = UInt32(freeCount)
        writes.freeCounts?[group] += difference
        assert(writes.freeCounts?[group] ?? 0 >= 0, "invariant 1: group \(group) has fewer than no free pages")
    }

    // MARK: Free pages

    /// The free counts of all groups, read from the bitmap pages at the first use.
    func loadedFreeCounts() throws(StorageError) -> [Int] {
        if let counts = writes.freeCounts { return counts }
        var counts: [Int] = []
        var first: PageNumber = 0
        while first + 1 < writes.state.pageCount {
            let pin = try pin(first + 1)
            counts.append(pin.view.bitmapFreeCount)
            let next = first.addingReportingOverflow(PageNumber(versions.files.geometry.pagesPerBitmap))
            if next.overflow { break }
            first = next.partialValue
        }
        guard counts.reduce(0, +) == Int(writes.state.freeCount) else {
            throw .corrupt(.freeCountWrong, page: FixedPlace.firstBitmap, byteOffset: BitmapLayout.freeCount)
        }
        writes.freeCounts = counts
        return counts
    }

    /// Allocates up to `count` consecutive free pages.
    ///
    /// The result is a run of the full length if one of the next eight groups with free pages has it, else the longest
    /// run found there if it is at least a quarter of `count`. It is `nil` if the store should be extended instead.
    private func takeFreeRun(
        near: PageNumber, count: Int
    ) throws(StorageError) -> (first: PageNumber, count: Int)? {
        let counts = try loadedFreeCounts()
        let per = versions.files.geometry.pagesPerBitmap
        let nearGroup = min(Int(near) / per, counts.count - 1)
        var best: (group: Int, run: Range<Int>)?
        var groupsSeen = 0
        for step in 0..<counts.count {
            let group = step == 0 ? nearGroup : (writes.allocationGroup + step - 1) % counts.count
            guard counts[group] > 0 else { continue }
            groupsSeen += 1
            let bitmap = try pin(PageNumber(group * per + 1))
            let start = group == nearGroup && count == 1 ? Int(near) % per : bitmap.view.bitmapHint
            var run = bitmap.view.freeRun(from: start, wanted: count)
            if run.isEmpty { run = bitmap.view.freeRun(from: bitmap.view.bitmapHint, wanted: count) }
            if run.count > best?.run.count ?? 0 { best = (group, run) }
            if run.count == count || groupsSeen == 8 { break }
        }
        guard let best, best.run.count * 4 >= count else { return nil }
        assert(best.run.count <= count && best.run.upperBound <= per, "pages \(best.run) of group \(best.group)")
        writes.allocationGroup = best.group
        return try take(best.run, ofGroup: best.group)
    }

    func take(
        _ run: Range<Int>, ofGroup group: Int
    ) throws(StorageError) -> (first: PageNumber, count: Int) {
        assert(!run.isEmpty, "no pages of group \(group)")
        let base = group * versions.files.geometry.pagesPerBitmap
        let bitmap = try edit(PageNumber(base + 1))
        let view = bitmap.view
        guard base + run.upperBound <= Int(writes.state.pageCount), view.bitmapFreeCount >= run.count else {
            throw .corrupt(.freeCountWrong, page: bitmap.number, byteOffset: BitmapLayout.freeCount)
        }
        assert(run.allSatisfy { view.bitmapIsFree($0) }, "pages \(run) of group \(group) are not free")
        for bit in run { view.setBitmap(bit, isFree: false) }
        // No page below the old hint is free. The hint advances past the run only if the run has the lowest free page.
        let isLowest = view.freeRun(from: view.bitmapHint, wanted: 1).lowerBound >= run.lowerBound
        view.setBitmap(
            freeCount: view.bitmapFreeCount - run.count, hint: isLowest ? run.upperBound : view.bitmapHint)
        try adjustFreeCount(ofGroup: group, by: -run.count)
        for bit in run { addFresh(PageNumber(base + bit)) }
        return (PageNumber(base + run.lowerBound), run.count)
    }

    // MARK: Extending the store

    private func extend(by count: Int) throws(StorageError) -> (first: PageNumber, count: Int) {
        let per = versions.files.geometry.pagesPerBitmap
        let first = writes.state.pageCount
        let bit = Int(first) % per
        assert(count > 0, "\(count) pages")
        // The last page number is never used, so that a page count fits into 32 bits.
        guard UInt64(first) + UInt64(count) + 2 < UInt64(UInt32.max) else { throw .diskFull }
        guard bit == 0 else {
            let taken = min(count, per - bit)
            writes.state.pageCount += UInt32(taken)
            for page in first..<first + UInt32(taken) { addFresh(page) }
            return (first, taken)
        }
        // A new group: its bitmap page is its second page (invariant 3).
        writes.state.pageCount += 2
        addFresh(first)
        addFresh(first + 1)
        let bitmap = try edit(first + 1)
        bitmap.view.formatBitmap(number: first + 1)
        writes.freeCounts?.append(0)
        return (first, 1)
    }
}

extension PageView {
    /// The first run of `wanted` free pages at or after bit `start` of a bitmap page, or else the longest run there.
    func freeRun(from start: Int, wanted: Int) -> Range<Int> {
        assert(start >= 0 && wanted > 0, "\(wanted) pages from \(start) on")
        let end = bitmapWordCount * 64
        var best = 0..<0
        var bit = start
        while bit < end {
            // Skip to the next free page.
            let word = bitmapWord(bit / 64) >> UInt64(bit % 64)
            if word == 0 {
                bit = (bit / 64 + 1) * 64
                continue
            }
            bit += word.trailingZeroBitCount
            // Find the end of its run, a word at a time.
            let first = bit
            while bit < end, bit - first < wanted {
                let inverse = ~(bitmapWord(bit / 64) >> UInt64(bit % 64))
                let ones = min(inverse.trailingZeroBitCount, 64 - bit % 64)
                bit += ones
                if ones == 0 || bit % 64 != 0 { break }
            }
            let run = first..<min(bit, first + wanted)
            if run.count > best.count { best = run }
            if best.count == wanted { break }
        }
        assert(best.count <= wanted && best.upperBound <= end, "pages \(best) of \(end)")
        assert(best.isEmpty || bitmapIsFree(best.lowerBound) && bitmapIsFree(best.upperBound - 1), "pages \(best)")
        return best
    }
}
