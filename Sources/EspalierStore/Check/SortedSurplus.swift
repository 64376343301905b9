// What one sorted collection has more often than another one: how a check compares entries, and links, one by one.

extension Array where Element: Comparable {
    /// What is here more often than in `other`; both are sorted, and so is the result.
    ///
    /// - Complexity: O(n)
    func surplus(over other: [Element]) -> [Element] {
        var rest: [Element] = []
        var position = 0
        for element in self {
            while position < other.count, other[position] < element { position += 1 }
            if position < other.count, other[position] == element {
                position += 1
            } else {
                rest.append(element)
            }
        }
        return rest
    }
}
