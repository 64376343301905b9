// Pieces of two scalars, a letter and its mark mostly, that a table has folded lately.
//
// Invariants
//   1. A place holds both scalars and what they fold to in one word, which is read and written at once: whoever finds
//      its pair finds its own result, whatever other threads write.
//   2. To forget a pair costs time only.

import Synchronization

/// What pairs of scalars fold to.
@safe
struct FoldingPairs: ~Copyable, Sendable {
    private static let count = 1024
    // SAFETY: read and written as atomics only; the pairs of a table stay for ever, as the table does.
    nonisolated(unsafe) private let places: UnsafeMutablePointer<Atomic<UInt64>>

    init() {
        unsafe places = .allocate(capacity: Self.count)
        // SAFETY: there is room for so many.
        for number in 0..<Self.count { unsafe (places + number).initialize(to: Atomic(0)) }
    }

    /// What a pair folds to.
    enum Result: Equatable {
        /// One scalar.
        case scalar(Unicode.Scalar)
        /// What both fold to alone, one behind the other.
        case both
    }

    private static let bothCode: UInt64 = 0x1F_FFFF

    @inline(__always)
    private static func place(_ key: UInt64) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 54)
    }

    /// What the pair folded to when it was last seen; `nil` if that is forgotten.
    @inline(__always)
    subscript(first: UInt32, second: UInt32) -> Result? {
        let key = UInt64(first) << 21 | UInt64(second) | 1 << 42
        // SAFETY: the place is below 1,024.
        let word = unsafe places[Self.place(key)].load(ordering: .relaxed)
        guard word >> 21 == key else { return nil }
        let code = word & 0x1F_FFFF
        return code == Self.bothCode ? .both : Unicode.Scalar(UInt32(truncatingIfNeeded: code)).map(Result.scalar)
    }

    /// Keeps what a pair folds to, in the place of another one.
    func keep(_ first: UInt32, _ second: UInt32, _ result: Result) {
        let key = UInt64(first) << 21 | UInt64(second) | 1 << 42
        let code = if case .scalar(let scalar) = result { UInt64(scalar.value) } else { Self.bothCode }
        // SAFETY: the place is below 1,024.
        unsafe places[Self.place(key)].store(key << 21 | code, ordering: .relaxed)
    }
}
