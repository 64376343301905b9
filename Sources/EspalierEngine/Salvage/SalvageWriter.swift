// Writes the findings of a survey into a new store, through ordinary transactions.
//
// Invariants
//   1. Leaves are written in the order of their LSNs; each clears the range of its fences first, so rows that were
//      moved or removed later do not reappear.
//   2. Trees keep their numbers: the layer above may have stored them.
//   3. There are never more trees than the damaged store has pages, whatever its catalog says.

/// Fills a new store.
final class SalvageWriter {
    /// Bytes of rows after which a transaction is committed.
    private static let batchByteCount = 4 << 20
    private static let folder = "lost+found/"

    private let survey: SalvageSurvey
    private let damaged: DamagedStore
    private let database: Database
    private let page: ScratchPage
    private let candidates: [UInt32: String]
    private var report: SalvageReport
    private var trees: [UInt32: AnyTree] = [:]
    private var deletedTrees: [UInt32: AnyTree] = [:]
    private var places: [UInt32: Int] = [:]
    private var names: Set<String> = []

    init(
        _ survey: SalvageSurvey, _ damaged: DamagedStore, _ database: Database, _ options: SalvageOptions
    ) throws(StorageError) {
        self.survey = survey
        self.damaged = damaged
        self.database = database
        page = ScratchPage(byteCount: damaged.geometry.pageSize)
        report = survey.report
        var candidates: [UInt32: String] = [:]
        for name in options.nameCandidates { candidates[Catalog<WritePages>.rootTag(of: name)] = name }
        self.candidates = candidates
    }

    /// Writes all trees and rows; returns the report.
    func write() throws(StorageError) -> SalvageReport {
        try createTrees(try readCatalog())
        try inBatches(survey.leaves.enumerated()) { next, write throws(StorageError) in
            let (place, leaf) = next
            guard leaf.treeID != FixedPlace.catalogTreeID else { return 0 }
            if leaf.isFree {
                return try put(leaf, place, into: try deletedTree(of: leaf, &write), isNewest: false, &write)
            }
            guard let tree = trees[leaf.treeID] else { return 0 }
            return try put(leaf, place, into: tree, isNewest: true, &write)
        }
        let read = try database.beginRead()
        for place in report.trees.indices {
            report.trees[place].rowCount = try read.count(of: report.trees[place].tree)
        }
        return report
    }

    /// Calls `body` with each element, in as many transactions as needed; `body` returns how many bytes it wrote.
    private func inBatches<Elements: Sequence>(
        _ elements: Elements,
        _ body: (Elements.Element, inout WriteTransaction) throws(StorageError) -> Int
    ) throws(StorageError) {
        var iterator = elements.makeIterator()
        var next = iterator.next()
        while next != nil {
            var write = try database.beginWrite()
            var byteCount = 0
            while let element = next, byteCount < Self.batchByteCount {
                byteCount += try body(element, &write)
                next = iterator.next()
            }
            try write.commit()
        }
    }

    // MARK: Trees

    /// Reads the remains of the catalog.
    ///
    /// The catalog's leaves hold rows as all leaves do, so they are merged in the same way, in a temporary tree.
    private func readCatalog() throws(StorageError) -> [UInt32: (name: String, record: TreeRecord)] {
        var write = try database.beginWrite()
        let tree = try write.createTree(named: Self.folder, keys: [UInt8].self)
        try write.commit()
        try inBatches(survey.leaves.enumerated()) { next, write throws(StorageError) in
            let (place, leaf) = next
            guard leaf.treeID == FixedPlace.catalogTreeID, !leaf.isFree else { return 0 }
            return try put(leaf, place, into: .bytes(tree), isNewest: true, &write)
        }
        var last = try database.beginWrite()
        var records: [UInt32: (name: String, record: TreeRecord)] = [:]
        var cursor = try last.cursor(over: tree)
        while records.count < damaged.countOfPages, try cursor.next() {
            let record = try cursor.withValue { TreeRecord(decoding: $0) }
            guard let record, record.treeID < .max else { continue }
            records[record.treeID] = (String(decoding: try cursor.key, as: UTF8.self), record)
        }
        try last.dropTree(tree)
        try last.commit()
        return records
    }

    /// Makes the trees that pages or the catalog mention.
    private func createTrees(
        _ records: [UInt32: (name: String, record: TreeRecord)]
    ) throws(StorageError) {
        var numbers = Set(records.keys)
        for (number, tree) in survey.trees where tree.integerLeafCount + tree.bytesLeafCount > 0 {
            numbers.insert(number)
        }
        numbers.remove(FixedPlace.catalogTreeID)
        let next = damaged.newestState?.nextTreeID ?? 0
        try inBatches(numbers.sorted()) { number, write throws(StorageError) in
            let found = survey.trees[number] ?? SalvageSurvey.FoundTree()
            let record = records[number]?.record
            let (name, isKnown) = name(of: number, records[number]?.name, found.rootTag)
            assert(number >= FixedPlace.firstTreeID && trees[number] == nil, "tree \(number) is made twice")
            write.pages.writes.state.nextTreeID = number
            let tree = try write.createTree(named: name, kind: record?.kind ?? found.kind)
            write.pages.writes.state.nextTreeID = max(number + 1, next)
            trees[number] = tree
            add(
                .init(
                    tree: tree, isNameKnown: isKnown, rootTag: found.rootTag, pageCount: found.pageCount,
                    damagedPageCount: found.damagedPageCount, expectedRowCount: record?.entryCount))
            return damaged.geometry.pageSize
        }
    }

    private func add(_ tree: SalvageReport.SalvagedTree) {
        assert(places[tree.tree.id] == nil, "invariant 2: tree \(tree.tree.id) is made twice")
        places[tree.tree.id] = report.trees.count
        report.trees.append(tree)
    }

    /// The name of tree `number`: from the catalog, from the hash in its root, or made from its number.
    private func name(
        of number: UInt32, _ recorded: String?, _ rootTag: UInt32?
    ) -> (name: String, isKnown: Bool) {
        for name in [recorded, rootTag.flatMap { candidates[$0] }] {
            if let name, !name.isEmpty, name.utf8.count <= damaged.geometry.keyByteCountMax,
                names.insert(name).inserted
            {
                return (name, true)
            }
        }
        return (freeName("\(Self.folder)\(number)"), false)
    }

    /// `name` itself or, if it is used already, `name` with the first number appended that makes it unique.
    private func freeName(_ name: String) -> String {
        assert(!name.isEmpty, "a tree has no name")
        var (candidate, count) = (name, 1)
        while !names.insert(candidate).inserted {
            count += 1
            candidate = "\(name)-\(count)"
        }
        return candidate
    }

    /// The tree for rows that were on free pages of one tree.
    private func deletedTree(
        of leaf: SalvageSurvey.Leaf, _ write: inout WriteTransaction
    ) throws(StorageError) -> AnyTree {
        if let tree = deletedTrees[leaf.treeID] { return tree }
        let name = freeName("\(Self.folder)deleted/\(leaf.treeID)")
        let tree = try write.createTree(named: name, kind: leaf.isInteger ? .integer : .bytes)
        assert(leaf.isFree, "page \(leaf.page) was not deleted")
        deletedTrees[leaf.treeID] = tree
        add(.init(tree: tree, isNameKnown: false, rootTag: nil, expectedRowCount: nil))
        return tree
    }

    // MARK: Rows

    /// Writes the rows of a leaf; returns approximately how many bytes it wrote.
    private func put(
        _ leaf: SalvageSurvey.Leaf, _ place: Int, into tree: AnyTree, isNewest: Bool, _ write: inout WriteTransaction
    ) throws(StorageError) -> Int {
        assert(place >= 0 && place < survey.leaves.count, "leaf \(place) of \(survey.leaves.count)")
        let view = page.view
        _ = try damaged.read(leaf.page, to: view)
        // The files must not change meanwhile; if they did, this is not the surveyed leaf.
        guard view.treeID == leaf.treeID, view.lsn == leaf.lsn, DamagedStore.isSound(view, leaf.page), view.isLeaf,
            view.hasIntegerKeys == (tree.kind == .integer)
        else { return 0 }
        var byteCount = 0
        if isNewest { try clear(view, of: tree, &write) }
        for index in 0..<view.cellCount {
            let value: [UInt8]?
            switch view.value(index) {
            case .inline(let bytes): value = bytes.array
            case .overflow(let first, let byteCount):
                value = survey.chains[first] == place ? try chain(first, byteCount, leaf.treeID) : nil
            }
            guard let value else {
                if let place = places[tree.id] { report.trees[place].lostValueCount += 1 }
                continue
            }
            switch tree {
            case .integers(let tree): try write.put(value, for: view.integerKey(index), in: tree)
            case .bytes(let tree): try write.put(value, for: view.keyArray(index), in: tree)
            }
            byteCount += value.count + TreeLayout.bytesSlotByteCount
        }
        return byteCount
    }

    private func chain(_ first: PageNumber, _ byteCount: UInt64, _ treeID: UInt32) throws(StorageError) -> [UInt8]? {
        var value: [UInt8] = []
        let isWhole = try survey.forEachChainPage(first, byteCount, treeID) { view in
            value += view.overflowPayload.array
            return true
        }
        assert(!isWhole || value.count == Int(clamping: byteCount), "\(value.count) of \(byteCount) bytes")
        return isWhole ? value : nil
    }

    /// Removes the rows in the range of a leaf's fences (invariant 1).
    private func clear(_ view: PageView, of tree: AnyTree, _ write: inout WriteTransaction) throws(StorageError) {
        switch tree {
        case .integers(let tree):
            var cursor = try write.cursor(over: tree)
            let high = view.highFenceByteCount > 0 ? view.integerHighFence : nil
            var isOnEntry = try cursor.seek(view.integerLowFence)
            while isOnEntry {
                let key = try cursor.key
                guard high.map({ key < $0 }) ?? true else { return }
                try write.remove(key, from: tree)
                isOnEntry = try cursor.next()
            }
        case .bytes(let tree):
            var cursor = try write.cursor(over: tree)
            let high = view.highFenceByteCount > 0 ? view.highFence.array : nil
            var isOnEntry = try cursor.seek(view.lowFence.array)
            while isOnEntry {
                let key = try cursor.key
                guard high.map({ key.lexicographicallyPrecedes($0) }) ?? true else { return }
                try write.remove(key, from: tree)
                isOnEntry = try cursor.next()
            }
        }
    }
}
