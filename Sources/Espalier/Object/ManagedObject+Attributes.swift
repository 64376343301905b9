// Reading and writing attributes by slot: what typed and dynamic access have in common.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The current value of an attribute; fires the fault.
    final func attributeValue(at slot: Int) -> AttributeValue {
        if let changes, let value = changes.values.attributes[slot] { return value }
        if !state.contains(.fulfilled) { fireFault() }
        // Firing may have run `awakeFromFetch`, which may have set the value.
        if let changes, let value = changes.values.attributes[slot] { return value }
        if let row { return row.value(at: slot) }
        return state.contains(.inaccessible) ? .null : shape.defaultValues[slot]
    }

    /// Writes an attribute, or refuses with the reason; then nothing has changed.
    final func setAttributeValue(_ value: AttributeValue, at slot: Int) -> Violation.Reason? {
        if let reason = reasonNotToChange() { return reason }
        let attribute = entity.attributes[slot]
        guard attribute.canHold(value) else {
            return .wrongType(found: value.typeName, expected: attribute.type.name)
        }
        if !state.contains(.fulfilled) { fireFault() }
        if state.contains(.inaccessible) { return .rowIsGone }
        changeable().values.attributes[slot] = value
        noteChange()
        return nil
    }

    /// Why the object takes no changes, if it takes none.
    final func reasonNotToChange() -> Violation.Reason? {
        if state.isDisjoint(with: [.deleted, .ended, .inaccessible]) { return nil }
        if state.contains(.inaccessible) { return .rowIsGone }
        return .objectIsDeleted
    }

    /// The object's changes, its own; begins them if there are none.
    ///
    /// What a checkpoint keeps too is copied first. Use the result at once: kept longer it may not be the one that the
    /// object has.
    final func changeable() -> ObjectChanges {
        if isKnownUniquelyReferenced(&changes), let changes { return changes }
        if let shared = changes {
            let own = ObjectChanges(shared.values)
            changes = own
            return own
        }
        let started = ObjectChanges()
        if row == nil, state.isDisjoint(with: .registered) || state.contains(.inserted) {
            started.values.attributes = SlotValues(dense: shape.defaultValues, slots: shape.attributeSlots)
        }
        changes = started
        return started
    }

    /// Tells the context that the object has changed.
    final func noteChange() {
        guard let context = managedObjectContext, state.isDisjoint(with: .awakening) else { return }
        context.changeCount &+= 1
        guard state.isDisjoint(with: [.inserted, .updated, .deleted]) else { return }
        state.insert(.updated)
        context.updated.insert(self)
    }

    /// Notes a refused change, to be reported by the next save.
    final func refuse(_ property: String?, _ reason: Violation.Reason) {
        managedObjectContext?.record(Violation(self, property, reason))
    }
}

extension Attribute {
    /// Whether a value may stand in this attribute.
    ///
    /// Ranges are checked when saving, types at once.
    func canHold(_ value: AttributeValue) -> Bool {
        switch (value, type) {
        case (.null, _), (_, .undefined), (.integer, .integer16), (.integer, .integer32), (.integer, .integer64),
            (.decimal, .decimal), (.double, .double), (.float, .float), (.string, .string), (.boolean, .boolean),
            (.date, .date), (.binary, .binary), (.uuid, .uuid), (.uri, .uri), (.transformable, .transformable),
            (.objectID, .objectID), (.composite, .composite):
            true
        default:
            false
        }
    }
}
