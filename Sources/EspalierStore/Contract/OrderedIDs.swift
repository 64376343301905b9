// A long list of distinct IDs that changes in the middle: the new order of an ordered relationship. It knows the list
// that it was made from, and what has changed since.
//
// Invariants
//   1. The IDs are in chunks of 1 to `chunkSizeMax`, one after the other; no chunk is empty.
//   2. A chunk keeps its number for life. `order` holds the numbers of all chunks in the order of the list, and
//      `position` maps a number to its index in `order`. `sums` is a Fenwick tree over the sizes of chunks in that
//      order.
//   3. `homes` has every ID of the list and of `original`. It is allocated when there are several chunks, and stays:
//      without it both lists are short enough to be searched.
//   4. `touched` has every ID that was inserted, removed or moved. All others are in the order of `original`.

package import EspalierModel

/// A list of IDs without duplicates.
package struct OrderedIDs: Sendable {
    private static var chunkSizeMax: Int { 512 }
    /// A list with more changes than this, and than an eighth of its IDs, is compared as a whole.
    private static var touchedCountMin: Int { 16 }

    /// The places of an ID, now and before the changes.
    private struct Home {
        /// The number of its chunk; -1 if the list does not contain it.
        var chunk: Int32
        /// Its index in `original`; -1 if that does not contain it.
        let former: Int32
    }

    /// The list from which this one was made.
    package let original: [ObjectID]
    /// The number of IDs.
    package private(set) var count = 0
    /// By number; a removed chunk leaves an empty array, whose number is never used again.
    private var chunks: [[ObjectID]] = []
    private var order: [Int32] = []
    private var position: [Int32] = []
    /// One element more than there are chunks; the first is not used.
    private var sums: [Int] = [0]
    private var homes: ObjectIDTable<Home>?
    /// Some IDs several times; `nil` if there are too many.
    private var touched: [ObjectID]? = []

    /// A list of these IDs, which must be distinct.
    ///
    /// - Complexity: O(n).
    package init(_ ids: [ObjectID]) {
        assert(StepCount.note(ids.count))
        (original, count) = (ids, ids.count)
        // Leaves room in each chunk, so that the first insertion anywhere does not divide one.
        let step = ids.count <= Self.chunkSizeMax ? max(1, ids.count) : Self.chunkSizeMax / 4 * 3
        for start in stride(from: 0, to: ids.count, by: step) {
            chunks.append(Array(ids[start..<min(start + step, ids.count)]))
            order.append(Int32(order.count))
        }
        numberAgain()
        assert(sum(before: order.count) == count, "\(sum(before: order.count)) of \(count) IDs are in chunks")
        if order.count > 1 { makeHomes() }
    }

    /// All IDs, in the order of the list.
    ///
    /// - Complexity: O(n).
    package var ids: [ObjectID] {
        assert(StepCount.note(count))
        if order.count == 1 { return chunks[Int(order[0])] }
        var ids: [ObjectID] = []
        ids.reserveCapacity(count)
        for number in order { ids += chunks[Int(number)] }
        return ids
    }

    /// The ID at `index`, which is below `count`.
    ///
    /// - Complexity: O(log n).
    package subscript(index: Int) -> ObjectID {
        let (place, offset) = find(index)
        return chunks[Int(order[place])][offset]
    }

    /// - Complexity: O(1).
    package func contains(_ id: ObjectID) -> Bool { home(of: id) != nil }

    /// The index of `id`; `nil` if the list does not contain it.
    ///
    /// - Complexity: O(log n).
    package func index(of id: ObjectID) -> Int? {
        guard let number = home(of: id), let offset = chunks[Int(number)].firstIndex(of: id) else { return nil }
        return sum(before: Int(position[Int(number)])) + offset
    }

    /// Appends `id`, which must not be in the list.
    ///
    /// - Complexity: O(1), amortized.
    package mutating func append(_ id: ObjectID) { insert(id, at: count) }

    /// Inserts `id`, which must not be in the list, before the ID at `index`, or appends it.
    ///
    /// - Complexity: O(log n), amortized.
    package mutating func insert(_ id: ObjectID, at index: Int) {
        var (place, offset) = index < count ? find(index) : end
        if order.isEmpty || chunks[Int(order[place])].count == Self.chunkSizeMax {
            (place, offset) = makeRoom(at: place, offset)
        }
        let number = order[place]
        chunks[Int(number)].insert(id, at: offset)
        setHome(of: id, to: number)
        add(1, at: place)
        count += 1
        assert(chunks[Int(number)].count <= Self.chunkSizeMax, "a chunk of \(chunks[Int(number)].count) IDs")
        assert(sum(before: order.count) == count, "\(sum(before: order.count)) of \(count) IDs are in chunks")
        touch(id)
    }

    /// Removes `id`; returns whether it was in the list.
    ///
    /// - Complexity: O(log n), amortized.
    @discardableResult
    package mutating func remove(_ id: ObjectID) -> Bool {
        guard let index = index(of: id) else { return false }
        let (place, offset) = find(index)
        let number = Int(order[place])
        chunks[number].remove(at: offset)
        if let former = homes?[id]?.former {
            if former < 0 { homes?.remove(id) } else { homes?.set(Home(chunk: -1, former: former), for: id) }
        }
        count -= 1
        if chunks[number].isEmpty {
            chunks[number] = []
            order.remove(at: place)
            numberAgain()
        } else {
            add(-1, at: place)
        }
        touch(id)
        assert(sum(before: order.count) == count, "\(sum(before: order.count)) of \(count) IDs are in chunks")
        return true
    }

    /// Moves the ID at `source`; it is at `target` afterwards.
    ///
    /// - Complexity: O(log n), amortized.
    package mutating func move(from source: Int, to target: Int) {
        let id = self[source]
        remove(id)
        insert(id, at: target)
    }

    // MARK: Changes

    /// The index of `id` in the original list; `nil` if that does not contain it.
    ///
    /// - Complexity: O(1).
    package func originalIndex(of id: ObjectID) -> Int? {
        guard let homes else { return original.firstIndex(of: id) }
        guard let former = homes[id]?.former, former >= 0 else { return nil }
        return Int(former)
    }

    /// Whether the list differs from the original one.
    ///
    /// - Complexity: O(k log n) for k changes; O(n) if these are more than an eighth of the list.
    package var isChanged: Bool {
        guard count == original.count else { return true }
        guard let touched else { return ids != original }
        // The other IDs are in the order of both lists, so they have the same places if the changed ones do.
        return touched.contains { index(of: $0) != originalIndex(of: $0) }
    }

    /// The IDs that were removed, in the order of the original list, and the indices of those that were inserted or
    /// moved, ascending; `nil` if they are so many that the lists are better compared as a whole.
    ///
    /// - Complexity: O(k log n) for k changes.
    package var changes: (removed: [ObjectID], placed: [Int])? {
        guard let touched else { return nil }
        var (removed, placed): ([(index: Int, id: ObjectID)], [Int]) = ([], [])
        for id in Set(touched) {
            if let index = index(of: id) {
                placed.append(index)
            } else if let index = originalIndex(of: id) {
                removed.append((index, id))
            }
        }
        return (removed.sorted { $0.index < $1.index }.map(\.id), placed.sorted())
    }

    private mutating func touch(_ id: ObjectID) {
        guard let known = touched, known.last != id else { return }
        if known.count < Self.touchedCountMin + max(count, original.count) / 8 {
            touched?.append(id)
        } else {
            touched = nil
        }
    }

    // MARK: Chunks

    /// The number of the chunk that contains `id`.
    private func home(of id: ObjectID) -> Int32? {
        if let homes {
            guard let number = homes[id]?.chunk, number >= 0 else { return nil }
            assert(!chunks[Int(number)].isEmpty, "invariant 1: \(id) is in chunk \(number), which is empty")
            return number
        }
        guard let number = order.first, chunks[Int(number)].contains(id) else { return nil }
        return number
    }

    private mutating func setHome(of id: ObjectID, to number: Int32) {
        guard let former = homes.map({ $0[id]?.former ?? -1 }) else { return }
        homes?.set(Home(chunk: number, former: former), for: id)
    }

    /// Allocates `homes`.
    private mutating func makeHomes() {
        assert(StepCount.note(original.count + count))
        var table = ObjectIDTable<Home>()
        table.reserveCapacity(max(count, original.count))
        for (index, id) in original.enumerated() { table.set(Home(chunk: -1, former: Int32(index)), for: id) }
        for number in order {
            for id in chunks[Int(number)] {
                table.set(Home(chunk: number, former: table[id]?.former ?? -1), for: id)
            }
        }
        homes = table
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
            if order.count > 1, homes == nil { makeHomes() }
            return (order.count - 1, 0)
        }
        let middle = chunks[full].count / 2
        chunks.append(Array(chunks[full][middle...]))
        chunks[full].removeSubrange(middle...)
        order.insert(number, at: place + 1)
        numberAgain()
        if homes == nil { makeHomes() }
        for id in chunks[Int(number)] { setHome(of: id, to: number) }
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
