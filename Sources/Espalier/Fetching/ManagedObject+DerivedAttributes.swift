// Reading derived attributes (MD-27): the stored value, or the one that follows from unsaved changes of the context.
//
// Invariants
//   1. While a context has unsaved changes, a derived value is computed when it is read, from the objects as it sees
//      them: the result is the value that a save would store. A context without changes returns stored values.
//   2. A child context always computes: its parent may have changes, and the rows that the child has read keep their
//      versions when the parent saves.
// Not here: derived times of saves, which only a save knows; what a save stores (`DerivedValues` of the store).

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The value of an attribute as the context sees it; computed for a derived one, if there are unsaved changes.
    ///
    /// - Complexity: O(destinations) for an aggregate, whose objects are loaded.
    final func presentValue(at slot: Int) -> AttributeValue {
        if let derivation = derivationInMemory(at: slot) {
            do throws(ContextError) {
                if let value = try derivation.value(on: GraphSubject(object: self)) { return value }
            } catch {
                recordUnreadable(entity.attributes[slot].name, error)
            }
        }
        return attributeValue(at: slot)
    }

    /// The rule of a derived attribute, if its value has to be computed in memory.
    @inline(__always)
    final func derivationInMemory(at slot: Int) -> ResolvedDerivation? {
        guard let derivation = withShape({ $0.derivation(at: slot) }) else { return nil }
        guard let context = managedObjectContext, !isDeleted else { return nil }
        return context.holdsChanges || context.parent != nil ? derivation : nil
    }

    /// A derived attribute that always has a value.
    ///
    /// For @Entity only.
    public final func _getDerived<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value {
        Value(attributeValue: derivedValue(name, at: index)) ?? Value.unsetValue
    }

    /// A derived attribute that may be without a value.
    ///
    /// For @Entity only.
    public final func _getDerived<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value? {
        Value(attributeValue: derivedValue(name, at: index))
    }

    private func derivedValue(_ name: StaticString, at index: Int) -> AttributeValue {
        guard let slot = attributeSlot(name, at: index) else { return .null }
        noteRead(.attribute(slot))
        return presentValue(at: slot)
    }
}
