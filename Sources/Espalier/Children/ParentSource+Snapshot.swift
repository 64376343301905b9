// The snapshot that children read: made from the parent's changed objects, as far as they have changed since the last.
// If the parent has noted which have (`UnseenChanges`), the others are not looked at.
//
// Invariants
//   1. A changed object gets a new version whenever its values, its to-one destinations or its ordered lists change. An
//      unordered list has no version, as in a store.
//   2. A save of the parent changes no version: children go on from the values that they have read.
//   3. In one read of a child the parent merges once; later snapshots of the read have its changes since (UpwardRead).
//   4. All reads that can fail come before the first record changes: a snapshot that cannot be made is made by the next
//      call, and children are told the same.

import EspalierModel
import EspalierStore

extension ParentSource {
    func snapshot(of part: SourcePart) throws(StoreError) -> any StoreSnapshot { try currentSnapshot() }

    func reserveIDs(for entity: Entity, count: Int, in part: SourcePart) throws(StoreError) -> [ObjectID] {
        let part = try asSource { () throws(ContextError) in try parent.source.partForNewObjects(of: entity) }
        return try parent.source.reserveIDs(for: entity, count: count, in: part)
    }

    func tellWaitingChanges() { _ = try? currentSnapshot() }

    /// Calls `body`, whose error becomes that of a store.
    func asSource<R>(_ body: () throws(ContextError) -> R) throws(StoreError) -> R {
        do {
            return try body()
        } catch {
            throw Self.storeError(error)
        }
    }

    /// An error of the parent as one that its children get from their source.
    static func storeError(_ error: ContextError) -> StoreError {
        switch error {
        case .store(let error): error
        case .readOnlyStore(let path): .readOnly(path: path)
        case .noStore: .closed
        case .unsettledSave(let rounds): .unsettledSave(rounds: rounds)
        default: .invalidRequest(reason: "\(error)")
        }
    }

    // MARK: Snapshots

    /// More changed objects than this are not checked after each snapshot.
    private static var checkedCountMax: Int { 500 }
    /// For so many changed objects, memory is not reserved: that looks at all entities of the model.
    private static var fewCount: Int { 500 }

    /// The parent's state of this moment.
    ///
    /// While a child changes the parent, hooks may read in other children: these see the state before.
    ///
    /// - Parameters:
    ///   - tells: whether children are told what has changed since the last snapshot.
    ///   - note: receives the row of each changed object of which children see another one than before.
    /// - Complexity: O(k log n) for k changes of the parent since the last snapshot, beside n unsaved objects; O(n) if
    ///   they are more than an eighth of n, and after a merge, a refresh, a rollback or a failed save of the parent.
    func currentSnapshot(
        tells: Bool = true, noting note: (ObjectSnapshot) -> Void = { _ in }
    ) throws(StoreError) -> OverlaySnapshot {
        if tells, parent.childSave != nil, let latest { return latest.snapshot }
        upwardRead.begin()
        defer { upwardRead.end() }
        settleParent(tells: tells)
        if let latest, try latest.moment == moment(bases()) { return latest.snapshot }
        parent.applyUnreadInverses()
        let unnamed = try unnamedObjects()
        if !unnamed.isEmpty {
            try asSource { () throws(ContextError) in try parent.obtainPermanentIDs(for: unnamed) }
        }
        try loadRowsOfChanges()
        let bases = try bases()
        let moment = moment(bases)
        let told = knowsUnseen(at: moment) ? takeUnseen(note) : takeChanges(note)
        parent.memory.unseen.begin(beside: records.count)
        parent.memory.updateListeners()
        let isSame = latest?.moment.bases == moment.bases && told.idCount == 0
        if isSame, let snapshot = latest?.snapshot {
            latest = (snapshot, moment)
            return snapshot
        }
        let isFirst = lastGeneration == 0
        lastGeneration += 1
        let snapshot = OverlaySnapshot(
            generation: lastGeneration, model: parent.model, entities: entities, bases: bases, changes: changes)
        latest = (snapshot, moment)
        // Nothing was read before the first snapshot.
        if isFirst { return snapshot }
        if told.isEverything { tellEverything() } else if tells, told.idCount > 0 { tell(told, except: nil) }
        return snapshot
    }

    /// Makes the parent merge what waits and run its delete rules, before children read it.
    ///
    /// While the parent saves, or the save of a child changes it, only its delete rules run.
    private func settleParent(tells: Bool) {
        assert(StepCount.note())
        guard parent.stage == nil, tells else { return parent.runDeleteRules() }
        guard mergedRead != upwardRead.number else {
            if parent.propagatesDeletesAtEndOfEvent { parent.runDeleteRules() }
            return
        }
        mergedRead = upwardRead.number
        parent.mergeAndRunDeleteRules()
    }

    /// The parts of the parent's source, as the parent reads them.
    private func bases() throws(StoreError) -> [OverlaySnapshot.Base] {
        var bases: [OverlaySnapshot.Base] = []
        for position in parent.generation.positions {
            let snapshot = try parent.generation.snapshot(at: position)
            let part = parent.generation.parts[position].part
            bases.append(.init(storeTag: part.storeTag, rootEntities: part.rootEntities, snapshot: snapshot))
        }
        return bases
    }

    private func moment(_ bases: [OverlaySnapshot.Base]) -> Moment {
        Moment(
            changeCount: parent.changeCount, readCount: parent.cache.changeCount,
            bases: bases.map { ObjectIdentifier($0.snapshot) })
    }

    // MARK: Changes

    /// Whether the parent has noted every object that has changed since the last snapshot.
    private func knowsUnseen(at moment: Moment) -> Bool {
        guard let former = latest?.moment, parent.memory.unseen.isActive else { return false }
        return former.readCount == moment.readCount && former.bases == moment.bases
            && moment.changeCount &- former.changeCount == parent.memory.unseen.count
    }

    /// The new objects that have no permanent ID yet.
    private func unnamedObjects() throws(StoreError) -> [ManagedObject] {
        guard try knowsUnseen(at: moment(bases())) else {
            return parent.memory.inserted.filter { $0.storedID.isTemporary }
        }
        var seen = Set<ObjectID>()
        let ids = parent.memory.unseen.ids.filter { $0.isTemporary && seen.insert($0).inserted }
        return ids.compactMap { parent.memory.registry[$0] }.filter { $0.overlayKind == .inserted }
    }

    /// Loads the rows of changed objects: an unordered list with changes does not need its owner's row, but the owner's
    /// entry does.
    private func loadRowsOfChanges() throws(StoreError) {
        guard try knowsUnseen(at: moment(bases())) else {
            for object in parent.memory.updated { try loadMissingRow(of: object) }
            return
        }
        guard parent.memory.unseen.mayLackRows else { return }
        for id in parent.memory.unseen.ids {
            if let object = parent.memory.registry[id] { try loadMissingRow(of: object) }
        }
    }

    /// Loads the row that the entry of a changed object needs, if it is not in memory.
    private func loadMissingRow(of object: ManagedObject) throws(StoreError) {
        guard !object.hasRow, object.overlayKind == .updated, !object.state.contains(.gone) else { return }
        try asSource { () throws(ContextError) in try parent.loadRow(of: object) }
    }

    /// Brings `records` and `changes` up to date, by all changed objects; returns what has changed for children.
    private func takeChanges(_ note: (ObjectSnapshot) -> Void) -> SavedChanges {
        var told = SavedChanges(contextName: parent.name, author: parent.transactionAuthor)
        let memory = parent.memory
        let lists = [memory.inserted, memory.updated, memory.deleted]
        let count = lists.reduce(0) { $0 + $1.count }
        records.reserveCapacity(count)
        if changes.count == 0, count > Self.fewCount {
            for entity in parent.model.entities where entity.root == entity.index {
                changes.reserveCapacity(lists.reduce(0) { $0 + $1.count(of: entity.family) }, root: entity.root)
            }
        }
        for list in lists {
            for object in list {
                assert(StepCount.note())
                take(object, &told, note)
            }
        }
        guard records.count > count else { return told }
        var unchanged: [ObjectID] = []
        records.forEach { id, _ in
            if memory.registry.withObject(id, \.hasChanges) != true { unchanged.append(id) }
        }
        for id in unchanged { forget(id, &told) }
        return told
    }

    /// Does the same by the objects that the parent has noted.
    private func takeUnseen(_ note: (ObjectSnapshot) -> Void) -> SavedChanges {
        var told = SavedChanges(contextName: parent.name, author: parent.transactionAuthor)
        var seen = Set<ObjectID>()
        for id in parent.memory.unseen.ids where seen.insert(id).inserted {
            assert(StepCount.note())
            if let object = parent.memory.registry[id], object.hasChanges {
                take(object, &told, note)
            } else if records.withValue(of: id, { _ in true }) != nil {
                forget(id, &told)
            }
        }
        assert(checkRecords())
        return told
    }

    /// Brings the record of a changed object up to date.
    private func take(_ object: ManagedObject, _ told: inout SavedChanges, _ note: (ObjectSnapshot) -> Void) {
        let id = object.storedID
        let isRecorded = records.withValue(of: id, object.isAsRecorded)
        guard isRecorded != true, let kind = object.overlayKind else { return }
        let root = object.withShape { $0.entity.root }
        // Without a record there is no entry.
        let former = isRecorded == nil ? nil : changes.entry(id, root: root)
        assert(isRecorded != nil || changes.entry(id, root: root) == nil, "invariant 2 of ParentSource: \(id)")
        let entry = object.overlayEntry(kind, former: former)
        records.set(object.record(), for: id)
        if let former, former.isSame(as: entry) { return }
        changes.replace(former, by: entry, for: id, root: root)
        told.note(id, entry.kind, former?.kind)
        if former?.kind == .deleted, entry.kind != .deleted { revokedCount += 1 }
        if (entry.kind == .deleted) != (former?.kind == .deleted) { noteOneWay(object.entity, &told) }
        if entry.kind == .updated, let row = entry.row { note(row) }
    }

    /// Removes the record of an object that has no changes any more.
    private func forget(_ id: ObjectID, _ told: inout SavedChanges) {
        revokedCount += 1
        records.remove(id)
        guard let entity = entities[id.entityTag] else { return }
        let former = changes.entry(id, root: entity.root)
        changes.replace(former, by: nil, for: id, root: entity.root)
        told.note(id, nil, former?.kind)
        // A new object is gone, or a deleted one is back.
        if let former, former.kind != .updated { noteOneWay(entity, &told) }
    }

    /// Asserts that a look at all changed objects would find no other changes than those that were noted; call it
    /// inside `assert`.
    private func checkRecords() -> Bool {
        let memory = parent.memory
        guard records.count <= Self.checkedCountMax else { return true }
        assert(records.count == memory.inserted.count + memory.updated.count + memory.deleted.count, "\(records.count)")
        for list in [memory.inserted, memory.updated, memory.deleted] {
            for object in list {
                let isRecorded = records.withValue(of: object.storedID, object.isAsRecorded)
                // The row of a deleted object may have been read since.
                assert(isRecorded == true || isRecorded != nil && object.isDeleted, "\(object.storedID) is not noted")
            }
        }
        return true
    }

    /// Notes that any object may have changed, if relationships without inverse lead to an object that is deleted now,
    /// or not any more: from which objects they lead is not known.
    private func noteOneWay(_ entity: Entity, _ told: inout SavedChanges) {
        if parent.model.oneWayDestinations.contains(where: entity.isKind) { told.isEverything = true }
    }

    // MARK: Saves of the parent

    /// An object that a save is about to write, as children see it.
    struct Seen {
        let object: ManagedObject
        let id: ObjectID
        let kind: OverlayEntry.Kind
        let entry: OverlayEntry?
        /// Whether children have seen the object as changed.
        let isKnown: Bool
        /// Whether children have seen the present values.
        let isPresent: Bool
    }

    /// The objects that a save of the parent has written, as children see them; the objects still have their changes.
    func seen(of saves: [ManagedObjectContext.SaveOutcome.PartSave]) -> [Seen] {
        var seen: [Seen] = []
        seen.reserveCapacity(records.count)
        for save in saves {
            for (kind, list) in [
                (OverlayEntry.Kind.inserted, save.changes.inserted), (.updated, save.changes.updated),
                (.deleted, save.changes.deleted),
            ] {
                for object in list {
                    let id = object.storedID
                    let isPresent = records.withValue(of: id, object.isAsRecorded)
                    let root = object.withShape { $0.entity.root }
                    seen.append(
                        Seen(
                            object: object, id: id, kind: kind,
                            entry: isPresent == nil ? nil : changes.entry(id, root: root), isKnown: isPresent != nil,
                            isPresent: isPresent == true))
                }
            }
        }
        return seen
    }

    /// Keeps the versions of objects that the parent has saved, because they have the same values in the store now;
    /// tells children of the objects that have other values than they have seen.
    ///
    /// - Parameter hasMerged: whether the save has merged new objects into rows. Relationships to such an object lead
    ///   to the row now, and children read everything again.
    func noteSaved(_ seen: [Seen], hasMerged: Bool) {
        var told = SavedChanges(contextName: parent.name, author: parent.transactionAuthor)
        changes.savedVersions.reserveCapacity(seen.count)
        for seen in seen {
            let object = seen.object
            guard seen.isPresent else {
                told.note(object.storedID, seen.kind, seen.entry?.kind)
                continue
            }
            guard let shown = seen.entry?.row, let row = object.row, row.version != shown.version,
                !hasMerged || seen.entry?.isStored(as: row, of: object.entity) == true
            else { continue }
            changes.savedVersions.set(.init(stored: row.version, shown: shown.version), for: object.storedID)
        }
        forget(seen)
        latest = nil
        if hasMerged { tellEverything() } else if told.idCount > 0 { tell(told, except: nil) }
    }

    /// Forgets the changes of these objects.
    private func forget(_ seen: [Seen]) {
        // The usual case: children still have a snapshot of the changes, and removing them one by one would copy it.
        if seen.count(where: \.isKnown) == records.count {
            records = ObjectIDTable()
            return changes.removeAllEntries()
        }
        for seen in seen where seen.isKnown {
            records.remove(seen.id)
            changes.replace(seen.entry, by: nil, for: seen.id, root: seen.object.entity.root)
        }
    }
}

extension OverlayEntry {
    fileprivate func isSame(as other: OverlayEntry) -> Bool {
        kind == other.kind && row?.version == other.row?.version && lists == other.lists
    }

    /// Whether a stored row has the values that children have seen; an order may lead to other objects.
    fileprivate func isStored(as row: ObjectSnapshot, of entity: Entity) -> Bool {
        self.row?.hasSameContent(as: row, of: entity) == true && lists.values.allSatisfy { $0.order == nil }
    }
}

extension SavedChanges {
    /// Notes what children are told about an object that was changed in one way and is now changed in another.
    fileprivate mutating func note(_ id: ObjectID, _ kind: OverlayEntry.Kind?, _ former: OverlayEntry.Kind?) {
        switch (former, kind) {
        case (.deleted, .deleted): break
        case (_, .deleted), (.inserted, nil): deleted.append(id)
        case (nil, .inserted), (.deleted, _): inserted.append(id)
        default: updated.append(id)
        }
    }
}

extension ManagedObject {
    /// The present state, whose changes are not changed any more.
    fileprivate func record() -> ParentSource.Record {
        changes?.isShared = true
        newValues?.share()
        return ParentSource.Record(changes: changes, newValues: newValues, version: row?.version, state: state)
    }

    /// The kind of the unsaved changes; `nil` if there are none.
    fileprivate var overlayKind: OverlayEntry.Kind? {
        if state.contains(.deleted) { return .deleted }
        return state.contains(.inserted) ? .inserted : state.contains(.updated) ? .updated : nil
    }

    /// The flags that make a difference for children.
    private static var flagsForChildren: State { [.inserted, .deleted, .gone] }

    /// Whether nothing has changed since a record was made.
    func isAsRecorded(_ record: borrowing ParentSource.Record) -> Bool {
        changes === record.changes && hasSameNewValues(as: record.newValues) && row?.version == record.version
            && state.symmetricDifference(record.state).isDisjoint(with: Self.flagsForChildren)
    }

    private func hasSameNewValues(as former: RowValues?) -> Bool {
        guard let newValues, let former else { return newValues == nil && former == nil }
        return newValues.isSame(as: former)
    }

    /// The changes of this object as values.
    ///
    /// - Parameter former: the entry that children have seen last: if the values are equal, so is the version.
    fileprivate func overlayEntry(_ kind: OverlayEntry.Kind, former: OverlayEntry?) -> OverlayEntry {
        // A row that was deleted below changes is deleted for children, until a save of the parent decides.
        if kind == .deleted || state.contains(.gone) { return OverlayEntry(kind: .deleted, row: nil, lists: [:]) }
        var lists: [Int: OverlayList] = [:]
        for (slot, change) in changes?.values.toMany.pairs ?? [] {
            lists[slot] = OverlayList(
                order: change.list, added: Set(change.list == nil ? change.added.ids : []),
                removed: Set(change.list == nil ? change.removed.ids : []))
        }
        guard hasRow || kind == .inserted else { return OverlayEntry(kind: kind, row: nil, lists: lists) }
        let orders = lists.isEmpty ? lists : lists.filter { $0.value.order != nil }
        var row: ObjectSnapshot
        if let stored = self.row, newValues == nil {
            if let shown = shownRow(over: stored) {
                row = shown
            } else {
                let (attributes, destinations) = differences(from: stored)
                if attributes.isEmpty, destinations.isEmpty, orders.allSatisfy(isStoredOrder) {
                    // The row is the store's: only unordered lists have changed.
                    return OverlayEntry(kind: kind, row: stored, lists: lists)
                }
                row = ObjectSnapshot(
                    stored, of: entity, version: ParentSource.newVersion(), attributes: attributes,
                    destinations: destinations)
            }
        } else {
            row = newRow
        }
        if let former, let seen = former.row, seen.hasSameContent(as: row, of: entity),
            former.lists.filter({ $0.value.order != nil }) == orders
        {
            row = seen
        }
        // The record that follows shares the changes.
        changes?.shownRow = row.content
        return OverlayEntry(kind: kind, row: row, lists: lists)
    }

    /// The row that a context below this one has shown to its children for the same changes of the same row; `nil` if
    /// none has.
    ///
    /// Both contexts then show the same row at the same version, so that a save of the one below changes nothing for
    /// its children.
    private func shownRow(over stored: ObjectSnapshot) -> ObjectSnapshot? {
        guard let changes, changes.isShared, changes.values.toMany.isEmpty, let shown = changes.shownRow,
            shown.isChange(of: stored.content, at: stored.place)
        else { return nil }
        return ObjectSnapshot(id: storedID, content: shown, place: .none)
    }

    /// The attributes and to-one destinations that differ from a row of this object.
    private func differences(
        from stored: ObjectSnapshot
    ) -> (attributes: [(slot: Int, value: AttributeValue)], destinations: [(slot: Int, id: ObjectID?)]) {
        guard let values = changes?.values else { return ([], []) }
        let hasTransientAttributes = withShape { $0.hasTransientAttributes }
        func differs(_ slot: Int, _ value: AttributeValue) -> Bool {
            value != stored.value(at: slot) && !(hasTransientAttributes && entity.attributes[slot].isTransient)
        }
        // If all values differ, which is common, the list of the changes is used without a copy.
        var attributes = values.attributes.pairs
        if !attributes.allSatisfy({ differs($0.slot, $0.value) }) {
            attributes.removeAll { !differs($0.slot, $0.value) }
        }
        var destinations: [(slot: Int, id: ObjectID?)] = []
        for (slot, id) in values.destinations.pairs where id != stored.destination(at: slot) {
            destinations.append((slot, id))
        }
        return (attributes, destinations)
    }

    /// The values of an object without a row, at a version of its own.
    private var newRow: ObjectSnapshot {
        let defaults = shape.defaultValues
        return ObjectSnapshot(
            id: storedID, version: ParentSource.newVersion(),
            values: entity.attributes.map { attribute in
                attribute.isTransient
                    ? .null
                    : unsavedAttribute(at: attribute.slot) ?? row?.value(at: attribute.slot)
                        ?? defaults[attribute.slot]
            },
            destinations: entity.relationships.map { relationship in
                if relationship.isToMany { return nil }
                return unsavedDestinationID(at: relationship.slot) ?? row?.destination(at: relationship.slot)
            })
    }

    private func isStoredOrder(_ slot: Int, _ list: OverlayList) -> Bool {
        changes?.values.toMany[slot].map { $0.base == list.order } == true
    }
}
