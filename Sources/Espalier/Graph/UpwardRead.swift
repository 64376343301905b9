// A read of a child that goes up through the contexts above it to the root.
//
// Invariants
//   1. In one read each context above merges once, however often the read comes to it: each level asks its parent for
//      the changes to merge, and then for the snapshot that has them. Merges for both would double with every level.
//   2. All sources of a tree of contexts share one: a level that asks the next one continues the read of the child.
// Elsewhere: what a parent does in a read (Children: ParentSource+Snapshot).

/// The running read of a tree of contexts.
final class UpwardRead {
    /// The number of the running read, or of the last one.
    private(set) var number: UInt64 = 0
    private var depth = 0

    /// Begins a read, or continues the running one, until `end`.
    func begin() {
        if depth == 0 { number += 1 }
        depth += 1
    }

    /// Ends what `begin` has begun.
    func end() {
        assert(depth > 0, "read \(number) ends twice")
        depth -= 1
    }
}
