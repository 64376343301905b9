// The differences between an older and a newer model, as a list of values for people and programs.
//
// Not in a difference: the order of declarations, and the data that a store does not keep (class names, version hash
// modifiers, user info, configurations, requests).

/// The changes from one model to another.
///
/// Entities and properties are matched by name and renaming identifier, up and down their hierarchy.
public struct ModelDifference: Sendable, Hashable {
    /// The changes: those of each entity of the newer model in its order, followed by the removals from the older
    /// model.
    public let changes: [ModelChange]

    /// Compares two models.
    ///
    /// - Complexity: O(properties of both models, including inherited ones).
    public init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
        self.init(ModelMatch(from: old, to: new))
    }

    package init(_ match: ModelMatch) {
        var builder = DifferenceBuilder(match)
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
