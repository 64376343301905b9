// One page as bytes: header fields and checksum, read without trusting any of them.
//
// Invariants
//   1. Every load is total: bytes beyond the end read as zero.

import EspalierEngine

/// The bytes of a page.
struct PageImage {
    /// The page's number, derived from its position in the file.
    let number: PageNumber
    /// The bytes; fewer than a page if the file ends within it.
    let bytes: [UInt8]
    /// Bytes per page.
    let pageSize: Int
    /// The store's seed; `nil` if the superblock is lost, in which case no checksum can be verified.
    let storeSeed: UInt64?

    /// The byte at `offset`.
    func u8(_ offset: Int) -> UInt8 { bytes.indices.contains(offset) ? bytes[offset] : 0 }
    /// The little-endian integer at `offset`.
    func u16(_ offset: Int) -> Int { Int(u8(offset)) | Int(u8(offset + 1)) << 8 }
    /// The little-endian integer at `offset`.
    func u32(_ offset: Int) -> UInt32 { UInt32(u16(offset)) | UInt32(u16(offset + 2)) << 16 }
    /// The little-endian integer at `offset`.
    func u64(_ offset: Int) -> UInt64 { UInt64(u32(offset)) | UInt64(u32(offset + 4)) << 32 }
    /// Up to `count` bytes at `offset`.
    func slice(_ offset: Int, _ count: Int) -> [UInt8] {
        guard offset >= 0, count > 0 else { return [] }
        return [UInt8](bytes.dropFirst(offset).prefix(count))
    }

    /// Whether all bytes are zero, like those of a page that was never written.
    var isBlank: Bool { !bytes.contains { $0 != 0 } }
    /// The page type in the header; `nil` if it is unknown.
    var type: PageType? { PageType(rawValue: u8(PageLayout.type)) }
    /// The tree ID in the header.
    var treeID: UInt32 { u32(PageLayout.treeID) }
    /// The level in the header; 0 is a leaf.
    var level: Int { Int(u8(PageLayout.level)) }
    /// The cell count in the header.
    var cellCount: Int { u16(PageLayout.cellCount) }
    /// The content start in the header; 0 on disk means 65,536.
    var contentStart: Int { u16(PageLayout.contentStart) == 0 ? 65_536 : u16(PageLayout.contentStart) }
    /// The bytes of a leaf that are neither in the gap between slots and cells nor between cells.
    var usedByteCount: Int { withView { max(0, pageSize - $0.holeRange.count - $0.fragmentByteCount) } ?? bytes.count }
    /// The checksum in the header.
    var storedChecksum: UInt64 { u64(PageLayout.checksum) }

    /// The checksum of the content; `nil` if the store's seed is lost or the page is incomplete.
    var computedChecksum: UInt64? {
        guard let storeSeed else { return nil }
        return withView { $0.computedChecksum(number: number, storeSeed: storeSeed) }
    }

    /// The first rule of the format, apart from the checksum, that the page alone breaks; `nil` if it breaks none.
    var brokenRule: Corruption? {
        let result: Corruption?? = withView { view in
            do throws(StorageError) {
                try PageValidation.validate(view, number: number, depth: .sealed)
                return nil
            } catch {
                guard case .corruption(let corruption) = error else { return nil }
                return corruption
            }
        }
        return result ?? nil
    }

    /// Calls `body` with the engine's view of the page; `nil` if the page is not complete.
    private func withView<R>(_ body: (PageView) -> R) -> R? {
        var copy = bytes
        // SAFETY: the view covers exactly the array's bytes and does not outlive the closure.
        return unsafe copy.withUnsafeMutableBytes { buffer in
            guard buffer.count == pageSize, let base = buffer.baseAddress else { return nil }
            return unsafe body(PageView(base: base, byteCount: buffer.count))
        }
    }

    /// Whether the content matches the checksum; `nil` if that cannot be verified.
    var isIntact: Bool? {
        guard bytes.count == pageSize else { return false }
        return computedChecksum.map { $0 == storedChecksum }
    }
}

extension PageType {
    /// The page type in words.
    var words: String {
        switch self {
        case .interiorBytes: "interior, bytes keys"
        case .leafBytes: "leaf, bytes keys"
        case .leafInteger: "leaf, integer keys"
        case .interiorInteger: "interior, integer keys"
        case .overflow: "overflow"
        case .bitmap: "free-space bitmap"
        case .free: "free"
        }
    }
}
