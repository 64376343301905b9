// Tells whether two streams contain the same things, in any order, in memory that does not grow with the streams.
//
// Invariants
//   1. Each thing is a hash of 128 bits, which one stream adds to one of `bucketCount` sums and the other subtracts. If
//      both streams contain the same things, all sums are zero. A bucket whose things differ has a sum of zero with a
//      probability of 2^-128.
//   2. The hash has random keys in each run, so a forged file cannot make different streams look equal.

/// The hash of a thing.
struct ContentHash: Hashable {
    private(set) var low: UInt64
    private(set) var high: UInt64

    /// The random keys of this run.
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

    /// The hash of a link: the keys of the rows at its ends, and an entity number.
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

/// The difference of two multisets of hashes, as one sum per bucket.
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

    /// Whether both streams contained the same things.
    var isBalanced: Bool { low.allSatisfy { $0 == 0 } && high.allSatisfy { $0 == 0 } }

    /// The first `count` buckets in which something differs.
    func differing(atMost count: Int) -> Set<Int> {
        Set(low.indices.lazy.filter { low[$0] != 0 || high[$0] != 0 }.prefix(count))
    }

    private mutating func allocate() {
        guard low.isEmpty else { return }
        low = [UInt64](repeating: 0, count: Self.bucketCount)
        high = low
    }
}
