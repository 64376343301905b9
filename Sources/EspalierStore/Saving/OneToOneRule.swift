// Makes both ends of one-to-one relationships equal when a save ends, whatever the request says about one of them.
//
// A context keeps both ends equal among the objects it holds; it may hold an older row of the other end, or none.
//
// Invariants
//   1. For each destination that a save sets: it leads back to the owner, the object to which it led before no longer
//      leads to it, and the object to which the owner led before no longer leads back.
//   2. If settings in one save contradict each other, the later ones count.

internal import EspalierModel

/// The one-to-one relationships that one save sets.
struct OneToOneRule {
    private struct Setting {
        let owner: ObjectID
        let relationship: Relationship
        let inverse: Relationship
        let old: ObjectID?
        let new: ObjectID?
    }

    private var settings: [Setting] = []
    /// Rows whose relationship was emptied although it is required.
    private var emptied: [(row: ObjectID, relationship: Relationship, destination: ObjectID)] = []
    /// The changed rows at the other ends.
    private(set) var changed = RowSet()

    /// - Parameter updated: the positions in `save.updates`, and the stored rows, of all updates that change
    ///   destinations.
    init(_ save: PreparedSave, schema: StoreSchema, updated: [(position: Int, row: ObjectSnapshot)]) {
        guard schema.hasOneToOnes else { return }
        for (position, id) in save.ids.enumerated() {
            for (relationship, inverse) in schema.oneToOnes[schema.entityIndex(of: id)] {
                guard let new = save.destination(at: relationship.slot, ofInsertion: position) else { continue }
                assert(!new.isTemporary, "\(new) has no permanent ID")
                settings.append(
                    Setting(owner: id, relationship: relationship, inverse: inverse, old: nil, new: new))
            }
        }
        for (position, row) in updated where !save.updates[position].destinations.isEmpty {
            assert(save.updates[position].id == row.id, "the row of update \(position) is another one")
            for (relationship, inverse) in schema.oneToOnes[schema.entityIndex(of: row.id)] {
                guard let set = save.updates[position].destinations.last(where: { $0.slot == relationship.slot })
                else { continue }
                settings.append(
                    Setting(
                        owner: row.id, relationship: relationship, inverse: inverse,
                        old: row.destination(at: relationship.slot), new: set.destination))
            }
        }
    }

    /// Makes the other ends match, after the rows of the save were written.
    mutating func carryOut<State: SaveState & ~Copyable>(in state: inout State) throws(StoreError) {
        for setting in settings {
            let (owner, slot, back) = (setting.owner, setting.relationship.slot, setting.inverse.slot)
            let now = try state.rows([owner])[0]?.destination(at: slot)
            if let old = setting.old, old != now, let other = try state.rows([old])[0],
                other.destination(at: back) == owner
            {
                try set(setting.inverse, of: other, to: nil, instead: owner, &state)
            }
            // The check of destinations reports a destination that is missing.
            guard let new = setting.new, now == new, let other = try state.rows([new])[0] else { continue }
            let former = other.destination(at: back)
            guard former != owner else { continue }
            if let former, let row = try state.rows([former])[0], row.destination(at: slot) == new {
                try set(setting.relationship, of: row, to: nil, instead: new, &state)
            }
            // The first step may have changed the same row.
            guard let other = try state.rows([new])[0] else { continue }
            assert(other.id == new, "\(other.id) was read instead of \(new)")
            try set(setting.inverse, of: other, to: owner, instead: owner, &state)
        }
    }

    private mutating func set<State: SaveState & ~Copyable>(
        _ relationship: Relationship, of row: ObjectSnapshot, to destination: ObjectID?, instead former: ObjectID,
        _ state: inout State
    ) throws(StoreError) {
        assert(!relationship.isToMany, "\(relationship.name) is a list")
        try state.setDestinations([(row, [(relationship.slot, destination)])])
        changed.insert(row.id)
        if destination == nil, !relationship.isOptional { emptied.append((row.id, relationship, former)) }
    }

    /// The required relationships that have lost their destination, after all writes.
    func conflicts<State: SaveState & ~Copyable>(in state: borrowing State) throws(StoreError) -> [ReferenceConflict] {
        var conflicts: [ReferenceConflict] = []
        for (id, relationship, destination) in emptied {
            guard let row = try state.rows([id])[0], row.destination(at: relationship.slot) == nil else { continue }
            conflicts.append(
                .init(.required, owner: id, relationship: relationship.name, destinations: [destination]))
        }
        return conflicts
    }
}
