// What an audit counted in the trees of an object store.

/// What an object store holds.
package struct ObjectReport: Sendable {
    /// The format of its rows; nothing if the records cannot be read.
    package internal(set) var format: UInt16?
    /// Rows by entity, in the order of the model.
    package internal(set) var rowCounts: [(entity: String, count: UInt64)] = []
    /// Entries of indexes and uniqueness constraints.
    package internal(set) var entryCount: UInt64 = 0
    /// Links of to-many relationships, each direction by itself.
    package internal(set) var linkCount: UInt64 = 0
    /// What was not compared, because a part of it could not be read.
    package internal(set) var uncompared: [String] = []
}

/// Which comparison a thing belongs to: the position of its group or its list in the schema.
enum ComparisonID: Hashable {
    case group(Int)
    case list(Int)
}

/// What a tree of an object store is for.
enum TreeRole {
    case schema
    case counters
    case metadata
    case rows(root: Int)
    case group(Int)
    case links(Int)
    case owners(Int)

    /// The role of every tree that a schema asks for.
    static func all(_ schema: ObjectSchema) -> [String: TreeRole] {
        var roles: [String: TreeRole] = [
            ObjectSchema.treeName: .schema, ObjectSchema.countersName: .counters, ObjectSchema.metadataName: .metadata,
        ]
        for index in schema.model.entities.indices where schema.model.entities[index].root == index {
            roles[schema.rowTree(ofRoot: index)] = .rows(root: index)
        }
        for (index, group) in schema.groups.enumerated() { roles[group.tree] = .group(index) }
        for (index, list) in schema.lists.enumerated() {
            roles[list.tree] = .links(index)
            if let owners = list.ownerTree { roles[owners] = .owners(index) }
        }
        return roles
    }

    var hasIntegerKeys: Bool {
        switch self {
        case .counters, .rows: true
        case .schema, .metadata, .group, .links, .owners: false
        }
    }
}
