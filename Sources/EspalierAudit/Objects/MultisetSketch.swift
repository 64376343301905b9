// Whether two streams bring the same things, in whatever order, in memory that does not grow with them.
//
// Invariants
//   1. Each thing is a hash of 128 bits, added to one of `bucketCount` sums by one stream and subtracted by the other.
//      All sums are zero if both brought the same; otherwise, but for one case in 2^128, a bucket that differs is not.
//   2. The hash has keys of its own in each run, so no file can be made to look right.

/// A hash of a thing.
struct ContentHash: Hashable {
    private(set) var low: UInt64
    private(set) var high: UInt64

    /// The keys of this run.
    private static let keys = (
        UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1,
        UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)
    )

    private init() { (low, high) = (Self.keys.2, Self.keys.3) }

    /// The hash of bytes.
    init(_ bytes: [UInt8]) {
        self.init()
        var offset = 0
        while offset + 8 <= bytes.count {
            mix(bytes.u64(offset))
            offset += 8
        }
        if offset < bytes.count { mix(bytes.u64(offset)) }
        mix(UInt64(bytes.count))
    }

    /// The hash of a link: the rows at its ends, and an entity number.
    init(_ first: UInt64, _ second: UInt64, _ number: UInt16 = 0) {
        self.init()
        mix(first)
        mix(second)
        mix(UInt64(number))
    }

    private mutating func mix(_ word: UInt64) {
        low = Self.folded(low ^ word, Self.keys.0)
        high = Self.folded(high &+ word, Self.keys.1)
    }

    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.low ^ product.high
    }
}

/// The difference of two multisets of hashes.
struct MultisetSketch {
    static let bucketCount = 1024

    private var low: [UInt64] = []
    private var high: [UInt64] = []

    static func bucket(of hash: ContentHash) -> Int { Int(truncatingIfNeeded: hash.low % UInt64(bucketCount)) }

    mutating func add(_ hash: ContentHash) {
        allocate()
        let bucket = Self.bucket(of: hash)
        low[bucket] &+= hash.low
        high[bucket] &+= hash.high
    }

    mutating func subtract(_ hash: ContentHash) {
        allocate()
        let bucket = Self.bucket(of: hash)
        low[bucket] &-= hash.low
        high[bucket] &-= hash.high
    }

    /// Whether both streams brought the same.
    var isBalanced: Bool { low.allSatisfy { $0 == 0 } && high.allSatisfy { $0 == 0 } }

    /// The first buckets in which something differs.
    func differing(atMost count: Int) -> Set<Int> {
        Set(low.indices.lazy.filter { low[$0] != 0 || high[$0] != 0 }.prefix(count))
    }

    private mutating func allocate() {
        guard low.isEmpty else { return }
        low = [UInt64](repeating: 0, count: Self.bucketCount)
        high = low
    }
}
