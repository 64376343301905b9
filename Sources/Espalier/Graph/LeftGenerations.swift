// The generations that a context has left before it was told of the saves between (C-03).
//
// A store has a save a moment before other contexts get its message. A context that merges automatically may move to
// the newest generation in that moment: rows that the save has deleted are gone there, and the context does not know
// why yet. Until it does, the faults of such rows read the generation that the context has left.
//
// Invariants
//   1. A generation is kept only while a save that it lacks may not have been merged; the newest eight are kept.
// Not here: who is writing (PersistentStoreCoordinator), and when the context moves (+Generation).

import EspalierModel
import EspalierStore

/// Snapshots for the rows that the newest generation does not have any more.
struct LeftGenerations {
    private struct Left {
        let parts: [ReadGeneration.PartRead]
        /// The saves that were being written or told when the context moved.
        let writers: Set<UInt64>
        /// Whether the messages of these saves have arrived.
        var isTold = false
    }

    private static let countMax = 8
    /// Oldest first.
    private var all: [Left] = []
    /// The IDs of the rows that were read from here.
    private var read = Set<ObjectID>()

    var isEmpty: Bool { all.isEmpty }

    /// Keeps a generation that the context leaves while these saves are being written or told.
    mutating func keep(_ parts: [ReadGeneration.PartRead], writers: Set<UInt64>) {
        all.append(Left(parts: parts, writers: writers))
        if all.count > Self.countMax { all.removeFirst() }
    }

    /// Notes that only these saves are still being written or told: the messages of all others have arrived.
    mutating func noteArrived(stillWriting: Set<UInt64>) {
        for position in all.indices {
            all[position].isTold = all[position].writers.isDisjoint(with: stillWriting)
        }
    }

    /// Forgets the generations whose later saves have arrived and are merged now.
    mutating func forgetMerged() {
        all.removeAll(where: \.isTold)
        if all.isEmpty { read.removeAll() }
    }

    /// The row in the last generation that has it; errors of reading count as no row.
    mutating func row(of id: ObjectID) -> ObjectSnapshot? {
        for left in all.reversed() {
            guard let snapshot = left.parts.first(where: { $0.part.holds(id) })?.snapshot,
                let row = try? snapshot.snapshots(of: [id]).first ?? nil
            else { continue }
            read.insert(id)
            return row
        }
        return nil
    }

    /// The destinations of an object whose row was read from here; `nil` for other objects.
    func destinations(of relationship: Relationship, for id: ObjectID) -> [ObjectID]? {
        guard read.contains(id) else { return nil }
        for left in all.reversed() {
            guard let snapshot = left.parts.first(where: { $0.part.holds(id) })?.snapshot,
                (try? snapshot.snapshots(of: [id]).first ?? nil) != nil
            else { continue }
            return try? snapshot.destinations(of: relationship, for: [id]).first
        }
        return nil
    }
}

extension ManagedObjectContext {
    /// Keeps the generation of `parts`, which the context has just left, if saves that it lacks may not have been
    /// merged.
    func keepLeftGeneration(_ parts: [ReadGeneration.PartRead]) {
        guard let mailbox, parts.contains(where: { $0.snapshot != nil }) else { return }
        // In this order: a save that is not being written any more has left its message.
        var writers = source.writers
        if let saveRun { writers.remove(saveRun.writer) }
        guard !writers.isEmpty || !mailbox.isEmpty else { return }
        leftGenerations.keep(parts, writers: writers)
    }

    /// Whether this context or one above it keeps a generation that it has left.
    var hasLeftGenerations: Bool { !leftGenerations.isEmpty || parent?.hasLeftGenerations == true }

    /// A row that the newest generation does not have, from one that this context or one above it has left.
    ///
    /// An object keeps it until the message about its deletion is merged.
    func leftRow(of id: ObjectID) -> ObjectSnapshot? {
        leftGenerations.row(of: id) ?? parent?.leftRow(of: id)
    }

    /// The destinations of an object whose row was read by `leftRow(of:)`; `nil` for other objects.
    func leftDestinations(of relationship: Relationship, for id: ObjectID) -> [ObjectID]? {
        if !leftGenerations.isEmpty, let list = leftGenerations.destinations(of: relationship, for: id) { return list }
        return parent?.leftDestinations(of: relationship, for: id)
    }
}
