// The positions of the destinations of an ordered list in its tree: ascending numbers with gaps, which give room to new
// destinations, so that a change writes the changed entries and few others.
//
// Invariants
//   1. As many destinations as possible keep their entries: a longest sequence of those that stay in their order.
//   2. Where there is no room, entries after the place get new positions, twice as many with each try, until they are
//      at least `roomMin` apart: insertions at one place write few entries each, on average.

package import EspalierModel

/// The entries that change when a list gets another order.
package struct ListPositions {
    /// An entry of a list.
    package typealias Entry = (position: UInt64, id: ObjectID)

    /// The distance between the positions of appended destinations.
    private static let stride: UInt64 = 1 << 32
    /// The first position in an empty list: there is room before it.
    private static let start: UInt64 = 1 << 62
    static let roomMin: UInt64 = 1 << 16

    /// The entries to remove, as indices in the old list.
    package private(set) var removed: [Int] = []
    /// The entries to add.
    package private(set) var added: [Entry] = []

    /// Computes the changes between two lists, each without a duplicate destination.
    ///
    /// - Complexity: O(n), and O(m log m) for the m destinations between the first and the last change.
    package init(from old: [Entry], to new: [ObjectID]) {
        var places = Self.keptPositions(from: old, to: new)
        var next = 0
        while let start = places[next...].firstIndex(of: nil) {
            let end = places[start...].firstIndex { $0 != nil } ?? places.count
            next = Self.fill(start..<end, of: &places)
        }
        assert(places.count == new.count && !places.contains(nil), "a destination has no position")
        note(places, from: old, to: new)
    }

    /// Notes the entries whose positions have changed.
    private mutating func note(_ places: [UInt64?], from old: [Entry], to new: [ObjectID]) {
        // An entry with an unchanged position is neither removed nor added.
        var (front, back) = (0, 0)
        func isSame(_ oldIndex: Int, _ newIndex: Int) -> Bool {
            old[oldIndex].id == new[newIndex] && old[oldIndex].position == places[newIndex]
        }
        while front < min(old.count, new.count), isSame(front, front) { front += 1 }
        while back < min(old.count, new.count) - front, isSame(old.count - 1 - back, new.count - 1 - back) { back += 1 }
        var (former, kept): ([ObjectID: UInt64], Set<UInt64>) = ([:], [])
        for entry in old[front..<old.count - back] { former[entry.id] = entry.position }
        for index in front..<new.count - back {
            guard let position = places[index] else { continue }
            if former[new[index]] == position { kept.insert(position) } else { added.append((position, new[index])) }
        }
        for index in front..<old.count - back where !kept.contains(old[index].position) { removed.append(index) }
    }

    /// The positions of destinations that keep theirs; `nil` for those that are new or moved.
    private static func keptPositions(from old: [Entry], to new: [ObjectID]) -> [UInt64?] {
        var places = [UInt64?](repeating: nil, count: new.count)
        var (front, back) = (0, 0)
        while front < min(old.count, new.count), old[front].id == new[front] {
            places[front] = old[front].position
            front += 1
        }
        while back < min(old.count, new.count) - front, old[old.count - 1 - back].id == new[new.count - 1 - back] {
            back += 1
            places[new.count - back] = old[old.count - back].position
        }
        let middle = old.indices[front..<old.count - back]
        let indices = Dictionary(middle.map { (old[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
        let moved = new.indices[front..<new.count - back].compactMap { place in
            indices[new[place]].map { (place: place, index: $0) }
        }
        for step in longestAscent(moved.map(\.index)) { places[moved[step].place] = old[moved[step].index].position }
        return places
    }

    /// The indices of a longest ascending subsequence of `numbers`, all of which are different.
    private static func longestAscent(_ numbers: [Int]) -> [Int] {
        // The index of the last number of the best ascent of each length so far, and for each number that of its
        // predecessor.
        var ends: [Int] = []
        var previous = [Int](repeating: -1, count: numbers.count)
        for index in numbers.indices {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < numbers[index] { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[index] = ends[low - 1] }
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var ascent: [Int] = []
        var index = ends.last ?? -1
        while index >= 0 {
            ascent.append(index)
            index = previous[index]
        }
        assert(ascent.count == ends.count, "an ascent of \(ascent.count) numbers instead of \(ends.count)")
        return ascent.reversed()
    }

    /// Assigns positions to destinations between their neighbors, and to some after them if there is no room.
    ///
    /// - Returns: the end of the destinations that got a position.
    private static func fill(_ range: Range<Int>, of places: inout [UInt64?]) -> Int {
        assert(!range.isEmpty && places[range].allSatisfy { $0 == nil }, "destinations \(range) have positions")
        let left = range.lowerBound > 0 ? places[range.lowerBound - 1] : nil
        var end = range.upperBound
        var room: UInt64 = 1
        while true {
            let right = end < places.count ? places[end] : nil
            if let (first, step) = positions(UInt64(end - range.lowerBound), between: left, right, room) {
                for index in range.lowerBound..<end { places[index] = first + UInt64(index - range.lowerBound) * step }
                return end
            }
            if end == places.count {
                // No positions are left at the end: renumber the whole list.
                for index in places.indices { places[index] = start + UInt64(index) * stride }
                return end
            }
            // Include destinations after, up to one that keeps its position.
            end = min(places.count, end + max(1, end - range.lowerBound))
            while end < places.count, places[end] == nil { end += 1 }
            assert(end > range.upperBound || end == places.count, "the same destinations are tried again")
            room = roomMin
        }
    }

    /// The first of `count` positions between two, and the distance between them; `nil` if that is less than `room`.
    static func positions(
        _ count: UInt64, between left: UInt64?, _ right: UInt64?, _ room: UInt64
    ) -> (first: UInt64, step: UInt64)? {
        assert(count > 0 && room > 0, "\(count) positions at a distance of \(room)")
        switch (left, right) {
        case (nil, nil): return (start, stride)
        case (let left?, nil):
            let step = min(stride, (.max - left) / (count + 1))
            return step < room ? nil : (left + step, step)
        case (nil, let right?):
            let step = min(stride, right / (count + 1))
            return step < room ? nil : (right - count * step, step)
        case (let left?, let right?):
            let step = (right - left) / (count + 1)
            return step < room ? nil : (left + step, step)
        }
    }
}
