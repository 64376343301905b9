// What a store knows of an entity by the tag that object IDs carry.
//
// Tags are running numbers of the process, so a list takes the place of a dictionary: looking one up for every row of
// a save and every reference hashed for 20 ns each time.

/// Values by entity tag.
struct EntityTagTable<Value: Sendable>: Sendable {
    private var values: [Value?] = []

    /// Of several values for one tag the first counts.
    init(_ pairs: [(tag: UInt32, value: Value)]) {
        for (tag, value) in pairs {
            while values.count <= Int(tag) { values.append(nil) }
            values[Int(tag)] = values[Int(tag)] ?? value
        }
    }

    subscript(tag: UInt32) -> Value? { Int(tag) < values.count ? values[Int(tag)] : nil }
}
