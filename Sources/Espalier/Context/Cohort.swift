// Objects that came together and whose faults therefore fire together (F-2).
//
// Invariants
//   1. A cohort holds IDs, rows and other cohorts, never objects: objects point at cohorts, and not the other way
//      round.
//   2. The cohort across a relationship is made once per cohort, so walking a graph costs one store trip per step of
//      the path and kind of content, however many objects stand on each step.

import EspalierModel
import EspalierStore

/// A group of objects that one fetch, or one relationship of another cohort, has brought in.
final class Cohort {
    /// How many objects one trip to the store loads at most; bounds the memory that one fault can ask for.
    static let tripSizeMax = 4096

    /// A relationship, the same for an entity and its subentities.
    private struct Step {
        let declaredBy: Int
        let slot: Int
        let cohort: Cohort
    }

    private(set) var members: [ObjectID]
    private let cache: RowCache
    private var rows: [ObjectID] = []
    private var lists: [RowCache.ListKey] = []
    /// Few: searched, not hashed.
    private var steps: [Step] = []

    init(_ members: [ObjectID], cache: RowCache) { (self.members, self.cache) = (members, cache) }

    deinit {
        for id in rows { cache.releaseRow(of: id) }
        for key in lists { cache.releaseList(key) }
    }

    /// Keeps a row for as long as this cohort lives.
    func keep(_ row: ObjectSnapshot) {
        cache.add(row)
        rows.append(row.id)
    }

    /// Keeps a list of destinations for as long as this cohort lives.
    func keep(_ list: [ObjectID], for key: RowCache.ListKey) {
        cache.add(list, for: key)
        lists.append(key)
    }

    /// The cohort of all destinations of this one's members; `destinations` gives them at the first call.
    func step(across relationship: Relationship, destinations: ([ObjectID]) -> [ObjectID]) -> Cohort {
        for step in steps where step.slot == relationship.slot && step.declaredBy == relationship.declaredBy {
            return step.cohort
        }
        var seen = ObjectIDTable<Void>()
        var unique: [ObjectID] = []
        for id in destinations(members) where seen[id] == nil {
            seen.set((), for: id)
            unique.append(id)
        }
        let cohort = Cohort(unique, cache: cache)
        steps.append(Step(declaredBy: relationship.declaredBy, slot: relationship.slot, cohort: cohort))
        return cohort
    }

    /// At most `tripSizeMax` members that fulfil `isNeeded`: those from `id` on, then those before it.
    ///
    /// `id` is the first.
    func members(around id: ObjectID, where isNeeded: (ObjectID) -> Bool) -> [ObjectID] {
        let start = members.firstIndex(of: id) ?? 0
        var result = [id]
        for member in members[start...] + members[..<start] where member != id && isNeeded(member) {
            guard result.count < Self.tripSizeMax else { break }
            result.append(member)
        }
        return result
    }
}
