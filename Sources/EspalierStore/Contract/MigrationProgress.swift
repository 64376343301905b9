// The progress of a migration: any thread may read it, and may cancel the migration.
//
// Invariants
//   1. `fractionCompleted` never descends, and is 1 only after the commit.
//   2. A migration that is cancelled leaves the file as it was. After the last call of `advance` it cannot be cancelled
//      any more.

internal import Synchronization

/// The progress of a migration, and the way to cancel it (Behaviour MG-10).
///
///     let progress = MigrationProgress { fraction in print("\(Int(fraction * 100)) %") }
///     let options = MigrationOptions(progress: progress)
///
/// Safe to use from several threads. One value serves one migration, or one plan of versions.
public final class MigrationProgress: Sendable {
    private struct State {
        var completed = 0.0
        var isCancelled = false
        /// The part of the whole that the present stage is.
        var stage = (start: 0.0, length: 1.0)
    }

    private let state = Mutex(State())
    /// Called on the thread of the migration.
    private let onChange: (@Sendable (Double) -> Void)?
    /// The progress whose cancellation counts as well.
    private let leader: MigrationProgress?

    /// Makes the progress of a migration that begins later.
    ///
    /// - Parameter onChange: gets `fractionCompleted` now and then, on the thread of the migration; it may call
    ///   `cancel`.
    public init(onChange: (@Sendable (_ fractionCompleted: Double) -> Void)? = nil) {
        (self.onChange, leader) = (onChange, nil)
    }

    /// The progress of a trial that is cancelled together with `other`, which shows nothing of it.
    package init(cancelledWith other: MigrationProgress) { (onChange, leader) = (nil, other) }

    /// The part of the work that is done: 0 to 1.
    ///
    /// An estimate: the units are rows and entries to be read or written, whatever one of them costs.
    public var fractionCompleted: Double { state.withLock(\.completed) }

    /// Whether `cancel` was called.
    public var isCancelled: Bool { state.withLock(\.isCancelled) || leader?.isCancelled == true }

    /// Asks the migration to stop: it throws `StoreError.migrationCancelled`, and the file stays as it was.
    ///
    /// Has no effect once the migration commits. In a plan of versions the steps before the present one stay done; the
    /// next run of the plan continues with the present one.
    public func cancel() { state.withLock { $0.isCancelled = true } }

    /// Notes the part of the present stage that is done; throws if the migration was cancelled.
    package func advance(to fraction: Double) throws(StoreError) {
        assert(!(fraction < 0), "\(fraction) of a stage is done")
        let (completed, hasChanged) = state.withLock { state in
            let completed = min(1, state.stage.start + state.stage.length * min(1, fraction))
            guard completed > state.completed else { return (state.completed, false) }
            state.completed = completed
            return (completed, true)
        }
        if hasChanged { onChange?(completed) }
        guard !isCancelled else { throw .migrationCancelled(path: nil) }
    }

    /// Makes the following calls of `advance` count for stage number `number` of `count`.
    package func beginStage(_ number: Int, of count: Int) {
        assert(number >= 0 && number < max(count, 1), "stage \(number) of \(count) begins")
        state.withLock { state in
            state.stage = (Double(number) / Double(max(count, 1)), 1 / Double(max(count, 1)))
        }
    }

    /// Notes that the present stage is committed.
    package func finishStage() {
        let completed = state.withLock { state in
            state.completed = max(state.completed, min(1, state.stage.start + state.stage.length))
            return state.completed
        }
        onChange?(completed)
    }
}

extension MigrationProgress: Hashable {
    /// Whether both are the same object.
    public static func == (left: MigrationProgress, right: MigrationProgress) -> Bool { left === right }
    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The units of work of one migration.
struct MigrationUnits {
    /// Units between two notes.
    private static let interval = 512

    private let progress: MigrationProgress?
    /// The part of the whole that these units are; the commit is the rest.
    private let share: Double
    private var total = 0
    private var done = 0
    private var untilNote = 1

    init(_ progress: MigrationProgress?, share: Double = 0.99) {
        assert(share > 0 && share < 1, "a share of \(share) leaves nothing for the commit, or nothing for the units")
        (self.progress, self.share) = (progress, share)
    }

    /// Expects `count` more units.
    mutating func expect(_ count: UInt64) { if progress != nil { total.add(clamping: count) } }

    /// Notes one unit.
    @inline(__always)
    mutating func advance() throws(StoreError) {
        assert(untilNote > 0, "\(untilNote) units are left until the next note")
        untilNote -= 1
        if untilNote == 0 { try note() }
    }

    /// Notes that only the commit is left.
    func finish() throws(StoreError) { try progress?.advance(to: 0.99) }

    @inline(never)
    private mutating func note() throws(StoreError) {
        assert(done >= 0 && total >= 0, "\(done) of \(total) units are done")
        untilNote = Self.interval
        guard let progress else { return }
        try progress.advance(to: share * Double(min(done, total)) / Double(max(total, 1)))
        done += Self.interval
    }
}
