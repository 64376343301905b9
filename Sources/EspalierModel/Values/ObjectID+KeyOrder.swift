// The order of rows by key: binary search in lists, which unordered relationships return by ascending key, and the
// order of stored and unsaved objects.

extension [ObjectID] {
    /// Whether `id` is in the list, which contains rows of one hierarchy by ascending key.
    ///
    /// - Complexity: O(log n).
    package func hasInKeyOrder(_ id: ObjectID) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].key < id.key { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == id
    }
}

extension ObjectID {
    /// Sorts stored rows by key, then unsaved objects by insertion: the order that a save keeps.
    package static func inOrderOfCreation(_ left: ObjectID, _ right: ObjectID) -> Bool {
        left.isTemporary == right.isTemporary ? left.key < right.key : right.isTemporary
    }
}
