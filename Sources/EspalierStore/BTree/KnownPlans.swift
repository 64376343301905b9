// The plans of fetches that contexts repeat, each with the counts and samples that it was chosen by.
//
// Invariants
//   1. A plan is used only for a fetch that differs in no part that a plan depends on: so it finds the same rows as a
//      new one, at every commit. Counts and samples decide only which of several right plans it is.
//   2. A plan is used as long as a new one would be chosen by the same samples, and by counts that differ by at most a
//      tenth (ReadSession+Plan).
//   3. At most `placeCount` plans are kept. Each place has a lock, which is held only to copy a reference.

internal import EspalierModel
internal import Synchronization

/// A plan, and what it was chosen by.
final class KnownPlan: Sendable {
    /// The plan.
    let plan: FetchPlan
    /// The counts of the commit at which it was chosen.
    let statistics: PlannerStatistics
    /// The samples by which it was chosen.
    let samples: [UsedSample]
    /// The newest commit at which it was found to hold.
    let commit: UInt64
    /// The fetch, whose condition exists as long as the plan, so that no other condition gets its identity.
    private let fetch: StoreFetch
    private let wantsRows: Bool

    init(
        _ plan: FetchPlan, of fetch: StoreFetch, wantsRows: Bool, by statistics: PlannerStatistics,
        _ samples: [UsedSample], at commit: UInt64
    ) {
        var kept = fetch
        // It reads the progress of its caller, who has the answer; and no part of a plan depends on it.
        kept.isCancelled = nil
        (self.plan, self.fetch, self.wantsRows) = (plan, kept, wantsRows)
        (self.statistics, self.samples, self.commit) = (statistics, samples, commit)
        assert(Self.canKeep(fetch), "a fetch of \(fetch.entity.name) cannot be compared with others")
    }

    /// Whether the plan of a fetch can be kept: whether its parts, apart from the condition, can be compared.
    static func canKeep(_ fetch: StoreFetch) -> Bool {
        fetch.isRepeated && fetch.keys == StoreFetch.allKeys && fetch.sort.allSatisfy { $0.source.expression == nil }
    }

    /// Whether this is the plan of a fetch that `canKeep` allows.
    func isOf(_ other: StoreFetch, wantsRows: Bool) -> Bool {
        guard self.wantsRows == wantsRows, fetch.predicate?.identity == other.predicate?.identity,
            fetch.entity === other.entity, fetch.includesSubentities == other.includesSubentities,
            fetch.offset == other.offset, fetch.limit == other.limit, fetch.sort.count == other.sort.count
        else { return false }
        // Of one entity, equal key paths resolve to the same attribute.
        for place in fetch.sort.indices where fetch.sort[place].source != other.sort[place].source { return false }
        return true
    }

    /// The same plan, found to hold at a later commit, still with the counts and samples of its choice.
    func holding(at commit: UInt64) -> KnownPlan {
        assert(commit > self.commit, "a plan that holds at commit \(self.commit) goes back to \(commit)")
        return KnownPlan(plan, of: fetch, wantsRows: wantsRows, by: statistics, samples, at: commit)
    }
}

/// The plans of the fetches that were repeated last.
final class KnownPlans: Sendable {
    /// The logarithm of the number of places.
    private static let placeBits = 6

    /// A place for one plan.
    private final class Place: Sendable {
        let plan = Mutex<KnownPlan?>(nil)
    }
    private let places: [Place]

    init() { places = (0..<1 << Self.placeBits).map { _ in Place() } }

    /// The number of the place for the plan of a fetch.
    static func place(of fetch: StoreFetch, wantsRows: Bool) -> Int {
        // A page of results, and their number, have places of their own.
        var mixed = fetch.predicate.map { UInt(bitPattern: $0.identity) } ?? UInt(bitPattern: fetch.entity.index)
        func mix(_ part: Int) {
            mixed = (mixed ^ UInt(bitPattern: part)) &* 0x9E37_79B9_7F4A_7C15
            mixed ^= mixed >> 29
        }
        mix(fetch.offset)
        mix(fetch.limit ?? -1)
        mix(fetch.sort.count)
        mix(wantsRows ? 1 : 0)
        return Int(mixed >> UInt(UInt.bitWidth - placeBits))
    }

    /// The plan at a place, which may be of another fetch.
    func plan(at place: Int) -> KnownPlan? { places[place].plan.withLock { $0 } }

    /// Puts a plan at its place.
    func keep(_ plan: KnownPlan, at place: Int) {
        // The plan that leaves is freed after the lock.
        _ = places[place].plan.withLock { content in
            let former = content
            content = plan
            return former
        }
    }
}
