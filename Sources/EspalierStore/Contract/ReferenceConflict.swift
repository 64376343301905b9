// A reference that a save would leave without the row it leads to, or a rule that forbids a deletion.

public import EspalierModel

/// Why a save cannot leave a relationship as it would.
///
/// A store judges it by what it holds at the moment of the save, with everything the save brings: rows that nobody has
/// in memory count as well.
public struct ReferenceConflict: Sendable, Hashable {
    /// What is wrong.
    public enum Kind: Sendable, Hashable {
        /// The owner is to lead to a destination that no store row stands for: somebody else has deleted it (133000).
        case missing
        /// The owner is deleted, but its relationship with rule `deny` still has these destinations (1600, MC-15).
        case denied
        /// The destination is deleted, and so the owner's relationship would be empty, but it must not be (1570).
        case required
        /// The destination is deleted, and the owner would still lead to it: the rule `noAction` leaves it to the
        /// application to change or delete the owner in the same save, and nobody has (MC-16).
        case abandoned
    }

    /// What is wrong.
    public let kind: Kind
    /// The row whose relationship it is.
    public let owner: ObjectID
    /// The name of the owner's relationship.
    public let relationship: String
    /// The rows it leads to or would lead to; the first ten of them.
    public let destinations: [ObjectID]

    /// A relationship that a save cannot leave as it would.
    public init(_ kind: Kind, owner: ObjectID, relationship: String, destinations: [ObjectID]) {
        (self.kind, self.owner, self.relationship) = (kind, owner, relationship)
        self.destinations = Array(destinations.prefix(10))
    }
}

extension ReferenceConflict: CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String {
        let names = destinations.map { "\($0)" }.joined(separator: ", ")
        return switch kind {
        case .missing where destinations == [owner]:
            "\(relationship) of \(owner) has changed, and no store holds that object any more; delete it here, too"
        case .missing:
            "\(relationship) of \(owner) leads to \(names), which no store holds any more; relate it to another object"
        case .denied:
            "\(owner) cannot be deleted while \(relationship) has destinations: \(names)"
        case .required:
            "\(relationship) of \(owner) must have a destination, and \(names) is deleted; relate it to another object "
                + "or delete it too"
        case .abandoned:
            "\(relationship) of \(owner) leads to \(names), which is deleted; the delete rule noAction asks the "
                + "application to relate or delete \(owner) in the same save"
        }
    }
}
