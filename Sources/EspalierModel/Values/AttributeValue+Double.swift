// The double next to a number of any type: the first part of the code of such a number in an index.

internal import FoundationEssentials

extension AttributeValue {
    /// The greatest double that is not above the number, and whether it equals the number; `nil` if the value is no
    /// number.
    ///
    /// - Complexity: O(1); a decimal needs some hundred operations more than the other types.
    package var doubleBelow: (double: Double, isEqual: Bool)? {
        let nearest: Double
        switch self {
        case .double(let value): return (value, true)
        case .float(let value): return (Double(value), true)
        case .integer(let value): nearest = Double(value)
        case .decimal(let value):
            if value.isNaN { return (.nan, true) }
            guard let parsed = Double(value.description) else { return nil }
            nearest = parsed
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: return nil
        }
        return switch compare(.double(nearest)) {
        case .orderedSame: (nearest, true)
        case .orderedAscending: (nearest.nextDown, false)
        case .orderedDescending: (nearest, false)
        }
    }
}
