// FileFormat.md, section 3: the header of every page except page 0, and the parts of rules 1, 2, 3, 5, 6 and 7 that
// concern a single page.

/// The type of a page.
enum PageKind: UInt8 {
    case interiorBytes = 1
    case leafBytes = 2
    case leafInteger = 3
    case interiorInteger = 4
    case overflow = 5
    case bitmap = 6
    case free = 8
}

/// The first 32 bytes of a page.
struct PageHeader {
    static let byteCount = 32

    let number: UInt32
    let kind: PageKind?
    let flags: UInt8
    let level: Int
    let lsn: UInt64
    let tree: UInt32
    let cellCount: Int
    /// The offset at which content begins; 65,536 is stored as 0.
    let contentStart: Int

    /// Reads the fields without checking them.
    init(_ page: [UInt8]) {
        number = page.u32(8)
        kind = PageKind(rawValue: page.u8(12))
        (flags, level) = (page.u8(13), Int(page.u8(14)))
        (lsn, tree) = (page.u64(16), page.u32(24))
        cellCount = page.u16(28)
        contentStart = page.u16(30) == 0 ? 65_536 : page.u16(30)
    }

    var isRoot: Bool { flags & 1 != 0 }

    /// Verifies the header of page `number`.
    static func verified(
        _ page: [UInt8], number: UInt32, in pages: PageImages
    ) throws(Breach) -> PageHeader {
        guard checksum(of: page, number: number, seed: pages.superblock.seed) == page.u64(0) else {
            throw Breach(1, 0, "the checksum is wrong")
        }
        let header = PageHeader(page)
        if header.number != number { throw Breach(2, 8, "the page states the number \(header.number)") }
        guard header.lsn == 0 || header.lsn < pages.commitLSN else {
            throw Breach(7, 16, "the LSN \(header.lsn) is not before the newest commit's end, \(pages.commitLSN)")
        }
        if header.kind == nil { throw Breach(3, 12, "\(page.u8(12)) is not a page type") }
        guard (header.kind == .bitmap) == BitmapPage.isPlace(number, page.count) else {
            throw Breach(50, 12, "a bitmap page is at another place, or another page is at the place of a bitmap page")
        }
        if page.u8(15) != 0 { throw Breach(5, 15, "a reserved byte is not zero") }
        return header
    }

    /// The value that the first eight bytes of page `number` must have.
    static func checksum(of page: [UInt8], number: UInt32, seed: UInt64) -> UInt64 {
        XXH3.hash(page, from: 8, seed: seed ^ (UInt64(number) &* 0x9E37_79B1_85EB_CA87))
    }

    /// Checks rule 6 for the gap of a page.
    static func checkGap(_ page: [UInt8], _ gap: Range<Int>) throws(Breach) {
        if let stray = page.firstNonzero(in: gap) { throw Breach(6, stray, "the gap is not zero") }
    }
}
