// What the integrity check found.

/// How far an integrity check is.
public struct CheckProgress: Sendable, Hashable {
    /// Pages checked so far.
    public let pagesChecked: UInt64
    /// Pages to check.
    public let pageCount: UInt64
}

/// What the integrity check found: everything, not the first problem only.
public struct CheckReport: Sendable {
    /// Something that is wrong.
    public struct Finding: Sendable, Hashable, CustomStringConvertible {
        /// Where, and which rule.
        public let corruption: Corruption
        /// The name of the tree, if the page belongs to one that is in the catalog.
        public let treeName: String?

        /// A complete sentence.
        public var description: String {
            treeName.map { "Tree \"\($0)\": \(corruption)" } ?? corruption.description
        }
    }

    /// What the check counted in a tree.
    public struct TreeCount: Sendable, Hashable {
        /// The tree as the catalog describes it.
        public let summary: TreeSummary
        /// Entries that were found.
        public var entryCount: UInt64 = 0
        /// Pages that were found, of all kinds.
        public var pageCount: UInt64 = 0
    }

    /// Pages that no walk reached because a page before them is damaged: nothing is known about them.
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

    /// All that is wrong.
    public var findings: [Finding] = []
    /// What could not be looked at because of findings, one entry for each tree concerned.
    public var unreached: [UnreachedPages] = []
    /// The trees that were walked.
    public var trees: [TreeCount] = []
    /// Pages of the store.
    public var pageCount: UInt64 = 0
    /// Pages that were looked at so far.
    public var checkedPageCount: UInt64 = 0
    /// Pages that are free.
    public var freePageCount: UInt64 = 0
    /// Whether the check went to its end: it was not interrupted, and found a catalog to go by.
    public var isComplete = false
    /// Whether the check ended because its snapshot was given up: what was found holds for what was looked at.
    public var isSnapshotExpired = false

    /// Whether the whole store was checked and nothing is wrong.
    public var isOK: Bool { isComplete && findings.isEmpty }
}
