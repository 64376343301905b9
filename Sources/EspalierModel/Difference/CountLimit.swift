// The numbers of destinations that a newer description of a relationship forbids and an older one allowed.

/// A limit to the number of destinations of an object that has any (MD-29).
package enum CountLimit: Sendable, Hashable {
    case atLeast(Int)
    case atMost(Int)

    /// The limits that not every list of destinations meets.
    package static func limits(of relationship: RelationshipDescription) -> [CountLimit] {
        guard relationship.cardinality != .toOne else { return [] }
        return (relationship.minCount > 1 ? [.atLeast(relationship.minCount)] : [])
            + (relationship.maxCount > 0 ? [.atMost(relationship.maxCount)] : [])
    }

    /// The limits that forbid numbers which `older` allowed.
    package static func limits(
        of relationship: RelationshipDescription, tighterThan older: RelationshipDescription
    ) -> [CountLimit] {
        limits(of: relationship).filter { limit in
            switch limit {
            case .atLeast(let count): count > older.minCount
            case .atMost(let count): older.maxCount == 0 || count < older.maxCount
            }
        }
    }
}
