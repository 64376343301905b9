// Enumeration of the rows of a request for values, without holding all of them in memory.
//
// Invariants
//   1. If each object has a row of its own, the walk holds one batch of stored rows and their values. Groups, distinct
//      rows, aggregates, and an order of values that only finished rows have need all objects first, and so do unsaved
//      changes, several stores, and a parent context.

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Calls `body` with each row that `fetch(_:)` returns, in the same order (FR-02, FR-04).
    ///
    /// The stored rows are read in batches, each from the generation that the context reads at that moment, if each
    /// object has a row of its own: the request has no groups, aggregates or distinct rows. Otherwise, and if unsaved
    /// changes or several stores join or the context has a parent, all rows are one batch.
    ///
    /// ```swift
    /// let request = ValueRequest(entityName: "Track", columns: ["name", "album.title"])
    /// try context.enumerate(request) { row in print(row["name"] ?? .null, row["album.title"] ?? .null) }
    /// ```
    /// - Parameter batchSize: how many objects are read at once, 0 for all.
    /// - Throws: what `fetch(_:)` throws, and what `body` throws; an error ends the enumeration.
    /// - Complexity: that of `enumerate` for objects; a path across relationships reads the destination of each object.
    public func enumerate(
        _ request: ValueRequest, batchSize: Int = 1000, _ body: (ResultRow) throws -> Void
    ) throws {
        // The stores apply offset and limit to the objects.
        var unlimited = request
        (unlimited.fetchOffset, unlimited.fetchLimit) = (0, 0)
        let fetch = try processAndResolve(unlimited)
        let (rows, values) = (fetch.rows, fetch.values)
        let lossCount = generation.lossCount
        let pending = try pendingChanges(for: rows, reading: values.inputs, request.includesPendingChanges)
        guard let order = values.rowOrder, pending == nil, parent == nil,
            let position = generation.onlyPosition(for: rows)
        else {
            for row in try self.fetch(request) { try body(row) }
            return
        }
        let size = batchSize > 0 ? batchSize : Int.max
        var first = rows
        (first.sort, first.offset) = (order, max(0, request.fetchOffset))
        first.limit = request.fetchLimit > 0 ? request.fetchLimit : nil
        let tag = generation.parts[position].part.storeTag
        var rest: StoreFetch? = first
        while let next = rest {
            let (batch, found, others) = try read(self.position(ofStore: tag, for: next), next) {
                snapshot, next throws(StoreError) -> (SnapshotList, ValueCollector, StoreFetch?) in
                let batch = try snapshot.fetchBatch(next, of: size)
                return (batch.rows, try snapshot.values(values, of: batch.rows, isInOrder: true), batch.rest)
            }
            rest = others
            var collector = found
            // Cascades may reach some of the rows in a newer generation.
            if generation.lossCount != lossCount, request.includesPendingChanges {
                try followCascades(forBatchOf: next, request.terms)
                let left = batch.filter { !willDelete($0.id) }
                if left.count < batch.count {
                    collector = try read(self.position(ofStore: tag, for: next), SnapshotList(left)) {
                        snapshot, left throws(StoreError) in try snapshot.values(values, of: left, isInOrder: true)
                    }
                }
            }
            for row in try self.rows(of: collector) { try body(row) }
        }
    }
}
