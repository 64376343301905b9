// The log index: answers "where is the newest version of page P before log position S?" without a lock.
//
// Invariants
//   1. One thread at a time appends (the one that holds the log's lock); any number of threads read at the same time.
//   2. The entries of a page form a chain, newest first; log positions descend strictly along it.
//   3. An entry is complete before the table points to it (release): a reader (acquire) never finds a partial one.
//   4. An index never loses an entry. A checkpoint makes a smaller copy instead; a snapshot keeps the index with which
//      it began, which lists all versions that it can see.

import Synchronization

/// The place of a page version in the log.
package struct LogPlace: Equatable, Sendable {
    /// The logical position of its frame; 0 if there is none.
    package let lsn: UInt64
    /// The byte offset of its frame in the log file.
    package let fileOffset: UInt64

    package init(lsn: UInt64, fileOffset: UInt64) { (self.lsn, self.fileOffset) = (lsn, fileOffset) }

    /// No version in the log.
    package static let none = LogPlace(lsn: 0, fileOffset: 0)
}

// SAFETY: @unchecked Sendable, because entries are written once, before an atomic store publishes them (invariant 3).
/// Finds page versions in the log.
@safe
package final class LogIndex: @unchecked Sendable {
    /// A version of a page, in 24 bytes.
    private struct Entry {
        let page: PageNumber
        /// The entry of the next older version, plus 1; 0 ends the chain.
        let previous: UInt32
        let lsn: UInt64
        let fileOffset: UInt64
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let table: UnsafeMutablePointer<Atomic<UInt32>>
    private let probes: ProbeSequence
    /// The greatest number of entries.
    package let capacity: Int
    /// The number of entries.
    private let filled = Atomic<Int>(0)

    /// An empty index for `capacity` versions.
    package init(capacity: Int) {
        self.capacity = max(capacity, 64)
        probes = ProbeSequence(capacity: self.capacity, minimumCount: 128)
        // SAFETY: both belong to this object until `deinit`; the table is initialized here, entries before use.
        unsafe entries = .allocate(capacity: self.capacity)
        unsafe table = .allocate(capacity: probes.count)
        for place in 0..<probes.count { unsafe (table + place).initialize(to: Atomic(0)) }
    }

    deinit {
        // SAFETY: trivial elements; no reference to this object is left.
        unsafe table.deallocate()
        unsafe entries.deallocate()
    }

    /// The number of listed versions.
    package var count: Int { filled.load(ordering: .acquiring) }
    /// Whether `more` versions fit.
    package func hasRoom(for more: Int) -> Bool { count + more <= capacity }

    /// The table place and the number, plus 1, of the newest entry of `page`; without one, an empty place and 0.
    @inline(__always)
    private func head(of page: PageNumber) -> (place: Int, number: UInt32) {
        var head: UInt32 = 0
        let place = probes.firstPlace(from: probes.home(UInt64(page))) { place in
            // SAFETY: `place` is within the table; entry numbers in the table are below `filled` (invariant 3).
            head = unsafe table[place].load(ordering: .acquiring)
            return unsafe head == 0 || entries[Int(head) &- 1].page == page
        }
        return (place, head)
    }

    /// The newest version of `page` before position `limit`; `.none` if the log has none.
    @inline(__always)
    package func newest(of page: PageNumber, before limit: UInt64) -> LogPlace {
        let head = head(of: page).number
        if head == 0 { return .none }
        // SAFETY: entry numbers in the table and in chains are below `filled` (invariant 3).
        var entry = unsafe entries[Int(head) &- 1]
        while entry.lsn >= limit {
            if entry.previous == 0 { return .none }
            entry = unsafe entries[Int(entry.previous) &- 1]
            assert(entry.page == page, "invariant 2: the chain of page \(page) leads to page \(entry.page)")
        }
        return LogPlace(lsn: entry.lsn, fileOffset: entry.fileOffset)
    }

    /// Lists a version.
    ///
    /// Its position must be above all positions listed for the page, and there must be room.
    package func append(_ page: PageNumber, at version: LogPlace) {
        let number = filled.load(ordering: .relaxed)
        precondition(number < capacity && page != 0, "log index: entry \(number) of \(capacity)")
        let (place, previous) = head(of: page)
        // SAFETY: `previous` is the number of an entry, or 0; `number` is below the capacity.
        precondition(
            unsafe previous == 0 || entries[Int(previous) &- 1].lsn < version.lsn,
            "log positions of a page do not ascend")
        unsafe (entries + number).initialize(
            to: Entry(page: page, previous: previous, lsn: version.lsn, fileOffset: version.fileOffset))
        filled.store(number + 1, ordering: .releasing)
        // SAFETY: `place` is within the table.
        unsafe table[place].store(UInt32(number + 1), ordering: .releasing)
        assert(newest(of: page, before: .max) == version, "the newest version of page \(page) is not found")
    }

    /// Calls `body` with each version, in the order in which they were listed.
    package func forEach(_ body: (PageNumber, LogPlace) -> Void) {
        for number in 0..<count {
            // SAFETY: below `filled`.
            let entry = unsafe entries[number]
            body(entry.page, LogPlace(lsn: entry.lsn, fileOffset: entry.fileOffset))
        }
    }

    /// A copy of the versions at or after `position`, with room for at least `spare` more.
    package func copy(from position: UInt64, spare: Int) -> LogIndex {
        var kept = 0
        forEach { _, version in if version.lsn >= position { kept += 1 } }
        let copy = LogIndex(capacity: max(kept * 2, kept + spare))
        forEach { page, version in if version.lsn >= position { copy.append(page, at: version) } }
        assert(copy.count == kept && copy.hasRoom(for: spare), "\(copy.count) of \(kept) versions")
        assert(copy.checkInvariants())
        return copy
    }

    // MARK: Invariants

    /// Asserts the invariants of the header; to be called in `assert`.
    ///
    /// O(versions), of which it checks the newest 1,024. No thread may append meanwhile.
    func checkInvariants() -> Bool {
        let count = count
        assert(count <= capacity && probes.count >= 2 * capacity, "\(count) of \(capacity) in \(probes.count) places")
        for number in max(0, count - 1024)..<count {
            // SAFETY: below `filled`, and so is every entry that an entry refers to.
            let entry = unsafe entries[number]
            assert(entry.page != 0, "entry \(number) has no page")
            assert(newest(of: entry.page, before: entry.lsn + 1).lsn == entry.lsn, "entry \(number) is not found")
            guard entry.previous != 0 else { continue }
            assert(entry.previous <= number, "invariant 3: entry \(number) refers to \(entry.previous)")
            let older = unsafe entries[Int(entry.previous) - 1]
            assert(older.page == entry.page && older.lsn < entry.lsn, "invariant 2: entry \(number)")
        }
        return true
    }
}
