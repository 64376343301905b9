// The members of a live collection that belongs to no relationship, for example of a literal.
//
// Invariants
//   1. Each object is a member once, in the order in which it was added, and `places` has its place.
//   2. A member that is removed leaves a gap. At most half of the places are gaps, unless there are fewer than 32; an
//      access by position closes them first.
//   3. A member is released only after the access to the members: freeing it may run application code.

import EspalierModel

/// Objects without an owner, which all copies of a collection share.
final class LooseMembers {
    /// From this number of places on, at least half of them are in use.
    private static let longCount = 32
    private var members: [ManagedObject?] = []
    private var places: [ManagedObject: Int] = [:]

    init(_ objects: some Sequence<ManagedObject>) { add(objects) }

    // MARK: Reading

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }
    /// The members in order.
    var objects: [ManagedObject] { members.compactMap(\.self) }

    func contains(_ object: ManagedObject) -> Bool { places[object] != nil }

    /// The member at `index`; `nil` if there is none.
    ///
    /// - Complexity: O(1); O(n) after a removal.
    func object(at index: Int) -> ManagedObject? {
        closeGaps()
        return members.indices.contains(index) ? members[index] : nil
    }

    /// The index of a member.
    ///
    /// - Complexity: O(1); O(n) after a removal.
    func index(of object: ManagedObject) -> Int? {
        closeGaps()
        return places[object]
    }

    // MARK: Changing

    /// Appends those of `objects` that are no members yet.
    ///
    /// - Complexity: O(`objects`).
    func add(_ objects: some Sequence<ManagedObject>) {
        for object in objects where places[object] == nil {
            assert(StepCount.note())
            places[object] = members.count
            members.append(object)
        }
    }

    /// Removes those of `objects` that are members.
    ///
    /// - Complexity: O(`objects`), amortized.
    func remove(_ objects: [ManagedObject]) {
        for object in objects {
            guard let place = places.removeValue(forKey: object) else { continue }
            assert(StepCount.note())
            members[place] = nil
        }
        if members.count >= Self.longCount, places.count * 2 < members.count { closeGaps() }
    }

    /// Makes `objects` the only members.
    func replaceAll(with objects: [ManagedObject]) {
        let former = members
        (members, places) = ([], [:])
        add(objects)
        withExtendedLifetime(former) {}
    }

    /// Inserts those of `objects` that are no members yet before the one at `index`, which may be `count`; nothing if
    /// there is no such index.
    ///
    /// - Complexity: O(n).
    func insert(_ objects: [ManagedObject], at index: Int) {
        closeGaps()
        guard index >= 0, index <= members.count else { return }
        var seen = Set<ManagedObject>()
        let new = objects.filter { places[$0] == nil && seen.insert($0).inserted }
        members.insert(contentsOf: new as [ManagedObject?], at: index)
        renumber(index..<members.count)
    }

    /// Makes `object` the member at `index`; nothing if it is a member, or if there is no such index.
    ///
    /// - Complexity: O(1); O(n) after a removal.
    func replace(at index: Int, with object: ManagedObject) {
        guard places[object] == nil, let former = self.object(at: index) else { return }
        members[index] = object
        places[former] = nil
        places[object] = index
        withExtendedLifetime(former) {}
    }

    /// Moves a member; nothing if there is no such index.
    ///
    /// - Complexity: O(n).
    func move(from source: Int, to target: Int) {
        closeGaps()
        guard members.indices.contains(source), members.indices.contains(target) else { return }
        members.insert(members.remove(at: source), at: target)
        renumber(min(source, target)..<max(source, target) + 1)
    }

    /// Removes the member at `index`, if there is one.
    ///
    /// - Complexity: O(n).
    func remove(at index: Int) {
        guard let object = object(at: index) else { return }
        members.remove(at: index)
        places[object] = nil
        renumber(index..<members.count)
        withExtendedLifetime(object) {}
    }

    // MARK: Places

    private func closeGaps() {
        guard members.count > places.count else { return }
        members.removeAll { $0 == nil }
        assert(members.count == places.count, "\(members.count) members have \(places.count) places")
        renumber(members.indices)
    }

    private func renumber(_ range: Range<Int>) {
        assert(StepCount.note(range.count))
        for place in range { if let object = members[place] { places[object] = place } }
    }
}
