// The values of a row that no store has written yet, in one allocation: a new object keeps them, and a save passes them
// to the store unchanged.
//
// Invariants
//   1. There is a value for each attribute slot and then one for each relationship slot: an object ID, or null.
//   2. A row of more than `denseCountMax` slots keeps only the values that differ from its initial ones: an entity far
//      down a line of subentities has many slots, of which most rows use few (`FewValues`).
//   3. Values change only until `share()` is called, which every owner does before it passes them on; to change them
//      later, copy them (`isShared`).
// The reason for one allocation is in EspalierStore.docc/Decisions.md.

package import EspalierModel

/// All values of a new row.
// SAFETY: by invariant 3, values that another thread can see do not change.
@safe
package struct RowValues: @unchecked Sendable {
    private struct Header {
        let attributeCount: Int
        let count: Int
        /// The values, if the row has many slots; then there are no elements.
        let few: FewValues?
        let isDense: Bool
        var isShared = false
    }

    /// The most slots of a row whose values lie in one allocation.
    static let denseCountMax = 64

    private final class Memory: ManagedBuffer<Header, AttributeValue> {
        deinit {
            // SAFETY: all `count` elements were initialized when the memory was allocated. They are moved out one by
            // one: for a whole range the runtime would look up for each element how to destroy it.
            unsafe withUnsafeMutablePointers { header, elements in
                guard unsafe header.pointee.isDense else { return }
                for place in 0..<(unsafe header.pointee.count) { _ = unsafe (elements + place).move() }
            }
        }
    }

    private let memory: Memory

    /// The values `attributes`, and `relationshipCount` relationship slots without a destination.
    package init(_ attributes: [AttributeValue], relationshipCount: Int) {
        assert(relationshipCount >= 0, "\(relationshipCount) relationship slots")
        let count = attributes.count + relationshipCount
        let isDense = count <= Self.denseCountMax
        self.init(attributes.count, count, isDense ? nil : FewValues(attributes))
        guard isDense else { return }
        let attributeCount = attributes.count
        // SAFETY: there is room for `count` elements, and each is initialized once.
        unsafe memory.withUnsafeMutablePointerToElements { elements in
            for slot in 0..<attributeCount { unsafe (elements + slot).initialize(to: attributes[slot]) }
            for place in attributeCount..<count { unsafe (elements + place).initialize(to: .null) }
        }
        assert(self.attributeCount == attributeCount && self.relationshipCount == relationshipCount, "invariant 1")
    }

    /// Values of so many slots: those of `few`, or without initial values.
    private init(_ attributeCount: Int, _ count: Int, _ few: FewValues?) {
        assert(attributeCount >= 0 && attributeCount <= count, "\(attributeCount) attributes in \(count) slots")
        let buffer = Memory.create(minimumCapacity: few == nil ? count : 0) { _ in
            Header(attributeCount: attributeCount, count: count, few: few, isDense: few == nil)
        }
        // SAFETY: `create` returns an instance of the class on which it is called.
        memory = unsafe unsafeDowncast(buffer, to: Memory.self)
    }

    /// The values of a row with these attributes and destinations.
    package init(_ attributes: [AttributeValue], _ destinations: [ObjectID?]) {
        self.init(attributes, relationshipCount: destinations.count)
        for (slot, destination) in destinations.enumerated() { setDestination(destination, at: slot) }
    }

    /// Whether both are the same values in memory: values that are shared are equal as long as they are.
    package func isSame(as other: RowValues) -> Bool { memory === other.memory }

    /// A copy of the values, which may be changed.
    package func copy() -> RowValues {
        guard let few else { return RowValues(attributes, destinations) }
        return RowValues(attributeCount, attributeCount + relationshipCount, few.copy())
    }

    private var few: FewValues? {
        // SAFETY: the header lives as long as the memory.
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe $0.pointee.few }
    }

    // MARK: Reading

    /// The number of attribute slots.
    package var attributeCount: Int {
        // SAFETY: the header lives as long as the memory.
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe $0.pointee.attributeCount }
    }

    /// The number of relationship slots.
    package var relationshipCount: Int {
        // SAFETY: as above.
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe $0.pointee.count - $0.pointee.attributeCount }
    }

    /// The values of the attributes, by slot.
    package var attributes: [AttributeValue] { (0..<attributeCount).map { attribute(at: $0) } }

    /// The destinations of the to-one relationships, by slot.
    package var destinations: [ObjectID?] { (0..<relationshipCount).map { destination(at: $0) } }

    /// The value of the attribute in `slot`.
    package func attribute(at slot: Int) -> AttributeValue {
        // SAFETY: copied in place here, and only inspected in the next method.
        unsafe withAttribute(at: slot) { unsafe $0.pointee }
    }

    /// Whether the attribute in `slot` has no value.
    package func isNull(at slot: Int) -> Bool {
        // SAFETY: only inspected, in the call.
        unsafe withAttribute(at: slot) { if case .null = unsafe $0.pointee { true } else { false } }
    }

    /// Calls `body` with a pointer to the value of the attribute in `slot`: copying the value would count a reference.
    @inline(__always)
    func withAttribute<R>(at slot: Int, _ body: (UnsafePointer<AttributeValue>) -> R) -> R {
        // SAFETY: in bounds by the precondition.
        unsafe memory.withUnsafeMutablePointers { header, elements in
            let count = unsafe header.pointee.attributeCount
            precondition(slot >= 0 && slot < count, "an attribute of another entity")
            if unsafe header.pointee.isDense { return unsafe body(UnsafePointer(elements + slot)) }
            let value = unsafe header.pointee.few?[slot] ?? .null
            return unsafe withUnsafePointer(to: value) { unsafe body($0) }
        }
    }

    /// The destination of the to-one relationship in `slot`.
    package func destination(at slot: Int) -> ObjectID? {
        // SAFETY: in bounds by the precondition.
        unsafe memory.withUnsafeMutablePointers { header, elements in
            let (place, count) = unsafe (header.pointee.attributeCount + slot, header.pointee.count)
            precondition(slot >= 0 && place < count, "a relationship of another entity")
            // Two patterns, because one over either value would copy it.
            if unsafe header.pointee.isDense {
                guard case .objectID(let id) = unsafe elements[place] else { return nil }
                return id
            }
            guard case .objectID(let id)? = unsafe header.pointee.few?[place] else { return nil }
            return id
        }
    }

    // MARK: Changing

    /// Whether these values have another owner, so that they must not change.
    package var isShared: Bool {
        // SAFETY: the header lives as long as the memory.
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe $0.pointee.isShared }
    }

    /// Notes that these values have another owner.
    package func share() {
        // SAFETY: as above.
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe $0.pointee.isShared = true }
    }

    /// Sets the value of the attribute in `slot`.
    package func setAttribute(_ value: consuming AttributeValue, at slot: Int) {
        // SAFETY: in bounds by the precondition.
        unsafe memory.withUnsafeMutablePointers { header, elements in
            let (count, isShared) = unsafe (header.pointee.attributeCount, header.pointee.isShared)
            precondition(slot >= 0 && slot < count && !isShared, "an attribute of another entity, or of others")
            if unsafe header.pointee.isDense {
                unsafe elements[slot] = value
            } else {
                unsafe header.pointee.few?[slot] = value
            }
        }
    }

    /// Sets the destination of the to-one relationship in `slot`.
    package func setDestination(_ id: ObjectID?, at slot: Int) {
        // SAFETY: in bounds by the precondition.
        unsafe memory.withUnsafeMutablePointers { header, elements in
            let (place, count) = unsafe (header.pointee.attributeCount + slot, header.pointee.count)
            precondition(
                slot >= 0 && place < count && !(unsafe header.pointee.isShared),
                "a relationship of another entity, or of others")
            let value = id.map { AttributeValue.objectID($0) } ?? .null
            if unsafe header.pointee.isDense {
                unsafe elements[place] = value
            } else {
                unsafe header.pointee.few?[place] = value
            }
        }
    }
}
