// Computes the derived values that follow from the changes of a save, after all its other steps: the same for every
// kind of store, except data of an application, which have their own (MD-27).
//
// Rules
//   1. Attributes are computed in the order of the plan: each after those from which it is derived.
//   2. A count, or a sum of whole numbers, changes by the differences that the changed destinations make. Every other
//      value is computed anew for the objects concerned.
//   3. A derived value changes its row and not the row's version: it makes no conflict with the changes of other
//      writers.
// Invariants
//   1. The rows that are read are the changed ones, those that lead to them, and those to which they lead; for an
//      aggregate that is computed anew, also all destinations in its list.
//   2. A value is written to rows of the entity that declares the attribute only: it may inherit the relationship by
//      which the value is derived, and share that with rows of other entities.
// Not here: which changes are noted (DerivedChanges, DerivationPlan), and values that follow from one row alone
// (`PreparedSave.completeDerivedValues`).

internal import EspalierModel
internal import FoundationEssentials

/// The derived values that one save changes.
struct DerivedValues {
    /// The part of the new value of one object that is known.
    private enum Update {
        /// It follows from the object and what it leads to.
        case anew
        /// It differs from the present one by this number.
        case difference(Int64)
    }

    /// The number of rows that are read at a time.
    private static let batchCount = 1024

    private let schema: StoreSchema
    private let moment: Date
    /// The rows of which derived values have changed.
    private(set) var changed = RowSet()

    init(_ schema: StoreSchema, at moment: Date) { (self.schema, self.moment) = (schema, moment) }

    private var plan: DerivationPlan { schema.derivations }

    /// Computes the values that follow from the noted changes.
    mutating func carryOut<State: SaveState & ~Copyable>(in state: inout State) throws(StoreError) {
        guard !plan.isEmpty, !state.derivedChanges.isEmpty else { return }
        // A row whose derived values alone change gets no new time of its save.
        let saved = Array(state.derivedChanges.former.keys)
        for member in plan.members {
            var updates: [ObjectID: Update] = [:]
            let isOfTime = if case .now = member.derivation.source { true } else { false }
            let noted = isOfTime ? saved : Array(state.derivedChanges.former.keys)
            for id in noted where schema.entity(of: id)?.isKind(of: member.entity) == true {
                if case .list = member.derivation.source, !state.derivedChanges.isNew(id) { continue }
                updates[id] = .anew
            }
            switch member.derivation.source {
            case .own, .now: break
            case .across(let relationship, let slot, _):
                for (row, _) in try changedSources(of: relationship, [.attribute(slot)], state) {
                    for id in try leading(to: row, relationship, state) { updates[id] = .anew }
                }
            case .list(let list): try add(list, member.derivation, to: &updates, state)
            }
            try write(updates, member, in: &state)
        }
    }

    /// Computes all derived values of these rows anew, in the order of one attribute.
    mutating func recompute<State: SaveState & ~Copyable>(
        _ member: DerivationPlan.Member, of found: [ObjectSnapshot], in state: inout State
    ) throws(StoreError) {
        try write(found, member, in: &state) { _ in .anew }
    }

    // MARK: The objects concerned

    /// The stored rows at the other end of a relationship that have other values in some properties than before; new
    /// ones are noted as changes of lists.
    private func changedSources<State: SaveState & ~Copyable>(
        of relationship: Relationship, _ properties: Set<Entity.Property>, _ state: borrowing State
    ) throws(StoreError) -> [(row: ObjectSnapshot, former: ObjectSnapshot)] {
        let destination = schema.model.destination(of: relationship)
        var ids: [ObjectID] = []
        for (id, former) in state.derivedChanges.former where former != nil {
            if schema.entity(of: id)?.isKind(of: destination) == true { ids.append(id) }
        }
        var changed: [(row: ObjectSnapshot, former: ObjectSnapshot)] = []
        for batch in Self.batches(of: &ids) {
            for case let row? in try state.rows(batch) {
                guard case let former?? = state.derivedChanges.former[row.id] else { continue }
                let differs = properties.contains {
                    ValueSource.snapshot(row).value(of: $0) != ValueSource.snapshot(former).value(of: $0)
                }
                if differs { changed.append((row, former)) }
            }
        }
        return changed
    }

    /// The objects whose relationship leads to a row.
    private func leading<State: SaveState & ~Copyable>(
        to row: ObjectSnapshot, _ relationship: Relationship, _ state: borrowing State
    ) throws(StoreError) -> [ObjectID] {
        guard let inverse = schema.model.inverse(of: relationship) else { return [] }
        if inverse.isToMany { return try state.destinations(of: row.id, inverse) }
        return row.destination(at: inverse.slot).map { [$0] } ?? []
    }

    /// Adds the owners of lists that have changed, or of which a destination has.
    private func add<State: SaveState & ~Copyable>(
        _ list: ResolvedDerivation.List, _ derivation: ResolvedDerivation, to updates: inout [ObjectID: Update],
        _ state: borrowing State
    ) throws(StoreError) {
        let owners = state.derivedChanges.links[RelationshipID(list.relationship)] ?? [:]
        let sources =
            list.properties.isEmpty ? [] : try changedSources(of: list.relationship, list.properties, state)
        guard derivation.isKeptByDifference else {
            for owner in owners.keys { updates[owner] = .anew }
            for (row, _) in sources {
                for owner in try leading(to: row, list.relationship, state) { updates[owner] = .anew }
            }
            return
        }
        // New rows begin with the value of an empty list.
        for owner in updates.keys { updates[owner] = .difference(0) }
        for (row, former) in sources {
            let difference = contribution(of: row, list).subtractingReportingOverflow(contribution(of: former, list))
            for owner in try leading(to: row, list.relationship, state) where owners[owner]?[row.id] ?? 0 == 0 {
                add(difference, to: owner, &updates)
            }
        }
        var pairs: [(owner: ObjectID, destination: ObjectID, isAdded: Bool)] = []
        for (owner, destinations) in owners {
            for (destination, change) in destinations where change != 0 {
                pairs.append((owner, destination, change > 0))
            }
        }
        pairs.sort { $0.destination.isBefore($1.destination) }
        for start in stride(from: 0, to: pairs.count, by: Self.batchCount) {
            let batch = pairs[start..<min(start + Self.batchCount, pairs.count)]
            let isPlain = list.isPlainCount
            let present = isPlain ? [] : try state.rows(batch.map(\.destination))
            assert(isPlain || present.count == batch.count, "\(present.count) rows of \(batch.count) destinations")
            for (position, pair) in batch.enumerated() {
                var value: Int64 = 1
                if !isPlain {
                    let former = state.derivedChanges.former[pair.destination] ?? nil
                    let row = pair.isAdded ? present[position] : former ?? present[position]
                    value = row.map { contribution(of: $0, list) } ?? 0
                }
                add(
                    pair.isAdded ? (value, false) : Int64(0).subtractingReportingOverflow(value), to: pair.owner,
                    &updates)
            }
        }
    }

    private func add(
        _ difference: (partialValue: Int64, overflow: Bool), to owner: ObjectID, _ updates: inout [ObjectID: Update]
    ) {
        guard case .difference(let sum) = updates[owner] ?? .difference(0) else { return }
        let (result, overflow) = sum.addingReportingOverflow(difference.partialValue)
        updates[owner] = overflow || difference.overflow ? .anew : .difference(result)
    }

    /// The part of a count or sum that is due to one destination.
    private func contribution(of row: ObjectSnapshot, _ list: ResolvedDerivation.List) -> Int64 {
        guard let entity = schema.entity(of: row.id),
            list.includes(OwnValues(source: .snapshot(row), entity: entity, objectID: row.id))
        else {
            return 0
        }
        guard let slot = list.slot else { return 1 }
        if case .integer(let number) = row.value(at: slot) { return number }
        return 0
    }

    // MARK: Values

    private mutating func write<State: SaveState & ~Copyable>(
        _ updates: [ObjectID: Update], _ member: DerivationPlan.Member, in state: inout State
    ) throws(StoreError) {
        // A relationship that the entity inherits leads from rows of other entities too, which lack the attribute.
        var ids = updates.keys.filter { schema.entity(of: $0)?.isKind(of: member.entity) == true }
        for batch in Self.batches(of: &ids) {
            try write(try state.rows(batch).compactMap(\.self), member, in: &state) { updates[$0] ?? .anew }
        }
    }

    private mutating func write<State: SaveState & ~Copyable>(
        _ found: [ObjectSnapshot], _ member: DerivationPlan.Member, in state: inout State,
        _ update: (ObjectID) -> Update
    ) throws(StoreError) {
        assert(
            found.allSatisfy { schema.entity(of: $0.id)?.isKind(of: member.entity) == true },
            "invariant 2: of \(found.count) rows one has no \(member.entity.name).\(member.derivation.attribute.name)")
        var changes: [(row: ObjectSnapshot, value: AttributeValue)] = []
        for row in found {
            let old = row.value(at: member.slot)
            let new = try value(of: member.derivation, row, update(row.id), state)
            // All NaN are one value.
            if let new, UniqueValue(new) != UniqueValue(old) { changes.append((row, new)) }
        }
        guard !changes.isEmpty else { return }
        for (row, _) in changes { changed.insert(row.id) }
        try state.setDerivedValues(changes, at: member.slot)
    }

    private func value<State: SaveState & ~Copyable>(
        of derivation: ResolvedDerivation, _ row: ObjectSnapshot, _ update: Update, _ state: borrowing State
    ) throws(StoreError) -> AttributeValue? {
        switch derivation.source {
        case .own(let slot, let function): return derivation.derived(row.value(at: slot), function)
        case .now: return .date(moment)
        case .across(let relationship, let slot, let function):
            guard let id = row.destination(at: relationship.slot) else { return derivation.derived(.null, function) }
            return derivation.derived(try state.rows([id])[0]?.value(at: slot) ?? .null, function)
        case .list(let list):
            if case .difference(let difference) = update,
                case .integer(let old) = row.value(at: derivation.attribute.slot)
            {
                let (sum, overflow) = old.addingReportingOverflow(difference)
                if !overflow { return derivation.converted(.integer(sum)) }
            }
            return try aggregate(list, derivation, of: row.id, state)
        }
    }

    /// The aggregate of all destinations of one owner.
    private func aggregate<State: SaveState & ~Copyable>(
        _ list: ResolvedDerivation.List, _ derivation: ResolvedDerivation, of owner: ObjectID, _ state: borrowing State
    ) throws(StoreError) -> AttributeValue {
        var ids = try state.destinations(of: owner, list.relationship)
        if list.isPlainCount { return derivation.count(ids.count) }
        var values: [AttributeValue] = []
        for batch in Self.batches(of: &ids) {
            for case let row? in try state.rows(batch) {
                guard let entity = schema.entity(of: row.id),
                    list.includes(OwnValues(source: .snapshot(row), entity: entity, objectID: row.id))
                else { continue }
                values.append(list.slot.map { row.value(at: $0) } ?? .boolean(true))
            }
        }
        return derivation.aggregate(values, of: list)
    }

    /// The IDs by entity and key, in batches.
    private static func batches(of ids: inout [ObjectID]) -> [[ObjectID]] {
        ids.sort { $0.isBefore($1) }
        return stride(from: 0, to: ids.count, by: batchCount).map { [ids] start in
            Array(ids[start..<min(start + batchCount, ids.count)])
        }
    }
}

extension ObjectID {
    /// The order in which rows are read best.
    fileprivate func isBefore(_ other: ObjectID) -> Bool { (entityTag, key) < (other.entityTag, other.key) }
}
