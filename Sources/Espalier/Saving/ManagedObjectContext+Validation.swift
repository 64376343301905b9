// Validation: every rule of the model and every hook of the classes, all broken ones reported together (F-5).

import EspalierModel
import EspalierStore

/// How many violations a save tells whole: nobody reads more at once, and each has a text and an ID of its own.
private let toldViolationCountMax = 1000

extension ManagedObjectContext {
    /// Checks everything a save would write.
    ///
    /// - Throws: `ContextError.violations` with all that is wrong, refused changes included, or the first 1,000 and the
    ///   number of the others.
    func validate(_ changes: ChangeSet) throws(ContextError) {
        var violations: [Violation] = []
        var untoldCount = 0
        func keepFirst() {
            guard violations.count > toldViolationCountMax else { return }
            untoldCount += violations.count - toldViolationCountMax
            violations.removeLast(violations.count - toldViolationCountMax)
        }
        for object in changes.inserted {
            stage = SaveStage(.validateForInsert, object)
            object.checkInsert(&violations)
            keepFirst()
        }
        for object in changes.updated where !object.state.contains(.inaccessible) {
            stage = SaveStage(.validateForUpdate, object)
            object.checkUpdate(&violations)
            keepFirst()
        }
        for object in changes.deleted {
            stage = SaveStage(.validateForDelete, object)
            object.checkDelete(&violations)
            keepFirst()
        }
        stage = SaveStage(.validateForDelete)
        // Last, because counting destinations may have met some that cannot be read.
        violations = recorded + violations
        keepFirst()
        if untoldCount > 0, let last = violations.last {
            violations.append(Violation(nil, entityName: last.entityName, .more(count: untoldCount)))
        }
        guard violations.isEmpty else { throw .violations(violations) }
    }
}

extension ManagedObjectContext {
    /// Those of `ids`, all of one store, that are to be there after a save, as far as the context can know.
    ///
    /// One that is not in memory may be gone: what a deleted object leads to may have been deleted by others, too.
    ///
    /// - Complexity: O(IDs), and a question to the store for each batch of those that are not in memory.
    fileprivate func staying(_ ids: [ObjectID]) -> [ObjectID] {
        let batchCount = 256
        let unknown = ids.filter { memory.registry[$0] == nil }
        var gone = Set<ObjectID>()
        for start in stride(from: 0, to: unknown.count, by: batchCount) {
            let batch = Array(unknown[start..<min(start + batchCount, unknown.count)])
            // What cannot be read is left to the store.
            guard let rows = try? storedRows(of: batch) else {
                gone.formUnion(batch)
                continue
            }
            for (id, row) in zip(batch, rows) where row == nil { gone.insert(id) }
        }
        return ids.filter { id in
            guard let object = memory.registry[id] else { return !gone.contains(id) }
            // A changed object may be inserted again: then the store judges.
            return !object.isDeleted && object.state.isDisjoint(with: [.gone, .inaccessible])
        }
    }
}

extension ManagedObject {
    fileprivate func checkInsert(_ violations: inout [Violation]) {
        withShape { shape in
            let values = newValues ?? RowValues(shape.defaultValues, relationshipCount: 0)
            for slot in shape.attributeRules.indices {
                guard let rule = shape.attributeRules[slot] else { continue }
                // Most rules only ask for a value: then it is not copied.
                if rule.range == nil, !values.isNull(at: slot) { continue }
                if let reason = rule.reason(against: values.attribute(at: slot)) {
                    violations.append(Violation(self, entity.attributes[slot].name, reason))
                }
            }
        }
        // Counting destinations may run code of the application, which may make the context forget the shape.
        if withShape({ !$0.checkedRelationships.isEmpty }) {
            for relationship in shape.checkedRelationships { check(relationship, &violations) }
        }
        collect(&violations) { try validateForInsert() }
    }

    /// What is not changed was valid when it was saved.
    fileprivate func checkUpdate(_ violations: inout [Violation]) {
        guard let changes else { return }
        if !changes.values.attributes.isEmpty {
            let values = changes.values.attributes.pairs
            for position in values.indices {
                let slot = values[position].slot
                let reason = withShape { $0.attributeRules[slot]?.reason(against: values[position].value) }
                if let reason {
                    violations.append(Violation(self, entity.attributes[slot].name, reason))
                }
            }
        }
        if withShape({ !$0.checkedRelationships.isEmpty }) {
            for relationship in shape.checkedRelationships
            where changes.values.destinations.contains(relationship.slot)
                || changes.values.toMany.contains(relationship.slot)
            {
                check(relationship, &violations)
            }
        }
        collect(&violations) { try validateForUpdate() }
    }

    /// A relationship with rule deny must have no destination that stays (MO-39).
    ///
    /// Where rows go that are not in memory, only the store can tell which stay.
    fileprivate func checkDelete(_ violations: inout [Violation]) {
        if managedObjectContext?.leavesCascadesToStore != true {
            for relationship in shape.denyingRelationships {
                let staying = managedObjectContext?.staying(destinationIDs(across: relationship)) ?? []
                if !staying.isEmpty {
                    violations.append(Violation(self, relationship.name, .deniedDelete(destinations: staying)))
                }
            }
        }
        collect(&violations) { try validateForDelete() }
    }

    private func destinationIDs(across relationship: Relationship) -> [ObjectID] {
        guard relationship.isToMany else { return destinationID(at: relationship.slot).map { [$0] } ?? [] }
        return destinationIDs(at: relationship.slot)
    }

    /// Checks one of `EntityShape.checkedRelationships`.
    private func check(_ relationship: Relationship, _ violations: inout [Violation]) {
        guard relationship.isToMany else {
            if !relationship.isOptional && destinationID(at: relationship.slot) == nil {
                violations.append(Violation(self, relationship.name, .missingValue))
            }
            return
        }
        let description = relationship.description
        let count = destinationCount(at: relationship.slot)
        if count == 0 {
            if !relationship.isOptional { violations.append(Violation(self, relationship.name, .missingValue)) }
        } else if count < description.minCount {
            violations.append(
                Violation(
                    self, relationship.name, .tooFewDestinations(count: count, minimum: description.minCount)))
        } else if description.maxCount > 0 && count > description.maxCount {
            violations.append(
                Violation(
                    self, relationship.name, .tooManyDestinations(count: count, maximum: description.maxCount)))
        }
    }

    private func collect(_ violations: inout [Violation], _ hook: () throws -> Void) {
        do {
            try hook()
        } catch let violation as Violation {
            violations.append(violation)
        } catch ContextError.violations(let found) {
            violations += found
        } catch {
            violations.append(Violation(self, nil, .custom("\(error)")))
        }
    }
}
