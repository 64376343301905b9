// The samples of indexes that planners ask for: taken when one is first asked for, and kept for later commits.
//
// Invariants
//   1. A planner gets one sample of an index as long as its session lives.
//   2. An index is sampled again only if the number of its entries has changed by more than a tenth, after
//      `commitCountMax` commits, or after a command, which may change all rows and leave their number.
//   3. No sample from before the last command is kept after it, and none from after it serves a session from before it.
//   4. An index that cannot be read has no sample. That is no error of the fetch, which may not need the index.

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

/// The newest sample of each index that a planner has asked for, by position of the group.
struct KnownSamples {
    private var samples: [Int: DatedSample] = [:]
    /// The commit of the last command.
    private var commandCommit: UInt64 = 0

    /// The sample of an index for sessions of a commit; `nil` if there is none, or a command has come between.
    func sample(of group: Int, at commit: UInt64) -> DatedSample? {
        assert(
            samples[group].map { $0.commit >= commandCommit } ?? true,
            "invariant 3: the sample of group \(group) is from before the command of commit \(commandCommit)")
        return commit < commandCommit ? nil : samples[group]
    }

    /// Keeps a sample, if it is newer than the one that is known and not from before the last command.
    mutating func keep(_ sample: DatedSample, of group: Int) {
        guard sample.commit >= commandCommit, samples[group].map({ $0.commit < sample.commit }) ?? true else { return }
        samples[group] = sample
    }

    /// Forgets all samples from before the commit of a command, which may have changed any number of rows.
    mutating func forget(before commit: UInt64) {
        commandCommit = max(commandCommit, commit)
        let least = commandCommit
        samples = samples.filter { $0.value.commit >= least }
    }
}

/// A sample that a plan was chosen by.
struct UsedSample: Sendable {
    /// The position of the index among the groups of the schema.
    let group: Int
    /// The commit from which the sample was taken; `nil` = the index could not be read.
    let commit: UInt64?
}

/// The samples for the planner of one session, which outlives them.
final class SessionSamples: IndexSampling {
    private unowned let store: BTreeStore
    private unowned let session: ReadSession
    /// By position of the group; `nil` as the value: the index cannot be read.
    private var known: [Int: DatedSample?] = [:]
    /// The samples that the present plan was chosen by; `nil` = they are not noted.
    private var used: [UsedSample]?

    init(_ store: BTreeStore, _ session: ReadSession) { (self.store, self.session) = (store, session) }

    /// The sample of an index for the commit that the session reads.
    func sample(of group: Int) -> IndexSample? {
        let sample = datedSample(of: group)
        if used?.contains(where: { $0.group == group }) == false {
            used?.append(UsedSample(group: group, commit: sample?.commit))
        }
        return sample?.sample
    }

    /// Whether the session would make a plan by the same sample.
    func has(_ sample: UsedSample) -> Bool { datedSample(of: sample.group)?.commit == sample.commit }

    /// The plan that `choose` returns, and the samples that it was chosen by.
    func noting(_ choose: () -> FetchPlan) -> (plan: FetchPlan, samples: [UsedSample]) {
        assert(used == nil, "a plan is chosen while another one is")
        used = []
        defer { used = nil }
        return (choose(), used ?? [])
    }

    private func datedSample(of group: Int) -> DatedSample? {
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
    ) -> DatedSample? {
        assert(catalog.groupTrees.indices.contains(group), "there is no group \(group)")
        let commit = transaction.number
        let known = indexSamples.withLock { $0.sample(of: group, at: commit) }
        if let known, known.commit == commit { return known }
        do throws(StoreError) {
            let tree = catalog.groupTrees[group]
            let entryCount = try transaction.count(of: tree)
            if let known, known.serves(commit, entryCount) { return known }
            assert(StepCount.note())
            let entries = try transaction.lookup(in: tree)
            let keys = try withStoreErrors(try entries.sampledKeys(atMost: IndexSample.keyCountMax))
            let sample = DatedSample(sample: IndexSample(keys, of: entryCount), commit: commit)
            indexSamples.withLock { $0.keep(sample, of: group) }
            return sample
        } catch {
            return nil
        }
    }

    /// Forgets the samples from before the commit of a command.
    func forgetSamples(before commit: UInt64) { indexSamples.withLock { $0.forget(before: commit) } }
}
