// The samples of indexes that planners ask for: taken when one is first asked for, and kept for later commits.
//
// Invariants
//   1. A planner gets one sample of an index as long as its session lives; so a session has one plan for a fetch.
//   2. An index is sampled again only if the number of its entries has changed by more than a tenth, after
//      `commitCountMax` commits, or after a command, which may change all rows and leave their number.
//   3. An index that cannot be read has no sample. That is no error of the fetch, which may not need the index.

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

/// A sample with its age.
struct DatedSample {
    /// The number of commits after which a sample is renewed, although the number of entries has hardly changed.
    private static let commitCountMax: UInt64 = 64

    let sample: IndexSample
    /// The commit from which the sample was taken.
    let commit: UInt64

    /// Whether the sample may stand for the index at a commit at which it has `entryCount` entries.
    func serves(_ commit: UInt64, _ entryCount: UInt64) -> Bool {
        let distance = max(commit, self.commit) - min(commit, self.commit)
        let change = max(entryCount, sample.entryCount) - min(entryCount, sample.entryCount)
        return distance < Self.commitCountMax && change <= sample.entryCount / 10
    }
}

/// The samples for the planner of one session, which outlives them.
final class SessionSamples: IndexSampling {
    private unowned let store: BTreeStore
    private unowned let session: ReadSession
    /// By position of the group; `nil` as the value: the index cannot be read.
    private var known: [Int: IndexSample?] = [:]

    init(_ store: BTreeStore, _ session: ReadSession) { (self.store, self.session) = (store, session) }

    /// The sample of an index for the commit that the session reads.
    func sample(of group: Int) -> IndexSample? {
        if let sample = known[group] { return sample }
        let sample = store.sample(of: group, session.transaction)
        known[group] = .some(sample)
        return sample
    }
}

extension BTreeStore {
    /// The sample of an index for the commit that a transaction sees; `nil` if the index cannot be read.
    ///
    /// - Complexity: O(1) if a sample of that commit is kept, O(log trees) if a sample of another commit serves, else
    ///   O(height of the index) pages.
    fileprivate func sample(
        of group: Int, _ transaction: borrowing StoreTransaction<ReadSource>
    ) -> IndexSample? {
        assert(catalog.groupTrees.indices.contains(group), "there is no group \(group)")
        let commit = transaction.number
        let known = indexSamples.withLock { $0[group] }
        if let known, known.commit == commit { return known.sample }
        do throws(StoreError) {
            let tree = catalog.groupTrees[group]
            let entryCount = try transaction.count(of: tree)
            if let known, known.serves(commit, entryCount) { return known.sample }
            assert(StepCount.note())
            let entries = try transaction.lookup(in: tree)
            let keys = try withStoreErrors(try entries.sampledKeys(atMost: IndexSample.keyCountMax))
            let sample = IndexSample(keys, of: entryCount)
            indexSamples.withLock { samples in
                if samples[group].map({ $0.commit < commit }) ?? true {
                    samples[group] = DatedSample(sample: sample, commit: commit)
                }
            }
            return sample
        } catch {
            return nil
        }
    }

    /// Forgets all samples, because a command may have changed any number of rows.
    func forgetSamples() { indexSamples.withLock { $0.removeAll() } }
}
