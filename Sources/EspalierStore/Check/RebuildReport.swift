// The report of a rebuild of derived trees.

/// The changes that a rebuild made or would make, and the problems that it could not mend.
public struct RebuildReport: Sendable {
    /// The changes of one tree.
    public struct TreeChange: Sendable, Hashable {
        /// The name of the tree.
        public let tree: String
        /// Whether the tree was missing as a whole.
        public let wasMissing: Bool
        /// The number of entries before.
        public let entriesBefore: Int
        /// The number of entries that were added.
        public let added: Int
        /// The number of entries that were removed.
        public let removed: Int
        /// The number of entries that got another value.
        public let replaced: Int
        /// The number of entries afterwards.
        public var entriesAfter: Int { entriesBefore + added - removed }
        /// Whether anything changed.
        public var isChanged: Bool { wasMissing || added + removed + replaced > 0 }
    }

    /// A counter that was wrong.
    public struct CounterChange: Sendable, Hashable {
        /// The counted things, in words.
        public let name: String
        /// The value before; `nil` if it was missing or unreadable.
        public let before: UInt64?
        /// The right value.
        public let after: UInt64
    }

    /// Every index, unique and link tree, changed or not, in the order of the model.
    public internal(set) var trees: [TreeChange] = []
    /// The counters that were wrong.
    public internal(set) var counters: [CounterChange] = []
    /// The number of derived values that were computed anew; in a dry run, of those that were found wrong.
    public internal(set) var derivedValueCount = 0
    /// The findings of the check that ran with the rebuild, mended where possible; with `isDryRun`, not mended.
    public internal(set) var mended: StoreCheckReport
    /// A check after the rebuild: unreadable rows, rows that share unique values, references to rows that do not exist;
    /// `nil` if nothing was written.
    public internal(set) var after: StoreCheckReport?
    /// Whether the run was only to report, and to write nothing.
    public let isDryRun: Bool

    init(mended: StoreCheckReport, isDryRun: Bool) { (self.mended, self.isDryRun) = (mended, isDryRun) }

    /// Whether anything was changed, or would be.
    public var hasChanges: Bool {
        !counters.isEmpty || derivedValueCount > 0 || trees.contains(where: \.isChanged)
    }

    /// Rows that share values which must be unique: both remain, because only a person can decide between them.
    public var duplicates: [StoreDuplicate] { (after ?? mended).duplicates }
    /// To-one values that lead to rows that do not exist: they remain, because rows are never changed.
    public var keptReferences: [StoreFinding] {
        mended.dangling.filter { $0.tree.hasPrefix("rows:") }
    }
    /// Links to or from rows that do not exist: they were removed.
    public var removedLinks: [StoreFinding] {
        mended.dangling.filter { !$0.tree.hasPrefix("rows:") }
    }
}
