// Objects that were loaded together, so that their faults fire together (F-2).
//
// Invariants
//   1. A cohort holds IDs and other cohorts, and never objects: objects point at cohorts. Rows and lists that a cohort
//      has loaded lie in the cache of its context.
//   2. Each cohort makes the cohort across one relationship once. A walk through the graph therefore costs one trip to
//      the store for each step of the path and each kind of content, however many objects each step reaches.
//   3. A cohort that a step has made belongs to the one cohort from which the step leads. Cohorts form trees. A tree is
//      freed without recursion, because a path may be as long as the store.

import EspalierModel
import EspalierStore

/// A group of objects that one fetch, or one relationship of another cohort, has loaded.
final class Cohort: SharedByObjects {
    /// How many objects one trip to the store loads at most; bounds the memory that one fault can ask for.
    static let tripSizeMax = 4096

    let members: [ObjectID]
    /// The rows of `members` as they were fetched, where no objects were made for all of them.
    let fetchedRows: SnapshotList?
    private let cache: RowCache
    /// The members whose rows are kept; some may be named twice, but all together no more than `keptCountMax` times.
    private var rows: [ObjectID] = []
    /// The members whose lists are kept: those of the relationship that was asked for first, and of others.
    private var firstLists: (slot: Int, owners: [ObjectID])?
    private var otherLists: [(slot: Int, owners: [ObjectID])] = []
    /// The members whose lists were counted, by slot.
    private var counted = SlotValues<ObjectIDSet>()
    /// The cohorts across relationships, one after the other: few, so they are searched.
    private var firstStep: Cohort?
    private var nextStep: Cohort?
    /// The relationship that leads here from another cohort, the same for an entity and its subentities.
    private let origin: (declaredBy: Int, slot: Int)?

    /// Each of `members` stands for one object; some may be named twice.
    init(
        _ members: [ObjectID], fetchedRows: SnapshotList? = nil, cache: RowCache, across origin: Relationship? = nil
    ) {
        (self.members, self.fetchedRows, self.cache) = (members, fetchedRows, cache)
        self.origin = origin.map { ($0.declaredBy, $0.slot) }
    }

    deinit {
        if !rows.isEmpty { cache.forgetRows(of: rows) }
        if let (slot, owners) = firstLists { cache.forgetLists(of: owners, at: slot) }
        if !otherLists.isEmpty { forgetOtherLists() }
        if !counted.isEmpty { forgetCounts() }
        if firstStep != nil { endSteps() }
    }

    /// Frees the cohorts across relationships one by one: those of a step that ends join the front of the list, so that
    /// no `deinit` runs inside another one.
    private func endSteps() {
        var ending = firstStep.take()
        while ending != nil {
            let isLast = isKnownUniquelyReferenced(&ending)
            guard let cohort = ending else { return }
            ending = cohort.nextStep.take()
            guard isLast, let first = cohort.firstStep.take() else { continue }
            var last = first
            while let next = last.nextStep { last = next }
            last.nextStep = ending
            ending = first
        }
    }

    /// How many names of members one list holds at most, besides those of the last trip.
    private var keptCountMax: Int { 2 * members.count }

    /// Lets the cache keep the rows of `ids` for as long as this cohort lives.
    ///
    /// They are members, or an object of this cohort that has got another ID since.
    ///
    /// - Complexity: O(`ids`), spread over many calls: a member that is refreshed is named once more, and the list is
    ///   made one of different members before it has `keptCountMax`.
    func keepRows(of ids: [ObjectID]) {
        if rows.isEmpty { rows = ids } else { rows.name(ids, countMax: keptCountMax) }
        assert(checkInvariants())
    }

    /// Keeps the destinations of a to-many relationship of each owner, a member, for as long as this cohort lives.
    ///
    /// - Complexity: as with `keepRows`.
    func keep(_ found: [[ObjectID]], of owners: [ObjectID], at slot: Int) {
        cache.add(found, of: owners, at: slot)
        if firstLists == nil {
            firstLists = (slot, owners)
        } else if firstLists?.slot == slot {
            firstLists?.owners.name(owners, countMax: keptCountMax)
        } else if let index = otherLists.firstIndex(where: { $0.slot == slot }) {
            otherLists[index].owners.name(owners, countMax: keptCountMax)
        } else {
            otherLists.append((slot, owners))
        }
        assert(checkInvariants())
    }

    /// Keeps the length of a list of `owner`, a member, for as long as this cohort lives.
    func keep(count: Int, of owner: ObjectID, at slot: Int) {
        cache.add(count: count, of: owner, at: slot)
        if !counted.contains(slot) { counted.set(ObjectIDSet(), at: slot) }
        counted.modify(slot) { $0.insert(owner) }
    }

    @inline(never)
    private func forgetCounts() {
        for (slot, owners) in counted.pairs { cache.forgetCounts(of: owners, at: slot) }
    }

    @inline(never)
    private func forgetOtherLists() {
        for (slot, owners) in otherLists { cache.forgetLists(of: owners, at: slot) }
    }

    /// Asserts the invariants; to be called in `assert`.
    func checkInvariants() -> Bool {
        var (step, stepCount) = (firstStep, 0)
        while let next = step {
            assert(next.origin != nil && next !== self, "invariant 3: a step has no origin")
            assert(next.members.isEmpty || next.fetchedRows == nil, "a step was not fetched")
            stepCount += 1
            assert(stepCount <= 1000, "invariant 3: the steps lead in a circle")
            step = next.nextStep
        }
        assert(otherLists.isEmpty || firstLists != nil, "the first lists come first")
        assert(Set(otherLists.map(\.slot)).count == otherLists.count, "one relationship has two lists of owners")
        assert(otherLists.allSatisfy { $0.slot != firstLists?.slot }, "one relationship has two lists of owners")
        return true
    }

    /// The cohort of all destinations of this one's members, if that step was taken before; it lives as long as this.
    func step(across relationship: Relationship) -> Unretained<Cohort> {
        var step = Unretained(firstStep)
        while let (isWanted, next) = step.withObject({ ($0.isAcross(relationship), Unretained($0.nextStep)) }),
            !isWanted
        {
            step = next
        }
        return step
    }

    @inline(__always)
    private func isAcross(_ relationship: Relationship) -> Bool {
        guard let origin else { return false }
        return origin.slot == relationship.slot && origin.declaredBy == relationship.declaredBy
    }

    /// Makes the cohort of all destinations of this one's members.
    func addStep(across relationship: Relationship, to destinations: [ObjectID]) -> Unretained<Cohort> {
        let cohort = Cohort(destinations, cache: cache, across: relationship)
        cohort.nextStep = firstStep.take()
        firstStep = cohort
        assert(checkInvariants())
        return Unretained(cohort)
    }

    /// At most `tripSizeMax` members that fulfil `isNeeded`: those from `id` on, then those before it.
    ///
    /// `id` is the first.
    func members(around id: ObjectID, where isNeeded: (ObjectID) -> Bool) -> [ObjectID] {
        // Mostly the first asks, and all are needed: then no copy is made.
        var offset = 0
        if members.first == id {
            offset = 1
            while offset < min(members.count, Self.tripSizeMax), members[offset] != id, isNeeded(members[offset]) {
                offset += 1
            }
            if offset == members.count { return members }
        }
        var result: [ObjectID] = []
        result.reserveCapacity(min(members.count, Self.tripSizeMax))
        if offset > 0 { result += members[..<offset] } else { result.append(id) }
        let start = offset > 0 ? 0 : members.firstIndex(of: id) ?? 0
        while offset < members.count, result.count < Self.tripSizeMax {
            let position = start + offset
            let member = members[position < members.count ? position : position - members.count]
            if member != id, isNeeded(member) { result.append(member) }
            offset += 1
        }
        assert(result.first == id && result.count <= Self.tripSizeMax, "\(result.count) members around \(id)")
        return result
    }
}

extension [ObjectID] {
    /// Appends `ids`; names each only once if there are more than `countMax` then.
    fileprivate mutating func name(_ ids: [ObjectID], countMax: Int) {
        self += ids
        if count > countMax { self = ObjectIDSet(self).ids }
    }
}
