// The pairs that the request of one save adds and removes, in many-to-many lists and in lists without inverse. Delete
// rules need them before they are written: the rules follow the destinations of a deleted row as changed, not the
// former ones.
//
// Invariants
//   1. Both ends of a pair are noted, whichever end the request names.

internal import EspalierModel

/// The pairs that one save adds to lists and removes from them.
struct RequestedPairs {
    private var added: [ListID: [ObjectID]] = [:]
    private var removed: [ListID: Set<ObjectID>] = [:]

    /// Notes a change of the request; an order without its base is ignored.
    mutating func note(_ change: PreparedSave.ListChange, inverse: Relationship?) {
        if let inverse, !inverse.isToMany { return }
        assert(change.relationship.isToMany, "\(change.relationship.name) is no list")
        var (added, removed) = (change.added, change.removed)
        if let edits = change.order?.edits {
            (added, removed) = (edits.added, edits.removed)
        } else if let order = change.order?.ids {
            guard let base = change.orderBase else { return }
            (added, removed) = PreparedSave.ListChange.differences(from: base, to: order)
        }
        for id in added { note(id, in: change, inverse, isAdded: true) }
        for id in removed { note(id, in: change, inverse, isAdded: false) }
    }

    private mutating func note(
        _ id: ObjectID, in change: PreparedSave.ListChange, _ inverse: Relationship?, isAdded: Bool
    ) {
        assert(inverse?.isToMany != false, "a list with a to-one inverse has pairs of its own")
        var pairs = [(ListID(change.relationship, of: change.owner), id)]
        if let inverse { pairs.append((ListID(inverse, of: id), change.owner)) }
        for (list, id) in pairs {
            if isAdded { added[list, default: []].append(id) } else { removed[list, default: []].insert(id) }
        }
    }

    /// The destinations that the request adds to the list of a to-many relationship.
    func added(to relationship: Relationship, of owner: ObjectID) -> [ObjectID] {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        if added.isEmpty { return [] }
        return added[ListID(relationship, of: owner)] ?? []
    }

    /// Whether the request removes a destination from the list of a to-many relationship.
    func hasRemoved(_ id: ObjectID, from relationship: Relationship, of owner: ObjectID) -> Bool {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        if removed.isEmpty { return false }
        return removed[ListID(relationship, of: owner)]?.contains(id) == true
    }
}
