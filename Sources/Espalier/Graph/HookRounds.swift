// The rounds in which a save calls hooks that change objects: hooks that do so in every round end the save with an
// error, and not the program.
//
// Invariants
//   1. There are at most `roundCountMax` rounds, and that many times as many calls as in the first round, which counts
//      as at least `firstCountMin`.
// Not here: what a round does (Saving: +Save, Children: ParentSource+Save).

/// The number of rounds and of calls of hooks in one save.
struct HookRounds {
    private static let roundCountMax = 1000
    private static let firstCountMin = 100
    private var roundCount = 0
    private var callCount = 0
    private var callCountMax = 0

    /// Begins a round of the hooks of these changes.
    ///
    /// - Throws: `ContextError.unsettledSave`, as `begin(objectCount:)`.
    mutating func begin(with changes: ChangeSet) throws(ContextError) {
        try begin(objectCount: changes.inserted.count + changes.updated.count + changes.deleted.count)
    }

    /// Begins a round of the hooks of so many objects.
    ///
    /// - Throws: `ContextError.unsettledSave` after 1,000 rounds, or after 1,000 times as many calls as in the first
    ///   round, which counts as at least 100.
    mutating func begin(objectCount count: Int) throws(ContextError) {
        if roundCount == 0 { callCountMax = Self.roundCountMax * max(count, Self.firstCountMin) }
        callCount += count
        guard roundCount < Self.roundCountMax, callCount <= callCountMax else {
            throw .unsettledSave(rounds: roundCount)
        }
        roundCount += 1
    }
}
