// Primitive values, and the announcements of accessors of one's own (MO-21 to MO-23).
//
// Invariants
//   1. A primitive read loads nothing and calls no hook. A primitive write of an attribute neither marks the object as
//      changed nor notifies anybody; `willChangeValue` and `didChangeValue` around it do both.
//   2. A relationship has no primitive form: its two ends have to agree, and both have to be saved.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The value of the property called `key` that is in memory; `nil` if it would have to be loaded (MO-21).
    ///
    /// Fires no fault: call `willAccessValue(forKey:)` before, which does.
    ///
    /// - Throws: `ContextError.violations` if the entity has no such property; `.contextEnded` for a relationship of an
    ///   object whose context has ended.
    public final func primitiveValue(forKey key: String) throws(ContextError) -> PropertyValue? {
        switch entity.property(named: key) {
        case .attribute(let slot)?:
            if let value = unsavedAttribute(at: slot) ?? withRow({ $0.value(at: slot, of: $1) }) {
                return .attribute(value)
            }
            return isFulfilled || !wasRegistered ? .attribute(shape.defaultValues[slot]) : nil
        case .relationship(let slot)?:
            if isContextEnded { throw .contextEnded(storedID) }
            let relationship = entity.relationships[slot]
            guard relationship.isToMany else {
                guard hasRow || unsavedDestinationID(at: slot) != nil || isInserted else { return nil }
                return .toOne(destination(at: slot))
            }
            return hasFault(forRelationshipNamed: key) ? nil : .toMany(destinations(at: slot))
        case nil: throw .violations([Violation(self, key, .unknownKey(known: entity.propertyNames))])
        }
    }

    /// Sets the property called `key` without marking the object as changed, without a step for the undo manager, and
    /// without notifying anybody (MO-21).
    ///
    /// The value of an attribute is saved if the object has other changes, too; otherwise it lasts until the object
    /// becomes a fault. A hook `willSave` that sets a value in this way is not called again because of it. If a
    /// validation hook sets the value of a changed object in this way, the hooks validate again, as after any change,
    /// unless the attribute is transient: what is saved was validated after its last change. To announce
    /// the change, call `willChangeValue(forKey:)` before and `didChangeValue(forKey:)` after it. A relationship is set
    /// as `setValue(_:forKey:)` does it: the objects at both ends become changed, because both have to be saved.
    ///
    /// - Throws: as `setValue(_:forKey:)`.
    public final func setPrimitiveValue(_ value: PropertyValue, forKey key: String) throws(ContextError) {
        guard case .attribute(let slot)? = entity.property(named: key), case .attribute(let value) = value else {
            return try setValue(value, forKey: key)
        }
        if isContextEnded { throw .contextEnded(storedID) }
        if let reason = setPrimitive(value, at: slot) { throw .violations([Violation(self, key, reason)]) }
    }

    private func setPrimitive(_ value: AttributeValue, at slot: Int) -> Violation.Reason? {
        if let reason = reasonNotToChange() { return reason }
        let type = shape.attributeTypes[slot]
        if let derivation = entity.attributes[slot].derivation {
            return .derivedAttribute(expression: derivation.expression)
        }
        guard type.canHold(value) else { return .wrongType(found: value.typeName, expected: type.name) }
        if !isFulfilled { fireFault() }
        if state.contains(.inaccessible) { return .rowIsGone }
        if let newValues = changeableNewValues() {
            newValues.setAttribute(value, at: slot)
        } else {
            if changes?.values.bases != nil, row?.value(at: slot) == value { forgetBase(ofAttribute: slot) }
            changeable().setAttribute(value, at: slot)
        }
        withContext { context in
            if context.memory.pendingValues.isActive { context.memory.pendingValues.noteChange(of: storedID) }
            // A child sees the value of a changed object. A running save must not take it for the change of `willSave`,
            // but a hook that validates one object may have set a value of another that was validated before.
            // No store gets a transient value, so that a hook which sets one needs no second validation.
            let isTransient = entity.attributes[slot].isTransient
            let isCounted =
                context.childSave != nil
                || context.stage.map { $0.hook == .transaction || $0.hook.isValidation && !isTransient } ?? true
            if hasChanges, isCounted { context.countChange(of: self) }
        }
        return nil
    }

    // MARK: Announcements

    /// Announces that an accessor is about to read a primitive value: fires the fault (MO-22).
    ///
    /// - Parameter key: the name of any property, also of one that the model does not have, or `nil`.
    public final func willAccessValue(forKey key: String?) {
        if !isFulfilled { fireFault() }
    }

    /// Announces that an accessor has read a primitive value (MO-22).
    public final func didAccessValue(forKey key: String?) {}

    /// Announces that an accessor is about to set a primitive value: fires the fault, and records the former value for
    /// the undo manager (MO-23).
    ///
    /// If the object refuses changes, the next save reports that. A name that the model does not have is ignored
    /// (MO-26).
    public final func willChangeValue(forKey key: String) {
        guard let property = entity.property(named: key) else { return }
        if let reason = reasonNotToChange() { return refuse(key, reason) }
        if !isFulfilled { fireFault() }
        if state.contains(.inaccessible) { return refuse(key, .rowIsGone) }
        if case .attribute(let slot) = property { willChange { .attribute(slot, $0.attributeValue(at: slot)) } }
    }

    /// Announces that an accessor has set a primitive value: marks the object as changed and notifies observers
    /// (MO-23).
    public final func didChangeValue(forKey key: String) {
        guard entity.property(named: key) != nil, reasonNotToChange() == nil else { return }
        noteChange()
        tellObserved()
    }
}
