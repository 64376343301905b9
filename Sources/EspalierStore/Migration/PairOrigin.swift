// The origin of the pairs of objects that make up a relationship of a newer model.
//
// A relationship and its inverse are one set of pairs. Each side keeps its own pairs if both sides continue two
// relationships that were inverses of each other. If only one side continues older relationships, or if those of the
// other side are among their inverses, that side determines both. Two relationships that had no inverses become
// inverses with the pairs of both: a pair that one of them has is not lost. In all cases an ordered list keeps its
// order, and pairs that only the other side has follow in the order of their keys.

internal import EspalierModel

/// The older relationships that supply the pairs of a newer one.
struct PairOrigin {
    /// The older relationships whose owners are the owners now, as their entities declare them; several if moving them
    /// up united them.
    var relationships: [Relationship] = []
    /// The older relationships whose destinations are the owners now.
    var reversed: [Relationship] = []

    /// Whether the pairs of a to-one relationship have to be gathered.
    var needsPairs: Bool { !reversed.isEmpty || relationships.contains(where: \.isToMany) }
    /// Whether a pair may be found on both sides.
    var isUnion: Bool { !relationships.isEmpty && !reversed.isEmpty }
    /// All older relationships.
    var sources: [Relationship] { relationships + reversed }
}

/// The origins of all relationships of a newer model.
struct PairOrigins {
    private var origins: [RelationshipID: PairOrigin] = [:]
    /// Relationships whose two sides cannot be united.
    private(set) var obstacles: [String] = []

    init(_ match: ModelMatch) {
        for entity in match.new.entities {
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                if let origin = Self.origin(of: relationship, match) {
                    origins[RelationshipID(relationship)] = origin
                } else {
                    obstacles.append(
                        "\(entity.name).\(relationship.name) and \(relationship.description.destination)."
                            + "\(relationship.description.inverse ?? "") were not inverses of each other, and one of "
                            + "them had another inverse; remove one of the two in an intermediate version of the "
                            + "model first")
                }
            }
        }
    }

    /// The origin of a relationship of the newer model.
    subscript(relationship: Relationship) -> PairOrigin {
        origins[RelationshipID(relationship)] ?? PairOrigin()
    }

    private static func origin(of relationship: Relationship, _ match: ModelMatch) -> PairOrigin? {
        let own = continued(relationship, match)
        guard let inverse = match.new.inverse(of: relationship) else {
            return PairOrigin(relationships: own)
        }
        let other = continued(inverse, match)
        func inverses(_ relationships: [Relationship]) -> Set<RelationshipID> {
            Set(relationships.compactMap { match.old.inverse(of: $0).map(RelationshipID.init) })
        }
        let (ownIDs, otherIDs) = (Set(own.map(RelationshipID.init)), Set(other.map(RelationshipID.init)))
        if inverses(own) == otherIDs && inverses(other) == ownIDs || otherIDs.isSubset(of: inverses(own)) {
            return PairOrigin(relationships: own)
        }
        if ownIDs.isSubset(of: inverses(other)) {
            // The other side has all pairs, but not the order of a list.
            return PairOrigin(relationships: relationship.isOrdered ? own : [], reversed: other)
        }
        guard (own + other).allSatisfy({ $0.inverse == nil }) else { return nil }
        return PairOrigin(relationships: own, reversed: other)
    }

    /// The older relationships that this one continues, in any entity.
    private static func continued(_ relationship: Relationship, _ match: ModelMatch) -> [Relationship] {
        var found: [Relationship] = []
        for member in match.new.entities[relationship.declaredBy].family {
            guard let older = match.oldEntities[member], let slot = match.relationships[member][relationship.slot]
            else { continue }
            let declaring = match.old.entities[match.old.entities[older].relationships[slot].declaredBy]
            let former = declaring.relationships[slot]
            if !found.contains(where: { RelationshipID($0) == RelationshipID(former) }) { found.append(former) }
        }
        return found
    }
}
