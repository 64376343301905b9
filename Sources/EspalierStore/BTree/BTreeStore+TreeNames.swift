// The names of an object store's trees, for tools that find trees without a name in a damaged file.

public import EspalierEngine
internal import EspalierModel

extension BTreeStore {
    /// The names of the trees that every object store has.
    public static let fixedTreeNames = [StoreName.schema, StoreName.counters, StoreName.metadata]

    /// The names of all trees that the model in `database` requires; empty if no model can be read.
    public static func treeNames(in database: Database) -> [String] {
        guard let model = try? storedModel(database)?.model else { return [] }
        let schema = StoreSchema(model: model)
        var names = fixedTreeNames
        for entity in model.entities {
            if entity.root == entity.index { names.append(StoreName.rows(entity)) }
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany {
                names.append(StoreName.links(relationship, model))
                if relationship.inverse == nil { names.append(StoreName.owners(relationship, model)) }
            }
        }
        return names + schema.groups.map { StoreName.group($0, model) }
    }
}
