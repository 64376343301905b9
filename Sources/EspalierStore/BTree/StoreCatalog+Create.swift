// Creates the trees and records of a new store file, and updates the records of an existing one to the current model.

internal import EspalierEngine
internal import EspalierModel

extension StoreCatalog {
    /// Creates everything that an empty store of `schema` has, in the caller's transaction.
    static func create(
        _ schema: StoreSchema, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let model = schema.model
        let records = try transaction.createTree(named: StoreName.schema, keys: [UInt8].self)
        try transaction.createTree(named: StoreName.counters, keys: UInt64.self)
        try transaction.createTree(named: StoreName.metadata, keys: [UInt8].self)
        var version: [UInt8] = []
        version.append(littleEndian: StoreFormat.newest)
        try transaction.put(version, for: StoreName.format, in: records)
        try transaction.put(StoredModel.encode(model), for: StoreName.model, in: records)
        var layoutNumber = 0
        for entity in model.entities {
            try transaction.put(Array(entity.name.utf8), for: StoreName.entity(entity.index + 1), in: records)
            guard !entity.isAbstract else { continue }
            layoutNumber += 1
            try putLayout(layoutNumber, of: entity, entityNumber: entity.index + 1, records, &transaction)
        }
        for entity in model.entities {
            if entity.root == entity.index {
                try transaction.createTree(named: StoreName.rows(entity), keys: UInt64.self)
            }
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany {
                try transaction.createTree(named: StoreName.links(relationship, model), keys: [UInt8].self)
                guard relationship.inverse == nil else { continue }
                try transaction.createTree(named: StoreName.owners(relationship, model), keys: [UInt8].self)
            }
        }
        for group in schema.groups {
            try transaction.createTree(named: StoreName.group(group, model), keys: [UInt8].self)
        }
    }

    /// Records a compatible model that differs from the stored one, and layouts for entities whose fields have another
    /// order now.
    static func record(
        _ model: ManagedObjectModel, over catalog: StoreCatalog,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else { return }
        try transaction.put(StoredModel.encode(model), for: StoreName.model, in: records)
        let entityCount = catalog.numbering.entityNumbers.count
        assert(entityCount == model.entities.count, "\(entityCount) of \(model.entities.count) entities have numbers")
        var layoutNumber = max(catalog.numbering.layouts.count - 1, 0)
        for entity in model.entities where !entity.isAbstract {
            guard catalog.numbering.currentLayouts[entity.index]?.fields != RowLayout.fields(of: entity) else {
                continue
            }
            layoutNumber += 1
            let entityNumber = Int(catalog.numbering.entityNumbers[entity.index])
            try putLayout(layoutNumber, of: entity, entityNumber: entityNumber, records, &transaction)
        }
        try renewStamp(in: &transaction)
    }

    /// Gives the trees another stamp, by which every store of this file notices that the model has changed, in other
    /// processes too.
    ///
    /// The number of the next tree is the stamp: it is part of every commit, so a transaction has read it anyway.
    static func renewStamp(in transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        // A tree of this name is foreign.
        if let stray = try transaction.tree(named: StoreName.stamp) { try transaction.dropTree(stray) }
        let tree = try transaction.createTree(named: StoreName.stamp, kind: .bytes)
        try transaction.dropTree(tree)
    }

    /// The error if no number is left for another entity or layout.
    static var tooManyLayouts: StoreError {
        .invalidRequest(reason: "a store has at most 65,535 entities and row layouts")
    }

    /// Records a layout of the fields that an entity has.
    static func putLayout(
        _ number: Int, of entity: Entity, entityNumber: Int, _ records: Tree<[UInt8]>,
        _ transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        guard let layoutNumber = UInt16(exactly: number), let entityNumber = UInt16(exactly: entityNumber) else {
            throw tooManyLayouts
        }
        assert(layoutNumber > 0 && !entity.isAbstract, "layout \(layoutNumber) of \(entity.name)")
        let layout = RowLayout(
            number: layoutNumber, entityNumber: entityNumber, fields: RowLayout.fields(of: entity), entity: entity)
        try transaction.put(layout.record, for: StoreName.layout(number), in: records)
    }
}
