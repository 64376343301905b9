// The notes of a savepoint: the small state of the transaction, and the earlier version of each page touched since.
//
// Invariants
//   1. A page has at most one note: its version when the savepoint was opened or last rolled back to. The release of a
//      later savepoint moves notes of that savepoint here.
//   2. `copies` holds the kept private copies that notes refer to; their frames belong to the transaction.

/// The notes of one open savepoint.
final class SavepointNotes {
    /// Note numbers are below this: 30 bits.
    static let numberEnd = 1 << 30

    /// The version of a page at the time of the savepoint.
    enum Before {
        /// Free, or beyond the end of the store.
        case free
        /// Allocated, and not written.
        case fresh
        /// As committed.
        case committed
        /// The version with this number in the transaction's `spilled`.
        case spilled(UInt32)
        /// The kept copy with this number.
        case copy(UInt32)

        /// Decodes a kind in two bits and a number in thirty.
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

    /// Identifies the savepoint; no other savepoint of this process has the same number.
    let number: UInt64
    /// The state at the time of the savepoint.
    let state: StoreState
    /// The free pages per bitmap page at that time; `nil` if they were not known.
    let freeCounts: [Int]?
    /// The group of pages of the last allocation before the savepoint.
    let allocationGroup: Int
    /// The trees at the time of the savepoint.
    let trees: TreeTable
    /// Whether the transaction had changed nothing before the savepoint.
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

    /// Adds a note of the version of `page`.
    func add(_ before: Before, of page: PageNumber) { notes.set(before.code, for: page) }

    /// Keeps `copy`, and adds the note that it was the version of its page.
    func keep(_ copy: WriteSet.Copy) {
        assert(!has(copy.page), "invariant 1: page \(copy.page) has two notes")
        assert(copy.hasOwner, "invariant 2: the copy of page \(copy.page) has no owner")
        add(.copy(UInt32(copies.count)), of: copy.page)
        copies.append(copy)
    }

    /// Hands the kept copies to the caller, which replaces or drops the notes that refer to them.
    func takeCopies() -> [WriteSet.Copy] {
        defer { copies = [] }
        return copies
    }

    /// Calls `body` with each page that has a note, and its earlier version.
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
            assert(
                copies[Int(number)].page == page, "invariant 2: the copy kept for page \(page) is one of another page")
        }
        assert(kept == copies.count, "invariant 2: \(copies.count) copies are kept for \(kept) notes")
        return true
    }
}
