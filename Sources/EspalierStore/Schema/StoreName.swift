// The names of the trees of a store file, and the keys of its records and counters.
//
// Not here: which trees a file has, and their contents (`StoreCatalog`).

internal import EspalierModel

/// Names of trees and keys of records.
enum StoreName {
    static let schema = "schema"
    static let counters = "counters"
    static let metadata = "metadata"
    /// The name of a tree that is created and dropped in one transaction.
    static let stamp = "stamp"

    static func rows(_ root: Entity) -> String {
        assert(root.root == root.index, "\(root.name) has no tree of rows of its own")
        return "rows:\(root.name)"
    }

    static func group(_ group: KeyGroup, _ model: ManagedObjectModel) -> String {
        "\(group.isUnique ? "unique" : "index"):\(model.entities[group.entity].name).\(group.name)"
    }

    static func links(_ relationship: Relationship, _ model: ManagedObjectModel) -> String {
        assert(relationship.isToMany, "\(relationship.name) has no list")
        return "links:\(model.entities[relationship.declaredBy].name).\(relationship.name)"
    }

    static func owners(_ relationship: Relationship, _ model: ManagedObjectModel) -> String {
        assert(relationship.isToMany && relationship.inverse == nil, "\(relationship.name) has no tree of owners")
        return "owners:\(model.entities[relationship.declaredBy].name).\(relationship.name)"
    }

    static let format = Array("format".utf8)
    static let model = Array("model".utf8)
    static func entity(_ number: Int) -> [UInt8] {
        assert(number > 0, "entities are numbered from 1, and not \(number)")
        return Array("entity:\(number)".utf8)
    }
    static func layout(_ number: Int) -> [UInt8] {
        assert(number > 0, "layouts are numbered from 1, and not \(number)")
        return Array("layout:\(number)".utf8)
    }
}

/// Keys of the counters tree.
enum Counter {
    static func rows(entityNumber: UInt16) -> UInt64 { 1 << 32 | UInt64(entityNumber) }
    static func lastKey(rootNumber: UInt16) -> UInt64 { 2 << 32 | UInt64(rootNumber) }
    static func cutEntries(_ treeID: UInt32) -> UInt64 { 3 << 32 | UInt64(treeID) }
    static func goneVersion(rootNumber: UInt16) -> UInt64 { 4 << 32 | UInt64(rootNumber) }
}
