// What one save takes out of many-to-many and one-way lists and puts into them, as delete rules have to know it before
// it is written: a row that goes takes along what it leads to by then, and not what it led to before.
//
// Invariants
//   1. Both ends of a pair are noted, whichever end the request names.

internal import EspalierModel

/// The pairs of lists that come and go with one save.
struct ListEdits {
    private struct List: Hashable {
        let owner: ObjectID
        let relationship: RelationshipID
    }

    private var added: [List: [ObjectID]] = [:]
    private var removed: [List: Set<ObjectID>] = [:]

    /// Notes what a request changes; an order without the one it was made from counts for nothing.
    mutating func note(_ change: PreparedSave.ListChange, inverse: Relationship?) {
        if let inverse, !inverse.isToMany { return }
        var (came, went) = (change.added, change.removed)
        if let order = change.order {
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
        var pairs = [(List(owner: change.owner, relationship: RelationshipID(change.relationship)), id)]
        if let inverse { pairs.append((List(owner: id, relationship: RelationshipID(inverse)), change.owner)) }
        for (list, id) in pairs {
            if isAdded { added[list, default: []].append(id) } else { removed[list, default: []].insert(id) }
        }
    }

    /// What comes into the list of a to-many relationship.
    func added(to relationship: Relationship, of owner: ObjectID) -> [ObjectID] {
        if added.isEmpty { return [] }
        return added[List(owner: owner, relationship: RelationshipID(relationship))] ?? []
    }

    /// Whether a destination goes out of the list of a to-many relationship.
    func hasRemoved(_ id: ObjectID, from relationship: Relationship, of owner: ObjectID) -> Bool {
        if removed.isEmpty { return false }
        return removed[List(owner: owner, relationship: RelationshipID(relationship))]?.contains(id) == true
    }
}
