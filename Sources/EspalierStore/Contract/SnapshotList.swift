// The rows that a fetch has found: a list of snapshots that stores their shared parts only once.
//
// Invariants
//   1. There are as many places as IDs.
//   2. The rows before `parts[0].end` are in `parts[0]`, and so on; those after the last of `parts` are in `rest`.
// An array of snapshots would count a reference for each row when it is filled, and one more when it is released. The
// last part is stored separately, so that a list of few rows is one array.

public import EspalierModel

/// Snapshots in order, as a fetch returns them.
public struct SnapshotList: RandomAccessCollection, Sendable {
    /// Rows in one allocation.
    package struct Part {
        /// The memory that holds the rows.
        package let content: RowContent
        /// The position after the last of them.
        package let end: Int
    }

    /// The ID of each row.
    public let ids: [ObjectID]
    /// The place of each row in its part.
    package let places: [RowContent.Place]
    private let parts: [Part]
    private let rest: RowContent

    /// No snapshots.
    public init() { self.init([], at: [], in: [], .none) }

    /// A list of these snapshots, for a store that has them one by one.
    public init(_ snapshots: some Sequence<ObjectSnapshot>) {
        var (ids, places, parts): ([ObjectID], [RowContent.Place], [Part]) = ([], [], [])
        for snapshot in snapshots {
            ids.append(snapshot.id)
            places.append(snapshot.place)
            parts.append(Part(content: snapshot.content, end: ids.count))
        }
        let rest = parts.popLast()?.content
        self.init(ids, at: places, in: parts, rest ?? .none)
    }

    /// The rows with these IDs at these places, in these parts and, after them, in `rest`.
    init(_ ids: [ObjectID], at places: [RowContent.Place], in parts: [Part], _ rest: RowContent) {
        (self.ids, self.places, self.parts, self.rest) = (ids, places, parts, rest)
        assert(checkInvariants())
    }

    /// Asserts that each row lies in its part, and that parts follow one another; to be called in `assert`.
    ///
    /// O(parts); of a long list 256 rows are checked.
    private func checkInvariants() -> Bool {
        assert(ids.count == places.count, "\(ids.count) rows at \(places.count) places")
        var end = 0
        for part in parts {
            assert(part.end > end && part.end <= ids.count, "a part ends at \(part.end), the one before at \(end)")
            end = part.end
        }
        for position in stride(from: 0, to: ids.count, by: Swift.max(1, ids.count / 256)) {
            let snapshot = self[position]
            assert(snapshot.id == ids[position], "row \(position) is another one")
            assert(snapshot.content.holds(snapshot.place), "row \(position) lies outside of its part")
        }
        return true
    }

    /// The number of parts; most lists have one.
    package var partCount: Int { parts.count + 1 }

    /// Part `index`, whose rows are after those of part `index - 1`.
    package func part(_ index: Int) -> Part {
        assert(index >= 0 && index <= parts.count, "part \(index) of \(partCount)")
        return index < parts.count ? parts[index] : Part(content: rest, end: ids.count)
    }

    /// The number of rows.
    public var count: Int { ids.count }
    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { ids.count }

    /// The snapshot at `position`.
    ///
    /// - Complexity: O(log n) in the number of parts; iterating over all snapshots is O(n).
    public subscript(position: Int) -> ObjectSnapshot {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].end <= position { low = middle + 1 } else { high = middle }
        }
        assert(low == 0 || parts[low - 1].end <= position, "row \(position) is in an earlier part than \(low)")
        return snapshot(at: position, part: low)
    }

    private func snapshot(at position: Int, part: Int) -> ObjectSnapshot {
        ObjectSnapshot(
            id: ids[position], content: part < parts.count ? parts[part].content : rest, place: places[position])
    }

    /// Iterates over the snapshots, from the first on.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// Iterates over a list from its beginning.
    public struct Iterator: IteratorProtocol {
        private let list: SnapshotList
        private var position = 0
        private var part = 0

        fileprivate init(_ list: SnapshotList) { self.list = list }

        /// The next snapshot.
        public mutating func next() -> ObjectSnapshot? {
            guard position < list.ids.count else { return nil }
            if part < list.parts.count, position == list.parts[part].end { part += 1 }
            assert(part == list.parts.count || position < list.parts[part].end, "row \(position) is after part \(part)")
            defer { position += 1 }
            return list.snapshot(at: position, part: part)
        }
    }
}
