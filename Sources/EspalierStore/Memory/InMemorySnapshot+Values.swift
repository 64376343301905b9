// Values of the rows of an in-memory store.

public import EspalierModel

extension InMemorySnapshot {
    /// The values of the rows that match.
    ///
    /// - Complexity: O(n log n) in the number of rows of the hierarchy.
    public func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        let state = try state()
        var collector = ValueCollector(fetch.values)
        for row in try rows(fetch.rows, excluding: fetch.excluded) {
            try collector.add(MemoryRow(row: row, state: state, schema: schema))
        }
        collector.isInOrder = fetch.isOrdered
        return collector
    }
}
