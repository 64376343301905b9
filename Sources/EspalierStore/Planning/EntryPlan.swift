// How the entries of one index answer a question for values without rows: a covering read.
//
// Invariants
//   1. The index has every property that the columns, the conditions and the order read, unchanged.
//   2. The entries in `ranges` are those of all rows that match, and of others only if `tests` is not empty.
// Not here: when it is cheaper than reading rows (FetchPlanner+Entries), and its execution (EntryExecution).

internal import EspalierModel

/// The plan of a question that one index answers alone.
struct EntryPlan {
    /// The position of the index among the groups of the schema.
    let group: Int
    /// Ascending and disjoint; empty = nothing matches.
    let ranges: [EntryRange]
    /// Whether the entries are read backwards.
    let isReversed: Bool
    /// Whether the entries are in the order of the rows that are asked for.
    let isInOrder: Bool
    /// The conditions that the ranges do not answer; the values of each entry are tested.
    let tests: [ResolvedPredicate.Node]
    /// The elements of the index whose values have to be those of the row: an equal value is not enough.
    let faithfulPlaces: [Int]
    /// The number of entries that are expected.
    let estimate: Double
    /// Whether the plan that reads rows would scan them in order, which costs less than finding a row for each entry.
    let replacesScan: Bool

    /// One line for each step.
    func explanation(_ schema: StoreSchema, limit: Int?) -> [String] {
        let access = CandidateSource.index(group: group, ranges).ownExplanation(schema)
        var lines = [access + (isReversed ? ", backwards" : "")]
        lines.append("read entries alone, and rows only for values that entries do not have exactly")
        if !tests.isEmpty { lines.append("test \(tests.count) condition\(tests.count == 1 ? "" : "s") on each entry") }
        if isInOrder { lines.append("order: by index") }
        if let limit { lines.append("stop after \(limit)") }
        return lines
    }
}

/// The properties of a row that a request for values reads, if it reads no more than properties of the row.
struct ReadProperties {
    /// Those whose values the result has or is computed from: an equal value is not enough.
    private(set) var faithful: Set<Entity.Property> = []
    /// Those that divide rows into groups, by any of their equal values.
    private(set) var grouping: Set<Entity.Property> = []

    /// The properties that the inputs of a request read; `nil` if one input reads more, or avoids indexes.
    init?(_ values: ResolvedValues) {
        let keys = values.inputs.prefix(values.keptCount).map(\.indexedProperty)
        let groupsByProperty = values.isGrouped && keys.allSatisfy { $0 != nil }
        for (position, input) in values.inputs.enumerated() where !input.isOwnID {
            guard !input.avoidsIndexes, let properties = input.ownProperties else { return nil }
            if groupsByProperty, position < values.keptCount {
                grouping.formUnion(properties)
            } else {
                faithful.formUnion(properties)
            }
        }
    }

    /// All of them.
    var all: Set<Entity.Property> { faithful.union(grouping) }

    /// Adds those that a condition reads; returns `false` if it reads more, or avoids indexes.
    mutating func add(_ condition: ResolvedPredicate.Node) -> Bool {
        guard !condition.avoidsIndexes, let properties = condition.ownProperties else { return false }
        faithful.formUnion(properties)
        return true
    }
}

extension ResolvedExpression {
    /// The property of the object itself that the expression is; `nil` if it is none.
    var indexedProperty: Entity.Property? {
        guard case .path(let path) = self, path.base == .evaluatedObject else { return nil }
        switch path.terminal {
        case .attribute(let slot, _, elements: []) where path.steps.isEmpty: return .attribute(slot)
        case .object where path.steps.count == 1 && !path.steps[0].isToMany: return .relationship(path.steps[0].slot)
        default: return nil
        }
    }

    /// Whether the expression is the ID of the object itself, which every entry has.
    fileprivate var isOwnID: Bool {
        guard case .path(let path) = self else { return false }
        return path.base == .evaluatedObject && path.steps.isEmpty && path.terminal == .object
    }
}
