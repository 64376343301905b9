// The additions and removals of one save in many-to-many and one-way lists, which delete rules need before they are
// written: the rules follow the destinations of a deleted row as changed, not the former ones.
//
// Invariants
//   1. Both ends of a pair are noted, whichever end the request names.

internal import EspalierModel

/// The pairs that one save adds to lists and removes from them.
struct ListEdits {
    private struct List: Hashable {
        let owner: ObjectID
        let relationship: RelationshipID
    }

    private var added: [List: [ObjectID]] = [:]
    private var removed: [List: Set<ObjectID>] = [:]

    /// Notes a change of the request; an order without its base is ignored.
    mutating func note(_ change: PreparedSave.ListChange, inverse: Relationship?) {
        if let inverse, !inverse.isToMany { return }
        assert(change.relationship.isToMany, "\(change.relationship.name) is no list")
        var (came, went) = (change.added, change.removed)
        if let edits = change.order?.edits {
            (came, went) = (edits.added, edits.removed)
        } else if let order = change.order?.ids {
            guard let base = change.orderBase else { return }
            let (before, after) = (Set(base), Set(order))
            (came, went) = (order.filter { !before.contains($0) }, base.filter { !after.contains($0) })
        }
        for id in came { note(id, in: change, inverse, isAdded: true) }
        for id in went { note(id, in: change, inverse, isAdded: false) }
    }

    private mutating func note(
        _ id: ObjectID, in change: PreparedSave.ListChange, _ inverse: Relationship?, isAdded: Bool
    ) {
        assert(inverse?.isToMany != false, "a list with a to-one inverse has no pairs of its own")
        var pairs = [(List(owner: change.owner, relationship: RelationshipID(change.relationship)), id)]
        if let inverse { pairs.append((List(owner: id, relationship: RelationshipID(inverse)), change.owner)) }
        for (list, id) in pairs {
            if isAdded { added[list, default: []].append(id) } else { removed[list, default: []].insert(id) }
        }
    }

    /// The destinations that the request adds to the list of a to-many relationship.
    func added(to relationship: Relationship, of owner: ObjectID) -> [ObjectID] {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        if added.isEmpty { return [] }
        return added[List(owner: owner, relationship: RelationshipID(relationship))] ?? []
    }

    /// Whether the request removes a destination from the list of a to-many relationship.
    func hasRemoved(_ id: ObjectID, from relationship: Relationship, of owner: ObjectID) -> Bool {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        if removed.isEmpty { return false }
        return removed[List(owner: owner, relationship: RelationshipID(relationship))]?.contains(id) == true
    }
}
