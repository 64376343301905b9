// FileFormat.md, section 5: one page of a value that does not fit in a cell. Rules 40 to 42.

/// An overflow page.
struct OverflowPage {
    static let headerByteCount = 40

    let next: UInt32
    let runLength: UInt32
    let content: Range<Int>

    /// Decodes `page`, whose header has been verified.
    init(_ page: [UInt8], _ header: PageHeader) throws(Breach) {
        (next, runLength) = (page.u32(32), page.u32(36))
        guard header.flags == 0, header.level == 0, header.cellCount == 0 else {
            throw Breach(40, 13, "flags, level and cell count of an overflow page are not zero")
        }
        let end = header.contentStart
        guard end > Self.headerByteCount, end <= page.count else {
            throw Breach(40, 30, "the content cannot end at \(end)")
        }
        content = Self.headerByteCount..<end
        if next == 0 ? runLength != 1 : runLength == 0 {
            throw Breach(41, 36, "a run cannot have \(runLength) pages")
        }
        if runLength > 1, UInt64(next) != UInt64(header.number) + 1 {
            throw Breach(41, 36, "the run has \(runLength) pages, but the next page is \(next)")
        }
        if let stray = page.firstNonzero(in: end..<page.count) {
            throw Breach(42, stray, "a byte after the content is not zero")
        }
    }
}
