// How to get from the destinations of a relationship to the objects it leads from.

internal import EspalierModel

enum InverseAccess {
    /// The list of the to-many inverse.
    case links(Relationship)
    /// The to-one inverse in the row of the destination.
    case inline(Relationship)
    /// The tree beside the list of a relationship without inverse.
    case owners(Relationship)
    /// An index that begins with the relationship.
    case index(group: Int)

    /// The way for one step of a key path; `nil` if there is none but to look at every object.
    ///
    /// A to-one inverse of a to-one relationship is no way: the store does not hold the two sides together.
    init?(_ step: ResolvedKeyPath.Step, _ schema: StoreSchema) {
        let near = schema.model.entities[step.source]
        let relationship = near.relationships[step.slot]
        if let inverse = schema.model.inverse(of: relationship), inverse.isToMany || relationship.isToMany {
            self = inverse.isToMany ? .links(inverse) : .inline(inverse)
        } else if relationship.isToMany {
            self = .owners(relationship)
        } else if let group = schema.groupsByEntity[near.index].first(where: {
            schema.groups[$0].elements[0].property == .relationship(relationship.slot)
        }) {
            self = .index(group: group)
        } else {
            return nil
        }
    }

    /// Whether an object found on this way is there: the row of a destination can name an object that was deleted.
    var provesExistence: Bool {
        if case .inline = self { false } else { true }
    }
}
