// The source of a tree's pages: the seam between the tree above and the pager (or an array, in tests) below.
//
// Invariants
//   1. A pinned page stays at its address, and readable, until its pin is destroyed. An operation of the tree holds at
//      most eight pins at a time, and none between two operations; only a cursor or a lookup keeps its leaf pinned.
//   2. `pin` and `edit` return only pages that `PageValidation` accepted; the tree checks what pages say about each
//      other (tree, level, fences).

package import Synchronization

/// A pinned page: its bytes stay in place while the pin exists, and may be written if `edit` returned it.
@safe
package struct PagePin: ~Copyable {
    /// The page's number.
    package let number: PageNumber
    /// The page's bytes, valid as long as this pin.
    package let view: PageView
    /// The pin counter that `deinit` decrements, if the source counts pins.
    ///
    /// A plain pointer, so that unpinning costs no reference counting.
    // SAFETY: the source keeps its counters for its whole life, and sources outlive their pins.
    private let counter: UnsafeMutablePointer<Atomic<Int32>>?

    /// A pin that the source has already counted.
    @inline(__always)
    package init(number: PageNumber, view: PageView, counter: UnsafeMutablePointer<Atomic<Int32>>?) {
        self.number = number
        self.view = view
        unsafe self.counter = counter
    }

    @inline(__always)
    deinit {
        // SAFETY: the source keeps counters for its whole life, and sources outlive their pins.
        assert(unsafe counter?.pointee.load(ordering: .relaxed) != 0, "page \(number) is not pinned")
        if let counter = unsafe counter { unsafe counter.pointee.wrappingSubtract(1, ordering: .releasing) }
    }
}

/// A source from which pages are read: a snapshot, a write transaction, an array.
package protocol PageSource {
    /// Bytes per page.
    var pageSize: Int { get }
    /// The number of pages of the store; no reference to a page at or beyond it is followed.
    var pageCount: UInt32 { get }
    /// How often pages of this source have been changed: constant for a snapshot, higher after each `edit`,
    /// `allocate` and `free` of a write transaction. Cursors compare it to know whether their position is still valid.
    var changeCount: UInt64 { get }
    /// Whether `changeCount` can grow.
    var canChange: Bool { get }
    /// Pins the newest version of `page` that this source sees.
    func pin(_ page: PageNumber) throws(StorageError) -> PagePin
    /// Pins `page` like `pin(_:)`, for a walk that will pin other pages next; if `page` has to be read from a file, its
    /// neighbors among those pages can come with the same system call.
    ///
    /// - Parameter ahead: returns the pages that the walk will pin next, in any order, at most as many as it is asked
    ///   for. An error of one of them is thrown only when the walk pins it.
    func pin(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin
    /// Announces that `page` will be pinned soon, so that the source can load what it needs to find the page into the
    /// processor's cache.
    func prefetch(_ page: PageNumber)
}

/// A source whose pages can be changed: a write transaction, an array.
package protocol WritablePageSource: PageSource {
    /// Pins `page` for writing (a private copy of the transaction, made at the first call).
    func edit(_ page: PageNumber) throws(StorageError) -> PagePin
    /// Pins `page` for writing if that costs nothing, because the transaction has changed it already; else `nil`.
    func editAgain(_ page: PageNumber) throws(StorageError) -> PagePin?
    /// Allocates 1 to `count` consecutive pages, zeroed, if possible soon after `near`.
    ///
    /// The tree writes their headers; the source sets LSN and checksum (`PageView.seal`).
    func allocate(near: PageNumber, count: Int) throws(StorageError) -> (first: PageNumber, count: Int)
    /// Frees `page`.
    ///
    /// - Throws: `corruption(.pageReachedButFree)` if it is free already.
    func free(_ page: PageNumber) throws(StorageError)
}

extension WritablePageSource {
    /// A source that has one version of each page changes it in place.
    package func editAgain(_ page: PageNumber) throws(StorageError) -> PagePin? { try edit(page) }
}

extension PageSource {
    package var canChange: Bool { false }
    @inline(__always)
    package func prefetch(_ page: PageNumber) {}
    @inline(__always)
    package func pin(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        try pin(page)
    }
}

extension WritablePageSource {
    package var canChange: Bool { true }
}
