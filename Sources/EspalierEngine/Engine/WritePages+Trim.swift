// The end of the store: the free-space queries of a shrink, and the removal of free pages at the end.
//
// Invariants
//   1. A page that is removed from the store is marked as in use if its group's bitmap page stays, so pages at or
//      beyond the page count are never marked free. A group is removed together with its bitmap page.
//   2. Savepoints note a removal like any other change: a rollback restores the pages.

extension WritePages {
    /// The last pages in use that can be moved: at most `count`, none before `limit`, in descending order.
    func lastPagesInUse(_ count: Int, from limit: PageNumber) throws(StorageError) -> [PageNumber] {
        assert(count >= 0, "\(count) pages")
        let geometry = versions.files.geometry
        var found: [PageNumber] = []
        var page = writes.state.pageCount
        while page > limit, found.count < count {
            page -= 1
            if !geometry.isBitmapPage(page), try !isFree(page) { found.append(page) }
        }
        assert(zip(found, found.dropFirst()).allSatisfy { $0 > $1 }, "page numbers do not descend")
        return found
    }

    /// Allocates the lowest free page, if it is below `limit`.
    func takeLowest(below limit: PageNumber) throws(StorageError) -> PageNumber? {
        writes.changeCount &+= 1
        let per = versions.files.geometry.pagesPerBitmap
        guard let group = try loadedFreeCounts().firstIndex(where: { $0 > 0 }), group * per < Int(limit) else {
            return nil
        }
        let run = try lowestFree(ofBitmap: PageNumber(group * per + 1))
        guard let bit = run.first, group * per + bit < Int(limit) else { return nil }
        return try take(run, ofGroup: group).first
    }

    private func lowestFree(ofBitmap page: PageNumber) throws(StorageError) -> Range<Int> {
        let bitmap = try pin(page)
        return bitmap.view.freeRun(from: bitmap.view.bitmapHint, wanted: 1)
    }

    private func isFree(_ page: PageNumber) throws(StorageError) -> Bool {
        let geometry = versions.files.geometry
        let bitmap = try pin(geometry.bitmapPage(of: page))
        return bitmap.view.bitmapIsFree(geometry.bitmapBit(of: page))
    }

    /// Removes the free pages after the last page in use.
    func trimEnd() throws(StorageError) {
        let before = writes.state.pageCount
        _ = try loadedFreeCounts()
        while writes.state.pageCount > FixedPlace.initialPageCount {
            let last = writes.state.pageCount - 1
            // A bitmap page is removed with the first page of its group, the only other one that is left.
            let goesWithGroup = versions.files.geometry.isBitmapPage(last)
            guard try isFree(goesWithGroup ? last - 1 : last) else { break }
            if goesWithGroup { try trimGroup(bitmap: last) } else { try trimPage(last) }
        }
        // A commit consists of changed pages only, so change one.
        if writes.state.pageCount < before { _ = try edit(FixedPlace.firstBitmap) }
    }

    private func trimPage(_ last: PageNumber) throws(StorageError) {
        assert(last + 1 == writes.state.pageCount, "page \(last) of \(writes.state.pageCount) is not the last one")
        let geometry = versions.files.geometry
        let bitmap = try edit(geometry.bitmapPage(of: last))
        bitmap.view.setBitmap(geometry.bitmapBit(of: last), isFree: false)
        bitmap.view.setBitmap(freeCount: bitmap.view.bitmapFreeCount - 1, hint: bitmap.view.bitmapHint)
        try adjustFreeCount(ofGroup: Int(last) / geometry.pagesPerBitmap, by: -1)
        writes.state.pageCount = last
    }

    private func trimGroup(bitmap last: PageNumber) throws(StorageError) {
        assert(versions.files.geometry.isBitmapPage(last), "page \(last) is no bitmap page")
        try adjustFreeCount(ofGroup: Int(last) / versions.files.geometry.pagesPerBitmap, by: -1)
        _ = noteForSavepoint(last)
        if let copy = writes.removeCopy(of: last) { release(copy) }
        writes.forget(last)
        writes.freeCounts?.removeLast()
        writes.state.pageCount = last - 1
    }
}
