// Binary search in lists of stored rows, which unordered relationships return by ascending key.

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
