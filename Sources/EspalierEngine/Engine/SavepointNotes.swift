// What a savepoint remembers: the little state of the transaction, and what each page was that was touched since.
//
// Invariants
//   1. A page has at most one note: what it was before it was first touched after the savepoint was opened (or
//      returned to), or before a savepoint behind it was opened, that is released by now.
//   2. `copies` holds the kept private copies that notes refer to; their frames belong to the transaction.

/// The notes of one open savepoint.
final class SavepointNotes {
    /// Note numbers are below this: 30 bits.
    static let numberEnd = 1 << 30

    /// What a page was at the time of the savepoint.
    enum Before {
        /// Free, or beyond the end of the store.
        case free
        /// Allocated, and not written.
        case fresh
        /// As committed.
        case committed
        /// This version of the transaction's `spilled`.
        case spilled(UInt32)
        /// This one of the kept copies.
        case copy(UInt32)

        /// A kind in two bits, a number in thirty.
        init(code: UInt32) {
            switch code & 3 {
            case 1: self = .spilled(code >> 2)
            case 2: self = .copy(code >> 2)
            default: self = code == 0 ? .free : code == 4 ? .fresh : .committed
            }
        }

        var code: UInt32 {
            assert(number < numberEnd, "version \(number)")
            return switch self {
            case .free: 0
            case .fresh: 4
            case .committed: 8
            case .spilled(let number): number << 2 | 1
            case .copy(let number): number << 2 | 2
            }
        }

        /// The number that a note of a version or of a kept copy holds.
        private var number: UInt32 {
            switch self {
            case .free, .fresh, .committed: 0
            case .spilled(let number), .copy(let number): number
            }
        }
    }

    /// Names the savepoint, in no other transaction of this process too.
    let number: UInt64
    /// The state as it was.
    let state: StoreState
    /// The free pages per bitmap page as they were known.
    let freeCounts: [Int]?
    /// Where the last allocation was made.
    let allocationGroup: Int
    /// The trees as they were.
    let trees: TreeTable
    /// Whether the transaction had changed nothing.
    let isAtBeginning: Bool
    /// The kept copies.
    private(set) var copies: [WriteSet.Copy] = []
    private var notes = PageMap()

    init(
        number: UInt64, state: StoreState, freeCounts: [Int]?, allocationGroup: Int, trees: TreeTable,
        isAtBeginning: Bool
    ) {
        self.number = number
        self.state = state
        self.freeCounts = freeCounts
        self.allocationGroup = allocationGroup
        self.trees = trees
        self.isAtBeginning = isAtBeginning
    }

    /// Whether there is a note of `page`.
    func has(_ page: PageNumber) -> Bool { notes.value(of: page) != nil }

    /// Notes what `page` was.
    func add(_ before: Before, of page: PageNumber) { notes.set(before.code, for: page) }

    /// Notes that `copy` was what its page was, and keeps it.
    func keep(_ copy: WriteSet.Copy) {
        assert(!has(copy.page), "invariant 1: page \(copy.page) has one note")
        assert(copy.hasOwner, "invariant 2: the copy of page \(copy.page) belongs to the transaction")
        add(.copy(UInt32(copies.count)), of: copy.page)
        copies.append(copy)
    }

    /// Lets the kept copies go; the caller renews or drops the notes that refer to them.
    func takeCopies() -> [WriteSet.Copy] {
        defer { copies = [] }
        return copies
    }

    /// Calls `body` with each page and what it was.
    func forEach(_ body: (PageNumber, Before) -> Void) {
        notes.forEach { page, code in body(page, Before(code: code)) }
    }

    /// Forgets all notes.
    func removeAll() { notes.removeAll() }

    /// Asserts invariant 2; to be called in `assert`.
    ///
    /// O(notes).
    func checkInvariants() -> Bool {
        var kept = 0
        forEach { page, before in
            guard case .copy(let number) = before else { return }
            kept += 1
            assert(copies[Int(number)].page == page, "invariant 2: the copy kept of page \(page) is of another one")
        }
        assert(kept == copies.count, "invariant 2: \(copies.count) copies are kept for \(kept) notes")
        return true
    }
}
