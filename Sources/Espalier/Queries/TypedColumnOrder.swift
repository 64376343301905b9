// The order of rows of values by columns and key paths, which the compiler checks (SD-22).
//
// Invariants
//   1. A column is found among those of the request by its expression: a column that is made twice is the same one.

public import EspalierModel
public import FoundationEssentials

/// One criterion of the order of rows of values: a column of the request, or a property.
///
/// ```swift
/// let plays = TypedColumn.sum(\Track.plays)
/// try context.fetch(
///     Track.fetchRequest(), TypedColumn(\Track.genre), plays, groupedBy: [\.genre],
///     sortBy: [TypedColumnOrder(plays, order: .reverse), TypedColumnOrder(\.genre)])
/// ```
///
/// Groups and distinct rows are sorted by columns of the request and by the properties of the groups.
public struct TypedColumnOrder<Object: ManagedObject> {
    private let expression: Result<FetchExpression, TranslationProblem>
    /// The direction.
    public var order: SortOrder
    /// The options for comparing text.
    public var options: ComparisonOptions

    /// Sorts by a column.
    public init<Value>(
        _ column: TypedColumn<Object, Value>, order: SortOrder = .forward, options: ComparisonOptions = []
    ) {
        (expression, self.order, self.options) = (column.expression, order, options)
    }

    /// Sorts by an attribute of the class, or by one across to-one relationships.
    public init<Value: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Value>, order: SortOrder = .forward, options: ComparisonOptions = []
    ) {
        self.init(TypedColumn(keyPath), order: order, options: options)
    }

    /// Sorts by an optional attribute of the class, or by one across to-one relationships.
    public init<Value: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Value?>, order: SortOrder = .forward, options: ComparisonOptions = []
    ) {
        self.init(TypedColumn(keyPath), order: order, options: options)
    }

    /// The sort key, by the name of a column that has the same expression.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`.
    func sortKey(
        among columns: [FetchColumn], _ fileID: String, _ line: Int
    ) throws(FetchPredicateError) -> SortKey {
        let isAscending = order == .forward
        switch expression {
        case .failure(let problem): throw problem.located(in: "sort key", fileID, line)
        case .success(let expression):
            if let column = columns.first(where: { $0.expression == expression }) {
                return SortKey(column.name, ascending: isAscending, options: options)
            }
            if case .keyPath(let path) = expression {
                return SortKey(path.components.joined(separator: "."), ascending: isAscending, options: options)
            }
            return SortKey(expression: expression, ascending: isAscending, options: options)
        }
    }
}
