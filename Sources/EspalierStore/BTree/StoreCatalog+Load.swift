// Reads a store file's records, which are untrusted: damage is thrown and never traps.

internal import EspalierEngine
internal import EspalierModel

extension StoreCatalog {
    /// Finds all trees and numbers of a store of `schema.model`, which is compatible with the stored model.
    ///
    /// - Parameter made: trees by name that `transaction` does not see yet.
    static func load<Base: TreeReading & ~Copyable>(
        _ schema: StoreSchema, storeTag: UInt32, made: [String: AnyTree] = [:],
        from transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> StoreCatalog {
        let model = schema.model
        func tree<Key>(_ name: String, _ keys: Key.Type) throws(StoreError) -> Tree<Key> {
            if let tree = made[name]?.tree(keys: keys) { return tree }
            guard let tree = try transaction.tree(named: name)?.tree(keys: keys) else {
                throw .damaged(reason: "tree \"\(name)\" is missing")
            }
            return tree
        }
        let numbering = try loadNumbering(schema, storeTag: storeTag, from: transaction)
        var rowTrees: [Tree<UInt64>?] = []
        var (linkTrees, ownerTrees): ([RelationshipID: Tree<[UInt8]>], [RelationshipID: Tree<[UInt8]>]) = ([:], [:])
        for entity in model.entities {
            rowTrees.append(entity.root == entity.index ? try tree(StoreName.rows(entity), UInt64.self) : nil)
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany {
                let id = RelationshipID(relationship)
                linkTrees[id] = try tree(StoreName.links(relationship, model), [UInt8].self)
                guard relationship.inverse == nil else { continue }
                ownerTrees[id] = try tree(StoreName.owners(relationship, model), [UInt8].self)
            }
        }
        var groupTrees: [Tree<[UInt8]>] = []
        for group in schema.groups { groupTrees.append(try tree(StoreName.group(group, model), [UInt8].self)) }
        return StoreCatalog(
            schema: schema, numbering: numbering, rowTrees: rowTrees, groupTrees: groupTrees, linkTrees: linkTrees,
            ownerTrees: ownerTrees, counters: try tree(StoreName.counters, UInt64.self),
            metadata: try tree(StoreName.metadata, [UInt8].self))
    }

    private static func loadNumbering<Base: TreeReading & ~Copyable>(
        _ schema: StoreSchema, storeTag: UInt32, from transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> StoreNumbering {
        func damaged(_ reason: String) -> StoreError {
            .damaged(reason: "schema: \(reason)")
        }
        let model = schema.model
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else {
            throw damaged("the tree is missing")
        }
        var entities: [Entity?] = [nil]
        var entityNumbers = [UInt16](repeating: 0, count: model.entities.count)
        while let name = try transaction.get(StoreName.entity(entities.count), from: records) {
            let entity = String(validating: name, as: UTF8.self).flatMap(model.entity(named:))
            guard entities.count <= UInt16.max else { throw damaged("too many entities") }
            if let entity { entityNumbers[entity.index] = UInt16(entities.count) }
            entities.append(entity)
        }
        if let index = entityNumbers.firstIndex(of: 0) {
            throw damaged("entity \(model.entities[index].name) has no entity number")
        }
        assert(
            entities.count > model.entities.count,
            "\(model.entities.count) entities have different numbers below \(entities.count)")
        var layouts: [RowLayout?] = [nil]
        var current = [RowLayout?](repeating: nil, count: model.entities.count)
        while let record = try transaction.get(StoreName.layout(layouts.count), from: records) {
            guard let number = UInt16(exactly: layouts.count), let fields = RowLayout.decode(record: record),
                Int(fields.entityNumber) < entities.count
            else { throw damaged("layout record \(layouts.count) is not valid") }
            let layout = entities[Int(fields.entityNumber)].map {
                RowLayout(
                    number: number, entityNumber: fields.entityNumber, fields: fields.fields,
                    defaultRow: fields.defaultRow, entity: $0)
            }
            if let layout, let entity = entities[Int(fields.entityNumber)] { current[entity.index] = layout }
            layouts.append(layout)
        }
        for entity in model.entities where !entity.isAbstract && current[entity.index] == nil {
            throw damaged("entity \(entity.name) has no layout")
        }
        let numbering = StoreNumbering(
            storeTag: storeTag, layouts: layouts, entities: entities, entityNumbers: entityNumbers,
            currentLayouts: current)
        try checkDefaultRows(numbering)
        return numbering
    }

    /// Checks the default rows of all layouts, so that rows of these layouts can be read.
    private static func checkDefaultRows(_ numbering: StoreNumbering) throws(StoreError) {
        let reader = RowReader(numbering: numbering)
        for case let layout? in numbering.layouts where !layout.defaultRow.isEmpty {
            func damaged(_ reason: String) -> StoreError {
                .damaged(reason: "schema: the default row of layout \(layout.number) is not valid: \(reason)")
            }
            try layout.defaultRow.withRawSpan { row throws(StoreError) in
                let number: UInt16
                do throws(RowReader.Damage) { number = try reader.check(row) } catch { throw damaged(error.reason) }
                guard number == layout.entityNumber else { throw damaged("it belongs to another entity") }
                if let field = reader.contentProblem(row) { throw damaged("\(field) has no possible value") }
            }
        }
    }
}
