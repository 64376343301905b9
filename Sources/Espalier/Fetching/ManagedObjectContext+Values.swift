// Fetches whose results are rows of values: the stores read the values, and the context adds those of changed objects.
//
// Invariants
//   1. The result is that after a save (F-3): the stores leave out changed and deleted objects and the rows from which
//      the request leads to such objects; the context reads these, and new objects, from memory.
//   2. No objects are made, except of rows that lead to changed ones.

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The rows of values that a request describes, as if all unsaved changes were saved (FR-02, FR-11 to FR-20).
    ///
    /// - Throws: `ContextError.unknownEntity`; `.invalidPredicate`, whose subject names the column, group, condition or
    ///   sort key that does not fit the model; `.noStore`; `.store` if a store fails.
    /// - Complexity: that of the stores: O(log n) for the least and greatest value of an indexed attribute, O(1) for
    ///   the number of all objects, O(index entries) for the numbers of groups that an index has, otherwise O(objects
    ///   that match); and O(unsaved objects that may match). Also O(changed objects of the entity), unless these are
    ///   more than 1,000, fewer rows match and an index leads to them.
    public func fetch(_ request: ValueRequest) throws(ContextError) -> ResultRows {
        let fetch = try processAndResolve(request)
        let includesPendingChanges = request.terms.includesPendingChanges
        let collector = try answer(fetch.rows, reading: fetch.values.inputs, includesPendingChanges) {
            pending throws(ContextError) -> ValueCollector in
            guard pending == nil, let position = generation.onlyPosition(for: fetch.rows) else {
                return try joined(fetch, pending ?? PendingChanges())
            }
            return try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.values(fetch) }
        }
        return try rows(of: collector)
    }

    func rows(of collector: ValueCollector) throws(ContextError) -> ResultRows {
        do { return try collector.rows() } catch { throw .invalidPredicate(error) }
    }

    /// The steps in which the stores answer a request, one line for each.
    ///
    /// - Throws: as `fetch(_:)`.
    public func explain(_ request: ValueRequest) throws(ContextError) -> [String] {
        let fetch = try processAndResolve(request)
        var lines: [String] = []
        for position in try positions(for: fetch.rows) {
            lines += try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.explain(fetch) }
        }
        return lines
    }

    /// The steps in which the stores answer a request, each after it was executed, with the numbers of rows or entries
    /// that were expected and found, and its time.
    ///
    /// Unsaved changes of this context are joined to the values afterwards, and are no part of it.
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: that of the request without its limit, times the number of steps.
    public func analyze(_ request: ValueRequest) throws(ContextError) -> PlanStep {
        let fetch = try processAndResolve(request)
        var steps: [PlanStep] = []
        for position in try positions(for: fetch.rows) {
            steps.append(
                try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.analyze(fetch) })
        }
        return Self.joined(steps)
    }

    func processAndResolve(_ request: ValueRequest) throws(ContextError) -> StoreValueFetch {
        // The values decide on order and limit: a sort key may name a column.
        var terms = request.terms
        (terms.sortKeys, terms.fetchLimit, terms.fetchOffset) = ([], 0, 0)
        let rows = try processAndResolve(terms)
        do {
            var fetch = StoreValueFetch(
                try ResolvedValues(request, for: rows.entity, in: model),
                includesSubentities: rows.includesSubentities, predicate: rows.predicate)
            fetch.rows.storeTags = rows.storeTags
            return fetch
        } catch {
            throw .invalidPredicate(error)
        }
    }

    /// The values of stored and of unsaved objects.
    private func joined(
        _ fetch: StoreValueFetch, _ pending: PendingChanges
    ) throws(ContextError) -> ValueCollector {
        var collector = ValueCollector(fetch.values)
        for position in try positions(for: fetch.rows) {
            collector.merge(
                try read(position, fetch) { snapshot, fetch throws(StoreError) -> ValueCollector in
                    var stored = fetch
                    stored.excluded = Set(try rowsToLeaveOut(of: fetch.rows, pending, in: snapshot))
                    return try snapshot.values(stored)
                })
        }
        for object in try matching(fetch.rows, pending) { try collector.add(GraphSubject(object: object)) }
        return collector
    }

    /// The question for all stores together: without the rows of objects that are read from memory.
    ///
    /// It asks no store: the caller's actor must not wait for one.
    ///
    /// - Complexity: O(changed objects of the entity and leading rows).
    func leavingOut(_ pending: PendingChanges?, _ fetch: StoreValueFetch) -> StoreValueFetch {
        guard let pending else { return fetch }
        var stored = fetch
        stored.excluded = Set(rowsTestedHere(fetch.rows, pending))
        return stored
    }
}
