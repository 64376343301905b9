// Fetches of values whose types the compiler knows.

public import EspalierModel
internal import EspalierStore

extension ManagedObjectContext {
    /// The values of columns for the objects of a request, or for groups of them, as tuples (SD-22, SD-25).
    ///
    /// ```swift
    /// let longest = try context.fetch(
    ///     FetchRequest<Track>(), TypedColumn(\Track.album?.title), TypedColumn.max(\Track.length),
    ///     groupedBy: [\.album?.title])
    /// ```
    ///
    /// For requests by text, columns are named "1", "2" and so on: `SortKey("2")` sorts by the second one, and a
    /// condition on groups names it `$2`.
    ///
    /// - Parameters:
    ///   - request: The objects, their order and the limits.
    ///   - groups: The properties whose values are equal within a group.
    ///   - having: The condition on groups; another overload takes a `TypedGroupCondition`.
    ///   - order: The order by columns and key paths, after that of the request.
    ///   - distinct: Whether equal rows are returned once.
    /// - Throws: as `fetch(_:)` for a `ValueRequest`; `.invalidPredicate`, with `place`, for a key path or expression
    ///   without a counterpart, and for a result that the type of its column cannot have.
    /// - Complexity: as `fetch(_:)` for a `ValueRequest`, and O(rows) for the tuples.
    public func fetch<Object: ManagedObject, each Value>(
        _ request: FetchRequest<Object>, _ columns: repeat TypedColumn<Object, each Value>,
        groupedBy groups: [PartialKeyPath<Object>] = [], having: FetchPredicate? = nil,
        sortBy order: [TypedColumnOrder<Object>] = [], distinct: Bool = false, fileID: String = #fileID,
        line: Int = #line
    ) throws(ContextError) -> [(repeat each Value)] {
        var values = ValueRequest(request.terms)
        (values.havingPredicate, values.returnsDistinctResults) = (having, distinct)
        do throws(FetchPredicateError) {
            for column in repeat each columns {
                let name = "\(values.propertiesToFetch.count + 1)"
                values.propertiesToFetch.append(try column.column(name, fileID, line))
            }
            for group in groups {
                switch PropertyPaths.names(along: group, in: Object.self) {
                case .success(let names): values.propertiesToGroupBy.append(FetchColumn(names.joined(separator: ".")))
                case .failure(let problem): throw problem.located(in: "group", fileID, line)
                }
            }
            for key in order {
                values.terms.sortKeys.append(try key.sortKey(among: values.propertiesToFetch, fileID, line))
            }
        } catch {
            throw .invalidPredicate(error)
        }
        let rows = try fetch(values)
        var results: [(repeat each Value)] = []
        results.reserveCapacity(rows.count)
        do throws(FetchPredicateError) {
            for row in rows {
                var position = 0
                func next<Result>(_ column: TypedColumn<Object, Result>) throws(FetchPredicateError) -> Result {
                    position += 1
                    return try column.value(row.values[position - 1], "\(position)", fileID, line)
                }
                results.append((repeat try next(each columns)))
            }
        } catch {
            throw .invalidPredicate(error)
        }
        return results
    }

    /// The values of columns for groups of the objects of a request that meet a condition, as tuples (SD-22).
    ///
    /// ```swift
    /// let plays = TypedColumn.sum(\Track.plays)
    /// let popular = try context.fetch(
    ///     Track.fetchRequest(), TypedColumn(\Track.genre), plays, groupedBy: [\.genre], having: plays > 100)
    /// ```
    ///
    /// - Throws: as with a condition that is a `FetchPredicate`; `.invalidPredicate`, with `place`, also for a column
    ///   of the condition without a counterpart.
    /// - Complexity: as with a condition that is a `FetchPredicate`.
    public func fetch<Object: ManagedObject, each Value>(
        _ request: FetchRequest<Object>, _ columns: repeat TypedColumn<Object, each Value>,
        groupedBy groups: [PartialKeyPath<Object>], having condition: TypedGroupCondition<Object>,
        sortBy order: [TypedColumnOrder<Object>] = [], distinct: Bool = false, fileID: String = #fileID,
        line: Int = #line
    ) throws(ContextError) -> [(repeat each Value)] {
        let predicate: FetchPredicate
        do throws(FetchPredicateError) {
            predicate = try condition.condition(fileID, line)
        } catch {
            throw .invalidPredicate(error)
        }
        return try fetch(
            request, repeat each columns, groupedBy: groups, having: predicate, sortBy: order, distinct: distinct,
            fileID: fileID, line: line)
    }
}
