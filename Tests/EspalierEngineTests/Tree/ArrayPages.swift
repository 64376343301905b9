// Pages in memory, without a file: the page source of the tree's tests.
//
// Invariants
//   1. Each page that is pinned or edited is validated first, so a tree that writes a malformed page is found at the
//      next step.
//   2. A freed page is filled with 0xDD, so that a use after free is found; `deinit` reports pins that are left.
//   3. Pages and the counter of pins are allocated once, have a fixed size, and live as long as the object.

import EspalierEngine
import Synchronization
import Testing

@safe
final class ArrayPages: WritablePageSource {
    let pageSize: Int
    private(set) var changeCount: UInt64 = 0
    /// The number of times that a page was pinned for reading.
    private(set) var readCount = 0
    // SAFETY: an empty array of pointers.
    private var memory: [UnsafeMutableRawPointer] = unsafe []
    private var isUsed: [Bool] = []
    private var freePages: [PageNumber] = []
    private let pinCounter: UnsafeMutablePointer<Atomic<Int32>>
    /// The greatest number of consecutive pages in one allocation.
    var runLengthMax = 4
    /// Whether pages are validated when they are pinned.
    var isValidating = true
    /// The thoroughness of that validation.
    var depth = PageValidation.Depth.thorough
    /// Pages that were allocated and not yet written.
    private var freshPages: Set<PageNumber> = []
    /// The number of further changes after which `edit` and `allocate` throw `diskFull`; `nil`: no limit.
    var changesUntilFull: Int?

    init(pageSize: Int = 512) {
        self.pageSize = pageSize
        // SAFETY: the counter has a fixed size, and lives as long as the pages.
        unsafe pinCounter = .allocate(capacity: 1)
        unsafe pinCounter.initialize(to: Atomic(0))
        for _ in 0..<3 { grow() }
        Catalog<ArrayPages>.formatRoot(page(FixedPlace.catalogRoot))
    }

    deinit {
        if pinCount != 0 { Issue.record("\(pinCount) pages are still pinned while their memory goes away") }
        // SAFETY: nothing uses the pages and the counter after this; pins that are left were reported.
        unsafe memory.forEach { unsafe $0.deallocate() }
        unsafe pinCounter.deallocate()
    }

    // SAFETY: only the number of pointers is read.
    var pageCount: UInt32 { UInt32(unsafe memory.count) }
    /// The number of pages in use, without superblock, bitmap pages and the catalog's root.
    var usedPageCount: Int {
        let geometry = StoreGeometry(pageSize: pageSize)
        return isUsed.enumerated().count { $1 && !geometry.isBitmapPage(PageNumber($0)) } - 2
    }
    // SAFETY: the counter lives as long as the pages.
    var pinCount: Int { Int(unsafe pinCounter.pointee.load(ordering: .relaxed)) }

    /// The bytes of a page, without validation.
    func page(_ number: PageNumber) -> PageView {
        // SAFETY: a page has `pageSize` bytes and lives as long as the pages.
        unsafe PageView(base: memory[Int(number)], byteCount: pageSize)
    }

    func pin(_ number: PageNumber) throws(StorageError) -> PagePin {
        guard number < pageCount else { throw .corrupt(.pageBeyondEnd, page: number) }
        readCount += 1
        if isValidating { try PageValidation.validate(page(number), number: number, depth: depth) }
        // SAFETY: page and counter live as long as the pages, and the test keeps these longer than its pins.
        unsafe pinCounter.pointee.add(1, ordering: .relaxed)
        return unsafe PagePin(number: number, view: page(number), counter: pinCounter)
    }

    func edit(_ number: PageNumber) throws(StorageError) -> PagePin {
        guard number < pageCount else { throw .corrupt(.pageBeyondEnd, page: number) }
        try countChange()
        if freshPages.remove(number) == nil, isValidating {
            try PageValidation.validate(page(number), number: number, depth: depth)
        }
        // SAFETY: page and counter live as long as the pages, and the test keeps these longer than its pins.
        unsafe pinCounter.pointee.add(1, ordering: .relaxed)
        return unsafe PagePin(number: number, view: page(number), counter: pinCounter)
    }

    func allocate(near: PageNumber, count: Int) throws(StorageError) -> (first: PageNumber, count: Int) {
        try countChange()
        if let page = freePages.popLast() {
            isUsed[Int(page)] = true
            self.page(page).clear(0..<pageSize)
            freshPages.insert(page)
            return (page, 1)
        }
        let geometry = StoreGeometry(pageSize: pageSize)
        while geometry.isBitmapPage(pageCount) { grow() }
        let first = pageCount
        var taken = 0
        while taken < min(count, runLengthMax), !geometry.isBitmapPage(pageCount) {
            freshPages.insert(pageCount)
            grow()
            taken += 1
        }
        return (first, taken)
    }

    func free(_ number: PageNumber) throws(StorageError) {
        changeCount += 1
        guard number < pageCount, isUsed[Int(number)] else { throw .corrupt(.pageReachedTwice, page: number) }
        isUsed[Int(number)] = false
        freePages.append(number)
        // SAFETY: the page is ours and `pageSize` bytes long.
        unsafe memory[Int(number)].initializeMemory(as: UInt8.self, repeating: 0xDD, count: pageSize)
    }

    private func countChange() throws(StorageError) {
        changeCount += 1
        guard let left = changesUntilFull else { return }
        guard left > 0 else { throw .diskFull }
        changesUntilFull = left - 1
    }

    private func grow() {
        // SAFETY: the object owns the new page until it ends.
        unsafe memory.append(.allocate(byteCount: pageSize, alignment: 16))
        isUsed.append(true)
        page(pageCount - 1).clear(0..<pageSize)
    }
}

/// An array of pages that no longer changes, as a snapshot is for a tree.
final class FrozenPages: PageSource {
    private let pages: ArrayPages
    let changeCount: UInt64 = 0

    init(_ pages: ArrayPages) { self.pages = pages }

    var pageSize: Int { pages.pageSize }
    var pageCount: UInt32 { pages.pageCount }
    func pin(_ page: PageNumber) throws(StorageError) -> PagePin { try pages.pin(page) }
}
