// Values of the rows of an in-memory store.

public import EspalierModel

extension InMemorySnapshot {
    /// The values of the rows that match.
    ///
    /// - Complexity: O(n) for n rows of the hierarchy, and O(m log m) for m that match: the store has no index.
    public func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        let state = try state()
        var collector = ValueCollector(fetch.values)
        var steps = fetch.rows.steps
        for row in try rows(fetch.rows, excluding: fetch.excluded) {
            try steps.count()
            try collector.add(MemoryRow(row: row, state: state, schema: schema))
        }
        collector.isInOrder = fetch.isOrdered
        return collector
    }
}
