// A column of a request whose results are rows of values: a property, or an expression with a name.

/// One value of each row that a `ValueRequest` returns (Differences FR-11, Behaviour FR-18).
///
/// A column is the name of a property, a key path across to-one relationships, or an expression with a name. Aggregates
/// of a single value, such as `sum:(price)`, are computed over the rows of a group; those of a collection, such as
/// `tracks.@count`, are values of each object.
///
/// ```swift
/// request.propertiesToFetch = ["artist.name", .sum("price", as: "total"), .count(as: "albums")]
/// ```
public struct FetchColumn: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name under which rows have the value.
    public var name: String
    /// The value.
    public var expression: FetchExpression
    /// The type to which the value is converted; `nil` = as it is computed.
    ///
    /// A number without a value of the type loses its fraction, and becomes null if it is out of range.
    public var resultType: AttributeType?

    /// An expression with a name.
    public init(_ name: String, _ expression: FetchExpression, type: AttributeType? = nil) {
        (self.name, self.expression, resultType) = (name, expression, type)
    }

    /// A property, or a key path across to-one relationships; `objectID` is the ID of the object.
    public init(_ keyPath: String, as name: String? = nil) {
        self.init(name ?? keyPath, FetchExpression(dotted: keyPath))
    }

    /// An expression in Core Data's predicate language.
    ///
    /// - Throws: `FetchPredicateError` with the column, the text found there and the text expected.
    public init(
        _ name: String, format: String, _ arguments: (any PredicateArgument)?..., type: AttributeType? = nil
    ) throws(FetchPredicateError) {
        var parser = try PredicateParser(
            format, arguments: arguments.map { $0?.predicateExpression ?? .value(.null) })
        self.init(name, try parser.parseExpression(), type: type)
    }

    /// A property, or a key path across to-one relationships.
    public init(stringLiteral keyPath: String) { self.init(keyPath) }

    /// The number of objects, or of those that have a value at the end of a key path.
    public static func count(_ keyPath: String = "SELF", as name: String = "count") -> FetchColumn {
        aggregate("count", keyPath, name)
    }

    /// The sum of numbers; 0 if there are none.
    public static func sum(_ keyPath: String, as name: String? = nil) -> FetchColumn {
        aggregate("sum", keyPath, name)
    }

    /// The average of numbers; null if there are none.
    public static func average(_ keyPath: String, as name: String? = nil) -> FetchColumn {
        aggregate("average", keyPath, name)
    }

    /// The least value; null if there is none.
    public static func min(_ keyPath: String, as name: String? = nil) -> FetchColumn {
        aggregate("min", keyPath, name)
    }

    /// The greatest value; null if there is none.
    public static func max(_ keyPath: String, as name: String? = nil) -> FetchColumn {
        aggregate("max", keyPath, name)
    }

    private static func aggregate(_ function: String, _ keyPath: String, _ name: String?) -> FetchColumn {
        FetchColumn(name ?? "\(function) \(keyPath)", .function(function, [FetchExpression(dotted: keyPath)]))
    }
}

extension FetchExpression {
    /// The key path whose components the dots of a text separate.
    init(dotted keyPath: String) {
        self = .keyPath(FetchKeyPath(keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)))
    }
}
