// A list that retains none of its objects: the children of a context, and the mailboxes of those who want messages.
//
// Invariants
//   1. The objects are in the order in which they were added.
//   2. References to freed objects are removed when the list has doubled since the last time, so that an addition costs
//      the same however many objects there are.

import EspalierModel

/// Weak references to objects, in the order in which they were added.
struct WeakList<Object: AnyObject> {
    private struct Entry {
        weak var object: Object?
    }
    /// Up to this number, references to freed objects may be kept.
    private static var fewCount: Int { 16 }

    private var entries: [Entry] = []
    /// The number of entries at which the next addition removes those of freed objects: twice as many as were left
    /// last.
    private var sweepCount = Self.fewCount

    /// The objects that were not freed.
    ///
    /// - Complexity: O(n) for n objects.
    var objects: [Object] { entries.compactMap(\.object) }

    /// Adds an object.
    ///
    /// - Complexity: O(1), amortized.
    mutating func append(_ object: Object) {
        if entries.count >= sweepCount {
            assert(StepCount.note(entries.count))
            entries.removeAll { $0.object == nil }
            sweepCount = max(Self.fewCount, 2 * entries.count)
        }
        entries.append(Entry(object: object))
    }
}
