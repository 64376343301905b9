// The order of rows by the values of their sort keys.

internal import EspalierModel
internal import FoundationEssentials

extension [ResolvedSortKey] {
    /// The order of two rows by their values; `nil` if all are equal.
    func order(_ left: [AttributeValue], _ right: [AttributeValue]) -> ComparisonResult? {
        assert(left.count == count && right.count == count, "\(left.count) values and \(right.count) for \(count) keys")
        for (index, key) in enumerated() {
            let order = left[index].compare(right[index], options: key.options)
            guard order != .orderedSame else { continue }
            return (order == .orderedAscending) == key.isAscending ? .orderedAscending : .orderedDescending
        }
        return nil
    }
}
