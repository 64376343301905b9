// The report of a check of a store's content.

public import EspalierModel

/// A problem above the level of pages: rows, indexes, links or counters that contradict each other.
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
    /// The entity of the rows; empty if it is not known.
    public let entity: String
    /// The name of the tree.
    public let tree: String
    /// The primary key of the row, or the bytes of the entry's key in hexadecimal; empty = the tree as a whole.
    public let key: String
    /// The problem, in words.
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
    /// The row with the lower key.
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

/// The progress of a check of a store's content.
public struct StoreCheckProgress: Sendable, Hashable {
    /// Rows and entries read so far.
    public let entriesChecked: Int
    /// Rows and entries to read; more if trees contradict each other and are read again.
    public let entryCount: Int
}

/// All findings of a check.
///
/// For each kind and tree it lists the first 1,000 findings; one more finding then tells the number of the others.
public struct StoreCheckReport: Sendable {
    /// The number of derived values that do not follow from the others; they are among the findings.
    public internal(set) var wrongDerivedCount = 0
    /// Contradictions between trees, rows and counters, and rows and entries that cannot be read.
    public internal(set) var findings: [StoreFinding] = []
    /// References to rows that do not exist: to-one values, and links of relationships from many to many or without
    /// inverse.
    ///
    /// A save never leaves any; files that were written before stores applied delete rules may have some.
    public internal(set) var dangling: [StoreFinding] = []
    /// Rows without a value for an attribute, or without a destination of a relationship, that is not optional.
    ///
    /// Stores accept such rows: contexts validate values.
    public internal(set) var unsetValues: [StoreFinding] = []
    /// Rows that share values which must be unique; no save creates them.
    public internal(set) var duplicates: [StoreDuplicate] = []
    /// The number of rows, by the name of their entity.
    public internal(set) var rowCounts: [String: Int] = [:]
    /// The number of entries of indexes and uniqueness constraints that were compared with rows.
    public internal(set) var indexEntryCount = 0
    /// The number of links that were compared with rows and with their other direction.
    public internal(set) var linkCount = 0
    /// The number of pairs of relationships from many to many; each pair is a link at both ends.
    public internal(set) var pairCount = 0
    /// Whether the check was completed.
    public internal(set) var isComplete = false

    /// Whether the check was completed without contradictions or duplicates; dangling references and unset values do
    /// not count.
    public var isOK: Bool { isComplete && findings.isEmpty && duplicates.isEmpty }
}
