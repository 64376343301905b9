// FileFormat.md, section 6: the record of free pages. Rules 51 to 53.

/// A bitmap page.
struct BitmapPage {
    static let bitsOffset = 64

    /// The number of pages that one bitmap page covers.
    static func rangeCount(_ pageSize: Int) -> UInt64 { UInt64(pageSize - bitsOffset) * 8 }
    /// Whether page `number` must be a bitmap page.
    static func isPlace(_ number: UInt32, _ pageSize: Int) -> Bool { UInt64(number) % rangeCount(pageSize) == 1 }

    let freeCount: UInt32
    private let bytes: [UInt8]

    /// Decodes page `number`, whose header has been verified.
    init(_ page: [UInt8], _ header: PageHeader, pageCount: UInt32) throws(Breach) {
        (bytes, freeCount) = (page, page.u32(32))
        guard header.flags == 0, header.level == 0, header.tree == 0, header.cellCount == 0, page.u16(30) == 0 else {
            throw Breach(5, 13, "a field of the header that a bitmap page does not use is not zero")
        }
        if let stray = page.firstNonzero(in: 40..<Self.bitsOffset) {
            throw Breach(5, stray, "a reserved byte is not zero")
        }
        var count: UInt32 = 0
        for offset in stride(from: Self.bitsOffset, to: page.count, by: 8) {
            count += UInt32(page.u64(offset).nonzeroBitCount)
        }
        if count != freeCount { throw Breach(51, 32, "the page counts \(freeCount) set bits, but \(count) are set") }
        try checkHint()
        try checkEnds(header.number, pageCount)
    }

    /// Whether the page at this index of the range is free.
    func isFree(_ index: Int) -> Bool { bytes.u8(Self.bitsOffset + index / 8) & 1 << UInt8(index % 8) != 0 }

    private func checkHint() throws(Breach) {
        let hint = Int(bytes.u32(36))
        if hint > Int(Self.rangeCount(bytes.count)) {
            throw Breach(52, 36, "the hint \(hint) is beyond the end of the bitmap")
        }
        let whole = bytes.firstNonzero(in: Self.bitsOffset..<Self.bitsOffset + hint / 8)
        if whole != nil || (hint / 8 * 8..<hint).contains(where: isFree) {
            throw Breach(52, 36, "a bit below the hint \(hint) is 1")
        }
    }

    private func checkEnds(_ number: UInt32, _ pageCount: UInt32) throws(Breach) {
        let range = Self.rangeCount(bytes.count)
        let base = UInt64(number) - 1
        if (base == 0 && isFree(0)) || isFree(1) {
            throw Breach(53, Self.bitsOffset, "a page that is always in use is marked free")
        }
        let end = min(range, UInt64(pageCount) - base)
        let beyond = Self.bitsOffset + Int(end + 7) / 8
        let stray = (Int(end)..<Int(end + 7) / 8 * 8).first(where: isFree).map { Self.bitsOffset + $0 / 8 }
        if let stray = stray ?? bytes.firstNonzero(in: beyond..<bytes.count) {
            throw Breach(53, stray, "a page beyond the page count is marked free")
        }
    }
}
