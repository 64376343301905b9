// The use of each page of a store file, as runs of pages with the same use.
//
// Invariants
//   1. Time and memory depend on the number of written pages: a hole of a sparse file is one run.

import EspalierEngine

/// The use of each page of a file.
struct PageUses {
    /// The use of a page.
    enum Use: Character, CaseIterable {
        case superblock = "S"
        case bitmap = "B"
        case interior = "I"
        case leaf = "L"
        case overflow = "O"
        case free = "."
        case damaged = "!"

        /// The text of the legend.
        var words: String {
            switch self {
            case .superblock: "superblock"
            case .bitmap: "free-space bitmap"
            case .interior: "interior page of a tree"
            case .leaf: "leaf of a tree"
            case .overflow: "overflow page: part of a large value"
            case .free: "free"
            case .damaged: "damaged: does not match its checksum, or has no known type"
            }
        }
    }

    /// The pages of one tree.
    struct TreePages {
        var interior = 0
        var leaves = 0
        var overflow = 0
        var leafBytesUsed = 0
    }

    /// A run of neighboring pages with the same use.
    struct Run {
        let use: Use
        let first: UInt64
        var count: UInt64
    }

    let image: StoreImage
    let names: [UInt32: String]
    private(set) var runs: [Run] = []
    private(set) var trees: [UInt32: TreePages] = [:]
    /// The intact bitmap pages, by the first page number of their group.
    private var bitmaps: [UInt64: PageImage] = [:]
    private let pagesPerBitmap: UInt64
    private let endOfStore: UInt64

    /// Reads every page of `image` that is not in a hole of its file.
    init(_ image: StoreImage, _ console: Console) throws(ToolError) {
        self.image = image
        names = TreeNames.read(image.path)
        pagesPerBitmap = UInt64(StoreGeometry(pageSize: image.pageSize).pagesPerBitmap)
        // Pages beyond the last complete checkpoint count as free, even if an incomplete checkpoint has written them.
        endOfStore = image.page0.newestSlot.map { UInt64($0.pageCount) } ?? .max
        var progress = Progress(console)
        try readBitmaps()
        var number: UInt64 = 0
        while number < image.pageCount {
            progress.show("reading pages", number, of: image.pageCount)
            let page = try image.page(number)
            let use = number == 0 ? superblockUse : Self.use(of: page, isFree: isFree(number))
            append(use, 1)
            count(page, as: use)
            number += 1
            if page.isBlank { number = appendHole(from: number, to: try image.nextPage(from: number)) }
        }
        progress.finish()
    }

    private mutating func append(_ use: Use, _ count: UInt64) {
        guard count > 0 else { return }
        if let last = runs.indices.last, runs[last].use == use {
            runs[last].count += count
        } else {
            runs.append(Run(use: use, first: runs.last.map { $0.first + $0.count } ?? 0, count: count))
        }
    }

    /// Adds pages that were never written: free ones, and damaged ones that should be there.
    private mutating func appendHole(from first: UInt64, to end: UInt64) -> UInt64 {
        var number = first
        while number < end {
            if number >= endOfStore {
                append(.free, end - number)
                return end
            }
            let groupEnd = (number / pagesPerBitmap + 1) * pagesPerBitmap
            let stop = min(end, groupEnd, endOfStore)
            if bitmaps[groupEnd - pagesPerBitmap] == nil {
                append(.damaged, stop - number)
            } else {
                for page in number..<stop { append(isFree(page) ? .free : .damaged, 1) }
            }
            number = stop
        }
        return max(first, end)
    }

    /// The use of page `number`.
    func use(of number: UInt64) -> Use? { runs.last { $0.first <= number }?.use }

    /// Whether no page is damaged.
    var isIntact: Bool { !runs.contains { $0.use == .damaged } }

    /// Whether the log may contain pages that are not in the file yet.
    var hasNewerLog: Bool { image.hasNewerLog }

    /// The last checkpoint.
    var newestSlot: CheckpointSlot? { image.page0.newestSlot }

    private var superblockUse: Use { image.page0.problems.isEmpty ? .superblock : .damaged }

    private static func use(of page: PageImage, isFree: Bool) -> Use {
        if isFree { return .free }
        guard page.isIntact != false else { return .damaged }
        switch page.type {
        case .bitmap: return .bitmap
        case .interiorBytes, .interiorInteger: return .interior
        case .leafBytes, .leafInteger: return .leaf
        case .overflow: return .overflow
        case .free: return .free
        case nil: return .damaged
        }
    }

    private mutating func readBitmaps() throws(ToolError) {
        var first: UInt64 = 0
        while first + 1 < min(image.pageCount, endOfStore) {
            let page = try image.page(first + 1)
            if page.isIntact != false, page.type == .bitmap { bitmaps[first] = page }
            first += pagesPerBitmap
        }
    }

    /// Whether an intact bitmap page marks the page as free, or the page is after the store's last one.
    private func isFree(_ number: UInt64) -> Bool {
        if number >= endOfStore { return true }
        let bit = Int(number % pagesPerBitmap)
        guard let bitmap = bitmaps[number - UInt64(bit)] else { return false }
        return bitmap.u8(BitmapLayout.bits + bit / 8) & (1 << UInt8(bit % 8)) != 0
    }

    private mutating func count(_ page: PageImage, as use: Use) {
        switch use {
        case .interior: trees[page.treeID, default: TreePages()].interior += 1
        case .overflow: trees[page.treeID, default: TreePages()].overflow += 1
        case .leaf:
            trees[page.treeID, default: TreePages()].leaves += 1
            trees[page.treeID, default: TreePages()].leafBytesUsed += page.usedByteCount
        case .superblock, .bitmap, .free, .damaged: break
        }
    }
}
