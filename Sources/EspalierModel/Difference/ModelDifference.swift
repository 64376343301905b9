// The differences between an older and a newer model, as a list of values for people and programs.
//
// Not in a difference: the order of declarations and renaming identifiers; and, unless the caller asks for them, the
// parts that a store does not keep (DifferenceBuilder+Unstored).

/// The changes from one model to another.
///
/// Entities and properties are matched by name and renaming identifier, up and down their hierarchy.
public struct ModelDifference: Sendable, Hashable {
    /// The parts of models that can be compared.
    public enum Scope: Sendable, Hashable {
        /// The parts that a store keeps: the changes that opening it with the newer model makes.
        case stored
        /// Also the parts that only applications use: validation rules, actions of constraints, fetched properties,
        /// requests, configurations, class names, hash modifiers, texts, names and messages by language, and version
        /// identifiers.
        ///
        /// A model that was read from a store lacks them.
        case whole
    }

    /// The changes: those of each entity of the newer model in its order, followed by the removals from the older
    /// model, and by the changes of the model as a whole.
    public let changes: [ModelChange]

    /// Compares two models.
    ///
    /// - Complexity: O(properties of both models, including inherited ones).
    public init(from old: ManagedObjectModel, to new: ManagedObjectModel, comparing scope: Scope = .stored) {
        self.init(ModelMatch(from: old, to: new), comparing: scope)
    }

    package init(_ match: ModelMatch, comparing scope: Scope = .stored) {
        var builder = DifferenceBuilder(match, comparing: scope)
        builder.compare()
        changes = builder.changes
    }

    /// Whether the models do not differ.
    public var isEmpty: Bool { changes.isEmpty }

    /// The stored data for which the newer model has no place, in the order of the changes, without duplicates.
    public var losses: [MigrationLoss] {
        var seen: Set<MigrationLoss> = []
        return changes.compactMap(\.loss).filter { seen.insert($0).inserted }
    }

    /// Whether no change depends on the number of rows.
    public var isConstantTime: Bool { changes.allSatisfy { $0.cost == .constant || $0.rows.isEmpty } }
}

extension ModelDifference: CustomStringConvertible {
    /// One line for each change.
    public var description: String {
        changes.isEmpty ? "the models are equal" : changes.map(\.description).joined(separator: "\n")
    }
}
