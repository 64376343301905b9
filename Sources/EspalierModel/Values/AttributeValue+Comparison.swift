// The order of attribute values, which all stores, indexes, memory and contexts share.
//
// Invariants
//   1. `compare` is a total order: any two values are ordered, and the order is transitive.
//   2. Null precedes every value (Behaviour FR-27); the kinds follow one another in a fixed order.
//   3. Numbers compare by exact mathematical value, regardless of type; NaN equals NaN and follows every number.
//   4. Text compares by the Unicode scalars of its canonical composition (NFC), never by locale.
// Not here: the meaning of null in a predicate (PredicateEvaluation), folding of text (TextFolding).

public import FoundationEssentials

extension AttributeValue {
    /// Compares this value with `other` in the order of all values.
    ///
    /// Kinds are ordered null, boolean, numbers, date, string, URI, UUID, binary, transformable, object ID, composite.
    /// False precedes true; UUIDs and bytes compare as unsigned bytes; URIs by their text; composites by their sorted
    /// names, then values. Object IDs are ordered within one process only.
    ///
    /// - Parameter options: The options for comparing text; other kinds ignore them (Behaviour PR-05).
    /// - Complexity: O(size of the smaller value).
    public func compare(
        _ other: AttributeValue, options: ComparisonOptions = []
    ) -> ComparisonResult {
        switch (self, other) {
        case (.null, .null): return .orderedSame
        case (.integer(let left), .integer(let right)): return ordered(left, right)
        case (.double(let left), .double(let right)): return ExactNumber.compare(left, right)
        case (.string(let left), .string(let right)): return TextFolding.compare(left, right, options)
        case (.date(let left), .date(let right)):
            return ExactNumber.compare(left.timeIntervalSinceReferenceDate, right.timeIntervalSinceReferenceDate)
        case (.boolean(let left), .boolean(let right)): return ordered(left ? 1 : 0, right ? 1 : 0)
        case (.uuid(let left), .uuid(let right)): return ordered(left, right)
        case (.uri(let left), .uri(let right)): return ordered(left.absoluteString, right.absoluteString)
        case (.binary(let left), .binary(let right)), (.transformable(let left), .transformable(let right)):
            return lexicographic(left, right)
        case (.objectID(let left), .objectID(let right)):
            return ordered(
                (left.storeTag, left.entityTag, left.key), (right.storeTag, right.entityTag, right.key))
        case (.composite(let left), .composite(let right)):
            return AttributeValue.compare(left, right, options: options)
        default:
            if let left = number, let right = other.number { return left.compare(right) }
            return ordered(kindRank, other.kindRank)
        }
    }

    /// The value as a number; `nil` if it is of another kind.
    var number: ExactNumber? {
        switch self {
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .float(let value): .double(Double(value))
        case .decimal(let value): .decimal(value)
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: nil
        }
    }

    /// The position of the value's kind in the order.
    var kindRank: Int {
        switch self {
        case .null: 0
        case .boolean: 1
        case .integer, .decimal, .double, .float: 2
        case .date: 3
        case .string: 4
        case .uri: 5
        case .uuid: 6
        case .binary: 7
        case .transformable: 8
        case .objectID: 9
        case .composite: 10
        }
    }

    private static func compare(
        _ left: [String: AttributeValue], _ right: [String: AttributeValue],
        options: ComparisonOptions
    ) -> ComparisonResult {
        let (leftNames, rightNames) = (left.keys.sorted(), right.keys.sorted())
        for (leftName, rightName) in zip(leftNames, rightNames) {
            let names = ordered(leftName, rightName)
            guard names == .orderedSame else { return names }
            let values = left[leftName, default: .null].compare(right[rightName, default: .null], options: options)
            guard values == .orderedSame else { return values }
        }
        return ordered(leftNames.count, rightNames.count)
    }
}

/// Compares two values of a type whose `<` is a total order.
func ordered<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult {
    left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
}

private func ordered(_ left: (UInt32, UInt32, UInt64), _ right: (UInt32, UInt32, UInt64)) -> ComparisonResult {
    left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
}

private func lexicographic(_ left: Data, _ right: Data) -> ComparisonResult {
    for (leftByte, rightByte) in zip(left, right) where leftByte != rightByte { return ordered(leftByte, rightByte) }
    return ordered(left.count, right.count)
}
