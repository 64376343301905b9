// A SQLite store of Core Data as a source of rows and members.

import EspalierEngine
import EspalierModel
import EspalierModelFile

/// A SQLite store.
final class SQLiteSource: ImportSource {
    let model: ManagedObjectModel
    let metadata: [String: AttributeValue]
    let database: SQLiteDatabase
    private let numbers: [String: Int64]
    private let lastKeys: [String: Int64]
    /// By index of the root entity; `nil` if the hierarchy has no table, because the store has no such entities.
    private var tables: [HierarchyTable?]
    private let externalValues: ExternalValues
    private var joinTables: [ManagedObjectModel.EntityIndex: [Int: JoinTable]] = [:]

    /// - Parameter isStrict: whether a model that cannot be compared with the store's own is refused if it does not
    ///   have all properties of the columns.
    init(
        _ path: String, model document: ModelDocument?, isStrict: Bool, in fileSystem: any FileSystem,
        _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        database = try withImportErrors { () throws(SQLiteFileError) in try SQLiteDatabase(path, in: fileSystem) }
        let facts = try StoreMetadata(database)
        let cached = facts.modelBytes.map { StoreModel.document(cached: $0, path: path) }
        let storeModel = try StoreModel(document, cached: cached, hashedEntities: facts.list.hashedEntities, path: path)
        model = storeModel.model
        metadata = facts.list.values
        externalValues = ExternalValues(ofStoreAt: path)
        report.storeIdentifier = facts.identifier
        report.notes = storeModel.notes
        if database.hasUnreadLog {
            report.notes.append("the log beside the store has no valid header and was not read")
        }
        for name in facts.list.otherValues { report.add(.metadata, "", name, "the value is not a plain value") }
        var (numbers, lastKeys): ([String: Int64], [String: Int64]) = ([:], [:])
        for entity in facts.entities {
            guard model.entity(named: entity.name) != nil else {
                guard entity.number >= StoreMetadata.ownEntitiesBegin else {
                    throw .otherModel(path: path, entities: [entity.name], reason: "the model does not have it")
                }
                continue
            }
            (numbers[entity.name], lastKeys[entity.name]) = (entity.number, entity.lastKey)
        }
        (self.numbers, self.lastKeys) = (numbers, lastKeys)
        tables = Array(repeating: nil, count: model.entities.count)
        try findTables(external: storeModel.externalAttributes, &report)
        try findJoinTables(transient: storeModel.transientRelationships, &report)
        try noteMissing(path, isChecked: storeModel.isStoresOwn, transient: storeModel.transientRelationships, &report)
        if !storeModel.isStoresOwn { try refuseOtherTypes(path) }
        if isStrict, !storeModel.isStoresOwn { try refuseUnusedColumns(path) }
        noteIgnoredTables(&report)
    }

    private func findTables(
        external: Set<String>, _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        for root in model.roots {
            let name = ColumnNames.table(of: root)
            guard let table = try withImportErrors({ () throws(SQLiteFileError) in try database.table(name) }) else {
                if numbers[root.name] != nil {
                    throw .notAStore(path: database.path, reason: "it has no table \(name)")
                }
                continue
            }
            tables[root.index] = try HierarchyTable(
                table, root: root, model: model, numbers: numbers, external: external, path: database.path)
        }
    }

    /// Finds the place of each to-many relationship that has one of its own.
    private func findJoinTables(
        transient: Set<String>, _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        var found: [(relationship: Relationship, candidates: [JoinTable.Candidate])] = []
        for relationship in model.declaredRelationships
        where relationship.isToMany && model.inverse(of: relationship)?.isToMany != false {
            found.append((relationship, try JoinTable.candidates(for: relationship, in: model, numbers, database)))
        }
        // The name of one relationship may be that of another one with a number after it: then the table is the first
        // one's only.
        let owned = Set(found.flatMap { $0.candidates.filter(\.hasOwnName).map(\.name) })
        for (relationship, candidates) in found {
            let source = model.entities[relationship.declaredBy]
            let own = candidates.filter(\.hasOwnName)
            if own.isEmpty, findOwnerColumns(of: relationship) { continue }
            let nearest = JoinTable.nearest(own.isEmpty ? candidates.filter { !owned.contains($0.name) } : own)
            if nearest.count == 1 {
                joinTables[source.index, default: [:]][relationship.slot] = nearest[0].join
            } else if nearest.count > 1 {
                let names = nearest.map(\.name).joined(separator: ", ")
                report.add(.property, source.name, relationship.name, "each of the tables \(names) could be its table")
            } else if numbers[source.name] != nil, !transient.contains("\(source.name).\(relationship.name)") {
                report.add(.property, source.name, relationship.name, "the store has no table for it")
            }
        }
    }

    /// Finds the columns of a relationship without inverse that the table of its destinations has; returns `false` if
    /// there are none.
    private func findOwnerColumns(of relationship: Relationship) -> Bool {
        let source = model.entities[relationship.declaredBy]
        let root = model.destinationRoot(of: relationship)
        guard relationship.inverse == nil, let number = numbers[source.name], let hierarchy = tables[root.index],
            let columns = hierarchy.ownerColumns(of: relationship, number: number)
        else { return false }
        joinTables[source.index, default: [:]][relationship.slot] = JoinTable(
            table: hierarchy.table, owner: columns.owner, destination: hierarchy.keyColumn, place: columns.place)
        tables[root.index] = hierarchy.allowing([columns.owner] + (columns.place.map { [$0] } ?? []))
        return true
    }

    /// Properties without columns: the model is another one, unless it was compared with the store's own.
    private func noteMissing(
        _ path: String, isChecked: Bool, transient: Set<String>, _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        let missing = tables.compactMap { $0?.missing }.flatMap { $0 }.filter {
            !transient.contains("\($0.entity).\($0.property)")
        }
        // The columns of composite attributes are not known.
        let isOther = missing.contains {
            model.entity(named: $0.entity)?.attribute(named: $0.property)?.type != .composite
        }
        guard isChecked || !isOther else {
            throw .otherModel(
                path: path, entities: Set(missing.map(\.entity)).sorted(),
                reason: "the store has no columns for " + missing.prefix(10).map(\.property).joined(separator: ", "))
        }
        for (entity, property) in missing { report.add(.property, entity, property, "the store has no column for it") }
    }

    /// The values of a column would become others without a word: a date has the form of a number.
    private func refuseOtherTypes(_ path: String) throws(CoreDataImportError) {
        let retyped = tables.compactMap { $0?.retyped }.flatMap { $0 }
        guard retyped.isEmpty else {
            let names = retyped.prefix(10).map { "\($0.entity).\($0.property)" }.joined(separator: ", ")
            throw .otherModel(
                path: path, entities: Set(retyped.map(\.entity)).sorted(),
                reason: "the store has columns of other types for \(names)")
        }
    }

    private func refuseUnusedColumns(_ path: String) throws(CoreDataImportError) {
        var (entities, columns): ([String], [String]) = ([], [])
        for root in model.roots {
            guard let unused = tables[root.index]?.unusedColumns, !unused.isEmpty else { continue }
            entities.append(root.name)
            columns += unused
        }
        guard entities.isEmpty else {
            throw .otherModel(
                path: path, entities: entities.sorted(),
                reason: "the model has no properties for the columns " + columns.prefix(10).joined(separator: ", "))
        }
    }

    private func noteIgnoredTables(_ report: inout CoreDataImportReport) {
        var used: Set = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
        used.formUnion(tables.compactMap { $0?.table.name })
        used.formUnion(joinTables.values.flatMap(\.values).map(\.table.name))
        report.ignoredTables = database.schema.filter { entry in
            entry.type == "table" && !used.contains(entry.name) && !entry.name.hasPrefix("sqlite_")
        }.map(\.name).sorted()
    }

    func lastKey(of root: Entity) -> UInt64 {
        let keys = root.family.compactMap { lastKeys[model.entities[$0].name] }
        return UInt64(max(0, keys.max() ?? 0))
    }
}

// MARK: Rows

extension SQLiteSource {
    func forEachRow(
        of root: Entity, withValues: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceRow, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError) {
        guard let hierarchy = tables[root.index] else { return }
        var rows = hierarchy.table.rows()
        var known: (number: Int64, columns: HierarchyTable.EntityColumns)?
        let only = hierarchy.entities.count == 1 ? hierarchy.entities.first?.key : nil
        while try withImportErrors({ () throws(SQLiteFileError) in try rows.next() }) {
            let record = rows.record
            let key =
                hierarchy.table.rowIDColumn == hierarchy.keyColumn
                ? rows.rowID : record.integer(hierarchy.keyColumn) ?? 0
            let number = hierarchy.entityColumn.flatMap { record.integer($0) } ?? only
            guard let number, key > 0, key == rows.rowID else {
                if withValues {
                    report.add(
                        .row, root.name, key: rows.rowID, "",
                        "the row has no entity, or its primary key is not its row ID")
                }
                continue
            }
            if known?.number != number { known = hierarchy.entities[number].map { (number, $0) } }
            guard let columns = known?.columns, known?.number == number, !columns.entity.isAbstract else {
                if withValues {
                    report.add(.row, root.name, key: key, "", "entity number \(number) has no rows in this table")
                }
                continue
            }
            if withValues { try withImportErrors { () throws(SQLiteFileError) in try hierarchy.table.check(record) } }
            var destinations = columns.noDestinations
            for (slot, column) in columns.destinations where !record.isNull(column) {
                if let destination = record.integer(column), destination > 0 {
                    destinations[slot] = UInt64(destination)
                } else if withValues {
                    report.add(
                        .destination, columns.entity.name, key: key, columns.entity.relationships[slot].name,
                        "\(record.value(column).kindDescription) is not a primary key")
                }
            }
            let values = withValues ? values(record, columns, key, hierarchy, &report) : []
            try body(
                SourceRow(entity: columns.entity, key: UInt64(key), values: values, destinations: destinations), &report
            )
        }
    }

    private func values(
        _ record: SQLiteRecord, _ columns: HierarchyTable.EntityColumns, _ key: Int64, _ hierarchy: HierarchyTable,
        _ report: inout CoreDataImportReport
    ) -> [AttributeValue] {
        var values = columns.nulls
        for place in columns.attributes where !record.isNull(place.column) {
            do throws(ColumnValueError) {
                var value = record.value(place.column)
                if place.isExternal, case .blob(let bytes) = value { value = .blob(try externalValues.value(bytes)) }
                values[place.slot] = try place.type.value(ofColumn: value)
            } catch {
                let name = columns.entity.attributes[place.slot].name
                report.add(error.kind, columns.entity.name, key: key, name, error.message)
            }
        }
        for column in columns.others where !record.isNull(column) {
            report.add(
                .column, columns.entity.name, key: key, hierarchy.table.columns[column],
                "the column has a value, \(record.value(column).kindDescription), but belongs to no property")
        }
        return values
    }
}

// MARK: Members

extension SQLiteSource {
    func forEachMember(
        of relationship: Relationship, isFirst: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceMember, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError) {
        guard let place = place(of: relationship) else { return }
        var rows = place.table.rows()
        while try withImportErrors({ () throws(SQLiteFileError) in try rows.next() }) {
            func key(_ column: Int) -> Int64? {
                place.table.rowIDColumn == column ? rows.rowID : rows.record.integer(column)
            }
            if rows.record.isNull(place.owner), place.table.rowIDColumn == place.destination { continue }
            guard let owner = key(place.owner), let destination = key(place.destination), owner > 0, destination > 0
            else {
                if isFirst {
                    report.add(
                        .destination, model.entities[relationship.declaredBy].name, key: key(place.owner) ?? 0,
                        relationship.name,
                        "row \(rows.rowID) of table \(place.table.name) does not have two primary keys")
                }
                continue
            }
            let position = place.place.flatMap { rows.record.integer($0) } ?? 0
            try body(
                SourceMember(owner: UInt64(owner), position: position, destination: UInt64(destination)), &report)
        }
    }

    private func place(of relationship: Relationship) -> JoinTable? {
        guard let inverse = model.inverse(of: relationship), !inverse.isToMany else {
            return joinTables[relationship.declaredBy]?[relationship.slot]
        }
        guard let hierarchy = tables[model.destinationRoot(of: relationship).index],
            let columns = hierarchy.orderColumns(of: inverse)
        else { return nil }
        return JoinTable(
            table: hierarchy.table, owner: columns.owner, destination: hierarchy.keyColumn, place: columns.place)
    }
}
