// Reading and writing attributes by slot, for both typed and dynamic access.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The current value of an attribute; fires the fault.
    @inline(__always)
    final func attributeValue(at slot: Int) -> AttributeValue {
        if changes == nil, isFulfilled, let value = withRow({ $0.value(at: slot, of: $1) }) {
            return value
        }
        return attributeValueOtherwise(at: slot)
    }

    /// The value of an attribute of an object that is a fault, changed or without a row.
    @inline(never)
    private final func attributeValueOtherwise(at slot: Int) -> AttributeValue {
        if let value = unsavedAttribute(at: slot) { return value }
        if !isFulfilled {
            fireFault()
            // Firing may have run `awakeFromFetch`, which may have set the value.
            if let value = unsavedAttribute(at: slot) { return value }
        }
        if let value = withRow({ $0.value(at: slot, of: $1) }) { return value }
        return state.contains(.inaccessible) ? .null : shape.defaultValues[slot]
    }

    /// The value that `read` finds in the committed row; `nil` if the object has unsaved changes; fires the fault.
    @inline(__always)
    final func committedValue<Value>(_ read: (RowContent, RowContent.Place) -> Value?) -> Value? {
        if !isFulfilled { fireFault() }
        return changes == nil ? withRow(read) ?? nil : nil
    }

    /// The unsaved value of an attribute, which may equal the committed one; `nil` if there is none.
    final func unsavedAttribute(at slot: Int) -> AttributeValue? {
        newValues?.attribute(at: slot) ?? changes?.values.attributes[slot]
    }

    /// Sets an attribute; if it refuses the value, it returns the reason and changes nothing.
    ///
    /// - Parameter mayBeDeleted: whether a deleted object accepts the value: an undo may take its deletion back later.
    final func setAttributeValue(
        _ value: consuming AttributeValue, at slot: Int, mayBeDeleted: Bool = false
    ) -> Violation.Reason? {
        if let reason = reasonNotToChange() {
            guard mayBeDeleted, state.isDisjoint(with: [.ended, .inaccessible]) else { return reason }
        }
        guard withShape({ $0.settableTypes[slot]?.canHold(value) }) == true else { return reasonNotToHold(value, slot) }
        if !isFulfilled {
            fireFault()
            if state.contains(.inaccessible) { return .rowIsGone }
        }
        willChange { .attribute(slot, $0.attributeValue(at: slot)) }
        if let newValues = changeableNewValues() {
            newValues.setAttribute(value, at: slot)
        } else {
            if changes?.values.bases != nil, row?.value(at: slot) == value { forgetBase(ofAttribute: slot) }
            changeable().setAttribute(value, at: slot)
        }
        noteChange()
        tellObserved()
        return nil
    }

    @inline(never)
    private final func reasonNotToHold(_ value: AttributeValue, _ slot: Int) -> Violation.Reason {
        if let derivation = withShape({ $0.derivation(at: slot) }) {
            return .derivedAttribute(expression: derivation.attribute.derivation?.expression ?? "")
        }
        return .wrongType(found: value.typeName, expected: withShape { $0.attributeTypes[slot] }.name)
    }

    /// The reason why the object refuses changes; `nil` if it accepts them.
    @inline(__always)
    final func reasonNotToChange() -> Violation.Reason? {
        state.isDisjoint(with: [.deleted, .ended, .inaccessible]) ? nil : reasonOfState()
    }

    @inline(never)
    private final func reasonOfState() -> Violation.Reason? {
        if state.contains(.inaccessible) { return .rowIsGone }
        return state.contains(.merged) ? .objectIsMerged(into: storedID) : .objectIsDeleted
    }

    /// The object's changes, for modification; made if there are none.
    ///
    /// Changes that a checkpoint keeps too are copied first. Use the result at once: later the object may have another
    /// instance.
    @inline(__always)
    final func changeable() -> ObjectChanges {
        if let changes, !changes.isShared { return changes }
        return startChanges()
    }

    @inline(never)
    private final func startChanges() -> ObjectChanges {
        let own = ObjectChanges(changes?.values ?? ObjectChanges.Values())
        changes = own
        return own
    }

    /// The values of an object that no store has yet, for modification; `nil` for other objects.
    ///
    /// Use them at once, like the result of `changeable`.
    @inline(__always)
    final func changeableNewValues() -> RowValues? {
        if let newValues, !newValues.isShared { return newValues }
        return hasRow ? nil : startNewValues()
    }

    @inline(never)
    private final func startNewValues() -> RowValues? {
        if let newValues {
            self.newValues = newValues.copy()
        } else if state.isDisjoint(with: .registered) || state.contains(.inserted) {
            newValues = RowValues(shape.defaultValues, relationshipCount: shape.inverses.count)
        }
        return newValues
    }

    /// Tells the context that the object has changed.
    final func noteChange() {
        withContext { context in
            if context.memory.hasListeners { tellListeners(of: context) }
            guard state.isDisjoint(with: .awakening) else { return }
            context.changeCount &+= 1
            guard state.isDisjoint(with: [.inserted, .updated]) else { return }
            state.insert(.updated)
            // An undo may change an object that is deleted, and take the deletion back afterwards.
            if !state.contains(.deleted) { context.memory.updated.insert(self) }
        }
    }

    @inline(never)
    private final func tellListeners(of context: ManagedObjectContext) {
        if context.memory.pendingValues.isActive { context.memory.pendingValues.noteChange(of: storedID) }
        guard state.isDisjoint(with: .awakening) else { return }
        context.tellListeners(of: self)
        context.noteUpdated(self)
    }

    /// Records a refused change for the next save to report.
    final func refuse(_ property: String?, _ reason: Violation.Reason) {
        requireContext()
        // A hook that renews derived values need not ask whether an undo has deleted the object.
        if state.isSuperset(of: [.deleted, .awakening]) { return }
        reportingContext?.record(Violation(self, property, reason))
    }

    /// The context whose next save reports the changes that this object refuses: its own, or the one that it has left.
    final var reportingContext: ManagedObjectContext? {
        if let context = managedObjectContext { return context }
        return state.contains(.ended) ? withShape { $0.context.object ?? $0.formerContext } : nil
    }

    /// Records a problem that a read has found, for the next save to report; once for a property that is read often.
    final func recordOnce(_ property: String?, _ reason: Violation.Reason) {
        guard let context = reportingContext else { return }
        let violation = Violation(self, property, reason)
        let isKnown = context.recorded.suffix(64).contains {
            $0.object == storedID && $0.property == property && $0.description == violation.description
        }
        if !isKnown { context.record(violation) }
    }
}

extension AttributeType {
    /// Whether an attribute of this type can hold a value.
    ///
    /// A setter checks the type at once; a save checks ranges.
    func canHold(_ value: AttributeValue) -> Bool {
        // One switch over the value alone: a tuple of both would copy it.
        switch value {
        case .null: true
        case .integer: self == .integer64 || self == .integer32 || self == .integer16 || self == .undefined
        default: accepts(value)
        }
    }
}
