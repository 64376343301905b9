// Values of entities by the tag that object IDs have.
//
// Tags are consecutive numbers of the process, so an array is enough (EspalierStore.docc/Decisions.md).

/// Values by entity tag.
struct EntityTagTable<Value: Sendable>: Sendable {
    private var values: [Value?] = []

    /// Of several values for one tag, the first is used.
    init(_ pairs: [(tag: UInt32, value: Value)]) {
        for (tag, value) in pairs {
            while values.count <= Int(tag) { values.append(nil) }
            values[Int(tag)] = values[Int(tag)] ?? value
        }
    }

    subscript(tag: UInt32) -> Value? { Int(tag) < values.count ? values[Int(tag)] : nil }
}
