// FileFormat.md, sections 6 and 9: bitmap pages, and free pages against referenced pages. Rules 50 to 53 and 91 to 93.
//
// Invariants
//   1. The check ends at the first bitmap page that neither file holds or that is a hole in the file, so its time does
//      not grow with a forged page count.

/// The comparison of the free pages with the pages in use.
struct FreeSpaceCheck {
    /// The number of free pages in the bitmaps.
    private(set) var freeCount: UInt64 = 0
    private var isComplete = true

    /// - Parameter usesAreComplete: whether every reference is known; otherwise rule 92 is not checked.
    mutating func run(
        _ pages: PageImages, _ uses: PageUses, usesAreComplete: Bool, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        let range = BitmapPage.rangeCount(pages.superblock.pageSize)
        let pageCount = pages.state.pageCount
        for base in stride(from: 0, to: UInt64(pageCount) - 1, by: UInt64.Stride(range)) {
            let number = UInt32(base + 1)
            guard let image = try pages.page(number) else {
                return findings.add(4, .page(number, offset: 0), "neither the store nor the log has the bitmap page")
            }
            do throws(Breach) {
                let header = try PageHeader.verified(image, number: number, in: pages)
                let bitmap = try BitmapPage(image, header, pageCount: pageCount)
                freeCount += UInt64(bitmap.freeCount)
                let end = UInt32(min(base + range, UInt64(pageCount)))
                compare(bitmap, UInt32(base)..<end, uses, usesAreComplete, &findings)
            } catch {
                isComplete = false
                findings.add(error.rule, .page(number, offset: error.offset), error.text)
                if image.firstNonzero(in: 0..<image.count) == nil { return }
            }
        }
        if isComplete, freeCount != UInt64(pages.state.freePageCount) {
            findings.add(
                93, .page(1, offset: 32),
                "\(freeCount) pages are free, but the newest commit counts \(pages.state.freePageCount)")
        }
    }

    private func compare(
        _ bitmap: BitmapPage, _ range: Range<UInt32>, _ uses: PageUses, _ usesAreComplete: Bool,
        _ findings: inout AuditFindings
    ) {
        // Rule 53 covers page 0 and the bitmap page itself.
        for number in range where number != 0 && number != (range.lowerBound + 1) {
            let index = Int(number - range.lowerBound)
            let place = AuditFinding.Place.page(
                range.lowerBound + 1, offset: BitmapPage.bitsOffset + index / 8)
            switch (bitmap.isFree(index), uses.contains(number)) {
            case (true, true): findings.add(91, place, "page \(number) is marked free, but something refers to it")
            case (false, false):
                if usesAreComplete {
                    findings.add(92, place, "page \(number) is marked used, but nothing refers to it")
                }
            case (true, false), (false, true): break
            }
        }
    }
}
