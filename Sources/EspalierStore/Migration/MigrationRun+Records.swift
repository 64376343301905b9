// The trees and records of a store during a migration: names, entity numbers, layouts, counters.
//
// Invariants
//   1. The record of a removed entity's number has its name after a `-`, which no entity name has: an entity of
//      that name that is added later gets a number of its own.
//   2. A field of a layout that no property continues is called `-` and its position, for the same reason.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    // MARK: Trees

    /// Renames the trees that are kept, and creates those that are new.
    ///
    /// - Parameter kept: by position of a newer index: that of the older one whose tree it adopts.
    func nameTrees(
        keeping kept: [Int?], in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(kept.count == schema.groups.count, "\(kept.count) of \(schema.groups.count) groups are decided")
        var names: [UInt32: String] = [:]
        for hierarchy in match.hierarchies where hierarchy.takesOver {
            let root = match.new.entities[hierarchy.root]
            names[oldCatalog.rowTree(ofRoot: hierarchy.sources[0]).id] = StoreName.rows(root)
        }
        for relationship in declaredToMany(of: match.new) {
            guard let former = keptLinks(of: relationship) else { continue }
            names[oldCatalog.linkTree(of: former).id] = StoreName.links(relationship, match.new)
            guard relationship.inverse == nil, let owners = oldCatalog.ownerTree(of: former) else { continue }
            names[owners.id] = StoreName.owners(relationship, match.new)
        }
        for case let (position, former?) in kept.enumerated() {
            names[oldCatalog.groupTrees[former].id] = StoreName.group(schema.groups[position], match.new)
        }
        assert(Set(names.values).count == names.count, "two trees get one name")
        for tree in oldTrees() { trees.add(tree, name: names[tree.id]) }
        try trees.rename(in: &transaction)
        let there = Set(names.values)
        for (name, kind) in StoreCatalog.trees(of: schema) where !there.contains(name) {
            guard ![StoreName.schema, StoreName.counters, StoreName.metadata].contains(name) else { continue }
            // A tree of this name that no model asked for is foreign: drop it.
            if let stray = try transaction.tree(named: name) { try transaction.dropTree(stray) }
            _ = try transaction.createTree(named: name, kind: kind)
        }
    }

    /// The trees of the older model, except those that every store has.
    private func oldTrees() -> [AnyTree] {
        var found = oldCatalog.rowTrees.compactMap(\.self).map { AnyTree.integers($0) }
        found += oldCatalog.groupTrees.map { .bytes($0) }
        for relationship in declaredToMany(of: match.old) {
            found.append(.bytes(oldCatalog.linkTree(of: relationship)))
            if let owners = oldCatalog.ownerTree(of: relationship) { found.append(.bytes(owners)) }
        }
        return found
    }

    func declaredToMany(of model: ManagedObjectModel) -> [Relationship] {
        model.entities.flatMap { entity in
            entity.relationships.filter { $0.declaredBy == entity.index && $0.isToMany }
        }
    }

    // MARK: Records

    /// Records the newer model, the names of entity numbers, and the layouts.
    func writeRecords(in transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else {
            throw .damaged(reason: "schema: the tree is missing")
        }
        try transaction.put(StoredModel.encode(match.new), for: StoreName.model, in: records)
        let numbering = oldCatalog.numbering
        var numbers = [UInt16](repeating: 0, count: match.new.entities.count)
        for entity in match.old.entities {
            let number = numbering.entityNumbers[entity.index]
            let newer = match.newEntities[entity.index].map { match.new.entities[$0] }
            if let newer { numbers[newer.index] = number }
            try transaction.put(
                Array((newer?.name ?? "-\(entity.name)").utf8), for: StoreName.entity(Int(number)), in: records)
        }
        var last = numbering.entities.count - 1
        for entity in match.new.entities where match.oldEntities[entity.index] == nil {
            last += 1
            guard let number = UInt16(exactly: last) else { throw StoreCatalog.tooManyLayouts }
            numbers[entity.index] = number
            try transaction.put(Array(entity.name.utf8), for: StoreName.entity(last), in: records)
        }
        assert(!numbers.contains(0), "an entity of the newer model has no number")
        let current = try renameFields(records, in: &transaction)
        var layoutNumber = max(numbering.layouts.count - 1, 0)
        for entity in match.new.entities where !entity.isAbstract {
            if let older = match.oldEntities[entity.index], current[older] == RowLayout.fields(of: entity) { continue }
            layoutNumber += 1
            try StoreCatalog.putLayout(
                layoutNumber, of: entity, entityNumber: Int(numbers[entity.index]), records, &transaction)
        }
        try StoreCatalog.renewStamp(in: &transaction)
    }

    /// Renames the fields of layouts after the properties that continue them.
    ///
    /// - Returns: by index of the older entity: the fields of its newest layout.
    private func renameFields(
        _ records: Tree<[UInt8]>, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [[RowLayout.Field]?] {
        var current = [[RowLayout.Field]?](repeating: nil, count: match.old.entities.count)
        for case let layout? in oldCatalog.numbering.layouts {
            guard let entity = oldCatalog.numbering.entity(layout.entityNumber),
                let newer = match.newEntities[entity.index]
            else { continue }
            let names = newNames(of: entity, match.new.entities[newer])
            let fields = layout.fields.enumerated().map { position, field in
                // A field without a property keeps its name.
                let name = field.name.hasPrefix("-") ? field.name : names[field.name] ?? "-\(position)"
                return RowLayout.Field(name: name, content: field.content)
            }
            current[entity.index] = fields
            guard fields != layout.fields else { continue }
            let renamed = RowLayout(
                number: layout.number, entityNumber: layout.entityNumber, fields: fields,
                defaultRow: layout.defaultRow, entity: match.new.entities[newer])
            try transaction.put(renamed.record, for: StoreName.layout(Int(layout.number)), in: records)
        }
        return current
    }

    /// By name of a property with a field in rows: its name in the newer model.
    private func newNames(of entity: Entity, _ newer: Entity) -> [String: String] {
        var names: [String: String] = [:]
        for attribute in newer.attributes {
            guard let slot = match.attributes[newer.index][attribute.slot], attribute.isStored,
                entity.attributes[slot].isStored
            else { continue }
            names[entity.attributes[slot].name] = attribute.name
        }
        for relationship in newer.relationships where !relationship.isToMany {
            guard let slot = match.relationships[newer.index][relationship.slot] else { continue }
            names[entity.relationships[slot].name] = relationship.name
        }
        return names
    }

    // MARK: Default rows

    /// Gives the older layouts the values that their rows have in attributes that are new.
    ///
    /// - Returns: whether records were changed.
    func fillLayouts(
        _ catalog: StoreCatalog, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> Bool {
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else { return false }
        let encoder = RowEncoder(numbering: catalog.numbering)
        var isChanged = false
        for case let former? in oldCatalog.numbering.layouts {
            guard let fate = fates[former.entityNumber], !fate.entity.isAbstract,
                let change = changes[Int(former.entityNumber)], change.fillsLayouts,
                let layout = catalog.numbering.layout(former.number)
            else { continue }
            let values = RowValues(
                defaults(of: former, change), relationshipCount: fate.entity.relationships.count)
            let filled = RowLayout(
                number: layout.number, entityNumber: layout.entityNumber, fields: layout.fields,
                defaultRow: encoder.row(of: fate.entity.index, version: 1, values), entity: fate.entity)
            try transaction.put(filled.record, for: StoreName.layout(Int(layout.number)), in: records)
            isChanged = true
        }
        return isChanged
    }

    /// The values of the newer attributes in rows of an older layout that do not contain them.
    private func defaults(of former: RowLayout, _ change: EntityChange) -> [AttributeValue] {
        let reader = RowReader(numbering: oldCatalog.numbering)
        return change.sources.map { source in
            switch source {
            case .fill(let value): value
            case .copy(let slot) where former.attributes[slot] == nil && !former.defaultRow.isEmpty:
                former.defaultRow.withRawSpan { reader.value(at: slot, $0) }
            case .none, .copy, .convert: .null
            }
        }
    }

    // MARK: Counters

    /// Writes the counters of hierarchies, and removes those of removed entities.
    func writeCounters(
        _ catalog: StoreCatalog, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let numbers = oldCatalog.numbering.entityNumbers
        var goneVersions: [EntityIndex: UInt64] = [:]
        for entity in match.old.entities {
            let number = numbers[entity.index]
            if entity.root == entity.index {
                let key = Counter.goneVersion(rootNumber: number)
                goneVersions[entity.index] = try transaction.counter(key, oldCatalog)
                try transaction.remove(key, from: catalog.counters)
                try transaction.remove(Counter.lastKey(rootNumber: number), from: catalog.counters)
            }
            if fates[number] == nil {
                try transaction.remove(Counter.rows(entityNumber: number), from: catalog.counters)
            }
        }
        for hierarchy in match.hierarchies {
            let number = catalog.numbering.entityNumbers[hierarchy.root]
            if let last = fates.lastKeys[hierarchy.root], last > 0 {
                try transaction.setCounter(Counter.lastKey(rootNumber: number), to: last, catalog)
            }
            let goneVersion = hierarchy.sources.compactMap { goneVersions[$0] }.max() ?? 0
            guard goneVersion > 0 else { continue }
            try transaction.setCounter(Counter.goneVersion(rootNumber: number), to: goneVersion, catalog)
        }
    }
}
