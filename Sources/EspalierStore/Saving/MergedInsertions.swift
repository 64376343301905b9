// The insertions of a save that are merged into rows with their unique values, as the request says
// (`ConstraintAction`): the same for every kind of store.
//
// Rules
//   1. An insertion is merged if all of its unique values that are taken are taken by one row, of its entity or a
//      subentity, and there is an action for each of these constraints. Else it remains, and the save is refused if one
//      of its values is taken at the end.
//   2. A value is taken if a row has it after the deletions with their rules, and with the updates and insertions of
//      the request. Insertions are resolved in the order of the request, but after those to which their unique values
//      lead.
//   3. The values of a merged insertion are applied after the request's own update of the row.
// Invariants
//   1. Without actions no row is looked up. The request is not changed here, but in `PreparedSave.apply`.

internal import EspalierModel

/// The insertions of one save that create no rows.
struct MergedInsertions {
    /// A stored row as the request leaves it.
    private struct TargetRow {
        struct Values {
            var attributes: [AttributeValue]
            var destinations: [ObjectID?]
        }
        let stored: ObjectSnapshot
        /// The values with the request's own update.
        let updated: Values
        /// The values with those of merged insertions.
        var merged: Values
    }

    /// The values of a row in a constraint, as bytes that are equal if the values are.
    private struct Key: Hashable {
        let group: Int
        let bytes: [UInt8]
    }

    private let save: PreparedSave
    private let schema: StoreSchema
    /// By position of the constraint in the schema.
    private var actions: [Int: ConstraintAction] = [:]
    /// For each entity, its uniqueness constraints; empty if no action is about one of them.
    private var constraints: [[Int]] = []
    /// Positions of insertions and updates, by ID.
    private var insertions = ObjectIDTable<Int>()
    private var updates = ObjectIDTable<Int>()
    private var storedRows: [ObjectID: TargetRow] = [:]
    /// The rows to which the request gave unique values; they may have others by now.
    private var brought: [Key: ObjectID] = [:]
    /// The rows into which insertions were merged, by position of the insertion.
    private(set) var targets: [Int: ObjectID] = [:]
    /// The same rows, by the ID that the row of the insertion would have got.
    private(set) var replacements: [ObjectID: ObjectID] = [:]
    /// The values of new rows into which other insertions were merged, by position.
    private(set) var newRows: [Int: RowValues] = [:]
    /// The changes of stored rows: only values that they do not have already.
    private(set) var changes: [SaveRequest.Update] = []

    /// - Throws: `StoreError.invalidRequest` if there is no such constraint, or the errors of reading rows.
    init<State: SaveState & ~Copyable>(
        _ save: PreparedSave, _ actions: [ConstraintName: ConstraintAction], schema: StoreSchema,
        in state: borrowing State
    ) throws(StoreError) {
        (self.save, self.schema) = (save, schema)
        guard !actions.isEmpty else { return }
        for (name, action) in actions {
            let group = schema.groups.firstIndex { group in
                group.isUnique && group.properties == name.properties
                    && schema.model.entities[group.entity].name == name.entityName
            }
            guard let group else {
                throw .invalidRequest(
                    reason: "\(name.entityName) has no uniqueness constraint on "
                        + name.properties.joined(separator: ", "))
            }
            if action != .refuse { self.actions[group] = action }
        }
        constraints = schema.groupsByEntity.map { groups in
            groups.contains { self.actions[$0] != nil } ? groups.filter { schema.groups[$0].isUnique } : []
        }
        guard save.ids.contains(where: { !constraints[schema.entityIndex(of: $0)].isEmpty }) else { return }
        for (position, id) in save.ids.enumerated() { insertions.set(position, for: id) }
        for (position, update) in save.updates.enumerated() { updates.set(position, for: update.id) }
        for update in save.updates {
            let entity = schema.entityIndex(of: update.id)
            guard !constraints[entity].isEmpty, schema.isIndexed(update.values, update.destinations, of: entity),
                try isStored(update.id, state)
            else { continue }
            noteValues(of: update.id)
        }
        for position in order() where !constraints[schema.entityIndex(of: save.ids[position])].isEmpty {
            try resolve(position, state)
        }
        assert(targets.count == replacements.count, "\(targets.count) insertions have \(replacements.count) rows")
        assert(
            targets.values.allSatisfy { replacements[$0] == nil }, "a row that is merged itself replaces another one")
        changes = Set(targets.values).sorted { $0.key < $1.key }.compactMap(change)
    }

    /// Whether every insertion creates a row.
    var isEmpty: Bool { targets.isEmpty }

    // MARK: Deciding

    /// The positions of insertions, each after those to which its unique values lead.
    private func order() -> [Int] {
        let hasRelationships = constraints.contains { groups in
            groups.contains { schema.groups[$0].elements.contains { $0.type == .objectID } }
        }
        guard hasRelationships else { return Array(save.ids.indices) }
        var order: [Int] = []
        order.reserveCapacity(save.ids.count)
        var (isBegun, isDone) = (
            [Bool](repeating: false, count: save.ids.count), [Bool](repeating: false, count: save.ids.count)
        )
        var stack: [Int] = []
        for start in save.ids.indices {
            stack.append(start)
            while let position = stack.last {
                if !isBegun[position] {
                    isBegun[position] = true
                    stack += uniqueDestinations(ofInsertion: position).filter { !isBegun[$0] }
                } else {
                    stack.removeLast()
                    if !isDone[position] { order.append(position) }
                    isDone[position] = true
                }
            }
        }
        assert(order.count == save.ids.count, "\(order.count) of \(save.ids.count) insertions are resolved")
        return order
    }

    /// The insertions to which unique values of an insertion lead.
    private func uniqueDestinations(ofInsertion position: Int) -> [Int] {
        constraints[schema.entityIndex(of: save.ids[position])].flatMap { schema.groups[$0].elements }.compactMap {
            guard case .relationship(let slot)? = $0.property else { return nil }
            return save.destination(at: slot, ofInsertion: position).flatMap { insertions[$0] }
        }
    }

    /// Decides whether an insertion is merged into another row.
    private mutating func resolve<State: SaveState & ~Copyable>(
        _ position: Int, _ state: borrowing State
    ) throws(StoreError) {
        let id = save.ids[position]
        let entity = schema.entityIndex(of: id)
        var found: ObjectID?
        var action = ConstraintAction.keep
        for group in constraints[entity] {
            guard let values = values(of: id, group), let holder = try holder(of: values, group, state) else {
                continue
            }
            let holders = schema.model.entities[schema.entityIndex(of: holder)]
            guard found == nil || found == holder, let wanted = actions[group],
                holders.isKind(of: schema.model.entities[entity])
            else { return noteValues(of: id) }
            found = holder
            if wanted == .merge { action = .merge }
        }
        // A stored row that has the ID of the insertion is not merged with itself: the store refuses the ID.
        guard let found, found != id else { return noteValues(of: id) }
        if insertions[found] == nil, try !isStored(found, state) { return noteValues(of: id) }
        assert(targets[position] == nil, "\(id) is merged into two rows")
        targets[position] = found
        replacements[id] = found
        if action == .merge { merge(save.insertions[position], into: found) }
    }

    /// The row that has these values in a constraint, with the changes of the request so far.
    private func holder<State: SaveState & ~Copyable>(
        of values: [AttributeValue], _ group: Int, _ state: borrowing State
    ) throws(StoreError) -> ObjectID? {
        assert(schema.groups[group].isUnique, "rows may share values in \(schema.groups[group].name)")
        let key = key(of: values, group)
        func has(_ id: ObjectID) -> Bool { self.values(of: id, group).map { self.key(of: $0, group) } == key }
        if let id = brought[key], has(id) { return id }
        guard let id = try state.holder(of: values, inGroup: group) else { return nil }
        return storedRows[id] == nil || has(id) ? id : nil
    }

    /// Reads a stored row, once; returns whether there is one.
    private mutating func isStored<State: SaveState & ~Copyable>(
        _ id: ObjectID, _ state: borrowing State
    ) throws(StoreError) -> Bool {
        if storedRows[id] != nil { return true }
        guard let row = try state.rows([id])[0] else { return false }
        assert(row.id == id, "\(row.id) was read instead of \(id)")
        let entity = schema.model.entities[schema.entityIndex(of: id)]
        var values = TargetRow.Values(
            attributes: entity.attributes.indices.map { row.value(at: $0) },
            destinations: entity.relationships.indices.map { row.destination(at: $0) })
        if let position = updates[id] {
            for (slot, value) in save.updates[position].values { values.attributes[slot] = value }
            for (slot, destination) in save.updates[position].destinations { values.destinations[slot] = destination }
        }
        storedRows[id] = TargetRow(stored: row, updated: values, merged: values)
        return true
    }

    // MARK: Values

    /// Applies the values of an insertion to a row.
    private mutating func merge(_ insertion: SaveRequest.Insertion, into id: ObjectID) {
        assert(insertions[id] != nil || storedRows[id] != nil, "\(id) is neither new nor was it read")
        let (entity, row) = (schema.model.entities[schema.entityIndex(of: id)], insertion.row)
        let new = insertions[id].map { newRows[$0] ?? save.insertions[$0].row.copy() }
        assert(new?.isShared != true, "the values of \(id) have another owner")
        var values: [(slot: Int, value: AttributeValue)] = []
        for slot in 0..<row.attributeCount where insertion.merges(entity.attributes[slot]) {
            values.append((slot, row.attribute(at: slot)))
        }
        // Values that are derived from these may be unique, too.
        for (slot, value) in schema.derivations.completed(values, of: entity.index, at: save.moment) {
            if let new { new.setAttribute(value, at: slot) } else { storedRows[id]?.merged.attributes[slot] = value }
        }
        for slot in 0..<row.relationshipCount where insertion.merges(entity.relationships[slot]) {
            let destination = row.destination(at: slot)
            if let new {
                new.setDestination(destination, at: slot)
            } else {
                storedRows[id]?.merged.destinations[slot] = destination.map(save.permanentIDs.permanent)
            }
        }
        if let position = insertions[id] { newRows[position] = new }
        noteValues(of: id)
    }

    /// Notes the unique values of a row.
    private mutating func noteValues(of id: ObjectID) {
        for group in constraints[schema.entityIndex(of: id)] {
            if let values = values(of: id, group) { brought[key(of: values, group)] = id }
        }
    }

    /// The values of a row in a constraint; `nil` if one of them is null.
    private func values(of id: ObjectID, _ group: Int) -> [AttributeValue]? {
        let source: ValueSource
        if let position = insertions[id] {
            source = .new(newRows[position] ?? save.insertions[position].row, save.permanentIDs)
        } else if let row = storedRows[id] {
            source = .values(row.merged.attributes, destinations: row.merged.destinations)
        } else {
            return nil
        }
        var values: [AttributeValue] = []
        for element in schema.groups[group].elements {
            switch source.value(of: element) {
            case .null: return nil
            case .objectID(let id): values.append(.objectID(replacements[id] ?? id))
            case let value: values.append(value)
            }
        }
        return values
    }

    private func key(of values: [AttributeValue], _ group: Int) -> Key {
        assert(values.count == schema.groups[group].elements.count, "\(values.count) values in a constraint")
        var bytes: [UInt8] = []
        for (value, element) in zip(values, schema.groups[group].elements) {
            if case .objectID(let id) = value {
                bytes.append(bigEndian: id.entityTag)
                bytes.append(bigEndian: id.key)
            } else {
                KeyCoding.append(value, as: element.type, isAscending: true, to: &bytes)
            }
        }
        return Key(group: group, bytes: bytes)
    }

    // MARK: Results

    /// The change of a stored row; `nil` if it has all values already.
    private func change(of id: ObjectID) -> SaveRequest.Update? {
        guard let row = storedRows[id] else { return nil }
        assert(row.stored.id == id, "\(row.stored.id) was read instead of \(id)")
        var change = SaveRequest.Update(id: id, expectedVersion: row.stored.version)
        let (before, after) = (row.updated, row.merged)
        let attributes = schema.model.entities[schema.entityIndex(of: id)].attributes
        // Derived values follow from the others.
        for slot in after.attributes.indices
        where after.attributes[slot] != before.attributes[slot] && !attributes[slot].isDerived {
            change.values.append((slot, after.attributes[slot]))
        }
        for slot in after.destinations.indices {
            let destination = after.destinations[slot].map { replacements[$0] ?? $0 }
            if destination != before.destinations[slot] { change.destinations.append((slot, destination)) }
        }
        return change.values.isEmpty && change.destinations.isEmpty ? nil : change
    }

    /// The changes of lists, where rows replace the insertions that were merged into them.
    ///
    /// The destinations in a merged insertion's order are appended to those of the row.
    func united<Source: ListSource & ~Copyable>(
        _ links: [PreparedSave.ListChange], in source: borrowing Source
    ) throws(StoreError) -> [PreparedSave.ListChange] {
        func place(of id: ObjectID) -> ObjectID { replacements[id] ?? id }
        func places(of ids: [ObjectID]) -> [ObjectID] {
            guard ids.contains(where: { replacements[$0] != nil }) else { return ids }
            var seen = Set<ObjectID>()
            return ids.map(place).filter { seen.insert($0).inserted }
        }
        var united: [PreparedSave.ListChange] = []
        var orders: [ListID: Int] = [:]
        // The row's own change first.
        for isMerged in [false, true] {
            for change in links where (replacements[change.owner] != nil) == isMerged {
                let owner = place(of: change.owner)
                let key = ListID(change.relationship, of: owner)
                var (order, base) = (change.order.map { places(of: $0.ids) }, change.orderBase.map(places))
                if isMerged, let added = order {
                    let known = orders[key].map { united[$0] }
                    let stored = try known == nil ? source.destinations(of: owner, change.relationship) : []
                    let former = known?.order?.ids ?? stored
                    let before = Set(former)
                    order = former + added.filter { !before.contains($0) }
                    base = known == nil ? stored : known?.orderBase
                }
                let result = PreparedSave.ListChange(
                    owner: owner, relationship: change.relationship, added: places(of: change.added),
                    removed: places(of: change.removed), order: order.map(SentOrder.whole), orderBase: base)
                if isMerged, order != nil, let position = orders[key] {
                    united[position] = result
                } else {
                    if order != nil { orders[key] = united.count }
                    united.append(result)
                }
            }
        }
        assert(united.count <= links.count, "\(links.count) changes of lists become \(united.count)")
        return united
    }

    /// The owners whose lists are shorter because rows in them lead elsewhere now.
    var leftOwners: RowSet {
        var owners = RowSet()
        for change in changes {
            for (slot, _) in schema.listedToOnes[schema.entityIndex(of: change.id)]
            where change.destinations.contains(where: { $0.slot == slot }) {
                if let owner = storedRows[change.id]?.stored.destination(at: slot) { owners.insert(owner) }
            }
        }
        return owners
    }

    /// The result of a store that has written the changed request.
    ///
    /// - Parameter updated: the updated rows; those without an update in the request itself are last.
    func answer(inserted: SnapshotList, updated: SnapshotList) -> SaveResult {
        guard !isEmpty else { return SaveResult(inserted: inserted, updated: updated) }
        var rows: [ObjectID: ObjectSnapshot] = [:]
        for row in inserted { rows[row.id] = row }
        for row in updated { rows[row.id] = row }
        var new = inserted.makeIterator()
        let all = save.ids.indices.compactMap { position in
            guard let target = targets[position] else { return new.next() }
            return rows[target] ?? storedRows[target]?.stored
        }
        assert(all.count == save.ids.count, "\(all.count) rows for \(save.ids.count) insertions")
        return SaveResult(
            inserted: SnapshotList(all), merged: targets.keys.sorted(),
            updated: SnapshotList(updated.prefix(save.updates.count)))
    }
}
