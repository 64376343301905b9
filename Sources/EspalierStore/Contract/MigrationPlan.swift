// What taking over a newer model does to a store: step by step before it happens, and in numbers when it was tried.

public import EspalierModel

/// The steps from the model of a file to another one (Behaviour SD-30).
public struct MigrationPlan: Sendable {
    /// One step.
    public struct Step: Sendable, Hashable {
        /// What changes.
        public let change: ModelChange
        /// How many rows it reads or writes.
        public let rowCount: Int

        init(change: ModelChange, rowCount: Int) { (self.change, self.rowCount) = (change, rowCount) }
    }

    /// What a migration wrote.
    public struct Outcome: Sendable, Hashable {
        /// Rows that were written with other values, or in another form.
        public internal(set) var rowsWritten = 0
        /// Rows that were put into another hierarchy as they are.
        public internal(set) var rowsMoved = 0
        /// Rows of entities that are gone.
        public internal(set) var rowsRemoved = 0
        /// Entries of relationships that were written anew.
        public internal(set) var linksWritten = 0
        /// Indexes and constraints that were built.
        public internal(set) var indexesBuilt = 0

        init() {}

        /// Whether nothing was written that depends on the number of rows.
        public var isConstantTime: Bool { self == Outcome() }
    }

    /// How the models differ.
    public let difference: ModelDifference
    /// The steps, in the order of the differences.
    public let steps: [Step]
    /// Why it will not be done, as far as that is known; `nil` if nothing is known that would keep it from being done.
    public let refusal: MigrationRefusal?
    /// What it wrote, or would write if it was a dry run; `nil` if it was not tried.
    public let outcome: Outcome?

    init(difference: ModelDifference, steps: [Step], refusal: MigrationRefusal?, outcome: Outcome?) {
        (self.difference, self.steps, self.refusal, self.outcome) = (difference, steps, refusal, outcome)
    }
}
