// A set of object IDs that is mostly small or filled in order, and large where many objects join one relationship.
//
// Invariants
//   1. `ids` holds no ID twice. Without `positions` they ascend by creation, or are so few that they are searched.
//   2. `positions`, which is made when neither is so any more, says where each ID is.

import EspalierModel

/// IDs, each once.
struct ObjectIDSet: Sequence {
    /// As many are searched one by one.
    private static var searchedCountMax: Int { 32 }

    private(set) var ids: [ObjectID] = []
    private var positions: ObjectIDTable<Int>?
    private var isAscending = true

    init() {}

    init(_ ids: some Sequence<ObjectID>) { for id in ids { insert(id) } }

    var isEmpty: Bool { ids.isEmpty }
    var count: Int { ids.count }

    /// Makes room for `count` IDs in all.
    mutating func reserveCapacity(_ count: Int) { ids.reserveCapacity(count) }

    /// - Complexity: O(1), or O(log n) as long as IDs came in the order of their creation.
    func contains(_ id: ObjectID) -> Bool { position(of: id) != nil }

    /// Enters `id`; returns whether it was not there.
    ///
    /// - Complexity: O(1), hashing nothing in the order of creation: most come so.
    @discardableResult
    mutating func insert(_ id: ObjectID) -> Bool {
        if positions == nil, isAscending, ids.last.map({ ObjectID.inOrderOfCreation($0, id) }) ?? true {
            ids.append(id)
            return true
        }
        guard ids.last != id else { return false }
        // One that is out of order or comes again is followed by more of its kind, too many for a search each.
        indexIfNeeded()
        guard position(of: id) == nil else { return false }
        isAscending = false
        ids.append(id)
        if positions != nil { positions?.set(ids.count - 1, for: id) } else { indexIfNeeded() }
        return true
    }

    /// Takes `id` out; returns whether it was there.
    ///
    /// - Complexity: O(1), and O(n) once.
    @discardableResult
    mutating func remove(_ id: ObjectID) -> Bool {
        guard let position = position(of: id) else { return false }
        isAscending = false
        indexIfNeeded()
        let last = ids.removeLast()
        positions?.remove(id)
        if position < ids.count {
            ids[position] = last
            positions?.set(position, for: last)
        }
        return true
    }

    func makeIterator() -> IndexingIterator<[ObjectID]> { ids.makeIterator() }

    private mutating func indexIfNeeded() {
        guard positions == nil, ids.count > Self.searchedCountMax else { return }
        var table = ObjectIDTable<Int>()
        for (position, id) in ids.enumerated() { table.set(position, for: id) }
        positions = table
    }

    private func position(of id: ObjectID) -> Int? {
        if let positions { return positions[id] }
        guard isAscending, ids.count > Self.searchedCountMax else { return ids.firstIndex(of: id) }
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ObjectID.inOrderOfCreation(ids[middle], id) { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == id ? low : nil
    }
}
