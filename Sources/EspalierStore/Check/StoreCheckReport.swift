// What the check of a store's content found.

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

/// Everything the check found, not the first problem only.
public struct StoreCheckReport: Sendable {
    /// What is wrong.
    public internal(set) var findings: [StoreFinding] = []
    /// To-one relationships that lead to rows that were deleted.
    ///
    /// Legal under the delete rule `noAction`, and what a save leaves that did not know of the deletion.
    public internal(set) var dangling: [StoreFinding] = []
    /// Rows by the name of their entity.
    public internal(set) var rowCounts: [String: Int] = [:]
    /// Entries of indexes and uniqueness constraints that were compared with rows.
    public internal(set) var indexEntryCount = 0
    /// Links that were compared with rows and with their other direction.
    public internal(set) var linkCount = 0
    /// Whether the check went to its end.
    public internal(set) var isComplete = false

    /// Whether everything was checked and nothing is wrong.
    public var isOK: Bool { isComplete && findings.isEmpty }
}
