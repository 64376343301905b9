// Validation: checks every rule of the model and every hook of the classes, and reports all violations together (F-5).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Checks all changes that a save would write.
    ///
    /// - Parameter watch: learns which hooks set other values.
    /// - Throws: `ContextError.violations` with all violations, including refused changes, or with the first 1,000 and
    ///   the number of the others.
    func validate(_ changes: ChangeSet, _ watch: ChangeWatch?) throws(ContextError) {
        beginWatch(watch)
        defer { beginWatch(nil) }
        var violations: [Violation] = []
        var untoldCount = 0
        func keepFirst() {
            guard violations.count > Self.toldCountMax else { return }
            untoldCount += violations.count - Self.toldCountMax
            violations.removeLast(violations.count - Self.toldCountMax)
        }
        for object in changes.inserted {
            stage = SaveStage(.validateForInsert, object)
            object.checkInsert(&violations)
            watch?.check(self)
            keepFirst()
        }
        for object in changes.updated where !object.state.contains(.inaccessible) {
            stage = SaveStage(.validateForUpdate, object)
            object.checkUpdate(&violations)
            watch?.check(self)
            keepFirst()
        }
        for object in changes.deleted {
            stage = SaveStage(.validateForDelete, object)
            object.checkDelete(&violations)
            watch?.check(self)
            keepFirst()
        }
        stage = SaveStage(.validateForDelete)
        // Last, because the checks may have recorded destinations that cannot be read.
        violations = recorded.all + violations
        untoldCount += recorded.untoldCount
        keepFirst()
        if untoldCount > 0, let last = violations.last {
            violations.append(Violation(nil, entityName: last.entityName, .more(count: untoldCount)))
        }
        guard violations.isEmpty else { throw .violations(violations) }
    }
}

extension ManagedObjectContext {
    /// The `ids`, all of one store, of the objects that will exist after a save, as far as the context can know.
    ///
    /// The row of an object that is not in memory may be deleted: another context may have deleted it, too.
    ///
    /// - Complexity: O(IDs), and one read of the store for each batch of those that are not in memory.
    fileprivate func staying(_ ids: [ObjectID]) -> [ObjectID] {
        let batchCount = 256
        let unknown = ids.filter { memory.registry[$0] == nil }
        var gone = Set<ObjectID>()
        for start in stride(from: 0, to: unknown.count, by: batchCount) {
            let batch = Array(unknown[start..<min(start + batchCount, unknown.count)])
            // The store decides about rows that cannot be read.
            guard let rows = try? storedRows(of: batch) else {
                gone.formUnion(batch)
                continue
            }
            for (id, row) in zip(batch, rows) where row == nil { gone.insert(id) }
        }
        return ids.filter { id in
            guard let object = memory.registry[id] else { return !gone.contains(id) }
            // A changed object whose row is deleted may be inserted again: then the store decides.
            return !object.isDeleted && object.state.isDisjoint(with: [.gone, .inaccessible])
        }
    }
}

extension ManagedObject {
    fileprivate func checkInsert(_ violations: inout [Violation]) {
        let start = violations.count
        withShape { shape in
            let values = newValues ?? RowValues(shape.defaultValues, relationshipCount: 0)
            for slot in shape.attributeRules.indices {
                guard let rule = shape.attributeRules[slot] else { continue }
                // Most rules only require a value: then it need not be copied.
                if rule.range == nil, !values.isNull(at: slot) { continue }
                if let reason = rule.reason(against: values.attribute(at: slot)) {
                    violations.append(Violation(self, entity.attributes[slot].name, reason))
                }
            }
            guard shape.hasValidationRules else { return }
            for slot in shape.validationRules.indices where !shape.validationRules[slot].isEmpty {
                collectBrokenRules(&violations, values.attribute(at: slot), at: slot, shape)
            }
        }
        // Counting destinations may run application code, which may make the context forget the shape.
        if withShape({ !$0.checkedRelationships.isEmpty }) {
            for relationship in shape.checkedRelationships { check(relationship, &violations) }
        }
        if withShape({ !$0.validatedProperties.isEmpty }) { checkByClass(isNew: true, &violations, from: start) }
        collect(&violations) { try validateForInsert() }
    }

    /// Checks the changed properties only: the others were valid when they were saved.
    fileprivate func checkUpdate(_ violations: inout [Violation]) {
        guard let changes else { return }
        let start = violations.count
        if !changes.values.attributes.isEmpty {
            let values = changes.values.attributes.pairs
            for position in values.indices {
                let slot = values[position].slot
                let reason = withShape { shape in
                    if shape.hasValidationRules {
                        collectBrokenRules(&violations, values[position].value, at: slot, shape)
                    }
                    return shape.attributeRules[slot]?.reason(against: values[position].value)
                }
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
        if withShape({ !$0.validatedProperties.isEmpty }) { checkByClass(isNew: false, &violations, from: start) }
        collect(&violations) { try validateForUpdate() }
    }

    /// Appends the rules of an attribute and its elements that a value breaks.
    final func collectBrokenRules(
        _ violations: inout [Violation], _ value: AttributeValue, at slot: Int, _ shape: EntityShape
    ) {
        for rule in shape.validationRules[slot] where !rule.holds(for: value) {
            violations.append(
                Violation(
                    self, rule.name(in: entity.attributes[slot].name),
                    .ruleBroken(rule.rule, value: rule.part(of: value))))
        }
    }

    /// A relationship with rule deny must have no destination that stays (MO-39).
    ///
    /// If the store will delete rows that are not in memory, only the store knows which destinations stay.
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
        let count =
            relationship.isToMany
            ? shownCount(at: relationship.slot) : destinationID(at: relationship.slot) == nil ? 0 : 1
        if let reason = relationship.reason(againstCount: count) {
            violations.append(Violation(self, relationship.name, reason))
        }
    }

    /// Appends the errors that a hook of the class throws, as violations of a property or of the object as a whole.
    final func collect(_ violations: inout [Violation], of property: String? = nil, _ hook: () throws -> Void) {
        do {
            try hook()
        } catch let violation as Violation {
            violations.append(violation)
        } catch ContextError.violations(let found) {
            violations += found
        } catch {
            violations.append(Violation(self, property: property, message: "\(error)", underlying: error))
        }
    }
}

extension Relationship {
    /// The reason why the relationship cannot have this number of destinations; `nil` if it can.
    func reason(againstCount count: Int) -> Violation.Reason? {
        if count == 0 { return isOptional ? nil : .missingValue }
        guard isToMany else { return nil }
        if count < description.minCount { return .tooFewDestinations(count: count, minimum: description.minCount) }
        let isTooMany = description.maxCount > 0 && count > description.maxCount
        return isTooMany ? .tooManyDestinations(count: count, maximum: description.maxCount) : nil
    }
}
