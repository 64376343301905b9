// The elements that one sorted array has more often than another: a check compares entries, and links, one by one with
// it.

extension Array where Element: Comparable {
    /// The elements that are here more often than in `other`; both arrays are sorted, and so is the result.
    ///
    /// - Complexity: O(n)
    func surplus(over other: [Element]) -> [Element] {
        assert(zip(self, dropFirst()).allSatisfy { !($1 < $0) }, "the elements are not sorted")
        assert(zip(other, other.dropFirst()).allSatisfy { !($1 < $0) }, "the other elements are not sorted")
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
        assert(rest.count >= count - other.count, "\(rest.count) of \(count) elements are over \(other.count)")
        return rest
    }
}
