// A few values by slot: what an object has changed, without a dictionary.
//
// Invariants
//   1. `slots` holds no slot twice; `slots.count == values.count`.
//   2. A dense instance (slot i at position i) is read without searching, and is never made sparse by writing to it.

/// Values of some of the slots of an entity.
struct SlotValues<Value> {
    private(set) var slots: [UInt16] = []
    private(set) var values: [Value] = []

    /// No values.
    init() {}

    /// One value for each slot from 0 up; `slots` is shared by all objects of an entity.
    init(dense values: [Value], slots: [UInt16]) { (self.slots, self.values) = (slots, values) }

    var isEmpty: Bool { slots.isEmpty }

    /// All values in the order of slots if there is one for each of `count` slots, made by `init(dense:slots:)`.
    func dense(count: Int) -> [Value]? {
        guard values.count == count, (slots.last.map { Int($0) + 1 } ?? 0) == count, slots.first ?? 0 == 0 else {
            return nil
        }
        return zip(slots, slots.dropFirst()).allSatisfy { $0 < $1 } ? values : nil
    }

    /// The value of `slot`, if there is one.
    ///
    /// O(1) if dense, else O(number of changed slots).
    subscript(slot: Int) -> Value? {
        get { position(of: slot).map { values[$0] } }
        set {
            switch (position(of: slot), newValue) {
            case (let position?, let value?):
                values[position] = value
            case (nil, let value?):
                slots.append(UInt16(slot))
                values.append(value)
            case (let position?, nil):
                slots.remove(at: position)
                values.remove(at: position)
            case (nil, nil):
                break
            }
        }
    }

    /// Changes the value of `slot` in place, which begins as `start` if there is none.
    mutating func modify(_ slot: Int, startingAs start: @autoclosure () -> Value, _ body: (inout Value) -> Void) {
        if let position = position(of: slot) {
            body(&values[position])
        } else {
            var value = start()
            body(&value)
            slots.append(UInt16(slot))
            values.append(value)
        }
    }

    /// Slot and value pairs, ascending by slot; makes no list of them unless they have to be sorted.
    var pairs: some Sequence<(slot: Int, value: Value)> {
        let sorted = isSorted ? self : self.sorted
        return zip(sorted.slots, sorted.values).lazy.map { (slot: Int($0), value: $1) }
    }

    private var isSorted: Bool { zip(slots, slots.dropFirst()).allSatisfy { $0 < $1 } }

    private var sorted: SlotValues {
        let order = slots.indices.sorted { slots[$0] < slots[$1] }
        var sorted = SlotValues()
        (sorted.slots, sorted.values) = (order.map { slots[$0] }, order.map { values[$0] })
        return sorted
    }

    private func position(of slot: Int) -> Int? {
        if slot < slots.count, Int(slots[slot]) == slot { return slot }
        return slots.firstIndex { Int($0) == slot }
    }
}
