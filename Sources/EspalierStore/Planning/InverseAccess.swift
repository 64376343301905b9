// How the destinations of a relationship lead back to the objects from which it leads.

internal import EspalierModel

enum InverseAccess {
    /// The list of the to-many inverse.
    case links(Relationship)
    /// The to-one inverse in the row of the destination.
    case inline(Relationship)
    /// The second tree of a relationship without inverse.
    case owners(Relationship)
    /// An index that begins with the relationship.
    case index(group: Int)

    /// The access for one step of a key path; `nil` if every object has to be read.
    ///
    /// A to-one inverse of a to-one relationship leads nowhere back: the store keeps the two ends as separate values.
    init?(_ step: ResolvedKeyPath.Step, _ schema: StoreSchema) {
        let near = schema.model.entities[step.source]
        let relationship = near.relationships[step.slot]
        assert(
            schema.model.destination(of: relationship).index == step.destination, "\(relationship.name) leads elsewhere"
        )
        if let inverse = schema.model.inverse(of: relationship), inverse.isToMany || relationship.isToMany {
            self = inverse.isToMany ? .links(inverse) : .inline(inverse)
        } else if relationship.isToMany {
            self = .owners(relationship)
        } else if let group = schema.groupsByEntity[near.index].first(where: {
            schema.groups[$0].elements[0].property == .relationship(relationship.slot)
                && schema.groups[$0].condition == nil
        }) {
            self = .index(group: group)
        } else {
            return nil
        }
    }

    /// Whether an object that is found this way exists: the row of a destination can name an object that was deleted.
    var provesExistence: Bool {
        if case .inline = self { false } else { true }
    }
}
