// The observers of one kind of message, and the token that limits how long each observes.
//
// Invariants
//   1. An observer is called as long as its token is retained and not canceled. The observed object refers to tokens
//      weakly.

import Synchronization

/// The owner of one observation: the observed object calls the closure until the token is freed or `cancel` is called.
public final class ObservationToken: Sendable {
    private let isOver = Atomic(false)

    init() {}

    /// Ends the observation; the closure is not called anymore.
    public func cancel() { isOver.store(true, ordering: .relaxed) }

    /// Whether the observation was ended.
    var isCancelled: Bool { isOver.load(ordering: .relaxed) }
}

/// Up to this number of observations, each addition removes those that have ended.
private let fewCount = 64

/// The closures that observe one kind of message, in the order in which they were added.
struct Observers<Body> {
    private struct Entry {
        weak var token: ObservationToken?
        let body: Body
    }
    private var entries: [Entry] = []
    /// The number of entries at which the next addition removes those that have ended, if they are not few: twice as
    /// many as were left last.
    private var sweepCount = fewCount

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a closure; the observation lasts as long as the caller retains the returned token.
    ///
    /// - Complexity: O(1), amortized.
    mutating func add(_ body: Body) -> ObservationToken {
        let token = ObservationToken()
        // A kind of message that is never sent would keep the closures, and these may retain the observed object.
        if entries.count <= fewCount || entries.count >= sweepCount {
            forgetEnded()
            sweepCount = 2 * entries.count
        }
        entries.append(Entry(token: token, body: body))
        return token
    }

    /// The closures whose tokens are retained and not canceled; the others are removed.
    mutating func current() -> [(token: ObservationToken, body: Body)] {
        forgetEnded()
        return entries.compactMap { entry in entry.token.map { ($0, entry.body) } }
    }

    private mutating func forgetEnded() { entries.removeAll { $0.token?.isCancelled ?? true } }
}
