// Conditions on groups of rows by columns, which the compiler checks (SD-22).
//
// Invariants
//   1. A condition has the expression of its column, not the name: it may be about a column that is not fetched.

import EspalierModel

/// A condition on groups: comparisons of columns with values, and their combinations.
///
/// ```swift
/// let (plays, count) = (TypedColumn.sum(\Track.plays), TypedColumn.count(of: Track.self))
/// try context.fetch(
///     Track.fetchRequest(), TypedColumn(\Track.genre), plays, groupedBy: [\.genre],
///     having: plays > 100 && count >= 2)
/// ```
public struct TypedGroupCondition<Object: ManagedObject> {
    private let predicate: Result<FetchPredicate, TranslationProblem>

    fileprivate init<Value>(
        _ column: TypedColumn<Object, Value>, _ comparison: FetchPredicate.Comparison.Operator, _ value: AttributeValue
    ) {
        predicate = column.expression.map { .comparison(FetchPredicate.Comparison($0, comparison, .value(value))) }
    }

    private init(_ predicate: Result<FetchPredicate, TranslationProblem>) { self.predicate = predicate }

    /// Both conditions.
    public static func && (left: Self, right: Self) -> Self { joined(left, right) { .and([$0, $1]) } }

    /// Either condition, or both.
    public static func || (left: Self, right: Self) -> Self { joined(left, right) { .or([$0, $1]) } }

    /// The opposite of a condition.
    public static prefix func ! (condition: Self) -> Self { Self(condition.predicate.map { .not($0) }) }

    private static func joined(
        _ left: Self, _ right: Self, _ join: (FetchPredicate, FetchPredicate) -> FetchPredicate
    ) -> Self {
        switch (left.predicate, right.predicate) {
        case (.success(let left), .success(let right)): Self(.success(join(left, right)))
        case (.failure(let problem), _), (_, .failure(let problem)): Self(.failure(problem))
        }
    }

    /// The condition in terms of the model.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`.
    func condition(_ fileID: String, _ line: Int) throws(FetchPredicateError) -> FetchPredicate {
        switch predicate {
        case .success(let predicate): return predicate
        case .failure(let problem): throw problem.located(in: "condition on groups", fileID, line)
        }
    }
}

extension TypedColumn {
    /// The groups whose column is greater than a value.
    public static func > (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .greaterThan, value.attributeValue)
    }

    /// The groups whose column has a value that is greater than another one.
    public static func > <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .greaterThan, value.attributeValue)
    }

    /// The groups whose column is at least a value.
    public static func >= (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .greaterThanOrEqual, value.attributeValue)
    }

    /// The groups whose column has a value that is at least another one.
    public static func >= <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .greaterThanOrEqual, value.attributeValue)
    }

    /// The groups whose column is less than a value.
    public static func < (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .lessThan, value.attributeValue)
    }

    /// The groups whose column has a value that is less than another one.
    public static func < <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .lessThan, value.attributeValue)
    }

    /// The groups whose column is at most a value.
    public static func <= (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .lessThanOrEqual, value.attributeValue)
    }

    /// The groups whose column has a value that is at most another one.
    public static func <= <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .lessThanOrEqual, value.attributeValue)
    }

    /// The groups whose column is equal to a value.
    public static func == (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .equal, value.attributeValue)
    }

    /// The groups whose column has a value that is equal to another one.
    public static func == <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .equal, value.attributeValue)
    }

    /// The groups whose column is different from a value.
    public static func != (column: Self, value: Value) -> TypedGroupCondition<Object>
    where Value: AttributeConvertible {
        TypedGroupCondition(column, .notEqual, value.attributeValue)
    }

    /// The groups whose column is different from a value, or has none (PR-12).
    public static func != <Wrapped: AttributeConvertible>(
        column: Self, value: Wrapped
    ) -> TypedGroupCondition<Object> where Value == Wrapped? {
        TypedGroupCondition(column, .notEqual, value.attributeValue)
    }
}
