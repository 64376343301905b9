// A long list of different IDs that changes in the middle: the new order of an ordered relationship.
//
// Invariants
//   1. The IDs lie in chunks of 1 to `chunkSizeMax`, one after the other; no chunk is empty.
//   2. A chunk keeps its number for life. `order` has the numbers of all chunks in the order of the list, `position`
//      says where a number stands there. `sums` is a Fenwick tree over the sizes of chunks in that order.
//   3. `homes`, which is made when an ID is sought among several chunks, says of every ID in which chunk it is.

import EspalierModel

/// IDs in an order, each once.
struct OrderedIDs {
    private static var chunkSizeMax: Int { 512 }

    /// How many IDs there are.
    private(set) var count = 0
    /// By number; those of chunks that are gone are empty and never used again.
    private var chunks: [[ObjectID]] = []
    private var order: [Int32] = []
    private var position: [Int32] = []
    /// One more than there are chunks; the first is not used.
    private var sums: [Int] = [0]
    private var homes: ObjectIDTable<Int32>?

    /// These IDs, which are all different.
    init(_ ids: [ObjectID]) {
        count = ids.count
        // Room in each, so that the first insertion anywhere does not divide a chunk.
        let step = ids.count <= Self.chunkSizeMax ? max(1, ids.count) : Self.chunkSizeMax / 4 * 3
        for start in stride(from: 0, to: ids.count, by: step) {
            chunks.append(Array(ids[start..<min(start + step, ids.count)]))
            order.append(Int32(order.count))
        }
        numberAgain()
    }

    /// All of them.
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

    /// Where `id` stands.
    ///
    /// - Complexity: O(log n), and O(n) the first time.
    mutating func index(of id: ObjectID) -> Int? {
        guard let number = home(of: id), let offset = chunks[Int(number)].firstIndex(of: id) else { return nil }
        return sum(before: Int(position[Int(number)])) + offset
    }

    /// Puts `id`, which is not in the list, after all others.
    ///
    /// - Complexity: O(1), amortized.
    mutating func append(_ id: ObjectID) { insert(id, at: count) }

    /// Puts `id`, which is not in the list, before the one at `index`, or after all others.
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

    /// Takes `id` out; returns whether it was there.
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

    /// Makes the ID at `source` stand at `target`.
    ///
    /// - Complexity: O(log n), amortized, and O(n) the first time.
    mutating func move(from source: Int, to target: Int) {
        let id = self[source]
        remove(id)
        insert(id, at: target)
    }

    // MARK: Chunks

    /// The number of the chunk that has `id`.
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

    /// Divides the full chunk at `place`, or adds one after the last; returns where its place `offset` is then.
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

    /// Makes `position` and `sums` fit `order`.
    ///
    /// - Complexity: O(chunks); once for about half as many insertions as a chunk has IDs.
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

    /// How many IDs stand in the chunks before `place`.
    private func sum(before place: Int) -> Int {
        var (node, sum) = (place, 0)
        while node > 0 {
            sum += sums[node]
            node -= node & -node
        }
        return sum
    }

    /// Where the last chunk ends.
    private var end: (place: Int, offset: Int) {
        guard let last = order.last else { return (0, 0) }
        return (order.count - 1, chunks[Int(last)].count)
    }

    /// The place of the chunk that has the ID at `index`, and where in it that is.
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
