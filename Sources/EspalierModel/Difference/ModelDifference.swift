// How a newer model differs from an older one, as a list of values that people and programs can read.
//
// Not in a difference: the order in which anything was written down, and what no store keeps (names of classes,
// modifiers of hashes, texts of the application, configurations, requests).

/// The changes from one model to another.
///
/// Entities and properties are followed by their names and renaming identifiers, up and down their hierarchy.
public struct ModelDifference: Sendable, Hashable {
    /// The changes: of each entity of the newer model in its order, then what is gone from the older model.
    public let changes: [ModelChange]

    /// Compares two models.
    ///
    /// - Complexity: O(properties of both models, with those that are inherited).
    public init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
        self.init(ModelMatch(from: old, to: new))
    }

    package init(_ match: ModelMatch) {
        var builder = DifferenceBuilder(match)
        builder.compare()
        changes = builder.changes
    }

    /// Whether the models are alike.
    public var isEmpty: Bool { changes.isEmpty }

    /// What the newer model has no place for, in the order of the changes, each once.
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
        changes.isEmpty ? "the models are alike" : changes.map(\.description).joined(separator: "\n")
    }
}
