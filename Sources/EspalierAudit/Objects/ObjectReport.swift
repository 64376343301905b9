// The counts of an audit of an object store.

/// The content of an object store in numbers.
package struct ObjectReport: Sendable {
    /// The format of the rows; `nil` if the records cannot be read.
    package internal(set) var format: UInt16?
    /// The number of rows of each entity, in the order of the model.
    package internal(set) var rowCounts: [(entity: String, count: UInt64)] = []
    /// The number of entries of indexes and uniqueness constraints.
    package internal(set) var entryCount: UInt64 = 0
    /// The number of links of to-many relationships; each direction counts.
    package internal(set) var linkCount: UInt64 = 0
    /// The comparisons that were left out because one of their trees could not be read completely.
    package internal(set) var uncompared: [String] = []
}

/// The comparison that a thing belongs to: the position of its group or its list in the schema.
enum ComparisonID: Hashable {
    case group(Int)
    case list(Int)
}

/// The purpose of a tree of an object store.
enum TreeRole {
    case schema
    case counters
    case metadata
    case rows(root: Int)
    case group(Int)
    case links(Int)
    case owners(Int)

    /// The role of each tree that the schema requires, by tree name.
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
