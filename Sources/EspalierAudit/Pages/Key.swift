// FileFormat.md, section 1: keys and their order.

/// A key of a tree.
enum Key: Comparable {
    case integer(UInt64)
    case bytes([UInt8])

    static func < (left: Key, right: Key) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        // One tree has keys of one kind only: rule 72 guarantees it.
        case (.integer, .bytes): true
        case (.bytes, .integer): false
        }
    }
}

/// The keys from the fence `low` up to the fence `high`; `nil` is the end of the tree.
struct KeyInterval: Equatable {
    var low: Key?
    var high: Key?
}
