// What the check of a store's content found.

public import EspalierModel

/// Something that is wrong above the pages: rows, indexes, links or counters that contradict each other.
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
    /// The entity whose rows are concerned; empty if it is not known.
    public let entity: String
    /// The name of the tree.
    public let tree: String
    /// The primary key of the row, or the bytes of the entry's key in hexadecimal; empty = the tree as a whole.
    public let key: String
    /// What is wrong.
    public let problem: String

    /// A complete sentence.
    public var description: String {
        "Tree \"\(tree)\"\(entity.isEmpty ? "" : ", entity \(entity)")\(key.isEmpty ? "" : ", key \(key)"): \(problem)."
    }
}

/// Two rows that share values which must be unique.
public struct StoreDuplicate: Sendable, Hashable, CustomStringConvertible {
    /// The entity that declares the constraint.
    public let entity: String
    /// The properties whose values together must be unique.
    public let properties: [String]
    /// The row with the lower key, or the one whose entry came first.
    public let first: ObjectID
    /// The other row.
    public let second: ObjectID

    package init(entity: String, properties: [String], first: ObjectID, second: ObjectID) {
        (self.entity, self.properties, self.first, self.second) = (entity, properties, first, second)
    }

    /// A complete sentence.
    public var description: String {
        "\(Self.name(first)) and \(Self.name(second)) have the same \(properties.joined(separator: ", ")), "
            + "which must be unique."
    }

    private static func name(_ id: ObjectID) -> String { "\(id.entityName)/\(id.key)" }
}

/// How far a check of a store's content is.
public struct StoreCheckProgress: Sendable, Hashable {
    /// Rows and entries looked at so far.
    public let entriesChecked: Int
    /// Rows and entries to look at; more if trees contradict each other and are looked at again.
    public let entryCount: Int
}

/// Everything the check found, not the first problem only.
///
/// Of each kind and tree it lists the first 1,000; a last finding of the tree then says how many more there are.
public struct StoreCheckReport: Sendable {
    /// What is wrong: trees, rows and counters contradict each other, or cannot be read.
    public internal(set) var findings: [StoreFinding] = []
    /// References to rows that are not there: to-one values, and links of relationships from many to many or without
    /// inverse.
    ///
    /// No save leaves any: files that were written before stores kept delete rules may have some.
    public internal(set) var dangling: [StoreFinding] = []
    /// Rows without a value for an attribute, or without a destination of a relationship, that is not optional.
    ///
    /// Stores do not refuse such rows: validation is the business of contexts.
    public internal(set) var unsetValues: [StoreFinding] = []
    /// Rows that share values which must be unique; no save makes them.
    public internal(set) var duplicates: [StoreDuplicate] = []
    /// Rows by the name of their entity.
    public internal(set) var rowCounts: [String: Int] = [:]
    /// Entries of indexes and uniqueness constraints that were compared with rows.
    public internal(set) var indexEntryCount = 0
    /// Links that were compared with rows and with their other direction.
    public internal(set) var linkCount = 0
    /// Pairs that relationships from many to many hold; each pair is a link at both ends.
    public internal(set) var pairCount = 0
    /// Whether the check went to its end.
    public internal(set) var isComplete = false

    /// Whether everything was checked and nothing contradicts anything; dangling references and unset values do not
    /// count.
    public var isOK: Bool { isComplete && findings.isEmpty && duplicates.isEmpty }
}
