// What a write transaction has changed: private copies of pages in frames of the buffer pool, versions of its own
// that were spilled to the log, and pages that were allocated and not written yet.
//
// Invariants
//   1. A page is in at most one of: copies, fresh. If it is in neither, its newest version is a spilled one (if there
//      is one), else the committed one.
//   2. The frame of a copy has this transaction as its one owner, so nobody else can see it.
//   3. `spilled` lists every version this transaction has in the log, oldest first; the commit names them all.

import Synchronization

/// The changes of a write transaction.
@safe
final class WriteSet {
    /// A private copy of a page.
    @safe
    struct Copy {
        let page: PageNumber
        /// The frame of the pool, or -1 for a page with memory of its own.
        let frame: Int
        let view: PageView
        let counter: UnsafeMutablePointer<Atomic<Int32>>

        init(page: PageNumber, frame: Int, view: PageView, counter: UnsafeMutablePointer<Atomic<Int32>>) {
            self.page = page
            self.frame = frame
            self.view = view
            // SAFETY: kept, not used.
            unsafe self.counter = counter
        }

        /// Whether somebody is looking at it at the moment.
        var isPinned: Bool {
            // SAFETY: the counter lives as long as the copy.
            unsafe counter.pointee.load(ordering: .acquiring) != BufferPool.exclusive
        }

        /// Counts a pin and makes it.
        func pin() -> PagePin {
            // SAFETY: as above.
            unsafe counter.pointee.add(1, ordering: .relaxed)
            return unsafe PagePin(number: page, view: view, counter: counter)
        }
    }

    /// The state of the store as this transaction leaves it so far.
    var state: StoreState
    /// How often pages were changed.
    var changeCount: UInt64 = 1
    /// Set when an operation failed half-way: the changes must not be committed.
    var hasFailed = false
    /// Free pages per bitmap page, once they were needed.
    var freeCounts: [Int]?
    /// The group of pages where the last allocation was made.
    var allocationGroup = 0
    /// The versions in the log (invariant 3).
    var spilled: [(page: PageNumber, place: LogPlace)] = []

    private(set) var copies: [Copy] = []
    private var copyNumbers = PageMap()
    private var spilledNumbers = PageMap()
    private var fresh = PageMap()

    init(state: StoreState) { self.state = state }

    /// Whether there is anything to commit.
    var isEmpty: Bool { copies.isEmpty && spilled.isEmpty && fresh.count == 0 }

    /// The private copy of `page`.
    @inline(__always)
    func copy(of page: PageNumber) -> Copy? {
        guard let number = copyNumbers.value(of: page) else { return nil }
        return copies[Int(number)]
    }

    /// Where the newest spilled version of `page` lies.
    func spilledPlace(of page: PageNumber) -> LogPlace? {
        spilledNumbers.value(of: page).map { spilled[Int($0)].place }
    }

    /// Takes a new private copy in.
    func add(_ copy: Copy) {
        copyNumbers.set(UInt32(copies.count), for: copy.page)
        copies.append(copy)
        fresh.remove(copy.page)
    }

    /// Takes a private copy out, if there is one; its frame is the caller's to give back.
    func removeCopy(of page: PageNumber) -> Copy? {
        guard let number = copyNumbers.remove(page) else { return nil }
        let removed = copies[Int(number)]
        let last = copies.removeLast()
        if Int(number) < copies.count {
            copies[Int(number)] = last
            copyNumbers.set(number, for: last.page)
        }
        return removed
    }

    /// Takes all private copies out.
    func removeAllCopies() -> [Copy] {
        defer {
            copies.removeAll()
            copyNumbers.removeAll()
        }
        return copies
    }

    /// Notes that `page` was allocated: what it held before is of no interest.
    func addFresh(_ page: PageNumber) { fresh.set(1, for: page) }
    /// Whether `page` was allocated and not written yet.
    func isFresh(_ page: PageNumber) -> Bool { fresh.value(of: page) != nil }
    /// Forgets that `page` was allocated.
    func removeFresh(_ page: PageNumber) { fresh.remove(page) }

    /// Notes where a version of `page` was spilled to.
    func addSpilled(_ page: PageNumber, at place: LogPlace) {
        spilledNumbers.set(UInt32(spilled.count), for: page)
        spilled.append((page, place))
    }

    /// Forgets the spilled versions of `page`: it was freed, and must not be read again.
    func removeSpilled(_ page: PageNumber) { spilledNumbers.remove(page) }
}
