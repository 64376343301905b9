// The leaves that a cursor announces before it crosses to the next one, read from a page that changes without its pin.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// Pages whose pins each have a frame of their own, in which one child changes as soon as the pin ends.
@safe
private final class SpoiledPages: PageSource {
    private let pages: ArrayPages
    /// By leaf: its siblings, and its place among them.
    private var families: [PageNumber: (siblings: [PageNumber], place: Int)] = [:]
    // SAFETY: an empty array of pointers.
    private var frames: [UnsafeMutableRawPointer] = unsafe []
    private let leafPins: UnsafeMutablePointer<Atomic<Int32>>
    private let isForward: Bool
    /// The child whose bytes count the pins of the next page above the leaves.
    private var marked: PageNumber?
    /// The number of leaves that were announced.
    private(set) var announcedCount = 0
    let changeCount: UInt64 = 0

    init(_ pages: ArrayPages, isForward: Bool) {
        (self.pages, self.isForward) = (pages, isForward)
        // SAFETY: the counter lives as long as the pages that have it.
        unsafe leafPins = .allocate(capacity: 1)
        unsafe leafPins.initialize(to: Atomic(0))
        for number in 1..<pages.pageCount where pages.page(number).typeByte == PageType.interiorInteger.rawValue {
            let page = pages.page(number)
            guard page.level == 1 else { continue }
            let siblings = (0...page.cellCount).map { page.child($0) }
            for (place, leaf) in siblings.enumerated() { families[leaf] = (siblings, place) }
        }
    }

    deinit {
        // SAFETY: nothing uses the frames and the counter after this: each pin ended before.
        unsafe frames.forEach { unsafe $0.deallocate() }
        unsafe leafPins.deallocate()
    }

    var pageSize: Int { pages.pageSize }
    var pageCount: UInt32 { pages.pageCount }

    func pin(_ number: PageNumber) throws(StorageError) -> PagePin {
        let page = pages.page(number)
        // SAFETY: a frame has `pageSize` bytes, and lives as long as the pages that have it.
        unsafe frames.append(.allocate(byteCount: pageSize, alignment: 16))
        let frame = unsafe frames[frames.count - 1]
        let view = unsafe PageView(base: frame, byteCount: pageSize)
        view.copy(from: page, at: 0, to: 0, count: pageSize)
        var counter = unsafe leafPins
        if let marked, let offset = (0..<pageSize / 4).last(where: { view.u32(4 * $0) == marked }) {
            // The number of a page is no zero, and ending the pin makes it one less.
            // SAFETY: the offset is a multiple of 4 within the frame, and nothing else writes there.
            unsafe counter = (frame + 4 * offset).assumingMemoryBound(to: Atomic<Int32>.self)
        } else {
            unsafe leafPins.pointee.add(1, ordering: .relaxed)
        }
        // SAFETY: frame and counter live as long as the pages, and the test keeps these longer than its pins.
        return unsafe PagePin(number: number, view: view, counter: counter)
    }

    func pin(_ number: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        if let (siblings, place) = families[number] {
            let next = place + (isForward ? 1 : -1)
            marked = siblings.indices.contains(next) ? siblings[next] : nil
            let announced = ahead(4)
            marked = nil
            announcedCount += announced.count
            let range = isForward ? place + 1..<place + 1 + announced.count : place - announced.count..<place
            #expect(range.clamped(to: siblings.indices) == range && announced == Array(siblings[range]))
        }
        return try pin(number)
    }
}

@Suite struct LeavesAheadTests {
    @Test(arguments: [true, false])
    func `a cursor announces the leaves that the page above lists, and reads that page while it is pinned`(
        isForward: Bool
    ) throws {
        let oracle = try TreeOracle(.integer)
        for key in 0..<3_000 as Range<UInt64> { try oracle.insert(.integer(key), [UInt8](repeating: 7, count: 40)) }
        let spoiled = SpoiledPages(oracle.pages, isForward: isForward)

        let cursor = TreeCursor(spoiled, oracle.record)
        var count = 0
        var isOnEntry = isForward ? try cursor.first() : try cursor.last()
        while isOnEntry {
            count += 1
            isOnEntry = isForward ? try cursor.next() : try cursor.previous()
        }

        #expect(count == 3_000 && spoiled.announcedCount > 300, "\(spoiled.announcedCount) leaves")
    }
}
