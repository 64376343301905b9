// The early check of unique values with each event, for those who observe broken constraints (F-6).
//
// Invariants
//   1. An event is checked with the objects that it has changed: among the changed objects of the context, and against
//      the rows of the generation that the context reads.
//   2. The check changes nothing, and an error of reading is left to the next read.
// Not here: the check of all objects in memory on demand, reports and policies (+Constraints).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The most values that one request to the stores looks up.
    private static let lookupCountMax = 500

    /// Tells which constraints the objects break that an event has inserted or changed.
    func checkUniqueValues(of event: ObjectsDidChangeMessage) {
        guard observesConstraints, let check = uniqueCheck else { return }
        if !event.invalidatedAll.isEmpty { check.renew(self) }
        for object in event.deleted.union(event.invalidated) { check.remove(object) }
        var keys: [UniqueValueCheck.Key] = []
        let changed = event.inserted.union(event.updated).union(event.refreshed)
        for object in changed.sorted(by: { ObjectID.inOrderOfCreation($0.storedID, $1.storedID) }) {
            if object.managedObjectContext === self, object.hasChanges, !object.isDeleted {
                keys += check.enter(object)
            } else {
                check.remove(object)
            }
        }
        if keys.isEmpty { return }
        let rows = rowsHaving(keys)
        var (conflicts, seen): ([UniquenessConflict], Set<UniqueValueCheck.Key>) = ([], [])
        for key in keys where seen.insert(key).inserted {
            let objects = check.objects(with: key).map(\.storedID).sorted(by: ObjectID.inOrderOfCreation)
            guard objects.count > 1 || rows[key] != nil else { continue }
            let conflict = UniquenessConflict(
                key.name, values: key.values.map(\.value), objects: objects, stored: rows[key])
            if isUnresolved(conflict) { conflicts.append(conflict) }
        }
        tellBrokenConstraints(withValues(conflicts))
    }

    /// Whether neither an action nor a merge policy of this context would resolve a broken constraint.
    func isUnresolved(_ conflict: UniquenessConflict) -> Bool {
        if let action = constraintActions[conflict.constraint] { return action == .refuse }
        switch policy(of: model.entity(named: conflict.entityName)).rule {
        case .error: return true
        case .objectTrump, .overwrite:
            // Only a new object can be merged into another one.
            return conflict.objects.allSatisfy { memory.registry[$0]?.isInserted != true }
        case .storeTrump, .rollback, nil: return false
        }
    }

    /// The rows that have these values, apart from those that the next save deletes or gives other values.
    private func rowsHaving(_ keys: [UniqueValueCheck.Key]) -> [UniqueValueCheck.Key: ObjectID] {
        var found: [UniqueValueCheck.Key: ObjectID] = [:]
        for (name, keys) in Dictionary(grouping: keys, by: \.name) {
            guard let entity = model.entity(named: name.entityName) else { continue }
            followCascades(to: entity)
            let slots = name.properties.compactMap(entity.property(named:))
            var start = 0
            while start < keys.count {
                let end = min(start + Self.lookupCountMax, keys.count)
                for row in (try? rows(of: entity, name, keys[start..<end])) ?? [] {
                    let key = UniqueValueCheck.Key(name: name, values: slots.map { UniqueValue(row.value(of: $0)) })
                    if willDelete(row.id) || isOfSave(row.id, name) { continue }
                    found[key] = row.id
                }
                start = end
            }
        }
        return found
    }

    /// The rows that have one of some values of a constraint.
    private func rows(
        of entity: Entity, _ name: ConstraintName, _ keys: ArraySlice<UniqueValueCheck.Key>
    ) throws -> [ObjectSnapshot] {
        // No row leads to a new object.
        let values = keys.map { $0.values.map(\.value) }.filter { !$0.contains(where: \.isTemporaryID) }
        if values.isEmpty { return [] }
        func path(_ name: String) -> FetchExpression { .keyPath(FetchKeyPath([name])) }
        let condition: FetchPredicate
        if name.properties.count == 1 {
            condition = .comparison(
                .init(path(name.properties[0]), .in, .list(values.map { .value($0[0]) })))
        } else {
            condition = .or(
                values.map { values in
                    .and(zip(name.properties, values).map { .comparison(.init(path($0), .equal, .value($1))) })
                })
        }
        let fetch = StoreFetch(
            entity: entity, includesSubentities: true,
            predicate: try ResolvedPredicate(condition, for: entity, in: model), sort: [], offset: 0, limit: nil)
        return try storedRows(fetch).flatMap { Array($0) }
    }
}

extension ObjectSnapshot {
    /// The value of an attribute or to-one relationship, as a constraint compares it.
    fileprivate func value(of property: Entity.Property) -> AttributeValue {
        switch property {
        case .attribute(let slot): value(at: slot)
        case .relationship(let slot): destination(at: slot).map { .objectID($0) } ?? .null
        }
    }
}

extension AttributeValue {
    fileprivate var isTemporaryID: Bool { if case .objectID(let id) = self { id.isTemporary } else { false } }
}
