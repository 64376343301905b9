// The violations that wait for the next save of a context: refused changes, and problems that reads have found.
//
// Invariants
//   1. A problem of a read is there once for an object, a property and a kind of reason, however often it is read.
//   2. At most `countMax` problems of reads and `countMax` refused changes are kept: a context that never saves, but
//      shows unreadable values or refuses the same change again and again, takes no more memory. A save reports no more
//      of them in full anyway.

import EspalierModel

/// The violations that a context has recorded.
struct RecordedViolations {
    /// A problem that a read has found.
    struct Problem: Hashable {
        /// The kind of its reason: two values that the type of a property does not have are one problem.
        enum Kind { case unreadable, unknownValue, transformer }

        let kind: Kind
        let object: ObjectID
        let property: String?
    }

    /// The greatest number of problems, and of refused changes.
    static let countMax = 1000
    /// The violations, in the order in which they were recorded.
    private(set) var all: [Violation] = []
    /// The number of refused changes beyond `countMax`.
    private(set) var untoldCount = 0
    private var refusedCount = 0
    private var problems: Set<Problem> = []

    var isEmpty: Bool { all.isEmpty }
    /// The number of recorded violations, of which some may only be counted.
    var count: Int { all.count + untoldCount }

    /// Records the refusal of a change.
    mutating func add(_ refusal: Violation) {
        guard refusedCount < Self.countMax else {
            untoldCount += 1
            return
        }
        refusedCount += 1
        all.append(refusal)
    }

    /// Records a problem of a read, unless it is known.
    ///
    /// - Complexity: O(1); no violation is made of a known problem.
    mutating func add(_ problem: Problem, _ violation: () -> Violation) {
        guard problems.count < Self.countMax, problems.insert(problem).inserted else { return }
        all.append(violation())
    }

    mutating func removeAll() { self = RecordedViolations() }
}
