// The values that can replace a placeholder in a predicate's text: `FetchPredicate(format: "age > %@", 17)`.

public import FoundationEssentials

/// A value that a predicate can compare with (Behaviour PR-02).
public protocol PredicateArgument {
    /// The constant or list that replaces the placeholder.
    var predicateExpression: FetchExpression { get }
}

extension AttributeValue: PredicateArgument {
    /// The value itself, as a constant.
    public var predicateExpression: FetchExpression { .value(self) }
}

extension FetchExpression: PredicateArgument {
    /// The expression itself.
    public var predicateExpression: FetchExpression { self }
}

extension FetchKeyPath: PredicateArgument {
    /// The key path, also for `%@`.
    public var predicateExpression: FetchExpression { .keyPath(self) }
}

extension ObjectID: PredicateArgument {
    /// The object's ID.
    public var predicateExpression: FetchExpression { .value(.objectID(self)) }
}

extension Entity: PredicateArgument {
    /// The name of the entity, for comparison with `SELF.entity` (PR-14).
    public var predicateExpression: FetchExpression { .value(.string(name)) }
}

extension String: PredicateArgument {
    /// The text; for `%K` a key path.
    public var predicateExpression: FetchExpression { .value(.string(self)) }
}

extension Bool: PredicateArgument {
    /// The boolean.
    public var predicateExpression: FetchExpression { .value(.boolean(self)) }
}

extension BinaryInteger where Self: PredicateArgument {
    /// The exact number.
    public var predicateExpression: FetchExpression {
        .value(Int64(exactly: self).map(AttributeValue.integer) ?? .double(Double(self)))
    }
}

extension Int: PredicateArgument {}
extension Int8: PredicateArgument {}
extension Int16: PredicateArgument {}
extension Int32: PredicateArgument {}
extension Int64: PredicateArgument {}
extension UInt8: PredicateArgument {}
extension UInt16: PredicateArgument {}
extension UInt32: PredicateArgument {}

extension Double: PredicateArgument {
    /// The number.
    public var predicateExpression: FetchExpression { .value(.double(self)) }
}

extension Float: PredicateArgument {
    /// The number.
    public var predicateExpression: FetchExpression { .value(.float(self)) }
}

extension Decimal: PredicateArgument {
    /// The exact number.
    public var predicateExpression: FetchExpression { .value(.decimal(self)) }
}

extension Date: PredicateArgument {
    /// The point in time.
    public var predicateExpression: FetchExpression { .value(.date(self)) }
}

extension Data: PredicateArgument {
    /// The bytes.
    public var predicateExpression: FetchExpression { .value(.binary(self)) }
}

extension UUID: PredicateArgument {
    /// The identifier.
    public var predicateExpression: FetchExpression { .value(.uuid(self)) }
}

extension URL: PredicateArgument {
    /// The URI.
    public var predicateExpression: FetchExpression { .value(.uri(self)) }
}

extension Optional: PredicateArgument where Wrapped: PredicateArgument {
    /// The value, or null.
    public var predicateExpression: FetchExpression { map(\.predicateExpression) ?? .value(.null) }
}

extension Array: PredicateArgument where Element: PredicateArgument {
    /// The list, for IN and BETWEEN.
    public var predicateExpression: FetchExpression { .list(map(\.predicateExpression)) }
}

extension Set: PredicateArgument where Element: PredicateArgument {
    /// The members, for IN.
    public var predicateExpression: FetchExpression { .list(map(\.predicateExpression)) }
}

extension ClosedRange: PredicateArgument where Bound: PredicateArgument {
    /// The two bounds, for BETWEEN.
    public var predicateExpression: FetchExpression {
        .list([lowerBound.predicateExpression, upperBound.predicateExpression])
    }
}
