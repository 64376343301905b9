// What a rebuild of derived trees changed.

/// What a rebuild changed, or would change, and what it could not mend.
public struct RebuildReport: Sendable {
    /// What happened to one tree.
    public struct TreeChange: Sendable, Hashable {
        /// The name of the tree.
        public let tree: String
        /// Whether the tree was missing as a whole.
        public let wasMissing: Bool
        /// Entries before.
        public let entriesBefore: Int
        /// Entries that were put in.
        public let added: Int
        /// Entries that were taken out.
        public let removed: Int
        /// Entries that got another value.
        public let replaced: Int
        /// Entries afterwards.
        public var entriesAfter: Int { entriesBefore + added - removed }
        /// Whether anything changed.
        public var isChanged: Bool { wasMissing || added + removed + replaced > 0 }
    }

    /// A counter that was wrong.
    public struct CounterChange: Sendable, Hashable {
        /// What it counts.
        public let name: String
        /// What it said; `nil` if it was missing or unreadable.
        public let before: UInt64?
        /// What it says now.
        public let after: UInt64
    }

    /// Every index, unique and link tree, changed or not, in the order of the model.
    public internal(set) var trees: [TreeChange] = []
    /// The counters that were wrong.
    public internal(set) var counters: [CounterChange] = []
    /// What was wrong and was mended, as a check tells it; with `isDryRun`, what would be.
    public internal(set) var mended: StoreCheckReport
    /// A check after the rebuild: rows that cannot be read, rows that share unique values, references that lead
    /// nowhere; `nil` if nothing was written.
    public internal(set) var after: StoreCheckReport?
    /// Whether nothing was to be written.
    public let isDryRun: Bool

    init(mended: StoreCheckReport, isDryRun: Bool) { (self.mended, self.isDryRun) = (mended, isDryRun) }

    /// Whether anything was changed, or would be.
    public var hasChanges: Bool { !counters.isEmpty || trees.contains(where: \.isChanged) }

    /// Rows that share values which must be unique: they stay, and it takes a person to decide between them.
    public var duplicates: [StoreDuplicate] { (after ?? mended).duplicates }
    /// To-one values that lead to rows that are not there: they stay as they are, since rows are never changed.
    public var keptReferences: [StoreFinding] {
        mended.dangling.filter { $0.tree.hasPrefix("rows:") }
    }
    /// Links to or from rows that are not there: they were taken out.
    public var removedLinks: [StoreFinding] {
        mended.dangling.filter { !$0.tree.hasPrefix("rows:") }
    }
}
