// Adapts a file that is not migrated to another model of the same rows: adds and drops indexes and constraints, and
// checks required values and numbers of destinations.
//
// Invariants
//   1. One transaction: after a crash the file has the old model with its trees, or the new one with all of its own.
//   2. The memory does not depend on the number of rows: a tree is built from sorted batches of entries, and pages that
//      do not fit into the cache are written to the log. For rows that share the first 512 bytes of unique values, 24
//      bytes each are held.
//   3. Rows are checked before they are used. A row that the new model forbids leaves the file unchanged.
// Not here: which models store the same rows (ModelComparison), and when a file is migrated (BTreeStore+Open).

internal import EspalierEngine
internal import EspalierModel

/// How the indexes and constraints of a file differ from those of another model.
struct GroupChanges {
    /// Names of trees that the new model does not ask for, or asks for with other properties.
    let dropped: Set<String>
    /// Positions, in the new schema's groups, of groups whose trees the file does not have.
    let made: [Int]

    init(from stored: StoreSchema, to schema: StoreSchema) {
        func shapes(_ schema: StoreSchema) -> [String: [String]] {
            let named = schema.groups.map { group in
                let parts = zip(group.properties, group.elements).map { name, element in
                    "\(name) \(element.isAscending) \(element.folding.rawValue)"
                }
                let condition = group.condition.map { ["where \($0.source)"] } ?? []
                return (StoreName.group(group, schema.model), parts + condition)
            }
            return Dictionary(named, uniquingKeysWith: { first, _ in first })
        }
        let (old, new) = (shapes(stored), shapes(schema))
        dropped = Set(old.keys.filter { new[$0] != old[$0] })
        made = schema.groups.indices.filter { position in
            let name = StoreName.group(schema.groups[position], schema.model)
            return old[name] != new[name]
        }
    }
}

extension StoreCatalog {
    /// The greatest number of pairs of rows with equal unique values in one error.
    private static let conflictCountMax = 100

    /// Adapts the file to the model of `schema`: drops and builds trees, checks required values and numbers of
    /// destinations, records the model.
    ///
    /// - Throws: `StoreError.incompatibleModel` if rows have no value for a property that is required now, or a number
    ///   of destinations that is forbidden now; `.constraint` if rows share values that must be unique now.
    /// - Complexity: O(rows log rows) for each new index, O(rows) if a property is newly required or may have fewer
    ///   numbers of destinations; else only the records are written.
    static func adopt(
        _ schema: StoreSchema, replacing stored: ManagedObjectModel, storeTag: UInt32, _ notes: MigrationNotes,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> MigrationPlan.Outcome {
        let changes = GroupChanges(from: StoreSchema(model: stored), to: schema)
        let made = changes.made.map { StoreName.group(schema.groups[$0], schema.model) }
        // A tree with the name of a new group that the old model did not ask for is foreign: drop it too.
        for name in changes.dropped.union(made).sorted() {
            guard let tree = try transaction.tree(named: name) else { continue }
            if let counters = try transaction.tree(named: StoreName.counters, keys: UInt64.self) {
                try transaction.remove(Counter.cutEntries(tree.id), from: counters)
            }
            try transaction.dropTree(tree)
        }
        for name in made { try transaction.createTree(named: name, keys: [UInt8].self) }
        let catalog = try load(schema, storeTag: storeTag, from: transaction)
        try catalog.checkRequired(
            ModelComparison.newlyRequired(stored: stored.descriptions, given: schema.model.descriptions),
            in: transaction)
        notes.part("trees and required values")
        for position in changes.made {
            var units = MigrationUnits(nil)
            try catalog.build(position, in: &transaction, &units)
            notes.part("index \(StoreName.group(schema.groups[position], schema.model))")
        }
        try record(schema.model, over: catalog, in: &transaction)
        var outcome = MigrationPlan.Outcome()
        outcome.indexesBuilt = changes.made.count
        return outcome
    }

    /// Fills the tree of a group from the rows.
    ///
    /// Sorts as many bytes of keys at a time as the cache has: 32 MiB by default, which are those of about 1,000,000
    /// rows. A further batch puts its entries between those of the first, into leaves that are full: four batches took
    /// a sixth longer than one (`bench --cpu-time --only "add an index"`).
    ///
    /// - Parameters:
    ///   - checkingUnique: whether rows may not share values that must be unique; if not, the caller checks them later.
    ///   - units: one is noted for each row that is read.
    func build(
        _ position: Int, checkingUnique: Bool = true, in transaction: inout StoreTransaction<WriteTransaction>,
        _ units: inout MigrationUnits
    ) throws(StoreError) {
        let (group, tree) = (schema.groups[position], groupTrees[position])
        let root = model.entities[model.entities[group.entity].root]
        let reader = RowReader(numbering: numbering)
        let isMember = numbering.entities.map { $0.map { schema.groupsByEntity[$0.index].contains(position) } ?? false }
        let batchByteCountMax = transaction.cacheByteCount
        var (batch, batchByteCount, cutCount) = (IndexEntries(), 0, UInt64(0))
        var entry: [UInt8] = []
        // A cursor of a write transaction continues from its key, whatever was put in the meantime.
        var cursor = try transaction.cursor(over: rowTree(of: root))
        while try cursor.next() {
            try units.advance()
            let key = try cursor.key
            try cursor.withValue { row throws(StoreError) in
                let number = try check(row, in: root, key: key)
                guard isMember[Int(number)],
                    group.hasEntry(of: row, key: key, entityNumber: number, reader)
                else { return }
                let (value, _) = GroupKey.encode(
                    group, row, key: key, entityNumber: number, reader, into: &entry)
                batch.append(entityNumber: number) { bytes in
                    bytes += entry
                    return value.isCut
                }
                if value.isCut { cutCount += 1 }
                batchByteCount += entry.count
            }
            if batchByteCount >= batchByteCountMax {
                try put(batch, in: tree, &transaction)
                (batch, batchByteCount) = (IndexEntries(), 0)
            }
        }
        try put(batch, in: tree, &transaction)
        if cutCount > 0 { try transaction.setCounter(Counter.cutEntries(tree.id), to: cutCount, self) }
        if group.isUnique, checkingUnique { try checkUnique(position, in: transaction) }
    }

    private func put(
        _ batch: IndexEntries, in tree: Tree<[UInt8]>, _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        try batch.forEachInOrder { key, value throws(StoreError) in try transaction.put(value, for: key, in: tree) }
    }

    // MARK: Rows that the new model forbids

    /// Refuses the model if rows share values that must be unique; the tree of the group has the entries of all rows.
    ///
    /// - Throws: `.constraint`.
    func checkUnique(
        _ position: Int, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let group = schema.groups[position]
        var (codes, hasNull): ([UInt8], Bool) = ([], false)
        var (first, cutKeys): (UInt64?, [UInt64]) = (nil, [])
        var pairs: [(UInt64, UInt64)] = []
        assert(group.isUnique, "rows may share values in \(group.name)")
        try transaction.forEach(in: groupTrees[position], from: [], below: nil) { key, value throws(StoreError) in
            let primaryKey = key.bigEndianKey(at: key.byteCount - 8)
            let values = key.extracting(0..<key.byteCount - 8)
            if values.byteCount != codes.count || !codes.withRawSpan({ values.begins(with: $0) }) {
                pairs += try equalRows(cutKeys, group, in: transaction)
                (codes, first, cutKeys) = (values.copy(0..<values.byteCount), nil, [])
                hasNull = GroupKey.hasNull(values, group)
            }
            if GroupEntryValue(value)?.isCut == true {
                cutKeys.append(primaryKey)
            } else if let first {
                if !hasNull { pairs.append((first, primaryKey)) }
            } else {
                first = primaryKey
            }
            return pairs.count < Self.conflictCountMax
        }
        pairs += try equalRows(cutKeys, group, in: transaction)
        guard !pairs.isEmpty else { return }
        var conflicts: [ConstraintConflict] = []
        for (first, second) in pairs.prefix(Self.conflictCountMax) {
            conflicts.append(try conflict(of: second, with: first, group, in: transaction))
        }
        throw .constraint(conflicts)
    }

    /// Pairs of rows with equal values, among rows whose entries have only the first bytes of their values.
    private func equalRows(
        _ keys: [UInt64], _ group: KeyGroup, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [(UInt64, UInt64)] {
        guard keys.count > 1 else { return [] }
        let (hash, reader) = (EntryHash(), RowReader(numbering: numbering))
        let tree = rowTree(of: model.entities[group.entity])
        var holders: [(mark: EntryMark, key: UInt64)] = []
        var entry: [UInt8] = []
        for key in keys {
            _ = try transaction.withValue(of: key, in: tree) { row throws(StoreError) in
                let (_, hasNull) = GroupKey.encode(group, row, key: key, entityNumber: 0, reader, into: &entry)
                if hasNull { return }
                let mark = GroupKey.codes(group, row, reader).withRawSpan { hash.mark($0, 0) }
                holders.append((mark, key))
            }
        }
        holders.sort { ($0.mark.low, $0.mark.high, $0.key) < ($1.mark.low, $1.mark.high, $1.key) }
        assert(holders.count <= keys.count, "\(holders.count) rows of \(keys.count) keys")
        return zip(holders, holders.dropFirst()).filter {
            $0.mark.low == $1.mark.low && $0.mark.high == $1.mark.high
        }.map { ($0.key, $1.key) }
    }

    private func conflict(
        of key: UInt64, with other: UInt64, _ group: KeyGroup,
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> ConstraintConflict {
        let entity = model.entities[group.entity]
        func id(_ key: UInt64) throws(StoreError) -> ObjectID {
            let number = try transaction.withValue(of: key, in: rowTree(of: entity)) { row throws(StoreError) in
                try check(row, in: entity, key: key)
            }
            guard let number, let id = numbering.id(entityNumber: number, key: key) else {
                throw .damaged(entity: entity.name, key: key, reason: "the row is missing")
            }
            return id
        }
        let (object, holder) = (try id(key), try id(other))
        assert(object != holder, "\(object) shares values with itself")
        let row = try transaction.snapshot(of: object, self)
        return ConstraintConflict(
            entityName: entity.name, properties: group.properties,
            values: group.elements.compactMap { element in
                row.map { ValueSource.snapshot($0).value(of: element) }
            },
            object: object, other: holder)
    }

    /// Rows that do not meet the demand on a property.
    struct MissingValues {
        let required: ModelComparison.RequiredProperty
        var rowCount = 0
        /// The first of these rows.
        var objects: [ObjectID] = []
    }

    /// Refuses the model if rows do not meet what it demands of properties now.
    func checkRequired<Base: TreeReading & ~Copyable>(
        _ required: [ModelComparison.RequiredProperty], in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) {
        let missing = try rowsWithout(required, objectCountMax: 1, in: transaction)
        let reasons = missing.map { missing in
            let (property, rowCount) = (missing.required, missing.rowCount)
            let subject = "entity \(property.entity): \(property.path)"
            let rows = rowCount == 1 ? "1 row" : "\(rowCount) rows"
            let first = "(first: \(missing.objects.first.map { "\($0.entityName)/\($0.key)" } ?? ""))"
            return switch property.demand {
            case .value:
                "\(subject) must now have a value, but \(rows) \(rowCount == 1 ? "has" : "have") none \(first); give "
                    + "them values with the file's model first, or keep \(property.path) optional"
            case .count(.atLeast(let count)):
                "\(subject) must now lead to at least \(count) objects, if to any, but \(rows) "
                    + "\(rowCount == 1 ? "leads" : "lead") to fewer \(first); add objects with the file's model first, "
                    + "or keep the smaller minimum"
            case .count(.atMost(let count)):
                "\(subject) may now lead to at most \(count) \(count == 1 ? "object" : "objects"), but \(rows) "
                    + "\(rowCount == 1 ? "leads" : "lead") to more \(first); remove objects with the file's model "
                    + "first, or keep the larger maximum"
            }
        }
        guard reasons.isEmpty else {
            throw .incompatibleModel(path: nil, reason: reasons.joined(separator: "; "))
        }
    }

    /// The properties of `required` whose demand some rows do not meet, with the number of these rows and the first of
    /// them.
    func rowsWithout<Base: TreeReading & ~Copyable>(
        _ required: [ModelComparison.RequiredProperty], objectCountMax: Int,
        in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> [MissingValues] {
        guard !required.isEmpty else { return [] }
        let reader = RowReader(numbering: numbering)
        var missing = required.map { MissingValues(required: $0) }
        for root in model.entities where root.root == root.index {
            // By entity number: the required properties of its rows, with their positions in `required`.
            let wanted = numbering.entities.map { entity -> [(position: Int, property: Entity.Property)] in
                guard let entity, entity.root == root.index else { return [] }
                return required.indices.compactMap { position in
                    guard let owner = model.entity(named: required[position].entity), entity.isKind(of: owner) else {
                        return nil
                    }
                    return entity.property(named: required[position].name).map { (position, $0) }
                }
            }
            guard wanted.contains(where: { !$0.isEmpty }) else { continue }
            var cursor = try transaction.cursor(over: rowTree(of: root))
            while try cursor.next() {
                let key = try cursor.key
                try cursor.withValue { row throws(StoreError) in
                    let number = try check(row, in: root, key: key)
                    for (position, property) in wanted[Int(number)] {
                        let isMissing =
                            switch property {
                            case .attribute(let slot) where required[position].elements.isEmpty:
                                reader.isNull(at: slot, row)
                            case .attribute(let slot):
                                reader.value(at: slot, row).lacksElement(at: required[position].elements)
                            case .relationship(let slot):
                                try isUnmet(
                                    required[position].demand, slot, row, key, numbering.entity(number), reader,
                                    in: transaction)
                            }
                        guard isMissing else { continue }
                        missing[position].rowCount += 1
                        guard missing[position].objects.count < objectCountMax,
                            let id = numbering.id(entityNumber: number, key: key)
                        else { continue }
                        missing[position].objects.append(id)
                    }
                }
            }
        }
        assert(
            missing.allSatisfy { $0.objects.count <= min($0.rowCount, objectCountMax) }, "more rows than were counted")
        return missing.filter { $0.rowCount > 0 }
    }

    /// Whether a relationship of a row does not meet the demand on it.
    private func isUnmet<Base: TreeReading & ~Copyable>(
        _ demand: ModelComparison.RequiredProperty.Demand, _ slot: Int, _ row: RawSpan, _ key: UInt64,
        _ entity: Entity?, _ reader: RowReader, in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> Bool {
        guard let relationship = entity?.relationships[slot], relationship.isToMany else {
            return reader.reference(at: slot, row) == nil
        }
        // Counting ends where the answer is known.
        let countMax =
            switch demand {
            case .value: 1
            case .count(.atLeast(let count)): count
            // A file or an application may state the greatest number that there is.
            case .count(.atMost(let count)): count == .max ? .max : count + 1
            }
        var owner: [UInt8] = []
        owner.append(bigEndian: key)
        var count = 0
        try transaction.forEach(in: linkTree(of: relationship), beginningWith: owner) { _, _ in
            count += 1
            return count < countMax
        }
        return switch demand {
        case .value: count == 0
        case .count(.atLeast(let least)): count > 0 && count < least
        case .count(.atMost(let most)): count > most
        }
    }
}
