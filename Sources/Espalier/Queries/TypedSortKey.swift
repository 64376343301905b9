// A sort key by key path, which the compiler checks.
//
// Invariants
//   1. The names are found when the key is made; a key path that has none is reported by the request.
// Not Foundation's SortDescriptor: on Linux it belongs to FoundationInternationalization, its orders of texts are by
// locale, and a comparator of its own cannot run in a store.

public import EspalierModel
public import FoundationEssentials

/// One criterion of a sort order, by a key path of the class (FR-26).
///
/// ```swift
/// try FetchRequest<Album>(sortBy: [TypedSortKey(\.artist?.name), TypedSortKey(\.year, order: .reverse)])
/// ```
///
/// Values are in the order that `SortKey` has: numbers by value, texts by Unicode scalars unless options fold them,
/// and nil before every value in ascending order. A request refuses the key of a transient property, because no store
/// has its values; `sorted(by:)` of objects in memory accepts it.
public struct TypedSortKey<Object: ManagedObject>: Sendable {
    /// The names along the key path, for a request to stores.
    let names: Result<[String], TranslationProblem>
    /// The names along the key path, for objects in memory: the last property may be transient.
    let namesInMemory: Result<[String], TranslationProblem>
    /// The direction.
    public var order: SortOrder
    /// The options for comparing text.
    public var options: ComparisonOptions

    /// Sorts by an attribute of the class, or by one across to-one relationships, such as `\.artist?.name`.
    ///
    /// - Complexity: O(1); the first key of a chain composes the chains that are not longer.
    public init<Value: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Value>, order: SortOrder = .forward, options: ComparisonOptions = []
    ) {
        self.init(path: keyPath, order, options)
    }

    /// Sorts by an optional attribute of the class, or by one across to-one relationships, such as `\.artist?.name`.
    ///
    /// - Complexity: O(1); the first key of a chain composes the chains that are not longer.
    public init<Value: AttributeConvertible>(
        _ keyPath: KeyPath<Object, Value?>, order: SortOrder = .forward, options: ComparisonOptions = []
    ) {
        self.init(path: keyPath, order, options)
    }

    private init(path: AnyKeyPath, _ order: SortOrder, _ options: ComparisonOptions) {
        names = PropertyPaths.names(along: path, in: Object.self)
        namesInMemory = PropertyPaths.namesInMemory(along: path, in: Object.self)
        (self.order, self.options) = (order, options)
    }
}
