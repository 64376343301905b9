// The path from a tree's root to a leaf or to its parent: page numbers, and the index of the child followed in each.
//
// Invariants
//   1. Entry 0 is the root, the last entry the leaf or its parent. There are at most `StoreGeometry.treeDepthMax`
//      entries, which page validation guarantees, because levels fall by one and none is higher.

/// A path down a tree; a trivial value.
struct TreePath {
    private var pages: InlineArray<24, PageNumber> = .init(repeating: 0)
    private var indices: InlineArray<24, Int32> = .init(repeating: 0)
    /// The number of entries.
    private(set) var count = 0

    init() {}

    /// The page of entry `depth`.
    @inline(__always)
    func page(_ depth: Int) -> PageNumber {
        assert(depth >= 0 && depth < count, "entry \(depth) of \(count)")
        return pages[depth]
    }

    /// The index of the child followed in the page of entry `depth` (in the leaf: of the entry).
    @inline(__always)
    func index(_ depth: Int) -> Int {
        assert(depth >= 0 && depth < count, "entry \(depth) of \(count)")
        return Int(indices[depth])
    }

    /// Appends an entry.
    @inline(__always)
    mutating func push(_ page: PageNumber, _ index: Int) {
        assert(count < StoreGeometry.treeDepthMax, "invariant 1: \(count) pages lead to page \(page)")
        assert(index >= 0, "child \(index) of page \(page)")
        pages[count] = page
        indices[count] = Int32(truncatingIfNeeded: index)
        count &+= 1
    }

    /// Removes the last entry.
    @inline(__always)
    mutating func pop() {
        assert(count > 0, "the path has no entry")
        count &-= 1
    }

    /// Removes all entries.
    @inline(__always)
    mutating func removeAll() { count = 0 }

    /// Sets the index of the child followed in entry `depth`.
    @inline(__always)
    mutating func setIndex(_ depth: Int, _ index: Int) {
        assert(depth >= 0 && depth < count && index >= 0, "child \(index) in entry \(depth) of \(count)")
        indices[depth] = Int32(truncatingIfNeeded: index)
    }

    /// Inserts the root again above `child`, its only child, which now has the root's old content.
    mutating func insertRoot(above child: PageNumber) {
        assert(count > 0 && count < StoreGeometry.treeDepthMax, "invariant 1: \(count) entries")
        let root = pages[0]
        var depth = count
        while depth > 0 {
            pages[depth] = pages[depth - 1]
            indices[depth] = indices[depth - 1]
            depth -= 1
        }
        (pages[0], indices[0], pages[1]) = (root, 0, child)
        count += 1
        assert(
            pages[0] == root && pages[1] == child && indices[0] == 0, "page \(child) is not the one child of the root")
    }

    /// Whether `page` is on the path.
    func contains(_ page: PageNumber) -> Bool {
        for depth in 0..<count where pages[depth] == page { return true }
        return false
    }
}
