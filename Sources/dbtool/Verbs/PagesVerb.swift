// `dbtool pages`: the map of a store file, one character for each page, and how full each tree's pages are.

import EspalierEngine
import Foundation

/// The verb `pages`.
enum PagesVerb: Verb {
    static let usage = Usage(
        name: "pages", summary: "draw the map of a store's pages; count and measure the pages of each tree",
        parameters: [.required("FILE", "the store")], options: [.json],
        discussion: """
            Reads the file's bytes and opens no database, so it works on damaged files too. Shows the file as of the
            last checkpoint; newer versions of pages may lie in the log. A damaged page is shown as "!".
            Exit code 1: a page is damaged; 4: another process writes the store, and was at it each time.
            """,
        examples: [
            .init(command: "dbtool pages chinook.espalier", meaning: "the map, its legend and one line for each tree")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let first = try PageMap(StoreImage(path: path), console)
        var (map, hasChanged) = (first, false)
        // What looks damaged may be half of a checkpoint that another process is making: it is looked at again.
        for attempt in 1..<readAttemptMax where !map.isIntact && map.hasNewerLog {
            Thread.sleep(forTimeInterval: 0.02 * Double(attempt))
            map = try PageMap(StoreImage(path: path), console)
            hasChanged = hasChanged || map.newestSlot != first.newestSlot
        }
        if arguments.wantsJSON {
            console.print(map.json)
        } else {
            map.print(to: console)
        }
        if map.isIntact { return .ok }
        return hasChanged ? .locked : .difference
    }
}

/// What each page of a file is.
struct PageMap {
    /// How a page is used.
    enum Use: Character, CaseIterable {
        case superblock = "S"
        case bitmap = "B"
        case interior = "I"
        case leaf = "L"
        case overflow = "O"
        case free = "."
        case damaged = "!"

        /// The legend.
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

    private let image: StoreImage
    private let names: [UInt32: String]
    private(set) var uses: [Use] = []
    private(set) var trees: [UInt32: TreePages] = [:]

    /// Reads every page of `image`.
    init(_ image: StoreImage, _ console: Console) throws(ToolError) {
        self.image = image
        names = TreeNames.read(image.path)
        var progress = Progress(console)
        let freePages = try Self.freePages(image)
        // What a checkpoint that is not complete has put behind the last one's pages counts for nothing.
        let endOfStore = image.page0.newestSlot.map { UInt64($0.pageCount) } ?? .max
        for number in 0..<image.pageCount {
            progress.show("reading pages", number, of: image.pageCount)
            let page = try image.page(number)
            let isFree = freePages.contains(number) || number >= endOfStore
            let use = number == 0 ? superblockUse : Self.use(of: page, isFree: isFree)
            uses.append(use)
            count(page, as: use)
        }
        progress.finish()
    }

    /// Whether no page is damaged.
    var isIntact: Bool { !uses.contains(.damaged) }

    /// Whether pages of the log may have to go to the file yet.
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

    /// The pages that intact bitmap pages call free.
    private static func freePages(_ image: StoreImage) throws(ToolError) -> Set<UInt64> {
        var free: Set<UInt64> = []
        let geometry = StoreGeometry(pageSize: image.pageSize)
        for first in stride(from: 0, to: image.pageCount, by: geometry.pagesPerBitmap) {
            guard first + 1 < image.pageCount else { break }
            let page = try image.page(first + 1)
            guard page.isIntact != false, page.type == .bitmap else { continue }
            for bit in 0..<geometry.pagesPerBitmap
            where page.u8(BitmapLayout.bits + bit / 8) & (1 << UInt8(bit % 8)) != 0 {
                free.insert(first + UInt64(bit))
            }
        }
        return free
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

extension PageMap {
    private static let pagesPerLine = 64

    /// The map, the legend and the table of trees.
    func print(to console: Console) {
        for problem in image.page0.problems { console.print("\(image.path): \(problem.text)") }
        if image.hasNewerLog {
            console.print("The log beside the store may hold newer pages: this is the state of the last checkpoint.\n")
        }
        for start in stride(from: 0, to: uses.count, by: Self.pagesPerLine) {
            let label = String(start)
            let padding = String(repeating: " ", count: max(0, 8 - label.count))
            console.print(
                padding + label + "  " + String(uses[start...].prefix(Self.pagesPerLine).map(\.rawValue)))
        }
        var legend = TextTable([.text("mark"), .number("pages"), .text("meaning")])
        for use in Use.allCases {
            let count = uses.count { $0 == use }
            if count > 0 { legend.append([String(use.rawValue), DisplayText.grouped(count), use.words]) }
        }
        console.output.write("\n" + legend.rendered() + "\n")
        var table = TextTable([
            .text("tree"), .number("id"), .number("leaves"), .number("interior"), .number("overflow"),
            .number("leaves full"),
        ])
        for (id, pages) in trees.sorted(by: { $0.key < $1.key }) {
            table.append([
                names[id] ?? "", "\(id)", DisplayText.grouped(pages.leaves), DisplayText.grouped(pages.interior),
                DisplayText.grouped(pages.overflow), fillText(pages),
            ])
        }
        console.output.write(table.rendered())
    }

    private func fillText(_ pages: TreePages) -> String {
        guard pages.leaves > 0 else { return "" }
        let fill = Double(pages.leafBytesUsed) / Double(pages.leaves * image.pageSize)
        return DisplayText.fixed(fill * 100, digits: 0) + " %"
    }

    /// The map for programs.
    var json: JSONValue {
        [
            "file": .string(image.path), "pageSize": .count(image.pageSize), "pages": .count(uses.count),
            "intact": .boolean(isIntact), "newerLog": .boolean(image.hasNewerLog),
            "map": .string(String(uses.map(\.rawValue))),
            "legend": .object(Use.allCases.map { (name: String($0.rawValue), value: .string($0.words)) }),
            "trees": .array(
                trees.sorted { $0.key < $1.key }.map { id, pages in
                    [
                        "id": .count(id), "name": .optional(names[id]), "leaves": .count(pages.leaves),
                        "interior": .count(pages.interior), "overflow": .count(pages.overflow),
                        "leafBytesUsed": .count(pages.leafBytesUsed),
                    ]
                }),
        ]
    }
}
