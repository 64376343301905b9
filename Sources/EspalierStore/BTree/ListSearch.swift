// Finds destinations in an ordered list of the tree without reading the list: by their indices in the order that the
// sender of a request has read.
//
// Positions of a list are mostly equally far apart, so the index of a destination tells where to look, and the entry
// there tells by its own index where to look next. Every second guess halves the positions that are left.
//
// Invariants
//   1. An entry that is returned is the one of the destination. An entry is returned only if those that were read on
//      the way to it are in the order of the list that was given.
//   2. A search reads at most `2 * 64` entries, and `stepCountMax` after each, however the positions are.

internal import EspalierEngine
internal import EspalierModel

/// A search in the list of one owner.
struct ListSearch: ~Copyable {
    typealias Entry = ListPositions.Entry

    /// An entry that is at most this number of destinations away is reached step by step.
    private static let stepCountMax = 8

    private var cursor: StoreCursor<[UInt8]>
    private let tree: Tree<[UInt8]>
    private let owner: UInt64
    private let list: OrderedIDs
    private let declaredBy: Int
    private let catalog: StoreCatalog
    /// The first entry of the list, and the last one; `nil` if the list is empty.
    private var ends: (first: Entry, last: Entry)?

    /// Searches the entries of `owner` in `tree` as the former order of `list` has them.
    init(
        _ cursor: consuming StoreCursor<[UInt8]>, over tree: Tree<[UInt8]>, owner: UInt64, _ list: OrderedIDs,
        of relationship: Relationship, _ catalog: StoreCatalog
    ) throws(StoreError) {
        self.cursor = cursor
        (self.tree, self.owner, self.list, self.catalog) = (tree, owner, list, catalog)
        declaredBy = relationship.declaredBy
        guard let first = try entry(at: 0) else { return }
        _ = try self.cursor.seek(LinkKey.ordered(owner, position: .max, .max))
        guard try self.cursor.previous(), let last = try entry() else { return }
        ends = (first, last)
    }

    /// The entry of a destination; `nil` if it is not in the list, or if the list is not in the order that was given.
    ///
    /// - Complexity: O(log n) reads if positions are about equally far apart; at most 128 and a few steps after each.
    mutating func entry(of id: ObjectID) throws(StoreError) -> Entry? {
        guard let wanted = list.originalIndex(of: id), let (first, last) = ends else { return nil }
        if first.id == id { return first }
        if last.id == id { return last }
        // The entry is between these positions, and between destinations with these indices.
        guard var lowIndex = list.originalIndex(of: first.id), var highIndex = list.originalIndex(of: last.id) else {
            return nil
        }
        var (low, high, halves) = (first.position, last.position, false)
        while lowIndex < wanted, wanted < highIndex, high > low, high - low > 1 {
            let share = (Double(wanted - lowIndex) - 0.5) / Double(highIndex - lowIndex)
            let offset = halves ? (high - low) / 2 : UInt64(Double(high - low) * share)
            let guess = low + max(1, min(offset, high - low - 1))
            assert(low < guess && guess < high, "position \(guess) is not between \(low) and \(high)")
            halves.toggle()
            guard let found = try entry(at: guess), found.position < high else {
                high = guess
                continue
            }
            if found.id == id { return found }
            guard let index = list.originalIndex(of: found.id) else { return nil }
            if abs(wanted - index) <= Self.stepCountMax { return try step(to: id, by: wanted - index) }
            if index < wanted { (low, lowIndex) = (found.position, index) } else { (high, highIndex) = (guess, index) }
        }
        return nil
    }

    /// The entry of `id`, if it is at most `count` entries after the cursor, or before it if `count` is negative.
    private mutating func step(to id: ObjectID, by count: Int) throws(StoreError) -> Entry? {
        assert(abs(count) <= Self.stepCountMax, "\(id) is \(count) steps away, of \(Self.stepCountMax) at most")
        for _ in 0..<abs(count) {
            guard try count > 0 ? cursor.next() : cursor.previous(), let found = try entry() else { return nil }
            if found.id == id { return found }
        }
        return nil
    }

    /// The first entry of the list that is not before `position`.
    private mutating func entry(at position: UInt64) throws(StoreError) -> Entry? {
        try cursor.seek(LinkKey.ordered(owner, position: position, 0)) ? entry() : nil
    }

    /// The entry at the cursor; `nil` if it belongs to another list.
    private func entry() throws(StoreError) -> Entry? {
        assert(StepCount.note())
        var found: Entry?
        try cursor.withEntry { [catalog, owner, tree, declaredBy] key, value throws(StoreError) in
            found = try catalog.orderedLink(key, value, of: owner, in: tree, declaredBy)
        }
        return found
    }
}

extension StoreCatalog {
    /// The entry of a tree of ordered lists with this key and value; `nil` if it belongs to another owner.
    ///
    /// - Throws: `StoreError.damaged` if it is not the entry of a destination.
    func orderedLink(
        _ key: RawSpan, _ value: RawSpan, of owner: UInt64, in tree: Tree<[UInt8]>, _ declaredBy: Int
    ) throws(StoreError) -> ListPositions.Entry? {
        guard key.byteCount >= 8, key.bigEndianKey(at: 0) == owner else { return nil }
        guard key.byteCount == LinkKey.orderedByteCount, value.byteCount == LinkKey.valueByteCount,
            let id = numbering.id(entityNumber: value.number(at: 0), key: key.bigEndianKey(at: 16))
        else {
            throw .damaged(
                entity: model.entities[declaredBy].name, key: owner,
                reason: "an entry of tree \"\(tree.name)\" is not a link")
        }
        return (key.bigEndianKey(at: 8), id)
    }
}
