// The observers of a message, and how long each observes.
//
// Invariants
//   1. An observer is called as long as its token is retained and not cancelled. The observed object refers to tokens
//      weakly.

import Synchronization

/// What keeps a closure in the list of those that are told: until it is freed, or `cancel` is called.
public final class ObservationToken: Sendable {
    private let isOver = Atomic(false)

    init() {}

    /// Ends the observation; the closure is not called any more.
    public func cancel() { isOver.store(true, ordering: .relaxed) }

    /// Whether the observation was ended.
    var isCancelled: Bool { isOver.load(ordering: .relaxed) }
}

/// The closures that are told of one kind of message, in the order in which they were added.
struct Observers<Body> {
    private struct Entry {
        weak var token: ObservationToken?
        let body: Body
    }
    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a closure, for as long as the token is kept.
    mutating func add(_ body: Body) -> ObservationToken {
        let token = ObservationToken()
        forgetEnded()
        entries.append(Entry(token: token, body: body))
        return token
    }

    /// Those whose tokens are kept; the others are forgotten.
    mutating func current() -> [(token: ObservationToken, body: Body)] {
        forgetEnded()
        return entries.compactMap { entry in entry.token.map { ($0, entry.body) } }
    }

    private mutating func forgetEnded() { entries.removeAll { $0.token?.isCancelled ?? true } }
}
