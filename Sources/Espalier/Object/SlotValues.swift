// A few values by slot: what an object has changed, without a dictionary.
//
// Invariants
//   1. Dense values have one for each slot from 0 up; sparse ones are not empty and hold no slot twice.
//   2. Writing keeps dense values dense; taking one out makes them sparse.
//   3. Either way there is one array: an object has three of these, and each array is memory to be had and given back.

/// Values of some of the slots of an entity.
enum SlotValues<Value> {
    case empty
    case dense([Value])
    case sparse([(slot: Int, value: Value)])

    var isEmpty: Bool {
        if case .empty = self { true } else { false }
    }

    /// Whether `slot` has a value.
    func contains(_ slot: Int) -> Bool {
        switch self {
        case .empty: false
        case .dense(let values): slot < values.count
        case .sparse(let entries): entries.contains { $0.slot == slot }
        }
    }

    /// The value of `slot`, if there is one.
    ///
    /// O(1) if dense, else O(number of changed slots).
    subscript(slot: Int) -> Value? {
        get {
            switch self {
            case .empty: nil
            case .dense(let values): slot < values.count ? values[slot] : nil
            case .sparse(let entries): entries.first { $0.slot == slot }?.value
            }
        }
        set {
            if let newValue { set(newValue, at: slot) } else { remove(slot) }
        }
    }

    /// Sets the value of `slot`.
    mutating func set(_ value: consuming Value, at slot: Int) {
        // The array is taken out and put back, so that it changes in place.
        switch consume self {
        case .empty: self = .sparse([(slot, value)])
        case .dense(var values):
            values[slot] = value
            self = .dense(values)
        case .sparse(var entries):
            if let position = entries.firstIndex(where: { $0.slot == slot }) {
                entries[position].value = value
            } else {
                entries.append((slot, value))
            }
            self = .sparse(entries)
        }
    }

    /// Changes the value of `slot` in place, if there is one.
    mutating func modify(_ slot: Int, _ body: (inout Value) -> Void) {
        switch consume self {
        case .empty: self = .empty
        case .dense(var values):
            if slot < values.count { body(&values[slot]) }
            self = .dense(values)
        case .sparse(var entries):
            if let position = entries.firstIndex(where: { $0.slot == slot }) { body(&entries[position].value) }
            self = .sparse(entries)
        }
    }

    /// Slot and value pairs, ascending by slot.
    var pairs: [(slot: Int, value: Value)] {
        switch self {
        case .empty: []
        case .dense(let values): values.enumerated().map { ($0.offset, $0.element) }
        case .sparse(let entries):
            zip(entries, entries.dropFirst()).allSatisfy { $0.slot < $1.slot }
                ? entries : entries.sorted { $0.slot < $1.slot }
        }
    }

    private mutating func remove(_ slot: Int) {
        guard contains(slot) else { return }
        let rest = pairs.filter { $0.slot != slot }
        self = rest.isEmpty ? .empty : .sparse(rest)
    }
}
