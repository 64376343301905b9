// Section 1: keys, and their order.

/// A key of a tree.
enum Key: Comparable {
    case integer(UInt64)
    case bytes([UInt8])

    static func < (left: Key, right: Key) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        // Kinds do not meet within a tree; rule 72 sees to that.
        case (.integer, .bytes): true
        case (.bytes, .integer): false
        }
    }
}

/// The keys between two fences; `nil` is the end of the tree.
struct KeyInterval: Equatable {
    var low: Key?
    var high: Key?
}
