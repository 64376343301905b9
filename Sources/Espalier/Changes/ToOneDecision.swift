// The destinations that to-one relationships get after both sides have changed them.
//
// Invariants
//   1. After `settle` no two decisions contradict each other: of a relationship that is to-one at both ends, an object
//      is in one pair at most, and both ends have chosen each other. So they can be carried out in any order.

import EspalierModel

/// What becomes of a to-one relationship of an object that takes a newer row.
struct ToOneDecision {
    let relationship: Relationship
    let inverse: Relationship?
    /// The destination in this context.
    let mine: ObjectID?
    /// The destination in the newer row.
    let stored: ObjectID?
    /// Whether what this context has changed is to stay.
    let isKept: Bool
    /// The destination afterwards.
    var chosen: ObjectID?

    /// One end of a pair.
    private struct End: Hashable {
        let object: ObjectID
        let slot: Int
    }

    /// Makes the decisions about objects, of which each has some, agree where both ends are to-one.
    ///
    /// - Parameter prefersStored: whether pairs of the store come before pairs of the context.
    static func settle(_ all: inout [(object: ObjectID, decisions: [ToOneDecision])], prefersStored: Bool) {
        // The first ones of these that do not exclude each other, and last the stored ones that are still free.
        var wishes: [[(End, End)]] = [[], [], []]
        for (object, decisions) in all {
            for decision in decisions {
                guard let inverse = decision.inverse, !inverse.isToMany else { continue }
                let end = End(object: object, slot: decision.relationship.slot)
                if let id = decision.chosen {
                    let isFirst = prefersStored ? decision.stored == id : decision.mine == id
                    wishes[isFirst ? 0 : 1].append((end, End(object: id, slot: inverse.slot)))
                }
                if prefersStored, let id = decision.stored, decision.chosen != nil {
                    wishes[2].append((end, End(object: id, slot: inverse.slot)))
                }
            }
        }
        var partners: [End: End] = [:]
        for (end, other) in wishes.joined() where partners[end] == nil && partners[other] == nil {
            (partners[end], partners[other]) = (other, end)
        }
        for position in all.indices {
            for index in all[position].decisions.indices {
                let decision = all[position].decisions[index]
                guard let inverse = decision.inverse, !inverse.isToMany else { continue }
                let end = End(object: all[position].object, slot: decision.relationship.slot)
                all[position].decisions[index].chosen = partners[end]?.object
            }
        }
    }
}
