// The rows that a fetch has found: a list of snapshots that holds each thing that several of them share once.
//
// Invariants
//   1. `parts` ascend by `end`, and the last `end` is the number of entries: every entry belongs to one part.
// An array of snapshots would count a reference for each row when it is filled, and one more when it is given back.

public import EspalierModel

/// Snapshots in order, as a fetch returns them.
public struct SnapshotList: RandomAccessCollection, Sendable {
    struct Entry {
        let id: ObjectID
        let place: RowPlace
    }
    struct Part {
        let content: RowContent
        /// The position after its last entry.
        let end: Int
    }

    private var entries: [Entry] = []
    private var parts: [Part] = []

    /// No snapshots.
    public init() {}

    /// These snapshots: what a store returns that has them one by one.
    public init(_ snapshots: some Sequence<ObjectSnapshot>) {
        for snapshot in snapshots {
            entries.append(Entry(id: snapshot.id, place: snapshot.place))
            parts.append(Part(content: snapshot.content, end: entries.count))
        }
    }

    /// These entries, which lie in these parts.
    init(_ entries: [Entry], in parts: [Part]) { (self.entries, self.parts) = (entries, parts) }

    /// The ID of each row.
    public var ids: [ObjectID] { entries.map(\.id) }

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { entries.count }

    /// The snapshot at `position`.
    ///
    /// - Complexity: O(log n) in the number of pieces of memory that hold the rows; going through all is O(n).
    public subscript(position: Int) -> ObjectSnapshot {
        var (low, high) = (0, parts.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].end <= position { low = middle + 1 } else { high = middle }
        }
        let entry = entries[position]
        return ObjectSnapshot(id: entry.id, content: parts[low].content, place: entry.place)
    }

    /// Goes through the snapshots from the first on.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// Goes through a list from its beginning.
    public struct Iterator: IteratorProtocol {
        private let list: SnapshotList
        private var position = 0
        private var part = 0

        fileprivate init(_ list: SnapshotList) { self.list = list }

        /// The next snapshot.
        public mutating func next() -> ObjectSnapshot? {
            guard position < list.entries.count else { return nil }
            if position == list.parts[part].end { part += 1 }
            let entry = list.entries[position]
            position += 1
            return ObjectSnapshot(id: entry.id, content: list.parts[part].content, place: entry.place)
        }
    }
}
