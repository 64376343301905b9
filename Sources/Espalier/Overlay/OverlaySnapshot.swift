// The snapshot that the children of a context read: the stores as the parent reads them, below the unsaved changes of
// the parent.
//
// Invariants
//   1. It is immutable: all answers are of the moment at which it was made, whatever the parent does meanwhile (F-4).
//   2. Its answers are those of a store in which the parent has saved. No relationship leads to a deleted object.
//   3. If the parent has no changes that concern a question, the store alone answers it.
//   4. The parent of a grandchild reads such a snapshot, too. A fetch or a count takes several requests, and sends them
//      to the stores with the changes of all levels together: requests to each level would double with every one.
// Not here: fetches with unsaved changes (+Fetch).

import EspalierModel
import EspalierStore

/// The contents of a parent context at one moment.
final class OverlaySnapshot: StoreSnapshot {
    /// A part of the parent's own source.
    struct Base: Sendable {
        /// The store tag in IDs of its objects; `nil` = it holds objects of every ID.
        let storeTag: UInt32?
        /// The root entities whose hierarchies it accepts; `nil` = all.
        let rootEntities: Set<ManagedObjectModel.EntityIndex>?
        let snapshot: any StoreSnapshot

        func holds(_ id: ObjectID) -> Bool { storeTag == nil || storeTag == id.storeTag }
        func takes(_ entity: Entity) -> Bool { rootEntities?.contains(entity.root) ?? true }
    }

    let generation: UInt64
    let model: ManagedObjectModel
    let bases: [Base]
    let changes: OverlayChanges
    /// The snapshot that the parent reads, if it is a child itself.
    let below: OverlaySnapshot?
    /// The stores below all levels.
    let stores: [Base]
    private let entities: EntitiesByTag

    init(
        generation: UInt64, model: ManagedObjectModel, entities: EntitiesByTag, bases: [Base], changes: OverlayChanges
    ) {
        (self.generation, self.model, self.entities) = (generation, model, entities)
        (self.bases, self.changes) = (bases, changes)
        let below = bases.count == 1 ? bases[0].snapshot as? OverlaySnapshot : nil
        self.below = below
        stores = below?.stores ?? bases
    }

    /// `false`: only the parent knows, and its source then returns this snapshot again.
    var isNewest: Bool { false }

    // MARK: Levels

    /// This snapshot and those below it, the topmost one first.
    var levels: [OverlaySnapshot] {
        var levels = [self]
        while let next = levels[levels.count - 1].below { levels.append(next) }
        return levels
    }

    /// Whether some level has changed objects.
    var hasChanges: Bool { changes.count > 0 || below?.hasChanges == true }

    /// Whether all rows and lists of the stores are shown as they are.
    var showsStores: Bool { changes.isEmpty && below?.showsStores != false }

    /// Whether some level has changed the object.
    func isChanged(_ id: ObjectID) -> Bool { entry(id) != nil || below?.isChanged(id) == true }

    /// A row of a store that no level has changed, as children see it.
    func shownOfStore(_ row: ObjectSnapshot) -> ObjectSnapshot { shown(below?.shownOfStore(row) ?? row) }

    // MARK: Objects

    /// The entity of an object; `nil` if the model does not have it.
    func entity(of id: ObjectID) -> Entity? { entities[id.entityTag] }

    func entry(_ id: ObjectID) -> OverlayEntry? {
        guard changes.count > 0, let entity = entity(of: id) else { return nil }
        return changes.entry(id, root: entity.root)
    }

    func isDeleted(_ id: ObjectID) -> Bool { changes.deletedCount > 0 && entry(id)?.kind == .deleted }

    /// Whether both read the same snapshots of stores.
    func hasSameBases(as other: OverlaySnapshot) -> Bool {
        bases.count == other.bases.count && zip(bases, other.bases).allSatisfy { $0.snapshot === $1.snapshot }
    }

    /// Whether rows of stores that the parent has not changed may look different to children.
    private var altersRows: Bool { changes.deletedCount > 0 || !changes.savedVersions.isEmpty }

    /// The version at which children see a row of a store.
    func shownVersion(of row: ObjectSnapshot) -> UInt64 {
        let version = row.version
        guard let saved = changes.savedVersions[row.id], saved.stored == version else { return version }
        return saved.shown
    }

    /// A row of a store as children see it.
    func shown(_ row: ObjectSnapshot) -> ObjectSnapshot {
        guard altersRows, let entity = entity(of: row.id) else { return row }
        let version = shownVersion(of: row)
        let leadsToDeleted =
            changes.deletedCount > 0
            && entity.relationships.indices.contains { row.destination(at: $0).map(isDeleted) == true }
        if version == row.version && !leadsToDeleted { return row }
        return row.copy(of: entity, version: version) { !isDeleted($0) }
    }

    /// Whether children see the row of an object that the parent has not changed as its store has it.
    func showsAsStored(_ id: ObjectID) -> Bool {
        changes.deletedCount == 0 && (changes.savedVersions.isEmpty || changes.savedVersions[id] == nil)
    }

    /// Calls `ask` with each store and those of `ids` that it may hold; their positions go along.
    private func forEachBase(
        holding ids: some Sequence<(offset: Int, element: ObjectID)>,
        _ ask: (any StoreSnapshot, [ObjectID], [Int]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var wanted = bases.map { _ in (ids: [ObjectID](), positions: [Int]()) }
        for (position, id) in ids where !id.isTemporary {
            guard let base = bases.firstIndex(where: { $0.holds(id) }) else { continue }
            wanted[base].ids.append(id)
            wanted[base].positions.append(position)
        }
        for (base, wanted) in zip(bases, wanted) where !wanted.ids.isEmpty {
            try ask(base.snapshot, wanted.ids, wanted.positions)
        }
    }

    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        try snapshots(of: ids) { _, _ in }
    }

    /// The rows with these IDs as children see them, in this order.
    ///
    /// - Parameter note: receives each row that was read from a store, as the store has it, with its position in `ids`.
    func snapshots(
        of ids: [ObjectID], noting note: (Int, ObjectSnapshot) -> Void
    ) throws(StoreError) -> [ObjectSnapshot?] {
        let isPlain = changes.count == 0 && bases.count == 1 && !ids.isEmpty
        if isPlain, ids.allSatisfy({ !$0.isTemporary && bases[0].holds($0) }) { return try plainRows(of: ids, note) }
        var rows = ids.map { _ in ObjectSnapshot?.none }
        var stored: [(offset: Int, element: ObjectID)] = []
        for (position, id) in ids.enumerated() {
            guard let entry = entry(id) else {
                stored.append((position, id))
                continue
            }
            if let row = entry.row {
                rows[position] = shown(row)
            } else if entry.kind == .updated {
                stored.append((position, id))
            }
        }
        try forEachBase(holding: stored) { snapshot, ids, positions throws(StoreError) in
            for case let (position, row?) in zip(positions, try snapshot.snapshots(of: ids)) {
                note(position, row)
                rows[position] = shown(row)
            }
        }
        return rows
    }

    /// The same if the only store has all rows, and the parent has changed none.
    private func plainRows(
        of ids: [ObjectID], _ note: (Int, ObjectSnapshot) -> Void
    ) throws(StoreError) -> [ObjectSnapshot?] {
        var rows = try bases[0].snapshot.snapshots(of: ids)
        assert(rows.count == ids.count, "\(rows.count) answers for \(ids.count) rows")
        for position in rows.indices {
            guard let row = rows[position] else { continue }
            note(position, row)
            if altersRows { rows[position] = shown(row) }
        }
        return rows
    }

    // MARK: Lists

    func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        var lists = owners.map { _ in [ObjectID]() }
        let stored = owners.enumerated().filter { [.inserted, .deleted].contains(entry($0.element)?.kind) == false }
        try forEachBase(holding: stored) { snapshot, ids, positions throws(StoreError) in
            for (position, list) in zip(positions, try snapshot.destinations(of: relationship, for: ids)) {
                lists[position] = list
            }
        }
        guard changes.count > 0 else { return lists }
        for (position, owner) in owners.enumerated() {
            if let change = entry(owner)?.lists[relationship.slot] {
                lists[position] = change.applied(to: lists[position])
            }
            if changes.deletedCount > 0 { lists[position].removeAll(where: isDeleted) }
        }
        return lists
    }

    /// The store that alone knows a list of `owner`; `nil` if changes of the parent may concern it.
    private func base(knowingListsOf owner: ObjectID) -> (any StoreSnapshot)? {
        guard changes.deletedCount == 0, entry(owner) == nil, !owner.isTemporary else { return nil }
        return bases.first { $0.holds(owner) }?.snapshot
    }

    func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int {
        if let base = base(knowingListsOf: owner) {
            return try base.destinationCount(of: relationship, for: owner, limit: limit)
        }
        return min(try destinations(of: relationship, for: [owner]).first?.count ?? 0, limit)
    }

    func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        if isDeleted(owner) || isDeleted(destination) { return false }
        let entry = entry(owner)
        if let change = entry?.lists[relationship.slot] {
            if let order = change.order { return order.contains(destination) }
            if change.added.contains(destination) { return true }
            if change.removed.contains(destination) { return false }
        }
        // No store knows a new object.
        if entry?.kind == .inserted || self.entry(destination)?.kind == .inserted { return false }
        guard let base = bases.first(where: { $0.holds(owner) }) else { return false }
        return try base.snapshot.hasDestination(destination, of: relationship, for: owner)
    }
}
