// A cache of the foldings of pairs of scalars, which are mostly a letter and its mark.
//
// Invariants
//   1. A slot holds both scalars and their folding in one word, which is read and written atomically, so a reader that
//      finds its pair finds the folding of that pair, whatever other threads write.
//   2. Replacing a pair costs only time.

import Synchronization

/// A cache from pairs of scalars to their foldings.
@safe
struct FoldingPairs: ~Copyable, Sendable {
    private static let count = 1024
    // SAFETY: read and written as atomics only; the memory is never deallocated, because the table is not.
    nonisolated(unsafe) private let places: UnsafeMutablePointer<Atomic<UInt64>>

    init() {
        unsafe places = .allocate(capacity: Self.count)
        // SAFETY: the capacity is `count`.
        for number in 0..<Self.count { unsafe (places + number).initialize(to: Atomic(0)) }
    }

    /// The folding of a pair.
    enum Result: Equatable {
        /// One scalar.
        case scalar(Unicode.Scalar)
        /// The foldings of the two scalars, one after the other.
        case both
    }

    private static let bothCode: UInt64 = 0x1F_FFFF

    @inline(__always)
    private static func place(_ key: UInt64) -> Int {
        Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 54)
    }

    /// The cached folding of the pair; `nil` if it is not in the cache.
    @inline(__always)
    subscript(first: UInt32, second: UInt32) -> Result? {
        let key = UInt64(first) << 21 | UInt64(second) | 1 << 42
        // SAFETY: the place is below 1,024.
        let word = unsafe places[Self.place(key)].load(ordering: .relaxed)
        guard word >> 21 == key else { return nil }
        let code = word & 0x1F_FFFF
        return code == Self.bothCode ? .both : Unicode.Scalar(UInt32(truncatingIfNeeded: code)).map(Result.scalar)
    }

    /// Caches the folding of a pair; replaces the pair that shares its slot.
    func keep(_ first: UInt32, _ second: UInt32, _ result: Result) {
        let key = UInt64(first) << 21 | UInt64(second) | 1 << 42
        let code = if case .scalar(let scalar) = result { UInt64(scalar.value) } else { Self.bothCode }
        // SAFETY: the place is below 1,024.
        unsafe places[Self.place(key)].store(key << 21 | code, ordering: .relaxed)
    }
}
