// Validation: every rule of the model and every hook of the classes, all broken ones reported together (F-5).

import EspalierModel

extension ManagedObjectContext {
    /// Checks everything a save would write.
    ///
    /// - Throws: `ContextError.violations` with all that is wrong, refused changes included.
    func validate(_ changes: ChangeSet) throws(ContextError) {
        var violations: [Violation] = []
        for object in changes.inserted { object.checkInsert(&violations) }
        for object in changes.updated where !object.state.contains(.inaccessible) { object.checkUpdate(&violations) }
        for object in changes.deleted { object.checkDelete(&violations) }
        // Last, because counting destinations may have met some that cannot be read.
        violations = recorded + violations
        guard violations.isEmpty else { throw .violations(violations) }
    }
}

extension ManagedObject {
    fileprivate func checkInsert(_ violations: inout [Violation]) {
        for attribute in entity.attributes { check(attribute, attributeValue(at: attribute.slot), &violations) }
        for relationship in entity.relationships { check(relationship, &violations) }
        collect(&violations) { try validateForInsert() }
    }

    /// What is not changed was valid when it was saved.
    fileprivate func checkUpdate(_ violations: inout [Violation]) {
        guard let values = changes?.values else { return }
        for (slot, value) in values.attributes.pairs { check(entity.attributes[slot], value, &violations) }
        if !values.destinations.isEmpty || !values.toMany.isEmpty {
            let changed = Set(values.destinations.pairs.map(\.slot) + values.toMany.pairs.map(\.slot))
            for slot in changed.sorted() { check(entity.relationships[slot], &violations) }
        }
        collect(&violations) { try validateForUpdate() }
    }

    /// A relationship with rule deny must have no destination that stays (MO-39).
    fileprivate func checkDelete(_ violations: inout [Violation]) {
        for relationship in entity.relationships where relationship.deleteRule == .deny {
            let destinations =
                relationship.isToMany
                ? self.destinations(at: relationship.slot) : destination(at: relationship.slot).map { [$0] } ?? []
            let staying = destinations.filter { !$0.isDeleted }.map(\.storedID)
            if !staying.isEmpty {
                violations.append(Violation(self, relationship.name, .deniedDelete(destinations: staying)))
            }
        }
        collect(&violations) { try validateForDelete() }
    }

    private func check(_ attribute: Attribute, _ value: AttributeValue, _ violations: inout [Violation]) {
        guard !attribute.isTransient else { return }
        if value.isNull {
            if !attribute.isOptional { violations.append(Violation(self, attribute.name, .missingValue)) }
            return
        }
        guard case .integer(let number) = value else { return }
        let range: ClosedRange<Int64>
        switch attribute.type {
        case .integer16: range = Int64(Int16.min)...Int64(Int16.max)
        case .integer32: range = Int64(Int32.min)...Int64(Int32.max)
        default: return
        }
        if !range.contains(number) {
            violations.append(
                Violation(
                    self, attribute.name,
                    .outOfRange(value: value, minimum: range.lowerBound, maximum: range.upperBound)))
        }
    }

    private func check(_ relationship: Relationship, _ violations: inout [Violation]) {
        guard relationship.isToMany else {
            if !relationship.isOptional && destinationID(at: relationship.slot) == nil {
                violations.append(Violation(self, relationship.name, .missingValue))
            }
            return
        }
        let description = relationship.description
        // Counting may load the list: only where a rule asks for it.
        guard !relationship.isOptional || description.minCount > 0 || description.maxCount > 0 else { return }
        let count = destinationIDs(at: relationship.slot).count
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
