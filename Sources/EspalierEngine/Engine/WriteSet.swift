// The changes of a write transaction: private copies of pages in frames of the buffer pool, versions of its own
// that were spilled to the log, and pages that were allocated and not written yet.
//
// Invariants
//   1. A page is in at most one of: copies, fresh. If it is in neither, its newest version is a spilled one (if there
//      is one), else the committed one.
//   2. This transaction is the only owner of a copy's frame, so no other transaction can see it.
//   3. `spilled` lists every version that this transaction has in the log, oldest first. The commit names them all, and
//      the newest of each page counts. `restored` has the pages for which a rollback to a savepoint made another
//      version the valid one: they are logged once more before the commit.
//   4. A copy whose epoch is the current one was touched after the newest savepoint, if there is one.

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
        /// The epoch in which it was last found to need no note (invariant 4).
        var epoch: UInt64 = 0

        init(page: PageNumber, frame: Int, view: PageView, counter: UnsafeMutablePointer<Atomic<Int32>>) {
            self.page = page
            self.frame = frame
            self.view = view
            // SAFETY: kept, not used.
            unsafe self.counter = counter
        }

        /// Whether a pin on it exists at the moment.
        var isPinned: Bool {
            // SAFETY: the counter lives as long as the copy.
            unsafe counter.pointee.load(ordering: .acquiring) != BufferPool.exclusive
        }

        /// Whether only its transaction can see it (invariant 2).
        var hasOwner: Bool {
            // SAFETY: as above.
            unsafe counter.pointee.load(ordering: .relaxed) < 0
        }

        /// Makes a pin and counts it.
        func pin() -> PagePin {
            // SAFETY: as above.
            unsafe counter.pointee.wrappingAdd(1, ordering: .relaxed)
            return unsafe PagePin(number: page, view: view, counter: counter)
        }
    }

    /// The version of a page that a rollback to a savepoint has made the valid one.
    private enum RestoredVersion {
        case committed
        /// The version with this number in `spilled`.
        case spilled(UInt32)
    }

    /// The state of the store as this transaction leaves it so far.
    var state: StoreState
    /// How often pages were changed.
    var changeCount: UInt64 = 1
    /// Set when an operation failed half-way: the changes must not be committed.
    var hasFailed = false
    /// Free pages per bitmap page; `nil` until they are needed.
    var freeCounts: [Int]?
    /// The group of pages where the last allocation was made.
    var allocationGroup = 0
    /// The versions in the log (invariant 3).
    private(set) var spilled: [(page: PageNumber, place: LogPlace)] = []
    /// The open savepoints, oldest first.
    var savepoints: [SavepointNotes] = []
    /// The number of the period since the newest savepoint was opened or rolled back to; 0 without savepoints.
    private(set) var epoch: UInt64 = 0
    private var epochCount: UInt64 = 0

    /// The private copies, in memory of their own, because every change looks one up: a lookup checks no exclusivity.
    private var copyPlaces: UnsafeMutablePointer<Copy>
    private var copyCapacity = 8
    /// How many private copies there are.
    private(set) var copyCount = 0
    private let copyNumbers = PageMap()
    /// The newest version of each page in the log: its number in `spilled`.
    private let spilledNumbers = PageMap()
    /// The pages of which a rollback to a savepoint made a version valid that is not the newest in the log.
    private var restored: [PageNumber: RestoredVersion] = [:]
    private let fresh = PageMap()

    init(state: StoreState) {
        self.state = state
        // SAFETY: freed in `deinit`; the first `copyCount` places are initialized, and copies are trivial.
        unsafe copyPlaces = .allocate(capacity: copyCapacity)
    }

    deinit {
        // SAFETY: allocated by `init` or `add`.
        unsafe copyPlaces.deallocate()
    }

    /// All private copies, in no particular order.
    var copies: [Copy] {
        // SAFETY: the first `copyCount` places are initialized.
        unsafe Array(UnsafeBufferPointer(start: copyPlaces, count: copyCount))
    }

    /// Whether there is anything to commit.
    var isEmpty: Bool { copyCount == 0 && spilled.isEmpty && fresh.count == 0 }

    /// The private copy of `page`.
    @inline(__always)
    func copy(of page: PageNumber) -> Copy? {
        guard let number = copyNumbers.value(of: page) else { return nil }
        assert(number < copyCount, "copy \(number) of \(copyCount)")
        // SAFETY: numbers are below `copyCount`.
        return unsafe copyPlaces[Int(number)]
    }

    /// The version of `page` in the log that this transaction sees: its number in `spilled`.
    func spilledNumber(of page: PageNumber) -> UInt32? {
        switch restored[page] {
        case .committed: nil
        case .spilled(let number): number
        case nil: spilledNumbers.value(of: page)
        }
    }

    /// The place in the log of the spilled version of `page` that this transaction sees.
    func spilledPlace(of page: PageNumber) -> LogPlace? { spilledNumber(of: page).map { spilled[Int($0)].place } }

    /// Adds a new private copy.
    func add(_ copy: Copy) {
        assert(copyNumbers.value(of: copy.page) == nil, "page \(copy.page) has two copies")
        assert(copy.hasOwner, "invariant 2: the copy of page \(copy.page) has no owner")
        if copyCount == copyCapacity {
            // SAFETY: the old places are moved as a whole.
            let larger = UnsafeMutablePointer<Copy>.allocate(capacity: copyCapacity * 2)
            unsafe larger.moveInitialize(from: copyPlaces, count: copyCount)
            unsafe copyPlaces.deallocate()
            unsafe copyPlaces = larger
            copyCapacity *= 2
        }
        copyNumbers.set(UInt32(copyCount), for: copy.page)
        // SAFETY: there is room.
        unsafe (copyPlaces + copyCount).initialize(to: copy)
        unsafe copyPlaces[copyCount].epoch = epoch
        copyCount += 1
        fresh.remove(copy.page)
        restored[copy.page] = nil
        assert(copyCount == copyNumbers.count, "\(copyCount) copies, \(copyNumbers.count) pages with one")
    }

    /// Removes the private copy of `page`, if there is one; the caller then owns its frame.
    func removeCopy(of page: PageNumber) -> Copy? {
        guard let number = copyNumbers.remove(page) else { return nil }
        copyCount -= 1
        // SAFETY: the number was below `copyCount`, and the last place is still initialized.
        let (removed, last) = unsafe (copyPlaces[Int(number)], copyPlaces[copyCount])
        if Int(number) < copyCount {
            unsafe copyPlaces[Int(number)] = last
            copyNumbers.set(number, for: last.page)
        }
        assert(removed.page == page, "the copy of page \(page) belongs to page \(removed.page)")
        assert(copyCount == copyNumbers.count, "\(copyCount) copies, \(copyNumbers.count) pages with one")
        return removed
    }

    /// Removes and returns all private copies; the caller then owns their frames.
    func removeAllCopies() -> [Copy] {
        defer {
            copyCount = 0
            copyNumbers.removeAll()
        }
        return copies
    }

    // MARK: Fresh and spilled pages

    /// Records that `page` was allocated; its earlier content does not matter.
    func addFresh(_ page: PageNumber) { fresh.set(1, for: page) }
    /// Whether `page` was allocated and not written yet.
    func isFresh(_ page: PageNumber) -> Bool { fresh.value(of: page) != nil }

    /// Records the place of a spilled version of `page`, newer than all before it.
    func addSpilled(_ page: PageNumber, at place: LogPlace) {
        assert(place.lsn > spilled.last?.place.lsn ?? 0, "invariant 3: a version is listed after a newer one")
        spilledNumbers.set(UInt32(spilled.count), for: page)
        spilled.append((page, place))
    }

    /// Forgets the version of `page`, which was freed or is about to get another one.
    func forget(_ page: PageNumber) {
        assert(copyNumbers.value(of: page) == nil, "page \(page) has a copy")
        fresh.remove(page)
        restored[page] = nil
    }

    /// Makes `page` visible as version `number` of `spilled`, or as committed if `number` is `nil`.
    func show(_ number: UInt32?, of page: PageNumber) {
        assert(number.map { spilled[Int($0)].page == page } ?? true, "version \(number ?? 0) belongs to another page")
        if spilledNumbers.value(of: page) != number { restored[page] = number.map { .spilled($0) } ?? .committed }
    }

    /// Forgets the versions in the log, which are committed or do not count any more.
    func forgetSpilled() {
        spilled = []
        spilledNumbers.removeAll()
        restored = [:]
    }

    /// The pages whose newest version in the log is not the one that is seen (invariant 3).
    var pagesToLogAgain: [PageNumber] { restored.keys.sorted() }

    // MARK: Savepoints

    /// Begins a new epoch: every page counts as not yet touched.
    func beginEpoch() {
        epochCount += 1
        epoch = savepoints.isEmpty ? 0 : epochCount
    }

    /// Notes that the copy of `page` needs no note in this epoch.
    func setEpoch(of page: PageNumber) {
        // SAFETY: numbers are below `copyCount`.
        if let number = copyNumbers.value(of: page) { unsafe copyPlaces[Int(number)].epoch = epoch }
    }
}

extension WriteSet {
    /// Whether a check of all of it would take much longer than the operation after which it is checked.
    var isLarge: Bool { copyCount > 64 || spilled.count > 256 }

    /// Asserts the invariants of the header; to be called in `assert`, between two operations.
    ///
    /// That no page is both fresh and copied is not asserted: a damaged bitmap page can call a page in use free.
    ///
    /// - Complexity: O(changes).
    func checkInvariants() -> Bool {
        assert(copyNumbers.checkInvariants() && fresh.checkInvariants())
        assert(copyCount == copyNumbers.count, "\(copyCount) copies, \(copyNumbers.count) pages with one")
        for (number, copy) in copies.enumerated() {
            assert(copyNumbers.value(of: copy.page) == UInt32(number), "copy \(number) is not found by its page")
            assert(restored[copy.page] == nil, "page \(copy.page) has a copy newer than any version")
            assert(copy.hasOwner, "invariant 2: the copy of page \(copy.page) has no owner")
            assert(copy.epoch <= epoch || epoch == 0, "invariant 4: epoch \(copy.epoch) in epoch \(epoch)")
            assert(copy.page < state.pageCount, "page \(copy.page) of \(state.pageCount)")
        }
        for (version, next) in zip(spilled, spilled.dropFirst()) {
            assert(version.place.lsn < next.place.lsn, "invariant 3: a version is listed after a newer one")
        }
        spilledNumbers.forEach { page, number in
            assert(spilled[Int(number)].page == page, "version \(number) does not belong to page \(page)")
        }
        for (page, version) in restored {
            if case .spilled(let number) = version {
                assert(spilled[Int(number)].page == page, "version \(number) does not belong to page \(page)")
            }
            assert(page < state.pageCount, "page \(page) of \(state.pageCount)")
        }
        assert((epoch == 0) == savepoints.isEmpty, "invariant 4: epoch \(epoch), \(savepoints.count) savepoints")
        return true
    }
}
