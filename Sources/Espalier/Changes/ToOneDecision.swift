// The destinations of to-one relationships that two sides have changed.
//
// Invariants
//   1. After `settle` no two decisions contradict each other: where a relationship is to-one at both ends, an object is
//      in at most one pair, and both ends have chosen each other. The decisions can therefore be carried out in any
//      order.

import EspalierModel

/// The new destination of a to-one relationship, for an object that adopts a newer row.
struct ToOneDecision {
    let relationship: Relationship
    let inverse: Relationship?
    /// The destination in this context.
    let mine: ObjectID?
    /// The destination in the newer row.
    let stored: ObjectID?
    /// Whether the change of this context stays.
    let isKept: Bool
    /// The destination that the object gets.
    var chosen: ObjectID?

    /// One end of a pair.
    private struct End: Hashable {
        let object: ObjectID
        let slot: Int
    }

    /// Makes the decisions agree with each other where both ends of a relationship are to-one.
    ///
    /// - Parameters:
    ///   - all: each object with its decisions.
    ///   - prefersStored: whether pairs of the store have priority over pairs of the context.
    static func settle(_ all: inout [(object: ObjectID, decisions: [ToOneDecision])], prefersStored: Bool) {
        // Pairs by priority: chosen ones of the preferred side, other chosen ones, stored ones. A pair is adopted if
        // both of its ends are still free.
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
