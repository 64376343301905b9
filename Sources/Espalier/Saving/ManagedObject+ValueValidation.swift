// Validation of single values: by the model's rules, and by the class (MO-37).
//
// Invariants
//   1. The value that a hook of the class puts in the place of the checked one is checked by the model's rules, and
//      the rules that only the checked one breaks are no violations, on demand as in a save.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// Checks whether the property called `key` may have `value`, by the rules of the model and by
    /// `validate(_:forKey:)`, which may replace it (MO-37).
    ///
    /// Sets nothing. An application calls it to check what a person has typed, before it sets the property.
    ///
    /// - Throws: `ContextError.violations` with all violations; `.contextEnded` if the object's context has ended.
    /// - Complexity: O(1) for an attribute, O(destinations) for a relationship, and what the hook takes.
    public final func validateValue(_ value: inout PropertyValue, forKey key: String) throws(ContextError) {
        if isContextEnded { throw .contextEnded(storedID) }
        guard let property = entity.property(named: key) else {
            throw .violations([Violation(self, key, .unknownKey(known: entity.propertyNames))])
        }
        if let reason = reason(against: value, for: property) { throw .violations([Violation(self, key, reason)]) }
        var (checked, violations) = (value, [Violation]())
        collectBrokenRules(&violations, value, of: property)
        collect(&violations, of: key) { try validate(&checked, forKey: key) }
        if checked != value {
            if let reason = reason(against: checked, for: property) {
                violations.append(Violation(self, key, reason))
            } else {
                // The value that the hook has put in its place may follow the rules that the checked one breaks.
                violations.removeAll { $0.isBrokenRule(of: key, storedID) }
                collectBrokenRules(&violations, checked, of: property)
            }
        }
        guard violations.isEmpty else { throw .violations(violations) }
        value = checked
    }

    /// Calls the hook of the class for its validated properties: all those of a new object, otherwise those that have
    /// changed; sets the values that the hook replaces.
    ///
    /// - Parameter start: the position of the first violation that this check of the object has found.
    final func checkByClass(isNew: Bool, _ violations: inout [Violation], from start: Int) {
        for (name, property) in shape.validatedProperties {
            guard let property else {
                violations.append(Violation(self, name, .unknownKey(known: entity.propertyNames)))
                continue
            }
            guard isNew || hasChange(of: property) else { continue }
            defer { if let context = managedObjectContext { context.saveRun?.changeWatch?.check(context) } }
            let former = currentValue(of: property)
            var value = former
            collect(&violations, of: name) { try validate(&value, forKey: name) }
            guard value != former else { continue }
            if let reason = reason(against: value, for: property) {
                violations.append(Violation(self, name, reason))
                continue
            }
            let others = violations[start...].filter { !$0.isBrokenRule(of: name, storedID) }
            violations.replaceSubrange(start..., with: others)
            collectBrokenRules(&violations, value, of: property)
            do {
                try setValue(value, forKey: name)
            } catch {
                if case .violations(let found) = error { violations += found }
            }
        }
    }

    private func collectBrokenRules(
        _ violations: inout [Violation], _ value: PropertyValue, of property: Entity.Property
    ) {
        guard case .attribute(let slot) = property, case .attribute(let value) = value else { return }
        if shape.hasValidationRules { collectBrokenRules(&violations, value, at: slot, shape) }
    }

    final func hasChange(of property: Entity.Property) -> Bool {
        guard let values = changes?.values else { return false }
        return switch property {
        case .attribute(let slot): values.attributes.contains(slot)
        case .relationship(let slot): values.destinations.contains(slot) || values.toMany.contains(slot)
        }
    }

    private func currentValue(of property: Entity.Property) -> PropertyValue {
        switch property {
        case .attribute(let slot): .attribute(attributeValue(at: slot))
        case .relationship(let slot):
            entity.relationships[slot].isToMany ? .toMany(destinations(at: slot)) : .toOne(destination(at: slot))
        }
    }

    /// The reason why the property cannot have `value`, by the rules of the model.
    private func reason(against value: PropertyValue, for property: Entity.Property) -> Violation.Reason? {
        switch (property, value) {
        case (.attribute(let slot), .attribute(let value)):
            let type = shape.attributeTypes[slot]
            guard type.canHold(value) else { return .wrongType(found: value.typeName, expected: type.name) }
            return shape.attributeRules[slot]?.reason(against: value)
        case (.relationship(let slot), .toOne(let destination)) where !entity.relationships[slot].isToMany:
            return reason(against: destination.map { [$0] } ?? [], at: slot)
        case (.relationship(let slot), .toMany(let destinations)) where entity.relationships[slot].isToMany:
            return reason(against: destinations, at: slot)
        case (.attribute(let slot), _):
            return .wrongType(found: "an object", expected: entity.attributes[slot].type.name)
        case (.relationship(let slot), .attribute(let value)):
            return .wrongType(found: value.typeName, expected: entity.relationships[slot].kindName)
        case (.relationship(let slot), .toOne):
            return .wrongType(found: "one object", expected: entity.relationships[slot].kindName)
        case (.relationship(let slot), .toMany):
            return .wrongType(found: "several objects", expected: entity.relationships[slot].kindName)
        }
    }

    private func reason(against destinations: [ManagedObject], at slot: Int) -> Violation.Reason? {
        let relationship = entity.relationships[slot]
        for destination in destinations {
            if let other = destination.managedObjectContext, other !== managedObjectContext {
                return .objectOfOtherContext(destination.storedID)
            }
            if !destination.state.isDisjoint(with: [.deleted, .ended, .inaccessible]) {
                return .destinationIsDeleted(destination.storedID)
            }
            guard slot < shape.destinationEntities.count else { continue }
            let expected = shape.destinationEntities[slot]
            guard destination.entity.isKind(of: expected) else {
                return .wrongType(found: destination.entity.name, expected: expected.name)
            }
        }
        return relationship.reason(againstCount: destinations.count)
    }
}

extension Violation {
    /// Whether it is about a rule of the model for an attribute of an object, or for an element of that.
    fileprivate func isBrokenRule(of attribute: String, _ id: ObjectID) -> Bool {
        guard case .ruleBroken = reason, object == id, let property else { return false }
        return property == attribute || property.hasPrefix(attribute + ".")
    }
}

extension Relationship {
    fileprivate var kindName: String { isToMany ? "several objects" : "one object" }
}
