// The oracle of the operation bodies: a sorted array for each tree.

/// The expected content of a tree.
struct SortedModel: Equatable {
    struct Entry: Equatable {
        let key: [UInt8]
        var value: [UInt8]
    }

    private(set) var entries: [Entry] = []

    /// The position of the first entry whose key is not less than `key`.
    func position(of key: [UInt8]) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func value(of key: [UInt8]) -> [UInt8]? {
        let position = position(of: key)
        return position < entries.count && entries[position].key == key ? entries[position].value : nil
    }

    /// Stores a value; returns whether it replaced one.
    mutating func put(_ value: [UInt8], for key: [UInt8]) -> Bool {
        let position = position(of: key)
        if position < entries.count, entries[position].key == key {
            entries[position].value = value
            return true
        }
        entries.insert(Entry(key: key, value: value), at: position)
        return false
    }

    /// Removes an entry; returns whether it was there.
    mutating func remove(_ key: [UInt8]) -> Bool {
        let position = position(of: key)
        guard position < entries.count, entries[position].key == key else { return false }
        entries.remove(at: position)
        return true
    }
}
