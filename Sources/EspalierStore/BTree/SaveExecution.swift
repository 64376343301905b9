// One save to a B-tree store: versions, rules, constraints, rows, entries and links, in one write transaction.
//
// The steps of `run`: prepare the request; check versions; delete rows, and those that their rules reach; merge
// insertions into rows that have their unique values; plan the changes of lists; remove outdated entries of indexes;
// write rows; make both ends of one-to-one relationships equal; write entries and lists; check references; compute
// derived values; check the constraints that were deferred; write the counters; commit.
//
// Invariants
//   1. An update or deletion of the request is executed only at the version that it expects. A patch checks the version
//      when it visits its row. A rule or a merge may turn a patch into a rewrite, whose version is checked then. All
//      other versions are checked before the first write.
//   2. A unique value is checked before its entry is written, or in the end (`DeferredConstraints`). Each check reports
//      everything that it finds. Writes before an error roll back with the transaction.
//   3. When the transaction commits, every row has in each of its groups the one entry that GroupKey defines (none if
//      it fails the condition of an index), every list has the entries that LinkKey defines, and the counters count
//      them.
// Not here: what delete rules and checks read and change (+Rules), lists (+Links, +Order), derived values (+Derived),
// rows under reserved IDs (+Reserved), counters (+Counters), and who has a unique value (+Unique).

internal import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

struct SaveExecution: ~Copyable {
    /// An update that encodes its row anew: its position in the request, and the stored row.
    typealias Rewrite = (position: Int, row: ObjectSnapshot)

    var transaction: StoreTransaction<WriteTransaction>
    let catalog: StoreCatalog
    /// By index of the root entity: the last allocated primary key, in hierarchies that get new rows.
    private(set) var lastKeys: [UInt64?]
    /// By index of the root entity: the greatest version at which a row was deleted, in hierarchies with deletions.
    private(set) var goneVersions: [UInt64?]
    /// By index of the entity: the change of its number of rows.
    private(set) var rowDeltas: [Int64]
    /// By position of the group: the change of its number of cut entries.
    private(set) var cutDeltas: [Int64]
    var conflicts: [ConstraintConflict] = []
    /// By position of the group: entries that are written last.
    private var newEntries: [IndexEntries]
    private var insertedRows: SnapshotBuilder
    /// The rows that the updates of the request have changed.
    var updatedRows: SnapshotBuilder
    // Reused for every row and entry.
    private var row: [UInt8] = []
    var linkKey = [UInt8](repeating: 0, count: LinkKey.unorderedByteCount)
    var linkValue = [UInt8](repeating: 0, count: LinkKey.valueByteCount)
    var oldKey = GroupKey()
    var newKey = GroupKey()
    /// The orders that the request sends as edits, with which deleted destinations are found.
    private(set) var editedLists: [ListID: OrderedIDs] = [:]
    /// The rows with unique values that are longer than an entry holds and begin like those of new rows.
    var cutKeys = CutKeys()
    /// The changes from which derived values follow.
    var derivedChanges = DerivedChanges()
    /// The constraints that are checked in the end.
    var deferred: DeferredConstraints

    /// - Parameter deferred: the constraints to check in the end; `nil` = those whose values follow from other rows.
    init(
        _ transaction: consuming StoreTransaction<WriteTransaction>, _ catalog: StoreCatalog,
        deferring deferred: DeferredConstraints? = nil
    ) {
        self.transaction = transaction
        self.catalog = catalog
        self.deferred = deferred ?? DeferredConstraints(catalog.schema.lateConstraints)
        lastKeys = Array(repeating: nil, count: catalog.model.entities.count)
        goneVersions = lastKeys
        rowDeltas = Array(repeating: 0, count: catalog.model.entities.count)
        cutDeltas = Array(repeating: 0, count: catalog.schema.groups.count)
        newEntries = Array(repeating: IndexEntries(), count: catalog.schema.groups.count)
        insertedRows = SnapshotBuilder(numbering: catalog.numbering)
        updatedRows = SnapshotBuilder(numbering: catalog.numbering)
    }

    /// Carries `request` out and commits, for `store`.
    consuming func run(_ request: SaveRequest, for store: BTreeStore) throws(StoreError) -> SaveResult {
        let number = transaction.transactionID
        cutKeys = store.takeCutKeys(after: number - 1)
        var result = try carryOut(request)
        let known = cutKeys
        // A transaction that wrote nothing makes no generation: its commit answers the last one, which is of another
        // save.
        let commit = try transaction.commit()
        store.keepCutKeys(known, after: commit)
        if commit == number { result.generation = number }
        return result
    }

    /// The transaction, with everything that was carried out.
    consuming func handBack() -> StoreTransaction<WriteTransaction> { transaction }

    /// Carries `request` out without a commit.
    ///
    /// An error leaves the transaction with half of the request, to be rolled back.
    ///
    /// - Parameter selected: rows to delete, if the request itself deletes none.
    mutating func carryOut(
        _ request: SaveRequest, deleting selected: SelectedRows = .none
    ) throws(StoreError) -> SaveResult {
        var save = try prepare(request)
        var (rewritten, deleted) = try checkVersions(save)
        var rules = DeleteRules(save, schema: catalog.schema)
        if !deleted.isEmpty || !selected.rows.isEmpty {
            assert(deleted.isEmpty || selected.rows.isEmpty, "rows are deleted in two ways")
            editedLists = save.editedLists
            if deleted.isEmpty {
                try rules.delete(selected, in: &self)
            } else {
                try rules.delete(deleted, in: &self)
            }
            save.apply(rules)
            rewritten = try rowsToRewrite(save)
        }
        let merged = try MergedInsertions(save, request.constraintActions, schema: catalog.schema, in: self)
        if !merged.isEmpty {
            try save.apply(merged, in: self)
            rewritten = try rowsToRewrite(save)
        }
        let plan = try LinkPlan(save, schema: catalog.schema, updated: rewritten, source: self)
        try removeChangedEntries(save, rewritten)
        try insert(save)
        try update(save, rewritten)
        var oneToOnes = OneToOneRule(save, schema: catalog.schema, updated: rewritten)
        try oneToOnes.carryOut(in: &self)
        guard conflicts.isEmpty else { throw .constraint(save.asRequested(conflicts)) }
        try putNewEntries()
        try write(plan)
        let broken =
            try rules.conflicts(in: self) + oneToOnes.conflicts(in: self)
            + DestinationCheck(save, plan, schema: catalog.schema).conflicts(in: self)
        guard broken.isEmpty else { throw .references(save.asRequested(broken)) }
        var derived = DerivedValues(catalog.schema, at: save.moment)
        try derived.carryOut(in: &self)
        if !deferred.outlastsSave { try checkDeferredConstraints() }
        guard conflicts.isEmpty else { throw .constraint(save.asRequested(conflicts)) }
        try writeCounters()
        assert(checkInvariants(save))
        var result = merged.answer(
            inserted: try newest(insertedRows.finish(), derived.changed),
            updated: try newest(updatedRows.finish(), derived.changed))
        result.deleted = rules.gone
        result.changed = rules.changed.union(oneToOnes.changed).union(merged.leftOwners).union(derived.changed)
        return result
    }

    /// The request with permanent IDs: the new keys of each hierarchy continue after the last allocated one.
    private mutating func prepare(_ request: SaveRequest) throws(StoreError) -> PreparedSave {
        var lastKeys = lastKeys
        var lastTag: UInt32?
        for position in request.insertions.indices where request.insertions[position].id.entityTag != lastTag {
            lastTag = request.insertions[position].id.entityTag
            guard let root = catalog.schema.entity(of: request.insertions[position].id)?.root, lastKeys[root] == nil
            else { continue }
            let number = catalog.numbering.entityNumbers[root]
            let last = try transaction.counter(Counter.lastKey(rootNumber: number), catalog)
            try catalog.checkKeys(after: last, count: request.insertions.count, of: catalog.model.entities[root])
            lastKeys[root] = last
        }
        let save = try PreparedSave(
            request, schema: catalog.schema, storeTag: catalog.numbering.storeTag
        ) { entity in
            let key = (lastKeys[entity.root] ?? 0) + 1
            lastKeys[entity.root] = key
            return key
        }
        self.lastKeys = lastKeys
        return save
    }

    // MARK: Versions

    /// The stored rows of deletions and of updates that are more than a patch; throws `.conflict` unless all these rows
    /// and all locked rows are at the expected versions, and no new row exists already.
    private func checkVersions(
        _ save: PreparedSave
    ) throws(StoreError) -> (rewritten: [Rewrite], deleted: [ObjectSnapshot]) {
        let positions = save.updates.indices.filter { !isPatch(save, $0) }
        func expectations(_ positions: some Sequence<Int>) -> [(id: ObjectID, version: UInt64)] {
            positions.map { (save.updates[$0].id, save.updates[$0].expectedVersion) }
        }
        var (updateConflicts, otherConflicts): ([VersionConflict], [VersionConflict]) = ([], [])
        let updated = try stored(expectations(positions), &updateConflicts)
        let deleted = try stored(save.deletions.map { ($0.id, $0.expectedVersion) }, &otherConflicts)
        _ = try stored(save.locks.map { ($0.id, $0.expectedVersion) }, &otherConflicts)
        otherConflicts += try rowsInsertedAlready(save)
        guard updateConflicts.isEmpty, otherConflicts.isEmpty else {
            // Report the rows that would have been patched too, in the order of the request.
            updateConflicts = []
            _ = try stored(expectations(save.updates.indices), &updateConflicts)
            throw .conflict(updateConflicts + otherConflicts)
        }
        assert(
            updated.count == positions.count && deleted.count == save.deletions.count,
            "a row is missing without a conflict")
        return (zip(positions, updated).map { ($0, $1) }, deleted)
    }

    /// The stored rows of updates that are more than a patch, read again after a rule or a merge has changed the
    /// updates.
    private func rowsToRewrite(_ save: PreparedSave) throws(StoreError) -> [Rewrite] {
        let positions = save.updates.indices.filter { !isPatch(save, $0) }
        let expected = positions.map { (save.updates[$0].id, save.updates[$0].expectedVersion) }
        var conflicts: [VersionConflict] = []
        let rows = try stored(expected, &conflicts)
        // An update whose version its patch was to check may have become more than a patch.
        guard conflicts.isEmpty else { throw .conflict(conflicts) }
        assert(rows.count == positions.count, "\(rows.count) rows of \(positions.count) updates")
        return zip(positions, rows).map { ($0, $1) }
    }

    /// Whether an update only writes over bytes of its row: no index entry, no list and no length changes.
    private func isPatch(_ save: PreparedSave, _ position: Int) -> Bool {
        guard save.updates[position].destinations.isEmpty else { return false }
        let entity = catalog.schema.entityIndex(of: save.updates[position].id)
        return catalog.isPatch(save.updates[position].values, of: entity)
    }

    /// The stored rows that are at their expected versions; notes the others as conflicts.
    private func stored(
        _ expected: [(id: ObjectID, version: UInt64)], _ conflicts: inout [VersionConflict]
    ) throws(StoreError) -> [ObjectSnapshot] {
        var rows: [ObjectSnapshot] = []
        rows.reserveCapacity(expected.count)
        for (row, expected) in zip(try transaction.snapshots(of: expected.map(\.id), catalog), expected) {
            if let row, row.version == expected.version {
                rows.append(row)
            } else {
                conflicts.append(
                    VersionConflict(id: expected.id, expectedVersion: expected.version, stored: row))
            }
        }
        return rows
    }

    // MARK: Rows

    /// Removes rows, and their entries in indexes.
    mutating func remove(_ deleted: ArraySlice<ObjectSnapshot>) throws(StoreError) {
        // Consecutive keys are removed together; all these rows exist, because their versions were checked.
        var run: (tree: Tree<UInt64>, keys: ClosedRange<UInt64>)?
        for old in deleted {
            let (entity, key) = (catalog.schema.entityIndex(of: old.id), old.id.key)
            if catalog.schema.derivations.isNoted[entity] { derivedChanges.note(old) }
            for group in catalog.schema.groupsByEntity[entity] {
                oldKey.encode(catalog.schema.groups[group], .snapshot(old), catalog.numbering)
                try removeOldEntry(group, key)
            }
            rowDeltas[entity] -= 1
            let root = catalog.schema.roots[entity]
            if old.version > goneVersions[root] ?? 0 { goneVersions[root] = old.version }
            let tree = catalog.rowTree(of: catalog.model.entities[entity])
            if let (last, keys) = run, last.id == tree.id, keys.upperBound == key - 1 {
                run = (tree, keys.lowerBound...key)
            } else {
                if let run { try transaction.removeAll(run.keys, from: run.tree) }
                run = (tree, key...key)
            }
        }
        if let run { try transaction.removeAll(run.keys, from: run.tree) }
    }

    /// Removes the index entries that updates change, all of them before the first new entry is checked for uniqueness:
    /// rows of one save may exchange their values.
    private mutating func removeChangedEntries(_ save: PreparedSave, _ rewritten: [Rewrite]) throws(StoreError) {
        for (position, old) in rewritten { try removeChangedEntries(save.updates[position], old) }
    }

    mutating func removeChangedEntries(_ update: SaveRequest.Update, _ old: ObjectSnapshot) throws(StoreError) {
        for group in changedGroups(update, old) {
            oldKey.encode(catalog.schema.groups[group], .snapshot(old), catalog.numbering)
            try removeOldEntry(group, old.id.key)
        }
    }

    private mutating func insert(_ save: PreparedSave) throws(StoreError) {
        let schema = catalog.schema
        let encoder = RowEncoder(numbering: catalog.numbering)
        guard let first = save.ids.first else { return }
        // Tree and groups are looked up where the entity changes: most rows have that of the row before.
        var entity = schema.entityIndex(of: first)
        var root = schema.roots[entity]
        var tree = catalog.rowTree(ofRoot: root)
        var (groups, isNoted) = (schema.groupsByEntity[entity], schema.derivations.isNoted[entity])
        insertedRows.reserveCapacity(save.ids.count)
        for position in save.ids.indices {
            let (id, values) = (save.ids[position], save.insertions[position].row)
            let next = schema.entityIndex(of: id)
            if next != entity {
                entity = next
                root = schema.roots[entity]
                tree = catalog.rowTree(ofRoot: root)
                (groups, isNoted) = (schema.groupsByEntity[entity], schema.derivations.isNoted[entity])
            }
            let permanent = save.permanentIDs.permanent
            let version =
                try save.isReserved(at: position) ? ObjectSnapshot.version(after: goneVersion(ofRoot: root), of: id) : 1
            let (offsets, byteCount) = encoder.measure(entity, version: version, values, permanent: permanent)
            let (content, place) = insertedRows.append(id: id, byteCount: byteCount) { row in
                encoder.encode(entity, version: version, values, permanent: permanent, in: offsets, into: &row)
            }
            let isTaken = try content.withRow(at: place) { row throws(StoreError) in
                try transaction.put(row, for: id.key, in: tree)
            }
            // The rollback restores the row that had this key.
            guard !isTaken, id.key <= lastKeys[root] ?? 0 else {
                throw .invalidRequest(reason: "\(id) was not reserved, or a row has it already")
            }
            rowDeltas[entity] += 1
            if isNoted { derivedChanges.note(new: id) }
            guard !groups.isEmpty else { continue }
            let source = save.source(ofInsertion: position)
            for group in groups { try addEntry(group, id, entity, source) }
        }
    }

    private mutating func update(_ save: PreparedSave, _ rewritten: [Rewrite]) throws(StoreError) {
        var versionConflicts: [VersionConflict] = []
        var next = 0
        for position in save.updates.indices {
            if next < rewritten.count, rewritten[next].position == position {
                assert(
                    rewritten[next].row.id == save.updates[position].id,
                    "\(rewritten[next].row.id) is rewritten for \(save.updates[position].id)")
                try rewrite(rewritten[next].row, save.updates[position])
                next += 1
            } else {
                try patch(save, position, &versionConflicts)
            }
        }
        assert(next == rewritten.count, "\(next) of \(rewritten.count) rows were rewritten")
        guard versionConflicts.isEmpty else { throw .conflict(versionConflicts) }
    }

    /// The outcome of overwriting the bytes of a row.
    private enum PatchOutcome {
        case patched
        /// A value or the version needs more bytes than the row has for it.
        case needsRewrite
        /// The row does not exist, or is at another version than expected.
        case outdated
    }

    /// Overwrites bytes of a row, or encodes the row anew if it has no room; notes a conflict if it is at another
    /// version.
    private mutating func patch(
        _ save: PreparedSave, _ position: Int, _ versionConflicts: inout [VersionConflict]
    ) throws(StoreError) {
        assert(isPatch(save, position), "update \(position) is more than a patch")
        let (id, version) = (save.updates[position].id, save.updates[position].expectedVersion)
        let outcome = try patchInPlace(save.updates[position])
        if case .patched = outcome { return }
        let row = try transaction.snapshot(of: id, catalog)
        if case .needsRewrite = outcome, let row { return try rewrite(row, save.updates[position]) }
        versionConflicts.append(VersionConflict(id: id, expectedVersion: version, stored: row))
    }

    /// Checks the version of a row and overwrites its bytes, in one visit.
    private mutating func patchInPlace(_ update: SaveRequest.Update) throws(StoreError) -> PatchOutcome {
        let (id, version, catalog) = (update.id, update.expectedVersion, catalog)
        let entity = catalog.model.entities[catalog.schema.entityIndex(of: id)]
        var outcome = PatchOutcome.outdated
        // The visit borrows the transaction, a part of `self`, so `updatedRows` is moved out for the visit. It must be
        // back before other rows are written, because rows that are added in between would be lost.
        var rows = SnapshotBuilder(numbering: catalog.numbering)
        swap(&rows, &updatedRows)
        defer { swap(&rows, &updatedRows) }
        _ = try transaction.withMutableValue(of: id.key, in: catalog.rowTree(of: entity)) { row throws(StoreError) in
            let number = try catalog.check(row.bytes, in: entity, key: id.key)
            guard number == catalog.numbering.entityNumbers[entity.index],
                RowReader.version(of: row.bytes) == version
            else { return }
            let newVersion = try ObjectSnapshot.version(after: version, of: id)
            let isPatched = RowEncoder(numbering: catalog.numbering).patch(
                &row, entity.index, version: newVersion, values: update.values, destinations: [])
            if isPatched { rows.append(row.bytes, id: id) }
            outcome = isPatched ? .patched : .needsRewrite
        }
        return outcome
    }

    /// Replaces a row and adds its new index entries (`removeChangedEntries` has removed the old ones); patches a copy
    /// of the row if possible, else encodes it anew.
    mutating func rewrite(
        _ old: ObjectSnapshot, _ update: SaveRequest.Update, versionChange: UInt64 = 1
    ) throws(StoreError) {
        assert(old.id == update.id, "\(old.id) is rewritten with the values of \(update.id)")
        let entity = catalog.model.entities[catalog.schema.entityIndex(of: old.id)]
        if catalog.schema.derivations.isNoted[entity.index] { derivedChanges.note(old) }
        let version = try versionChange == 0 ? old.version : ObjectSnapshot.version(after: old.version, of: old.id)
        let encoder = RowEncoder(numbering: catalog.numbering)
        let groups = changedGroups(update, old)
        if groups.isEmpty, encoder.canPatch(entity.index, update.values), old.copyRow(to: &row) {
            let isPatched = row.withMutableRawSpan {
                encoder.patch(
                    &$0, entity.index, version: version, values: update.values,
                    destinations: update.destinations)
            }
            if isPatched {
                try transaction.put(row, for: old.id.key, in: catalog.rowTree(of: entity))
                return row.withRawSpan { updatedRows.append($0, id: old.id) }
            }
        }
        var values = entity.attributes.indices.map { old.value(at: $0) }
        var destinations = entity.relationships.indices.map { old.destination(at: $0) }
        for (slot, value) in update.values { values[slot] = value }
        for (slot, destination) in update.destinations { destinations[slot] = destination }
        let new = RowValues(values, destinations)
        let (offsets, byteCount) = encoder.measure(entity.index, version: version, new, permanent: \.self)
        let (content, place) = updatedRows.append(id: old.id, byteCount: byteCount) { row in
            encoder.encode(entity.index, version: version, new, permanent: \.self, in: offsets, into: &row)
        }
        try content.withRow(at: place) { row throws(StoreError) in
            _ = try transaction.put(row, for: old.id.key, in: catalog.rowTree(of: entity))
        }
        let source = ValueSource.values(values, destinations: destinations)
        for group in groups { try addEntry(group, old.id, entity.index, source) }
    }

    // MARK: Index entries

    /// Removes the entry of the row with primary key `key`; `oldKey` has its values.
    ///
    /// There is none if the row fails the condition of the index.
    mutating func removeOldEntry(_ group: Int, _ key: UInt64) throws(StoreError) {
        let isCut = oldKey.isCut
        oldKey.append(key: key)
        if try transaction.remove(oldKey.bytes, from: catalog.groupTrees[group]), isCut { cutDeltas[group] -= 1 }
    }

    private mutating func addEntry(
        _ index: Int, _ id: ObjectID, _ entity: ManagedObjectModel.EntityIndex, _ source: ValueSource
    ) throws(StoreError) {
        assert(catalog.schema.groupsByEntity[entity].contains(index), "\(id) has no entry in group \(index)")
        let group = catalog.schema.groups[index]
        if group.condition != nil, !group.hasEntry(of: id, catalog.model.entities[entity], source) { return }
        let numbering = catalog.numbering
        let number = numbering.entityNumbers[entity]
        guard group.isUnique else {
            let isCut = newEntries[index].append(entityNumber: number) { bytes in
                let isCut = GroupKey.append(group, source, numbering, to: &bytes).isCut
                bytes.append(bigEndian: id.key)
                return isCut
            }
            if isCut { cutDeltas[index] += 1 }
            return
        }
        newKey.encode(group, source, numbering)
        if deferred.defers(index) {
            if !newKey.hasNull { deferred.add(id, in: index) }
        } else if let other = try holder(of: source, inGroup: index) {
            conflicts.append(conflict(of: id, with: other, inGroup: index, source))
        }
        if newKey.isCut {
            cutDeltas[index] += 1
            cutKeys.add(id, source, group, at: index, newKey.bytes, catalog.numbering)
        }
        newKey.append(key: id.key)
        // Written at once, because the checks of later rows must find it.
        let value = GroupKey.entryValue(entityNumber: number, isCut: newKey.isCut)
        try transaction.put(value, for: newKey.bytes, in: catalog.groupTrees[index])
    }

    mutating func putNewEntries() throws(StoreError) {
        var newEntries = Array(repeating: IndexEntries(), count: catalog.schema.groups.count)
        swap(&newEntries, &self.newEntries)
        for (entries, tree) in zip(newEntries, catalog.groupTrees) {
            try entries.forEachInOrder { key, value throws(StoreError) in
                try transaction.put(value, for: key, in: tree)
            }
        }
    }

    // MARK: Invariants

    /// Asserts that every part of the request was carried out; to be called in `assert`, before the commit.
    private func checkInvariants(_ save: PreparedSave) -> Bool {
        assert(conflicts.isEmpty, "\(conflicts.count) conflicts are committed")
        assert(newEntries.allSatisfy(\.isEmpty), "some entries were not written")
        assert(insertedRows.count == save.ids.count, "\(insertedRows.count) rows of \(save.ids.count) were inserted")
        assert(
            updatedRows.count == save.updates.count, "\(updatedRows.count) rows of \(save.updates.count) were updated")
        for (index, delta) in rowDeltas.enumerated() where delta != 0 {
            assert(!catalog.model.entities[index].isAbstract, "an abstract entity gained \(delta) rows")
        }
        for case let (root, key?) in lastKeys.enumerated() {
            assert(catalog.schema.roots[root] == root, "an entity that is no root allocates keys")
            assert(
                save.ids.allSatisfy {
                    catalog.schema.roots[catalog.schema.entityIndex(of: $0)] != root || $0.key <= key
                })
        }
        return true
    }
}
