// Requests whose condition, order and prefetching the compiler checks: `#Predicate` and key paths (C-10).
//
// Invariants
//   1. Everything is translated when the request is made: an error has the file and line of the request, and a fetch
//      costs what it costs with a format string.

public import EspalierModel
public import FoundationEssentials

extension FetchPredicate {
    /// The condition that a predicate of Foundation expresses (PR-18, SD-24).
    ///
    /// ```swift
    /// let long = try FetchPredicate(#Predicate<Album> { $0.tracks.contains { $0.length > 600 } })
    /// let request = FetchRequest<Album>(.and([long, try FetchPredicate(format: "year BETWEEN %@", 1970...1979)]))
    /// ```
    ///
    /// It holds for the objects for which `predicate.evaluate` is true; Differences lists the exceptions under SD-24.
    /// Captured variables are constants: make the condition again when they change. A condition that reads a transient
    /// property is for objects in memory (`matches(_:)` and `filter(_:)`): a fetch with it throws (PX-02).
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable` for an expression without a counterpart, with `place`.
    /// - Complexity: O(size of the predicate).
    public init<Object: ManagedObject>(
        _ predicate: Predicate<Object>, fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        do {
            self = try PredicateTranslator.condition(predicate, readsTransients: true)
        } catch {
            throw error.located(in: "predicate", fileID, line)
        }
    }

    /// The condition of a request to stores: a transient property is refused where the request is made.
    init<Object: ManagedObject>(
        ofStored predicate: Predicate<Object>, _ fileID: String, _ line: Int
    ) throws(FetchPredicateError) {
        do {
            self = try PredicateTranslator.condition(predicate)
        } catch {
            throw error.located(in: "predicate", fileID, line)
        }
    }
}

extension SortKey {
    /// The sort key that a key path names.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable` for a key path of a property that is not in the model.
    public init<Object>(
        _ key: TypedSortKey<Object>, fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        switch key.names {
        case .success(let names):
            self.init(names.joined(separator: "."), ascending: key.order == .forward, options: key.options)
        case .failure(let problem): throw problem.located(in: "sort key", fileID, line)
        }
    }
}

extension FetchRequest where Result: ManagedObject {
    /// A request for the objects of a class, with a condition, an order and prefetching that the compiler checks.
    ///
    /// ```swift
    /// let request = try FetchRequest<Album>(
    ///     predicate: #Predicate { $0.artist?.name.starts(with: "Nina") == true && $0.year > 1960 },
    ///     sortBy: [TypedSortKey(\.title)], prefetching: [\.artist?.label])
    /// ```
    ///
    /// - Parameters:
    ///   - predicate: The condition; `nil` = all objects.
    ///   - sortKeys: The order, most significant key first.
    ///   - relationships: Key paths of the relationships whose destinations are fetched together with the results
    ///     (FR-10).
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for an expression or key path without a
    ///   counterpart.
    /// - Complexity: O(size of the predicate).
    public init(
        predicate: Predicate<Result>?, sortBy sortKeys: [TypedSortKey<Result>] = [],
        prefetching relationships: [PartialKeyPath<Result>] = [], fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        var condition: FetchPredicate?
        if let predicate { condition = try FetchPredicate(ofStored: predicate, fileID, line) }
        try self.init(condition, sortBy: sortKeys, prefetching: relationships, fileID: fileID, line: line)
    }

    /// A request for the objects of a class, with an order and prefetching that the compiler checks.
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for a key path of a property that is not in
    ///   the model.
    public init(
        _ predicate: FetchPredicate? = nil, sortBy sortKeys: [TypedSortKey<Result>],
        prefetching relationships: [PartialKeyPath<Result>] = [], fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        var keys: [SortKey] = []
        for key in sortKeys { keys.append(try SortKey(key, fileID: fileID, line: line)) }
        self.init(predicate, sortedBy: keys)
        for relationship in relationships {
            switch PropertyPaths.names(along: relationship, in: Result.self) {
            case .success(let names): terms.relationshipKeyPathsForPrefetching.append(names.joined(separator: "."))
            case .failure(let problem): throw problem.located(in: "prefetching", fileID, line)
            }
        }
    }
}

extension EntityClass {
    /// A request for the objects of this class, with a condition and an order that the compiler checks (MO-03).
    ///
    /// ```swift
    /// try context.fetch(Track.fetchRequest(where: #Predicate { $0.plays > 10 }, sortBy: [TypedSortKey(\.name)]))
    /// ```
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for an expression or key path without a
    ///   counterpart.
    /// - Complexity: O(size of the predicate).
    public static func fetchRequest(
        where predicate: Predicate<Self>?, sortBy sortKeys: [TypedSortKey<Self>] = [], fileID: String = #fileID,
        line: Int = #line
    ) throws(FetchPredicateError) -> FetchRequest<Self> {
        try FetchRequest(predicate: predicate, sortBy: sortKeys, fileID: fileID, line: line)
    }

    /// A request for all objects of this class, in an order that the compiler checks (MO-03).
    ///
    /// - Throws: as `fetchRequest(where:sortBy:)`.
    /// - Complexity: O(sort keys).
    public static func fetchRequest(
        sortBy sortKeys: [TypedSortKey<Self>], fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) -> FetchRequest<Self> {
        try FetchRequest(nil, sortBy: sortKeys, fileID: fileID, line: line)
    }
}

extension TranslationProblem {
    /// The error that the application gets, with the place of the request.
    func located(in subject: String, _ fileID: String, _ line: Int) -> FetchPredicateError {
        FetchPredicateError(.untranslatable(expression, because: reason), subject: subject, fileID: fileID, line: line)
    }
}
