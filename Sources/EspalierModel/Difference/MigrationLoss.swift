// What a change of the model would lose for ever: a thing that has a name, so that it can be allowed by that name.

/// Something stored that a newer model has no place for (Behaviour MG-05).
///
/// Names are those of the older model: `Entity` or `Entity.property`, with the entity that declares the property.
public enum MigrationLoss: Hashable, Sendable, CustomStringConvertible {
    /// The objects of an entity, the values of an attribute, or where a relationship leads to.
    case removal(of: String)
    /// The order of the objects that a relationship leads to.
    case order(of: String)

    /// The entity or property.
    public var name: String {
        switch self {
        case .removal(let name), .order(let name): name
        }
    }

    /// Such as `removal of Track.title`.
    public var description: String {
        switch self {
        case .removal(let name): "removal of \(name)"
        case .order(let name): "order of \(name)"
        }
    }
}

extension MigrationLoss: Comparable {
    /// Losses in the order of their texts.
    public static func < (left: MigrationLoss, right: MigrationLoss) -> Bool { left.description < right.description }
}
