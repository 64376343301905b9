// A reference that a save would leave without the row it leads to, or a rule that forbids a deletion.

public import EspalierModel

/// A relationship that would break a rule if the save succeeded.
///
/// A store decides by its rows at the time of the save, with all changes of the save: rows that no context has in
/// memory count too.
public struct ReferenceConflict: Sendable, Hashable {
    /// The broken rule.
    public enum Kind: Sendable, Hashable {
        /// The owner would lead to a destination without a row in the store: another writer has deleted it (133000).
        case missing
        /// The owner is deleted, but its relationship with rule `deny` still has these destinations (1600, MC-15).
        case denied
        /// The destination is deleted, so the owner's relationship would be empty, but it must not be (1570).
        case required
        /// The destination is deleted, and the owner would still lead to it: under the rule `noAction` the application
        /// has to change or delete the owner in the same save, and has not done so (MC-16).
        case abandoned
    }

    /// The broken rule.
    public let kind: Kind
    /// The row with the relationship.
    public let owner: ObjectID
    /// The name of the owner's relationship.
    public let relationship: String
    /// The destinations of the relationship, present or intended; the first ten of them.
    public let destinations: [ObjectID]

    /// Creates a conflict.
    public init(_ kind: Kind, owner: ObjectID, relationship: String, destinations: [ObjectID]) {
        (self.kind, self.owner, self.relationship) = (kind, owner, relationship)
        self.destinations = Array(destinations.prefix(10))
    }
}

extension ReferenceConflict: CustomStringConvertible {
    /// The problem, and the remedy.
    public var description: String {
        let names = destinations.map { "\($0)" }.joined(separator: ", ")
        return switch kind {
        case .missing where destinations == [owner]:
            "\(relationship) of \(owner) has changed, but no store has that object any more; delete it in this "
                + "context too"
        case .missing:
            "\(relationship) of \(owner) leads to \(names), which no store has any more; relate it to another object"
        case .denied:
            "\(owner) cannot be deleted while \(relationship) has destinations: \(names)"
        case .required:
            "\(relationship) of \(owner) must have a destination, but \(names) is deleted; relate it to another "
                + "object, "
                + "or delete \(owner) too"
        case .abandoned:
            "\(relationship) of \(owner) leads to \(names), which is deleted; the delete rule is noAction, so relate "
                + "\(owner) to another object or delete it in the same save"
        }
    }
}
