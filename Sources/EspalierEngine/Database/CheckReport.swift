// The report of the integrity check.

/// The progress of an integrity check.
public struct CheckProgress: Sendable, Hashable {
    /// Pages checked so far.
    public let pagesChecked: UInt64
    /// Pages to check.
    public let pageCount: UInt64
}

/// The report of an integrity check: all problems, not only the first.
public struct CheckReport: Sendable {
    /// One problem.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// The broken rule, and its place.
        public let corruption: Corruption
        /// The name of the tree, if the page belongs to one that is in the catalog.
        public let treeName: String?

        /// A complete sentence.
        public var description: String {
            treeName.map { "Tree \"\($0)\": \(corruption)" } ?? corruption.description
        }
    }

    /// The counts of the check in one tree.
    public struct TreeCount: Sendable, Hashable {
        /// The tree as the catalog describes it.
        public let summary: TreeSummary
        /// Entries that the check found.
        public var entryCount: UInt64 = 0
        /// Pages of all kinds that the check found.
        public var pageCount: UInt64 = 0
    }

    /// Pages that no walk reached because a page that leads to them is damaged; nothing is known about them.
    public struct UnreachedPages: Sendable, Hashable {
        /// The name of the damaged tree; `nil` for the catalog.
        public let treeName: String?
        /// The number of the damaged tree.
        public let treeID: UInt32
        /// How many damaged pages of the tree hide others; each of them has a finding.
        public let causeCount: Int
        /// How many pages are hidden.
        public var pageCount: UInt64 = 0
    }

    /// All problems.
    public var findings: [Finding] = []
    /// Pages that could not be reached because of findings: one entry for each affected tree.
    public var unreached: [UnreachedPages] = []
    /// The trees that were walked.
    public var trees: [TreeCount] = []
    /// Pages of the store.
    public var pageCount: UInt64 = 0
    /// Pages checked so far.
    public var checkedPageCount: UInt64 = 0
    /// Pages that are free.
    public var freePageCount: UInt64 = 0
    /// Whether the check is complete: it was not interrupted, and the catalog was readable.
    public var isComplete = false
    /// Whether the check ended because its snapshot expired; the report covers the pages checked until then.
    public var isSnapshotExpired = false

    /// Whether the whole store was checked and nothing is wrong.
    public var isOK: Bool { isComplete && findings.isEmpty }
}
