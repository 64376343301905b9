// Broken uniqueness constraints: what a save reports, how merge policies resolve them, and an early check in memory.
//
// Invariants
//   1. A constraint with a declared action never asks a policy. The policy of the entity that declares a constraint
//      decides about it.
//   2. A rule leaves the merging to the store, in the transaction of the save. A policy of the application's own is
//      asked about one object after the other, and merges objects of the context.
//   3. A changed object is never merged into another row: it can only get other values.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The broken uniqueness constraints among the objects in memory, without asking a store (F-6).
    ///
    /// At least one object of each conflict is new or changed. The store also knows the rows that are not in memory: a
    /// save may find more conflicts, and an action that the constraint declares or a merge policy may resolve these.
    ///
    /// - Complexity: O(objects in memory) if an entity with constraints has new or changed objects, otherwise O(changed
    ///   objects).
    public func uniquenessConflicts() -> [UniquenessConflict] {
        uniquenessConflicts(lookupCountMax: 0).map { conflict in
            conflict.with(
                objectValues: conflict.objects.map { memory.registry[$0]?.plainValues ?? [:] },
                storedValues: conflict.stored.flatMap { memory.registry[$0]?.plainValues } ?? [:])
        }
    }

    /// The report of the broken constraints that neither an action nor a policy would resolve, with rows that are not
    /// in memory.
    func unresolvedUniquenessConflicts(lookupCountMax: Int) -> [UniquenessConflict] {
        report(uniquenessConflicts(lookupCountMax: lookupCountMax).filter(isUnresolved))
    }

    private func uniquenessConflicts(lookupCountMax: Int) -> [UniquenessConflict] {
        if model.entities.allSatisfy(\.uniquenessConstraints.isEmpty) { return [] }
        let constraints = model.entities.map { entity in
            entity.uniquenessConstraints.isEmpty ? [] : model.uniquenessConstraints(of: entity)
        }
        let changed = Set(
            (Array(memory.inserted) + Array(memory.updated)).filter { object in
                !(constraints[at: object.entity.index] ?? []).isEmpty
            })
        guard !changed.isEmpty else { return [] }
        var groups = SharedValues()
        let unchanged = memory.registry.objects.filter { object in
            !changed.contains(object) && object.hasRow && !object.isDeleted
                && !(constraints[at: object.entity.index] ?? []).isEmpty
        }
        for object in changed.sorted(by: { ObjectID.inOrderOfCreation($0.storedID, $1.storedID) }) + unchanged {
            for (name, slots) in constraints[object.entity.index] {
                let values = slots.map { object.uniqueValue(of: $0) }
                if values.contains(.null) { continue }
                groups.add(object.storedID, name, values, isStored: !changed.contains(object))
            }
        }
        if lookupCountMax > 0 {
            groups.lookUp(countMax: lookupCountMax) { name, values in holder(of: values, name) }
        }
        return groups.conflicts
    }

    /// The stored row that has these values of a constraint, and whose object here has not changed them.
    private func holder(of values: [AttributeValue], _ constraint: ConstraintName) -> ObjectID? {
        guard let entity = model.entity(named: constraint.entityName) else { return nil }
        let conditions = zip(constraint.properties, values).map { name, value in
            FetchPredicate.comparison(.init(.keyPath(FetchKeyPath([name])), .equal, .value(value)))
        }
        guard let predicate = try? ResolvedPredicate(.and(conditions), for: entity, in: model) else { return nil }
        let fetch = StoreFetch(
            entity: entity, includesSubentities: true, predicate: predicate, sort: [], offset: 0, limit: 1)
        let found = (try? readObjects(fetch, nil)) ?? []
        return found.first { !$0.isDeleted && !isOfSave($0.storedID, constraint) }?.storedID
    }

    // MARK: Reports

    /// The conflicts that a store has found, grouped by their values.
    func grouped(_ found: [ConstraintConflict]) -> [UniquenessConflict] {
        moveToNewestGeneration()
        var groups = SharedValues()
        for conflict in found {
            let name = ConstraintName(conflict.entityName, conflict.properties)
            groups.add(conflict.other, name, conflict.values, isStored: !isOfSave(conflict.other, name))
            groups.add(conflict.object, name, conflict.values, isStored: false)
        }
        return groups.conflicts
    }

    /// Whether the running save has given an object the values of a constraint.
    func isOfSave(_ id: ObjectID, _ constraint: ConstraintName) -> Bool {
        guard let object = memory.registry[id] else { return false }
        if object.isInserted { return true }
        return constraint.properties.contains { name in
            object.entity.property(named: name).map(object.hasChange) == true
        }
    }

    /// The conflicts with the values of their objects and rows.
    ///
    /// - Parameter objectCountMax: the number of objects whose values are read.
    /// - Complexity: O(objects), and a read of the stores for each 500 rows.
    func withValues(_ conflicts: [UniquenessConflict], objectCountMax: Int = .max) -> [UniquenessConflict] {
        let rows = readableRows(conflicts.compactMap(\.stored))
        var objectCount = 0
        return conflicts.map { conflict in
            let objects = conflict.objects.prefix(objectCountMax - objectCount)
            objectCount += objects.count
            return conflict.with(
                objectValues: objects.map { memory.registry[$0]?.plainValues ?? [:] },
                storedValues: conflict.stored.flatMap { rows[$0] }.map(plainValues(of:)) ?? [:])
        }
    }

    /// The values of all attributes that are stored and to-one relationships of a row, by name.
    private func plainValues(of row: ObjectSnapshot) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        let entity = model.entities.first { $0.tag == row.id.entityTag }
        for attribute in entity?.attributes ?? [] where !attribute.isTransient {
            values[attribute.name] = row.value(at: attribute.slot)
        }
        for relationship in entity?.relationships ?? [] where !relationship.isToMany {
            values[relationship.name] = row.destination(at: relationship.slot).map { .objectID($0) } ?? .null
        }
        return values
    }

    // MARK: Policies

    /// Resolves broken constraints as the merge policies say; the save then tries again.
    ///
    /// - Throws: `ContextError.constraints` with all of them if one declares an action, or if a policy cannot resolve
    ///   one; `.refusedResolutions` for an answer that cannot be followed.
    func resolve(_ found: [ConstraintConflict]) throws(ContextError) {
        var (actions, asked): ([ConstraintName: ConstraintAction], [ConstraintConflict]) = ([:], [])
        for conflict in found {
            let name = ConstraintName(conflict.entityName, conflict.properties)
            guard constraintActions[name] == nil, saveRun?.policyActions[name] == nil,
                let object = memory.registry[conflict.object]
            else { throw .constraints(report(grouped(found))) }
            let isNew = object.isInserted || memory.registry[conflict.other]?.isInserted == true
            switch policy(of: model.entity(named: conflict.entityName)).rule {
            case .storeTrump? where isNew, .rollback? where isNew: actions[name] = .keep
            case .objectTrump? where isNew, .overwrite? where isNew: actions[name] = .merge
            case .storeTrump?: takeStoredValues(object, of: name)
            case .rollback?: takeStoredValues(object, of: nil)
            case .error?, .objectTrump?, .overwrite?: throw .constraints(report(grouped(found)))
            case nil: asked.append(conflict)
            }
        }
        saveRun?.policyActions.merge(actions) { $1 }
        if !asked.isEmpty { try ask(asked) }
    }

    /// Gives a changed object its stored values: those of one constraint, or all of them.
    private func takeStoredValues(_ object: ManagedObject, of constraint: ConstraintName?) {
        guard let row = object.row else { return }
        guard let constraint else {
            let stored = NewerRow(id: object.storedID, expectedVersion: row.version, stored: row)
            // Destinations that other contexts have added since must stay, so the lists are read again.
            cache.invalidate(object.storedID)
            return rebase([stored]) { _ in .deciding(.rollback) }
        }
        for case let property? in constraint.properties.map(object.entity.property(named:)) {
            switch property {
            case .attribute(let slot): _ = object.setAttributeValue(row.value(at: slot), at: slot)
            case .relationship(let slot): object.relate(to: row.destination(at: slot), at: slot)
            }
        }
    }

    /// Asks the policies of the application's own, once about each object, and follows their answers.
    private func ask(_ found: [ConstraintConflict]) throws(ContextError) {
        let told = withValues(grouped(found))
        var questions: [SharedValues.Key: UniquenessConflict] = [:]
        for conflict in told { questions[SharedValues.Key(conflict.constraint, conflict.values)] = conflict }
        var answers = MergeAnswers()
        var seen = Set<ObjectID>()
        for conflict in found {
            let isNew = memory.registry[conflict.object]?.isInserted == true
            let isOtherNew = memory.registry[conflict.other]?.isInserted == true
            let (id, other) =
                isNew || !isOtherNew ? (conflict.object, conflict.other) : (conflict.other, conflict.object)
            let name = ConstraintName(conflict.entityName, conflict.properties)
            guard let object = memory.registry[id], seen.insert(id).inserted,
                let question = questions[SharedValues.Key(name, conflict.values)],
                let resolver = policy(of: model.entity(named: conflict.entityName)).resolver
            else { continue }
            let resolution: ConstraintResolution
            stage = SaveStage(.mergePolicy, object)
            do {
                defer { stage = SaveStage(.storing) }
                resolution = try resolver.resolve(question, of: object)
            } catch {
                throw .refusedResolutions([Violation(object, message: "\(error)", underlying: error)])
            }
            try follow(resolution, object, other, name, told, &answers)
        }
        try carryOut(answers)
    }

    private func follow(
        _ resolution: ConstraintResolution, _ object: ManagedObject, _ other: ObjectID, _ name: ConstraintName,
        _ told: [UniquenessConflict], _ answers: inout MergeAnswers
    ) throws(ContextError) {
        func choose(_ values: [String: AttributeValue], _ object: ManagedObject) {
            for (property, value) in values.sorted(by: { $0.key < $1.key }) {
                answers.values.append((object, property, .value(value)))
            }
        }
        switch resolution {
        case .refuse: throw .constraints(report(told))
        case .change(let values): choose(values, object)
        case .keep where !object.isInserted: takeStoredValues(object, of: name)
        case .merge where !object.isInserted:
            let text = "the policy merges this object, which is stored already: only new objects can be merged"
            answers.refused.append(Violation(object, nil, .custom(text)))
        case .keep, .merge:
            // An object that was merged meanwhile is no longer there to merge with: the next attempt decides.
            if other.isTemporary, memory.registry[other] == nil { return }
            do {
                let united = try unite(object, with: other, resolution == .keep ? .keep : .merge)
                saveRun?.united.append((object, united))
                if case .merge(let values) = resolution { choose(values, united) }
            } catch {
                throw .constraints(report(told))
            }
        }
    }
}

extension ManagedObject {
    /// The values of all attributes and to-one relationships, by name.
    fileprivate var plainValues: [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        for attribute in entity.attributes { values[attribute.name] = attributeValue(at: attribute.slot) }
        for relationship in entity.relationships where !relationship.isToMany {
            values[relationship.name] = uniqueValue(of: .relationship(relationship.slot))
        }
        return values
    }
}

extension Array {
    fileprivate subscript(at index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
