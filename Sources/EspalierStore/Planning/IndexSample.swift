// The distribution of the entries of one index, known from a sample of its keys.
//
// Invariants
//   1. The keys ascend. They divide the entries into `keys.count + 1` parts of about equal numbers.
//   2. A sample may be older than the entries: an estimate can be wrong by any factor, and no answer depends on it.

/// The samples of a store's indexes, each of which is taken when it is asked for.
protocol IndexSampling: AnyObject {
    /// The sample of an index, by position of its group; `nil` if the index cannot be read.
    func sample(of group: Int) -> IndexSample?
}

/// A sample of the keys of an index.
struct IndexSample: Sendable {
    /// The most keys of a sample.
    static let keyCountMax = 200

    /// The number of entries of the index when the sample was taken.
    let entryCount: UInt64
    private let keys: [[UInt8]]

    /// Makes a sample of ascending keys.
    init(_ keys: [[UInt8]], of entryCount: UInt64) {
        (self.keys, self.entryCount) = (keys, entryCount)
        assert(zip(keys, keys.dropFirst()).allSatisfy { $0.precedes($1) }, "invariant 1: sampled keys do not ascend")
    }

    /// The estimated number of entries in a range.
    ///
    /// A range that ends in another part than the one in which it begins has on average half of both parts, and all
    /// parts between them. A range within one part may have one entry or nearly the whole part: the geometric mean is
    /// wrong by the same factor either way.
    ///
    /// - Complexity: O(log keys).
    func estimatedCount(in range: EntryRange) -> Double {
        let partSize = Double(entryCount) / Double(keys.count + 1)
        let begin = range.lower.isEmpty ? -0.5 : Double(keyCount { !range.lower.precedes($0) })
        let end = range.upper.map { upper in Double(keyCount { $0.precedes(upper) }) } ?? Double(keys.count) + 0.5
        assert(begin <= end, "a range begins in part \(begin) and ends in part \(end)")
        return end > begin ? (end - begin) * partSize : partSize.squareRoot()
    }

    /// The number of keys that pass, all of which are before the others.
    private func keyCount(_ passes: ([UInt8]) -> Bool) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if passes(keys[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
