// Columns of a fetch whose types the compiler knows: key paths, expressions of Foundation, and aggregates of both.
//
// Invariants
//   1. Key paths and expressions are translated when the column is made; the fetch reports what has no counterpart.

import EspalierModel
public import FoundationEssentials

/// One value of each row of `fetch(_:_:groupedBy:having:distinct:)`, with its Swift type (SD-22, SD-25).
///
/// ```swift
/// let sums = try context.fetch(
///     FetchRequest<Track>(), TypedColumn(\Track.genre), TypedColumn.sum(\Track.plays),
///     TypedColumn.count(of: Track.self), groupedBy: [\.genre])
/// for (genre, plays, count) in sums { print(genre, plays, count) }
/// ```
public struct TypedColumn<Object: ManagedObject, Value> {
    let expression: Result<FetchExpression, TranslationProblem>
    private let read: (AttributeValue) -> Value?

    private init(
        _ expression: Result<FetchExpression, TranslationProblem>,
        _ read: @escaping (AttributeValue) -> Value?
    ) {
        (self.expression, self.read) = (expression, read)
    }

    /// An attribute of the class, or one across to-one relationships, such as `\.artist?.name`.
    public init(_ keyPath: KeyPath<Object, Value>) where Value: AttributeConvertible {
        self.init(Self.path(keyPath)) { $0.isNull ? Value.unsetValue : Value(of: $0) }
    }

    /// An optional attribute of the class, or one across to-one relationships, such as `\.artist?.name`.
    public init<Wrapped: AttributeConvertible>(_ keyPath: KeyPath<Object, Wrapped?>) where Value == Wrapped? {
        self.init(Self.path(keyPath), Wrapped.optional)
    }

    /// The destination of a to-one relationship.
    public init<Destination: ManagedObject>(
        _ keyPath: KeyPath<Object, Destination?>
    ) where Value == Ref<Destination>? {
        self.init(Self.path(keyPath)) { value in
            if case .objectID(let id) = value { .some(Ref(id)) } else { .some(nil) }
        }
    }

    /// The object itself.
    public static func object(of objectClass: Object.Type) -> TypedColumn where Value == Ref<Object> {
        TypedColumn(.success(.evaluatedObject)) { value in
            if case .objectID(let id) = value { Ref(id) } else { nil }
        }
    }

    /// The value of an expression of Foundation.
    public init(_ expression: Expression<Object, Value>) where Value: AttributeConvertible {
        self.init(Self.translated(expression)) { $0.isNull ? Value.unsetValue : Value(of: $0) }
    }

    /// The value of an expression of Foundation, which may be nil.
    public init<Wrapped: AttributeConvertible>(
        _ expression: Expression<Object, Wrapped?>
    ) where Value == Wrapped? {
        self.init(Self.translated(expression), Wrapped.optional)
    }

    private static func path(_ path: AnyKeyPath) -> Result<FetchExpression, TranslationProblem> {
        PropertyPaths.names(along: path, in: Object.self).map { .path($0) }
    }

    private static func translated<Other>(
        _ expression: Expression<Object, Other>
    ) -> Result<FetchExpression, TranslationProblem> {
        do { return .success(try PredicateTranslator.value(expression)) } catch { return .failure(error) }
    }

    private static func aggregate(
        _ function: String, _ argument: Result<FetchExpression, TranslationProblem>
    ) -> Result<FetchExpression, TranslationProblem> {
        argument.map { .function(function, [$0]) }
    }

    // MARK: Use

    /// The column in terms of the model.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`.
    func column(_ name: String, _ fileID: String, _ line: Int) throws(FetchPredicateError) -> FetchColumn {
        switch expression {
        case .success(let expression): return FetchColumn(name, expression)
        case .failure(let problem): throw problem.located(in: "column '\(name)'", fileID, line)
        }
    }

    /// The Swift value of a result.
    ///
    /// - Throws: `FetchPredicateError` if the type has no such value: a sum that overflows is no `Int`.
    func value(_ value: AttributeValue, _ name: String, _ fileID: String, _ line: Int) throws(FetchPredicateError)
        -> Value
    {
        if let result = read(value) { return result }
        throw FetchPredicateError(
            .typeMismatch(found: value.kindDescription, expected: "a value of type \(Value.self)"),
            subject: "column '\(name)'", fileID: fileID, line: line)
    }
}

extension AttributeConvertible {
    /// The Swift value, if the type has an equal one.
    fileprivate init?(of value: AttributeValue) {
        guard let converted = try? Self.attributeType.converting(value) else { return nil }
        self.init(attributeValue: converted)
    }

    /// Nil for null, and the Swift value otherwise; no result if the type has no equal value.
    fileprivate static func optional(_ value: AttributeValue) -> Self?? {
        value.isNull ? .some(nil) : Self(of: value).map { .some($0) }
    }
}

// MARK: Aggregates

extension TypedColumn {
    /// The number of objects.
    public static func count(of objectClass: Object.Type) -> TypedColumn where Value == Int {
        TypedColumn(aggregate("count", .success(.evaluatedObject))) { Int(of: $0) }
    }

    /// The number of objects that have a value.
    public static func count<Wrapped>(_ keyPath: KeyPath<Object, Wrapped?>) -> TypedColumn where Value == Int {
        TypedColumn(aggregate("count", path(keyPath))) { Int(of: $0) }
    }

    /// The sum of an attribute; 0 if there are no values.
    public static func sum(_ keyPath: KeyPath<Object, Value>) -> TypedColumn where Value: AttributeConvertible {
        TypedColumn(aggregate("sum", path(keyPath))) { Value(of: $0) }
    }

    /// The sum of an optional attribute; 0 if there are no values.
    public static func sum(_ keyPath: KeyPath<Object, Value?>) -> TypedColumn where Value: AttributeConvertible {
        TypedColumn(aggregate("sum", path(keyPath))) { Value(of: $0) }
    }

    /// The sum of an expression; 0 if there are no values.
    public static func sum(_ expression: Expression<Object, Value>) -> TypedColumn where Value: AttributeConvertible {
        TypedColumn(aggregate("sum", translated(expression))) { Value(of: $0) }
    }

    /// The average of an attribute; nil if there are no values.
    public static func average<Number: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Number>
    ) -> TypedColumn where Value == Double? {
        TypedColumn(aggregate("average", path(keyPath)), Double.optional)
    }

    /// The average of an optional attribute; nil if there are no values.
    public static func average<Number: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Number?>
    ) -> TypedColumn where Value == Double? {
        TypedColumn(aggregate("average", path(keyPath)), Double.optional)
    }

    /// The least value of an attribute; nil if there is none.
    public static func min<Wrapped: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Wrapped>
    ) -> TypedColumn where Value == Wrapped? {
        TypedColumn(aggregate("min", path(keyPath)), Wrapped.optional)
    }

    /// The least value of an optional attribute; nil if there is none.
    public static func min<Wrapped: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Wrapped?>
    ) -> TypedColumn where Value == Wrapped? {
        TypedColumn(aggregate("min", path(keyPath)), Wrapped.optional)
    }

    /// The greatest value of an attribute; nil if there is none.
    public static func max<Wrapped: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Wrapped>
    ) -> TypedColumn where Value == Wrapped? {
        TypedColumn(aggregate("max", path(keyPath)), Wrapped.optional)
    }

    /// The greatest value of an optional attribute; nil if there is none.
    public static func max<Wrapped: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Wrapped?>
    ) -> TypedColumn where Value == Wrapped? {
        TypedColumn(aggregate("max", path(keyPath)), Wrapped.optional)
    }
}
