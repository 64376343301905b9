// `dbtool page`: shows one page of a store file, field by field, cell by cell, byte by byte.

import EspalierEngine

/// The verb `page`.
enum PageVerb: Verb {
    static let usage = Usage(
        name: "page", summary: "show one page: header fields, cells, bytes",
        parameters: [.required("FILE", "the store"), .required("N", "the page's number; 0 is the superblock")],
        options: [.flag("--newest", "show the version in the log, if the log has one"), .json],
        discussion: """
            Reads the bytes of the files and opens no database, so it also works on damaged files: impossible values
            are marked. Shows the page as it is in the store file, and says so if the log has a newer version; a page
            that only the log has is shown from the log.
            Exit code 1: the page does not match its checksum.
            """,
        examples: [
            .init(command: "dbtool page chinook.espalier 0", meaning: "shows the superblock and the checkpoint slots"),
            .init(
                command: "dbtool page chinook.espalier 2",
                meaning: "shows the root of the catalog, which is the tree of all trees"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let text = arguments.required("N")
        guard let number = UInt64(text) else {
            throw .usage(
                UsageError(message: "N must be a page number, not '\(text)'", hint: "usage: \(usage.synopsis)"))
        }
        let image = try StoreImage(path: arguments.required("FILE"))
        let report = try report(number, of: image, isNewest: arguments.flag("--newest"))
        if arguments.wantsJSON {
            console.print(report.json)
        } else {
            report.print(to: console)
        }
        return report.problems.isEmpty ? .ok : .difference
    }
}

extension PageVerb {
    /// A report on the page in the store file, or in the log.
    private static func report(
        _ number: UInt64, of image: StoreImage, isNewest: Bool
    ) throws(ToolError) -> PageReport {
        let logged = try image.loggedPage(number)
        if let logged, isNewest || number >= image.pageCount {
            let source: PageReport.Source = number < image.pageCount ? .log : .onlyLog
            return PageReport(logged, of: image, from: source)
        }
        guard number < image.pageCount else { throw image.noPage(number) }
        let page = try image.page(number)
        guard number > 0 else { return PageReport(superblockOf: image, page) }
        return PageReport(page, of: image, from: logged == nil ? .store : .storeBehindLog)
    }
}

/// The facts about one page.
struct PageReport {
    /// The source of the bytes.
    enum Source: String {
        case store
        case storeBehindLog
        case log
        case onlyLog

        /// The source for people; `nil` if the page is the newest version and from the store file.
        var sentence: String? {
            switch self {
            case .store: nil
            case .storeBehindLog: "This is the version in the store file; the log has a newer one (--newest shows it)."
            case .log: "This is the version in the log; the store file has an older one."
            case .onlyLog: "This is the version in the log; the store file does not have the page yet."
            }
        }

        /// For programs.
        var file: String { self == .log || self == .onlyLog ? "log" : "store" }
    }

    /// A field of the page: its name, offset and value.
    struct Field {
        let name: String
        let offset: Int
        let value: String
    }

    let path: String
    let page: PageImage
    let title: String
    let source: Source
    private(set) var fields: [Field] = []
    private(set) var problems: [String] = []

    /// Reads a page other than page 0.
    init(_ page: PageImage, of image: StoreImage, from source: Source) {
        self.page = page
        self.source = source
        path = image.path
        title = page.type?.words ?? "no known type"
        addHeader(treeName: TreeNames.read(image.path)[page.treeID])
        switch page.type {
        case .overflow: addOverflowFields()
        case .bitmap: addBitmapFields()
        case .interiorBytes, .leafBytes, .leafInteger, .interiorInteger: addTreeFields()
        case .free, nil: break
        }
        addProblems()
    }

    private mutating func add(_ name: String, _ offset: Int, _ value: String) {
        fields.append(Field(name: name, offset: offset, value: value))
    }

    private mutating func addHeader(treeName: String?) {
        let checksum =
            switch page.isIntact {
            case true?: "ok"
            case false?: page.computedChecksum.map { "WRONG: the content has \(BytesText.hex($0))" } ?? "WRONG"
            case nil: "cannot be verified: the superblock is lost"
            }
        add("checksum", PageLayout.checksum, "\(BytesText.hex(page.storedChecksum)) \(checksum)")
        add("number", PageLayout.number, "\(page.u32(PageLayout.number))")
        add("type", PageLayout.type, "\(page.u8(PageLayout.type)) \(title)")
        let isRoot = page.u8(PageLayout.flags) & PageFlags.root != 0
        add("flags", PageLayout.flags, "\(page.u8(PageLayout.flags))\(isRoot ? " root" : "")")
        add("level", PageLayout.level, "\(page.level)")
        add("lsn", PageLayout.lsn, "\(page.u64(PageLayout.lsn))")
        add("tree", PageLayout.treeID, "\(page.treeID) \(treeName ?? "")")
        add("cell count", PageLayout.cellCount, "\(page.cellCount)")
        add("content start", PageLayout.contentStart, "\(page.contentStart)")
    }

    private mutating func addOverflowFields() {
        add("next", OverflowLayout.next, "\(page.u32(OverflowLayout.next))")
        add("run length", OverflowLayout.runLength, "\(page.u32(OverflowLayout.runLength))")
        add("payload", OverflowLayout.payload, "\(max(0, page.contentStart - OverflowLayout.payload)) bytes")
    }

    private mutating func addBitmapFields() {
        add("free count", BitmapLayout.freeCount, "\(page.u32(BitmapLayout.freeCount))")
        add("hint", BitmapLayout.hint, "\(page.u32(BitmapLayout.hint))")
    }

    private mutating func addTreeFields() {
        add("fragment bytes", TreeLayout.fragmentByteCount, "\(page.u16(TreeLayout.fragmentByteCount))")
        add("prefix bytes", TreeLayout.prefixByteCount, "\(page.u16(TreeLayout.prefixByteCount))")
        add("right child", TreeLayout.rightChild, "\(page.u32(TreeLayout.rightChild))")
        add("low fence bytes", TreeLayout.lowFenceByteCount, fenceText(page.lowFence))
        add("high fence bytes", TreeLayout.highFenceByteCount, fenceText(page.highFence))
        add("root tag", TreeLayout.rootTag, BytesText.hex(page.u32(TreeLayout.rootTag)))
        let slotsEnd = TreeLayout.slots + page.cellCount * page.slotByteCount
        add("gap", slotsEnd, "\(max(0, page.contentStart - slotsEnd)) bytes")
    }

    private func fenceText(_ fence: [UInt8]) -> String {
        fence.isEmpty ? "0" : "\(fence.count): \(BytesText.short(fence))"
    }

    private mutating func addProblems() {
        if page.bytes.count < page.pageSize {
            problems.append("The file ends after \(page.bytes.count) bytes of this page.")
        }
        if page.isIntact == false { problems.append("The content does not match the checksum.") }
        if let broken = page.brokenRule { problems.append("Rule \(broken.rule.rawValue): \(broken)") }
        let strays = page.cells.enumerated().filter { !$0.element.isInPlace }.map { "\($0.offset)" }
        if !strays.isEmpty {
            problems.append("Cells outside of the cell area: \(strays.joined(separator: ", ")).")
        }
    }
}

extension PageReport {
    /// Reads page 0.
    init(superblockOf image: StoreImage, _ page: PageImage) {
        self.page = page
        path = image.path
        title = "superblock"
        source = .store
        problems = image.page0.problems.map(\.text)
        if let superblock = image.page0.superblock { addSuperblock(superblock) }
        for (index, offset) in SuperblockLayout.slots.enumerated() {
            addSlot(image.page0.slot(at: offset), Page0.name(ofSlot: index), at: offset)
        }
    }

    private mutating func addSuperblock(_ superblock: Superblock) {
        add("format", SuperblockLayout.major, "\(superblock.major).\(superblock.minor)")
        add("page size", SuperblockLayout.pageSize, "\(superblock.pageSize)")
        add("incompatible", SuperblockLayout.incompatible, BytesText.hex(superblock.incompatible))
        add("read-only compatible", SuperblockLayout.readOnlyCompatible, BytesText.hex(superblock.readOnlyCompatible))
        add("compatible", SuperblockLayout.compatible, BytesText.hex(superblock.compatible))
        add("store", SuperblockLayout.storeIdentifier, InfoVerb.identifierText(superblock.storeIdentifier))
        add("hash seed", SuperblockLayout.hashSeed, BytesText.hex(superblock.hashSeed))
        add("created", SuperblockLayout.creationTime, "\(superblock.creationTime) ns since 1970")
        add("creator", SuperblockLayout.creator, String(decoding: superblock.creator, as: UTF8.self))
        add("application", SuperblockLayout.applicationID, BytesText.hex(superblock.applicationID))
        add("application version", SuperblockLayout.applicationVersion, "\(superblock.applicationVersion)")
    }

    private mutating func addSlot(_ slot: CheckpointSlot?, _ name: String, at offset: Int) {
        typealias Layout = CheckpointSlotLayout
        guard let slot else { return add("slot \(name)", offset, "not valid") }
        add("slot \(name) sequence", offset + Layout.sequence, "\(slot.sequence)")
        add("slot \(name) checkpoint lsn", offset + Layout.checkpointLSN, "\(slot.checkpointLSN)")
        add("slot \(name) transaction", offset + Layout.transactionID, "\(slot.transactionID)")
        add("slot \(name) pages", offset + Layout.pageCount, "\(slot.pageCount), \(slot.freeCount) free")
        add("slot \(name) catalog root", offset + Layout.catalogRoot, "\(slot.catalogRoot)")
        add("slot \(name) closed cleanly", offset + Layout.flags, slot.isClean ? "yes" : "no")
        add("slot \(name) next tree", offset + Layout.nextTreeID, "\(slot.nextTreeID)")
    }

    /// Prints fields, problems, cells and bytes.
    func print(to console: Console) {
        console.print("page \(page.number) of \(path): \(title)")
        if let sentence = source.sentence { console.print(sentence) }
        for problem in problems { console.print("! \(problem)") }
        var table = TextTable([.text("field"), .number("at byte"), .text("value")])
        for field in fields { table.append([field.name, "\(field.offset)", field.value]) }
        console.output.write("\n" + table.rendered())
        printCells(to: console)
        console.output.write("\n" + BytesText.dump(page.bytes))
    }

    private func printCells(to console: Console) {
        let cells = page.cells
        guard !cells.isEmpty else { return }
        var table = TextTable([.number("cell"), .number("at byte"), .text("key", widthMax: 50), .text("content")])
        for (index, cell) in cells.enumerated() {
            table.append([
                "\(index)", cell.offset.map { "\($0)" } ?? "", cell.key.text,
                cell.content.text + (cell.isInPlace ? "" : " (outside of the cell area)"),
            ])
        }
        console.output.write("\n" + table.rendered())
    }

    /// The page for programs.
    var json: JSONValue {
        [
            "file": .string(path), "page": .count(page.number), "type": .string(title),
            "from": .string(source.file), "newerInLog": .boolean(source == .storeBehindLog),
            "problems": .array(problems.map(JSONValue.string)),
            "fields": .object(fields.map { (name: $0.name, value: .string($0.value)) }),
            "cells": .array(
                page.cells.map { cell in
                    [
                        "offset": cell.offset.map { .count($0) } ?? .null, "key": cell.key.json,
                        "content": cell.content.json, "inPlace": .boolean(cell.isInPlace),
                    ]
                }),
            "bytes": .string(BytesText.hex(page.bytes)),
        ]
    }
}

extension CellImage.Key {
    /// The key for people.
    var text: String {
        switch self {
        case .integer(let key): "\(key)"
        case .bytes(let key): BytesText.short(key)
        }
    }

    /// The key for programs.
    fileprivate var json: JSONValue {
        switch self {
        case .integer(let key): .unsigned(key)
        case .bytes(let key): .string(BytesText.hex(key))
        }
    }
}

extension CellImage.Content {
    /// The content for people.
    fileprivate var text: String {
        switch self {
        case .value(let bytes): "\(bytes.count) bytes: \(BytesText.short(bytes))"
        case .overflow(let byteCount, let first): "\(byteCount) bytes from overflow page \(first) on"
        case .child(let page): "page \(page)"
        }
    }

    /// The content for programs.
    fileprivate var json: JSONValue {
        switch self {
        case .value(let bytes): ["value": .string(BytesText.hex(bytes))]
        case .overflow(let byteCount, let first): ["byteCount": .count(byteCount), "overflowPage": .count(first)]
        case .child(let page): ["child": .count(page)]
        }
    }
}
