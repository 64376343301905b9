// The effect of a newer model on a store: step by step before a migration, and in numbers after one or after a trial.

public import EspalierModel

/// The steps from the model of a file to another one (Behaviour SD-30).
public struct MigrationPlan: Sendable {
    /// One step.
    public struct Step: Sendable, Hashable {
        /// The change of the model.
        public let change: ModelChange
        /// The number of rows that the step reads or writes.
        public let rowCount: Int

        init(change: ModelChange, rowCount: Int) {
            assert(rowCount >= 0, "a step reads \(rowCount) rows")
            (self.change, self.rowCount) = (change, rowCount)
        }
    }

    /// The numbers of one mapping of entities.
    public struct Mapping: Sendable, Hashable {
        /// The name of the mapping.
        public let name: String
        /// The number of objects that it took.
        public let sourceCount: Int
        /// The number of objects that it made.
        public let createdCount: Int

        package init(name: String, sourceCount: Int, createdCount: Int) {
            (self.name, self.sourceCount, self.createdCount) = (name, sourceCount, createdCount)
        }
    }

    /// The numbers of a migration's writes.
    public struct Outcome: Sendable, Hashable {
        /// Rows that were written with other values, or in another form.
        public internal(set) var rowsWritten = 0
        /// Rows that were moved to another hierarchy unchanged.
        public internal(set) var rowsMoved = 0
        /// Rows that were removed with their entities.
        public internal(set) var rowsRemoved = 0
        /// Entries of relationships that were rewritten.
        public internal(set) var linksWritten = 0
        /// Indexes and constraints that were built.
        public internal(set) var indexesBuilt = 0
        /// Derived values that were computed anew and differ from those before.
        public internal(set) var derivedValuesWritten = 0

        init() {}

        /// Whether the writes did not depend on the number of rows.
        public var isConstantTime: Bool { self == Outcome() }
    }

    /// The differences between the models.
    public let difference: ModelDifference
    /// The steps, in the order of the differences.
    public let steps: [Step]
    /// The known reasons against the migration; `nil` if none is known.
    public let refusal: MigrationRefusal?
    /// The numbers of the migration or of its dry run; `nil` if it was not tried.
    public let outcome: Outcome?
    /// The results of the mappings of entities, in their order; empty without a `MappingModel`, and before a trial.
    public let mappings: [Mapping]

    init(
        difference: ModelDifference, steps: [Step], refusal: MigrationRefusal?, outcome: Outcome?,
        mappings: [Mapping] = []
    ) {
        (self.difference, self.steps, self.refusal, self.outcome) = (difference, steps, refusal, outcome)
        self.mappings = mappings
    }

    /// The same plan, refused for these reasons.
    package func refused(for refusal: MigrationRefusal) -> MigrationPlan {
        assert(!refusal.isEmpty, "a plan is refused for no reason")
        return with(nil, mappings, refusal)
    }

    /// The same plan with results.
    func with(_ outcome: Outcome?, _ mappings: [Mapping], _ refusal: MigrationRefusal?) -> MigrationPlan {
        MigrationPlan(
            difference: difference, steps: steps, refusal: refusal, outcome: outcome, mappings: mappings)
    }
}
