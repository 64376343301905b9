// A long list of distinct IDs that changes in the middle: the new order of an ordered relationship.
//
// Invariants
//   1. The IDs are in chunks of 1 to `chunkSizeMax`, one after the other; no chunk is empty.
//   2. A chunk keeps its number for life. `order` holds the numbers of all chunks in the order of the list, and
//      `position` maps a number to its index in `order`. `sums` is a Fenwick tree over the sizes of chunks in that
//      order.
//   3. `homes` maps every ID to the number of its chunk. It is allocated when an ID is first sought among several
//      chunks.

import EspalierModel

/// A list of IDs without duplicates.
struct OrderedIDs {
    private static var chunkSizeMax: Int { 512 }

    /// The number of IDs.
    private(set) var count = 0
    /// By number; a removed chunk leaves an empty array, whose number is never used again.
    private var chunks: [[ObjectID]] = []
    private var order: [Int32] = []
    private var position: [Int32] = []
    /// One element more than there are chunks; the first is not used.
    private var sums: [Int] = [0]
    private var homes: ObjectIDTable<Int32>?

    /// A list of these IDs, which must be distinct.
    init(_ ids: [ObjectID]) {
        count = ids.count
        // Leaves room in each chunk, so that the first insertion anywhere does not divide one.
        let step = ids.count <= Self.chunkSizeMax ? max(1, ids.count) : Self.chunkSizeMax / 4 * 3
        for start in stride(from: 0, to: ids.count, by: step) {
            chunks.append(Array(ids[start..<min(start + step, ids.count)]))
            order.append(Int32(order.count))
        }
        numberAgain()
    }

    /// All IDs, in the order of the list.
    ///
    /// - Complexity: O(n).
    var ids: [ObjectID] {
        if order.count == 1 { return chunks[Int(order[0])] }
        var ids: [ObjectID] = []
        ids.reserveCapacity(count)
        for number in order { ids += chunks[Int(number)] }
        return ids
    }

    /// The ID at `index`, which is below `count`.
    ///
    /// - Complexity: O(log n).
    subscript(index: Int) -> ObjectID {
        let (place, offset) = find(index)
        return chunks[Int(order[place])][offset]
    }

    /// - Complexity: O(1), and O(n) the first time.
    mutating func contains(_ id: ObjectID) -> Bool { home(of: id) != nil }

    /// The index of `id`; `nil` if the list does not contain it.
    ///
    /// - Complexity: O(log n), and O(n) the first time.
    mutating func index(of id: ObjectID) -> Int? {
        guard let number = home(of: id), let offset = chunks[Int(number)].firstIndex(of: id) else { return nil }
        return sum(before: Int(position[Int(number)])) + offset
    }

    /// Appends `id`, which must not be in the list.
    ///
    /// - Complexity: O(1), amortized.
    mutating func append(_ id: ObjectID) { insert(id, at: count) }

    /// Inserts `id`, which must not be in the list, before the ID at `index`, or appends it.
    ///
    /// - Complexity: O(log n), amortized.
    mutating func insert(_ id: ObjectID, at index: Int) {
        var (place, offset) = index < count ? find(index) : end
        if order.isEmpty || chunks[Int(order[place])].count == Self.chunkSizeMax {
            (place, offset) = makeRoom(at: place, offset)
        }
        let number = order[place]
        chunks[Int(number)].insert(id, at: offset)
        homes?.set(number, for: id)
        add(1, at: place)
        count += 1
    }

    /// Removes `id`; returns whether it was in the list.
    ///
    /// - Complexity: O(log n), amortized, and O(n) the first time.
    @discardableResult
    mutating func remove(_ id: ObjectID) -> Bool {
        guard let index = index(of: id) else { return false }
        let (place, offset) = find(index)
        let number = Int(order[place])
        chunks[number].remove(at: offset)
        homes?.remove(id)
        count -= 1
        if chunks[number].isEmpty {
            chunks[number] = []
            order.remove(at: place)
            numberAgain()
        } else {
            add(-1, at: place)
        }
        return true
    }

    /// Moves the ID at `source`; it is at `target` afterwards.
    ///
    /// - Complexity: O(log n), amortized, and O(n) the first time.
    mutating func move(from source: Int, to target: Int) {
        let id = self[source]
        remove(id)
        insert(id, at: target)
    }

    // MARK: Chunks

    /// The number of the chunk that contains `id`.
    private mutating func home(of id: ObjectID) -> Int32? {
        if order.count <= 1 {
            guard let number = order.first, chunks[Int(number)].contains(id) else { return nil }
            return number
        }
        if homes == nil {
            var table = ObjectIDTable<Int32>()
            table.reserveCapacity(count)
            for number in order { for id in chunks[Int(number)] { table.set(number, for: id) } }
            homes = table
        }
        return homes?[id]
    }

    /// Divides the full chunk at `place`, or adds one after the last; returns the new place and offset of the given
    /// position.
    private mutating func makeRoom(at place: Int, _ offset: Int) -> (place: Int, offset: Int) {
        let number = Int32(chunks.count)
        guard let full = order.isEmpty ? nil : Int(order[place]), offset < chunks[full].count || place < order.count - 1
        else {
            chunks.append([])
            order.append(number)
            numberAgain()
            return (order.count - 1, 0)
        }
        let middle = chunks[full].count / 2
        chunks.append(Array(chunks[full][middle...]))
        chunks[full].removeSubrange(middle...)
        if homes != nil { for id in chunks[Int(number)] { homes?.set(number, for: id) } }
        order.insert(number, at: place + 1)
        numberAgain()
        return offset <= middle ? (place, offset) : (place + 1, offset - middle)
    }

    // MARK: Places

    /// Recomputes `position` and `sums` from `order`.
    ///
    /// - Complexity: O(chunks). It runs once for about half as many insertions as a chunk has IDs.
    private mutating func numberAgain() {
        position.append(contentsOf: repeatElement(0, count: chunks.count - position.count))
        sums = [Int](repeating: 0, count: order.count + 1)
        for (place, number) in order.enumerated() {
            position[Int(number)] = Int32(place)
            sums[place + 1] += chunks[Int(number)].count
            let parent = (place + 1) + ((place + 1) & -(place + 1))
            if parent < sums.count { sums[parent] += sums[place + 1] }
        }
    }

    private mutating func add(_ change: Int, at place: Int) {
        var node = place + 1
        while node < sums.count {
            sums[node] += change
            node += node & -node
        }
    }

    /// The number of IDs in the chunks before `place`.
    private func sum(before place: Int) -> Int {
        var (node, sum) = (place, 0)
        while node > 0 {
            sum += sums[node]
            node -= node & -node
        }
        return sum
    }

    /// The position after the last ID.
    private var end: (place: Int, offset: Int) {
        guard let last = order.last else { return (0, 0) }
        return (order.count - 1, chunks[Int(last)].count)
    }

    /// The place of the chunk that contains the ID at `index`, and the offset of the ID in that chunk.
    private func find(_ index: Int) -> (place: Int, offset: Int) {
        assert(index >= 0 && index < count, "place \(index) of \(count)")
        var (node, rest) = (0, index)
        var step = 1
        while step * 2 < sums.count { step *= 2 }
        while step > 0 {
            if node + step < sums.count, sums[node + step] <= rest {
                node += step
                rest -= sums[node]
            }
            step /= 2
        }
        return (node, rest)
    }
}
