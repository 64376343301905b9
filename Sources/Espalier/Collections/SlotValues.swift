// A few values by slot: the changes of an object, without a dictionary.
//
// Invariants
//   1. No slot occurs twice.
//   2. There is one array, which allocates nothing as long as there are no values.

/// Values of some of the slots of an entity.
struct SlotValues<Value> {
    private var entries: [(slot: Int, value: Value)] = []

    var isEmpty: Bool { entries.isEmpty }

    /// Whether `slot` has a value.
    func contains(_ slot: Int) -> Bool { position(of: slot) != nil }

    /// The value of `slot`, if there is one.
    ///
    /// - Complexity: O(number of slots with values), like every member of this type.
    subscript(slot: Int) -> Value? {
        get { position(of: slot).map { entries[$0].value } }
        set {
            if let newValue {
                set(newValue, at: slot)
            } else if let position = position(of: slot) {
                entries.remove(at: position)
            }
        }
    }

    /// Sets the value of `slot`.
    mutating func set(_ value: consuming Value, at slot: Int) {
        if let position = position(of: slot) {
            entries[position].value = value
        } else if entries.isEmpty {
            // Most objects have only one: an array of exactly this length, made in half the steps of one that grows.
            entries = [(slot, value)]
        } else {
            entries.append((slot, value))
        }
        assert(slot >= 0 && entries.count { $0.slot == slot } == 1, "invariant 1: slot \(slot)")
    }

    /// Removes the value of `slot`, if there is one.
    mutating func remove(_ slot: Int) {
        if let position = position(of: slot) { entries.remove(at: position) }
    }

    /// Changes the value of `slot` in place, if there is one.
    mutating func modify(_ slot: Int, _ body: (inout Value) -> Void) {
        if let position = position(of: slot) { body(&entries[position].value) }
    }

    /// Changes all values in place.
    mutating func modifyAll(_ body: (inout Value) -> Void) {
        for position in entries.indices { body(&entries[position].value) }
    }

    /// Slot and value pairs, ascending by slot.
    @inline(__always)
    var pairs: [(slot: Int, value: Value)] { entries.count < 2 ? entries : sortedEntries }

    private var sortedEntries: [(slot: Int, value: Value)] {
        zip(entries, entries.dropFirst()).allSatisfy { $0.slot < $1.slot }
            ? entries : entries.sorted { $0.slot < $1.slot }
    }

    private func position(of slot: Int) -> Int? { entries.firstIndex { $0.slot == slot } }
}
