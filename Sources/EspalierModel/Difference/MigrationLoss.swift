// Stored data that a change of the model would delete, with a name by which an application can allow the loss.

/// Stored data for which a newer model has no place (Behaviour MG-05).
///
/// Names are those of the older model: `Entity` or `Entity.property`, with the entity that declares the property.
public enum MigrationLoss: Hashable, Sendable, CustomStringConvertible {
    /// The objects of an entity, the values of an attribute, or the links of a relationship.
    case removal(of: String)
    /// The order of a relationship's destinations.
    case order(of: String)

    /// The name of the entity or property in the older model.
    public var name: String {
        switch self {
        case .removal(let name), .order(let name): name
        }
    }

    /// A text such as `removal of Track.title`.
    public var description: String {
        switch self {
        case .removal(let name): "removal of \(name)"
        case .order(let name): "order of \(name)"
        }
    }
}

extension MigrationLoss: Comparable {
    /// Orders losses by their descriptions.
    public static func < (left: MigrationLoss, right: MigrationLoss) -> Bool { left.description < right.description }
}
