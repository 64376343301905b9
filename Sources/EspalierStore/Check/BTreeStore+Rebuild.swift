// Rebuilds everything that is derived from rows: index and unique entries, links and counters, in one transaction; then
// derived values, in another one.
//
// Invariants
//   1. Rows are never changed, except in the values of derived attributes. Where a row and a derived tree contradict
//      each other, the row is right.
//   2. Links between two to-many sides, and links of relationships without inverse, are in two trees: afterwards both
//      trees have the links of either, if the rows at both ends exist.
//   3. Trees change in one transaction: a crash leaves the store as it was, or rebuilt up to derived values. Changes
//      that do not fit into memory are written to the log, as in any transaction.

public import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Makes index entries, unique entries, links and counters agree with the rows, in one durable transaction.
    ///
    /// Only wrong entries are written. Two rows that share unique values both remain, and are reported; so are to-one
    /// values that lead to rows that do not exist. Links to or from rows that do not exist are removed.
    ///
    /// - Parameters:
    ///   - isDryRun: whether to write nothing, and only to report the changes.
    ///   - progress: called now and then; if it returns `false`, the work ends without changes.
    /// - Throws: `readOnly`; the engine's errors about damaged pages, which have to be salvaged first.
    /// - Complexity: that of `check`, twice if anything changes; O(log n) for each wrong entry. The memory is that of
    ///   `check`.
    public func rebuildDerivedTrees(
        isDryRun: Bool = false, progress: ((StoreCheckProgress) -> Bool)? = nil
    ) throws(StoreError) -> RebuildReport {
        try withPath { () throws(StoreError) in
            // Begin the writer first, so that the snapshot is the state on which it builds.
            let writer = isDryRun ? nil : try beginWrite()
            return try rebuild(writer, newTrees: [:], isDryRun: isDryRun, progress)
        }
    }

    /// Opens a store with the model in its file, and rebuilds its derived trees, which may be wrong or missing.
    ///
    /// In contrast to opening the store first, this also mends a store that lacks whole trees, as a salvage may leave
    /// it. A missing tree of rows is created empty.
    ///
    /// - Throws: the errors of `openWithStoredModel` and of `rebuildDerivedTrees(isDryRun:progress:)`.
    public static func rebuildDerivedTrees(
        at path: String, isDryRun: Bool = false, options: DatabaseOptions = .init(),
        progress: ((StoreCheckProgress) -> Bool)? = nil
    ) throws(StoreError) -> RebuildReport {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        if isDryRun { options.access = .readOnly }
        let database = try StoreError.withPath(path) { () throws(StoreError) in
            try withStoreErrors(try Database.open(path, options: options))
        }
        return try rebuildDerivedTrees(of: database, path: path, isDryRun: isDryRun, progress: progress)
    }

    /// Rebuilds the derived trees of an open database; closes it.
    package static func rebuildDerivedTrees(
        of database: Database, path: String?, isDryRun: Bool = false,
        progress: ((StoreCheckProgress) -> Bool)? = nil
    ) throws(StoreError) -> RebuildReport {
        try StoreError.withPath(path) { () throws(StoreError) in
            do throws(StoreError) {
                let report = try rebuildContent(of: database, path: path, isDryRun: isDryRun, progress)
                try withStoreErrors(try database.close())
                return report
            } catch {
                // Report the first error.
                try? database.close()
                throw error
            }
        }
    }

    private static func rebuildContent(
        of database: Database, path: String?, isDryRun: Bool, _ progress: ((StoreCheckProgress) -> Bool)?
    ) throws(StoreError) -> RebuildReport {
        guard database.applicationID == applicationID, let stored = try storedModel(database) else {
            throw .incompatibleModel(path: nil, reason: "it contains no objects, so there is nothing to rebuild")
        }
        // Opening the store converts rows of an older format.
        guard stored.format == StoreFormat.newest else { throw .otherFormat(path: nil, format: stored.format) }
        let schema = StoreSchema(model: stored.model)
        func load(_ made: [String: AnyTree]) throws(StoreError) -> BTreeStore {
            let transaction = try StoreTransaction(reading: database)
            let identifier = database.storeIdentifier
            let storeTag = Interned.stores.tag(of: UUID(bytes: identifier))
            let catalog = try StoreCatalog.load(schema, storeTag: storeTag, made: made, from: transaction)
            return BTreeStore(
                database: database, catalog: catalog, identifier: UUID(bytes: identifier), path: path,
                treeStamp: transaction.treeStamp)
        }
        var made: [String: AnyTree] = [:]
        let missing = try missingTrees(schema, database)
        assert(!missing.contains { $0.name == StoreName.schema }, "the model was read from a tree that is missing")
        guard !isDryRun else {
            for (number, tree) in missing.enumerated() {
                // No tree has these numbers.
                made[tree.name] = AnyTree(unmade: tree.name, id: .max - UInt32(number), kind: tree.kind)
            }
            return try load(made).rebuild(nil, newTrees: made, isDryRun: true, progress)
        }
        var writer = StoreTransaction(try withStoreErrors(try database.beginWrite()))
        for tree in missing { made[tree.name] = try writer.createTree(named: tree.name, kind: tree.kind) }
        return try load(made).rebuild(writer, newTrees: made, isDryRun: false, progress)
    }

    /// The trees that the model requires and the file lacks.
    private static func missingTrees(
        _ schema: StoreSchema, _ database: Database
    ) throws(StoreError) -> [(name: String, kind: KeyKind)] {
        let there = Set(try StoreTransaction(reading: database).trees().map(\.name))
        return StoreCatalog.trees(of: schema).filter { !there.contains($0.name) }
    }

    private func rebuild(
        _ writer: consuming StoreTransaction<WriteTransaction>?, newTrees: [String: AnyTree], isDryRun: Bool,
        _ progress: ((StoreCheckProgress) -> Bool)?
    ) throws(StoreError) -> RebuildReport {
        assert(newTrees.allSatisfy { $0.key == $0.value.name }, "a new tree has another name")
        let mender = StoreMender(writer, newTrees: Set(newTrees.values.map(\.id)))
        var report: RebuildReport
        do {
            let session = ReadSession(try beginRead(), catalog, sortSpace)
            var check = StoreCheck(session: session, mender: mender, progress: progress)
            try check.run()
            report = RebuildReport(mended: check.report, isDryRun: isDryRun)
            for tree in StoreCatalog.trees(of: catalog.schema) {
                guard let tree = catalog.derivedTree(named: tree.name) else { continue }
                let count = mender.counts[tree.id] ?? StoreMender.Count()
                report.trees.append(
                    RebuildReport.TreeChange(
                        tree: tree.name, wasMissing: mender.isNew(tree),
                        entriesBefore: mender.isNew(tree)
                            ? 0 : Int(clamping: try session.transaction.count(of: tree)),
                        added: count.added, removed: count.removed, replaced: count.replaced))
            }
        }
        report.counters = mender.counters
        report.derivedValueCount = report.mended.wrongDerivedCount
        guard !isDryRun, report.mended.isComplete, mender.hasChanges || report.derivedValueCount > 0 else {
            return report
        }
        try mender.commit()
        report.derivedValueCount = try recomputedDerivedValueCount()
        report.after = try check(progress: progress)
        return report
    }
}

extension BTreeStore {
    /// Computes derived values anew from rows and lists that agree, in a transaction of its own; returns the number of
    /// those that were wrong.
    private func recomputedDerivedValueCount() throws(StoreError) -> Int {
        guard !catalog.schema.derivations.isEmpty else { return 0 }
        var transaction = try beginWrite()
        do throws(StoreError) {
            var units = MigrationUnits(nil)
            let count = try catalog.recomputeDerivedValues(in: &transaction, &units)
            if count > 0 { try transaction.commit(.durable) }
            return count
        } catch {
            // Nothing was written. The check that follows reports rows that cannot be read, or that share values.
            switch error {
            case .damagedContent, .constraint: return 0
            default: throw error
            }
        }
    }
}

extension StoreCatalog {
    /// The trees of a store of `schema`, except the tree of the schema itself.
    static func trees(of schema: StoreSchema) -> [(name: String, kind: KeyKind)] {
        let model = schema.model
        var trees: [(name: String, kind: KeyKind)] = [(StoreName.counters, .integer), (StoreName.metadata, .bytes)]
        for entity in model.entities where entity.root == entity.index {
            trees.append((StoreName.rows(entity), .integer))
        }
        trees += schema.groups.map { (StoreName.group($0, model), .bytes) }
        for entity in model.entities {
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany {
                trees.append((StoreName.links(relationship, model), .bytes))
                if relationship.inverse == nil { trees.append((StoreName.owners(relationship, model), .bytes)) }
            }
        }
        return trees
    }

    /// The tree of an index, a constraint or of links with this name, which may be one that was missing.
    fileprivate func derivedTree(named name: String) -> Tree<[UInt8]>? {
        if let tree = groupTrees.first(where: { $0.name == name }) { return tree }
        for list in toManyLists() {
            if list.tree.tree.name == name { return list.tree.tree }
            if case .owners(let back) = list.counterpart, back.tree.name == name { return back.tree }
        }
        return nil
    }
}
