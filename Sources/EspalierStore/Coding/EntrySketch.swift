// Compares two collections of entries without holding them: sums of hashes in buckets, independent of the order.
//
// Invariants
//   1. Collections that are equal as multisets leave every bucket balanced. Collections that differ leave one
//      unbalanced, except with a probability of about 2^-128: hashes have 128 bits.
//   2. The hash of an entry determines its bucket, so that an exact comparison has to hold only unbalanced buckets.
//   3. Each check draws its seeds from the system's generator and reveals them to no caller, so the author of a file
//      cannot compute entries with equal sums. XXH3 is no cryptographic hash: for keys that were chosen with care the
//      probability is not proven to be that small.

internal import EspalierEngine

/// The hash of an entry.
package struct EntryMark {
    package let low: UInt64
    package let high: UInt64
}

/// Hashes entries with random seeds.
package struct EntryHash {
    private let seeds: (UInt64, UInt64, UInt64, UInt64)

    /// A hash with new seeds, which cannot be predicted.
    package init() {
        var generator = SystemRandomNumberGenerator()
        seeds = (generator.next(), generator.next(), generator.next(), generator.next())
    }

    /// The mark of an index entry: its key, and its value as a number.
    @inline(__always)
    package func mark(_ key: RawSpan, _ value: UInt32) -> EntryMark {
        let number = UInt64(value)
        // Added to the hash of the key, not to its seed: there a value and a key could cancel each other out.
        // SAFETY: the buffer does not leave the closure.
        return unsafe key.withUnsafeBytes { bytes in
            EntryMark(
                low: Self.mixed(unsafe Checksum.of(bytes, seed: seeds.0) &+ Self.mixed(number ^ seeds.2)),
                high: Self.mixed(unsafe Checksum.of(bytes, seed: seeds.1) &+ Self.mixed(number ^ seeds.3)))
        }
    }

    /// The mark of a link.
    @inline(__always)
    func mark(_ link: Link) -> EntryMark {
        EntryMark(
            low: Self.mixed(Self.mixed(link.owner ^ seeds.0) &+ link.destination ^ seeds.1),
            high: Self.mixed(Self.mixed(link.owner ^ seeds.2) &+ link.destination ^ seeds.3))
    }

    /// The finalizer of SplitMix64, a bijection.
    @inline(__always)
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}

/// The keys of the two rows that a link joins.
struct Link: Hashable, Comparable {
    let owner: UInt64
    let destination: UInt64

    /// The link in the other direction.
    var turned: Link { Link(owner: destination, destination: owner) }

    static func < (left: Link, right: Link) -> Bool {
        left.owner != right.owner ? left.owner < right.owner : left.destination < right.destination
    }
}

/// The sums of two collections of entries: the expected ones and those that were found.
struct EntrySketch {
    /// Small, because each index of a model has a sketch.
    static let bucketCount = 64

    private struct Bucket {
        var expectedCount: UInt64 = 0
        var foundCount: UInt64 = 0
        /// The hashes of expected entries minus those of entries that were found.
        var low: UInt64 = 0
        var high: UInt64 = 0

        var isBalanced: Bool { expectedCount == foundCount && low == 0 && high == 0 }
    }

    private var buckets = [Bucket](repeating: Bucket(), count: bucketCount)

    /// The bucket of an entry.
    @inline(__always)
    static func bucket(of mark: EntryMark) -> Int {
        let bucket = Int(truncatingIfNeeded: mark.low &>> 58)
        assert(bucket < bucketCount, "the hash of an entry selects bucket \(bucket) of \(bucketCount)")
        return bucket
    }

    /// Counts an expected entry.
    @inline(__always)
    mutating func expect(_ mark: EntryMark) {
        let bucket = Self.bucket(of: mark)
        buckets[bucket].expectedCount &+= 1
        buckets[bucket].low &+= mark.low
        buckets[bucket].high &+= mark.high
    }

    /// Counts an entry that was found.
    @inline(__always)
    mutating func find(_ mark: EntryMark) {
        let bucket = Self.bucket(of: mark)
        buckets[bucket].foundCount &+= 1
        buckets[bucket].low &-= mark.low
        buckets[bucket].high &-= mark.high
    }

    /// Whether both collections are equal.
    var isBalanced: Bool { buckets.allSatisfy(\.isBalanced) }

    /// The buckets in which the collections differ, in sets of at most `countMax` entries of both sides together; a
    /// larger bucket is a set of its own.
    func unbalancedBuckets(entryCountMax countMax: Int) -> [BucketSet] {
        assert(countMax > 0, "sets of at most \(countMax) entries")
        var sets: [BucketSet] = []
        var count: UInt64 = 0
        for (number, bucket) in buckets.enumerated() where !bucket.isBalanced {
            let more = bucket.expectedCount &+ bucket.foundCount
            if sets.isEmpty || count &+ more > UInt64(countMax) {
                sets.append(BucketSet())
                count = 0
            }
            count &+= more
            sets[sets.count - 1].insert(number)
        }
        assert(sets.isEmpty == isBalanced, "\(sets.count) sets hold the unbalanced buckets")
        return sets
    }
}

/// Some of the buckets of a sketch.
struct BucketSet {
    private var bits: UInt64 = 0

    mutating func insert(_ bucket: Int) {
        assert(bucket >= 0 && bucket < EntrySketch.bucketCount, "bucket \(bucket) has no bit")
        bits |= 1 &<< UInt64(bucket)
    }

    /// Whether the bucket of `mark` is one of them.
    @inline(__always)
    func contains(_ mark: EntryMark) -> Bool { bits &>> UInt64(EntrySketch.bucket(of: mark)) & 1 != 0 }
}
