// The places of one to-many relationship that readers do not get, because delete rules have taken their destinations
// out: with them the places that readers see are found without a walk over the list.
//
// Invariants
//   1. The places ascend.
//   2. They stay true until another list is stored or shown, or until something else is taken out (`isOf`). Values of
//      attributes have no part in this.
// Elsewhere: which destinations are taken out (ReachedRows), and who reads the places (Object: +ShownDestinations). An
// order that has nothing to hide knows that itself (`ToManyChange.hidesNothing`), and needs no places.

import EspalierModel

/// The hidden places of the relationship that was read last, in an object because most contexts have none.
final class HiddenPlaces {
    /// The state of the context on which places depend, apart from changes of the object itself.
    struct Moment: Equatable {
        /// `RowCache.changeCount`: later the store may have another list.
        let cacheChangeCount: Int
        /// `ReachedRows.edition`: later something else may be taken out.
        let edition: Int
    }

    private let owner: ObjectID
    private let slot: Int
    private let moment: Moment
    /// The unsaved change of the relationship, which is a whole order; `nil` if there is none.
    private let change: ToManyChange?
    private let places: [Int]
    /// The number of destinations that readers get.
    let shownCount: Int

    /// Finds the places in `ids`, the destinations with those that are hidden.
    ///
    /// - Complexity: O(destinations).
    init(
        of owner: ObjectID, _ slot: Int, _ change: ToManyChange?, at moment: Moment, in ids: [ObjectID],
        where isHidden: (ObjectID) -> Bool
    ) {
        assert(StepCount.note(ids.count))
        (self.owner, self.slot, self.change, self.moment) = (owner, slot, change, moment)
        places = ids.indices.filter { isHidden(ids[$0]) }
        shownCount = ids.count - places.count
    }

    /// Whether these are still the hidden places of this relationship.
    ///
    /// - Complexity: O(1).
    func isOf(_ owner: ObjectID, _ slot: Int, _ change: ToManyChange?, at moment: Moment) -> Bool {
        guard self.owner == owner, self.slot == slot, self.moment == moment else { return false }
        return switch (self.change, change) {
        case (nil, nil): true
        case (let former?, let present?): former.isWhole && former.hasSameOrder(as: present)
        default: false
        }
    }

    /// The place of the destination that readers get at `index`.
    ///
    /// - Complexity: O(log of the number of hidden places).
    func place(ofShown index: Int) -> Int {
        assert(index >= 0 && index < shownCount, "index \(index) of \(shownCount)")
        return index + firstPosition { places[$0] - $0 > index }
    }

    /// The index at which readers get the destination of a place that is not hidden.
    ///
    /// - Complexity: as `place(ofShown:)`.
    func shownIndex(ofPlace place: Int) -> Int { place - firstPosition { places[$0] > place } }

    /// The first position in `places` that fulfils a condition which all later ones fulfil, too; their number if none
    /// does.
    private func firstPosition(where isAfter: (Int) -> Bool) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
