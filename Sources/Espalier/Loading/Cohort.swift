// A group of objects that were loaded together, and whose faults fire together (F-2).
//
// Invariants
//   1. A cohort never holds objects: objects refer to cohorts. The rows and lists that it loads are in the cache of its
//      context; the cohort of an enumeration also holds its batch as fetched (`fetchedRows`).
//   2. Each cohort makes the cohort across one relationship once. A walk through the graph therefore costs one call to
//      the store for each step of the path, each kind of content and each 4,096 objects (`tripSizeMax`).
//   3. A cohort that a step has made belongs to the one cohort from which the step leads. Cohorts form trees. A tree is
//      freed without recursion, because a path may be as long as the store.

import EspalierModel
import EspalierStore

/// A group of objects that one fetch, or one relationship of another cohort, has loaded.
final class Cohort: SharedByObjects {
    /// The contents that one call to the store loads for some of the members.
    enum Contents {
        case rows, lists
    }

    /// The largest number of objects that one call to the store loads; bounds the memory that one fault can use.
    static let tripSizeMax = 4096

    private(set) var members: [ObjectID]
    /// The rows of `members` as fetched, if the fetch did not make an object for each of them.
    let fetchedRows: SnapshotList?
    private let cache: RowCache
    /// The members whose rows the cache keeps; a member may occur twice (see `keptCountMax`).
    private var rowsToForget: [ObjectID] = []
    /// The members whose lists the cache keeps, for the relationship that was loaded first; `otherLists` has the
    /// others.
    private var firstLists: (slot: Int, owners: [ObjectID])?
    private var otherLists: [(slot: Int, owners: [ObjectID])] = []
    /// The members whose lists were counted, by slot of the relationship.
    private var counted = SlotValues<ObjectIDSet>()
    /// The cohorts across relationships, as a linked list: they are few, so a search visits them in turn.
    private var firstStep: Cohort?
    private var nextStep: Cohort?
    /// The relationship across which this cohort was made; an entity and its subentities share it.
    private let origin: (declaredBy: Int, slot: Int, isToMany: Bool)?
    /// The position of each member, computed on first use.
    private var places: ObjectIDTable<Int>?
    /// The position at which the last call to the store ended.
    private var nextPlace = 0
    /// The number of members that the next call for rows may test with its condition.
    private var rowCredit: Int
    /// The number of members that the next call for lists may test with its condition.
    private var listCredit: Int

    /// Each of `members` denotes one object; a member may occur twice.
    init(
        _ members: [ObjectID], fetchedRows: SnapshotList? = nil, cache: RowCache, across origin: Relationship? = nil
    ) {
        (self.members, self.fetchedRows, self.cache) = (members, fetchedRows, cache)
        self.origin = origin.map { ($0.declaredBy, $0.slot, $0.isToMany) }
        let credit = Self.testsMax(members.count)
        (rowCredit, listCredit) = (credit, credit)
    }

    deinit {
        if !rowsToForget.isEmpty { cache.forgetRows(of: rowsToForget) }
        if let (slot, owners) = firstLists { cache.forgetLists(of: owners, at: slot) }
        if !otherLists.isEmpty { forgetOtherLists() }
        if !counted.isEmpty { forgetCounts() }
        if firstStep != nil { endSteps() }
    }

    /// Frees the cohorts across relationships one by one: the steps of an ending cohort are moved to the front of the
    /// list, so that no `deinit` runs inside another one.
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

    /// The most entries of one list of members, apart from those of the last call to the store.
    private var keptCountMax: Int { 2 * members.count }

    /// Makes the end of this cohort remove these rows from the cache, which the caller fills.
    ///
    /// The IDs are of members, or of an object of this cohort that has received another ID since.
    ///
    /// - Complexity: O(`ids`), amortized: a refreshed member is appended again, and a list that exceeds `keptCountMax`
    ///   is reduced to distinct members.
    func noteRowsToForget(of ids: [ObjectID]) {
        if rowsToForget.isEmpty { rowsToForget = ids } else { rowsToForget.append(ids, distinctAbove: keptCountMax) }
        assert(checkInvariants())
    }

    /// Keeps the destinations of a to-many relationship of each owner, a member, until this cohort ends.
    ///
    /// - Complexity: that of `noteRowsToForget`.
    func keep(_ found: [[ObjectID]], of owners: [ObjectID], at slot: Int) {
        cache.add(found, of: owners, at: slot)
        if firstLists == nil {
            firstLists = (slot, owners)
        } else if firstLists?.slot == slot {
            firstLists?.owners.append(owners, distinctAbove: keptCountMax)
        } else if let index = otherLists.firstIndex(where: { $0.slot == slot }) {
            otherLists[index].owners.append(owners, distinctAbove: keptCountMax)
        } else {
            otherLists.append((slot, owners))
        }
        assert(checkInvariants())
    }

    /// Keeps the length of a list of `owner`, a member, until this cohort ends.
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

    /// The number of IDs and cohorts that this cohort keeps, its steps included; a trip that loads the same members
    /// again must not add to it for ever.
    ///
    /// - Complexity: O(steps and their steps).
    var keptCount: Int {
        var (count, waiting) = (0, [self])
        while let cohort = waiting.popLast() {
            count += 1 + cohort.members.count + cohort.rowsToForget.count + (cohort.firstLists?.owners.count ?? 0)
            for (_, owners) in cohort.otherLists { count += owners.count }
            for (_, owners) in cohort.counted.pairs { count += owners.count }
            var step = cohort.firstStep
            while let next = step {
                waiting.append(next)
                step = next.nextStep
            }
        }
        return count
    }

    /// Asserts the invariants; call it inside `assert`.
    func checkInvariants() -> Bool {
        var (step, stepCount) = (firstStep, 0)
        while let next = step {
            assert(next.origin != nil && next !== self, "invariant 3: a step has no origin")
            assert(next.members.isEmpty || next.fetchedRows == nil, "a step has fetched rows")
            stepCount += 1
            assert(stepCount <= 1000, "invariant 3: the steps form a circle")
            step = next.nextStep
        }
        assert(otherLists.isEmpty || firstLists != nil, "there are other lists and no first lists")
        assert(Set(otherLists.map(\.slot)).count == otherLists.count, "one relationship has two lists of owners")
        assert(otherLists.allSatisfy { $0.slot != firstLists?.slot }, "one relationship has two lists of owners")
        return true
    }

    /// The cohort of all destinations of this one's members, if that step was made before; it lives as long as this
    /// cohort.
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

    /// Adds destinations of rows or lists that the previous cohort has loaded later.
    ///
    /// - Complexity: O(`destinations`), and O(members) on first use, which computes the positions of the members.
    func add(_ destinations: some Sequence<ObjectID>) {
        notePlaces()
        for id in destinations where places?[id] == nil {
            places?.set(members.count, for: id)
            members.append(id)
        }
    }

    /// Whether there is a step across a to-one relationship.
    var hasStepAcrossRows: Bool {
        var step = firstStep
        while let next = step {
            if next.origin?.isToMany == false { return true }
            step = next.nextStep
        }
        return false
    }

    /// Adds the destinations of a row to the cohorts of the steps across to-one relationships.
    ///
    /// - Parameter isKind: whether the row's entity is or inherits from the entity with this index.
    func addDestinations(of row: borrowing ObjectSnapshot, isKind: (_ entity: Int) -> Bool) {
        var step = firstStep
        while let next = step {
            if let origin = next.origin, !origin.isToMany, isKind(origin.declaredBy),
                let id = row.destination(at: origin.slot)
            {
                next.add(CollectionOfOne(id))
            }
            step = next.nextStep
        }
    }

    private func notePlaces() {
        guard places == nil else { return }
        var places = ObjectIDTable<Int>()
        places.reserveCapacity(members.count)
        for (place, id) in members.enumerated() where places[id] == nil { places.set(place, for: id) }
        assert(StepCount.note(members.count))
        self.places = places
    }

    /// The position of a member; mostly the position at which the last call ended.
    private func place(of id: ObjectID) -> Int? {
        if nextPlace < members.count, members[nextPlace] == id { return nextPlace }
        notePlaces()
        return places?[id]
    }

    /// At most `tripSizeMax` members whose `contents` are needed: those from `id` on, then those before it.
    ///
    /// `id` is the first one. If objects are refreshed one by one, hardly any other member satisfies the condition, so
    /// a call tests only some of the members.
    ///
    /// - Complexity: O(members found), on average over all calls, and O(members) once for rows and once for lists.
    func members(
        around id: ObjectID, for contents: Contents, where isNeeded: (ObjectID) -> Bool
    ) -> [ObjectID] {
        if members.isEmpty { return [id] }
        // Fast path without a copy: the first member asks, and all are needed.
        var offset = 0
        if members.first == id {
            offset = 1
            while offset < min(members.count, Self.tripSizeMax), members[offset] != id, isNeeded(members[offset]) {
                offset += 1
            }
            if offset == members.count {
                assert(StepCount.note(offset))
                return members
            }
        }
        var result: [ObjectID] = []
        result.reserveCapacity(min(members.count, Self.tripSizeMax))
        if offset > 0 { result += members[..<offset] } else { result.append(id) }
        let start = offset > 0 ? 0 : place(of: id) ?? 0
        let testCredit = (contents == .rows ? rowCredit : listCredit) + Self.testsForEach * result.count
        var credit = max(Self.testsMin, testCredit)
        while offset < members.count, result.count < Self.tripSizeMax, credit > 0 {
            let position = start + offset
            let member = members[position < members.count ? position : position - members.count]
            offset += 1
            credit -= 1
            guard member != id, isNeeded(member) else { continue }
            result.append(member)
            credit += Self.testsForEach
        }
        assert(StepCount.note(offset))
        nextPlace = (start + offset) % members.count
        // A call that has tested all members leaves none to be found: only what it has found earns further tests.
        if offset == members.count { credit = min(credit, Self.testsForEach * result.count) }
        credit = min(credit, Self.testsMax(members.count))
        if contents == .rows { rowCredit = credit } else { listCredit = credit }
        assert(result.first == id && result.count <= Self.tripSizeMax, "\(result.count) members around \(id)")
        return result
    }

    /// How many members a call may always test, how many more for each member that it or an earlier call has found, and
    /// the maximum of this credit, with which a cohort begins.
    private static let testsMin = 64
    private static let testsForEach = 16
    private static func testsMax(_ memberCount: Int) -> Int { 2 * memberCount }
}

extension [ObjectID] {
    /// Appends `ids`, and removes duplicates if there are more than `countMax` IDs then.
    fileprivate mutating func append(_ ids: [ObjectID], distinctAbove countMax: Int) {
        self += ids
        if count > countMax { self = ObjectIDSet(self).ids }
    }
}
