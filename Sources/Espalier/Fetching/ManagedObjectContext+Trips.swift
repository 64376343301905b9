// Assertions of tests about the reads of stores that faults cause (F-2).

import EspalierModel

extension ManagedObjectContext {
    /// Runs `body`, and fails if its faults read a store more than `limit` times (F-2).
    ///
    /// Use it in tests of your own, to notice a walk that reads its objects one by one:
    ///
    /// ```swift
    /// let albums = try context.fetch(Album.fetchRequest())
    /// try context.assertTrips(atMost: 1) { for album in albums { use(album.artist?.name) } }
    /// ```
    ///
    /// Each read counts that a fault, a relationship, its `count` or its `contains` causes in this context. A fetch
    /// that `body` makes does not count, nor does a fault whose row is in memory. Assertions may be nested.
    ///
    /// - Throws: `UnexpectedTrips` with the objects and relationships that were read; otherwise what `body` throws.
    /// - Complexity: O(1) for each read.
    @discardableResult
    public func assertTrips<Value>(atMost limit: Int, _ body: () throws -> Value) throws -> Value {
        let log = beginTripLog()
        defer { end(log) }
        let value = try body()
        try log.check(atMost: limit)
        return value
    }

    /// Runs `body`, which may wait for asynchronous calls, and fails if faults read a store more than `limit` times
    /// (F-2).
    ///
    /// Reads of other tasks in this context while `body` waits count, too.
    ///
    /// - Throws: as the synchronous method.
    /// - Complexity: O(1) for each read.
    @discardableResult
    public nonisolated(nonsending) func assertTrips<Value>(
        atMost limit: Int, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        let log = beginTripLog()
        defer { end(log) }
        let value = try await body()
        try log.check(atMost: limit)
        return value
    }

    /// Runs `body`, and fails if one of its faults reads a store (F-2).
    ///
    /// - Throws: as `assertTrips(atMost:_:)`.
    @discardableResult
    public func assertNoFaults<Value>(_ body: () throws -> Value) throws -> Value {
        try assertTrips(atMost: 0, body)
    }

    /// Runs `body`, which may wait for asynchronous calls, and fails if a fault reads a store meanwhile (F-2).
    ///
    /// - Throws: as `assertTrips(atMost:_:)`.
    @discardableResult
    public nonisolated(nonsending) func assertNoFaults<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await assertTrips(atMost: 0, body)
    }

    private func beginTripLog() -> TripLog {
        let log = TripLog()
        tripLogs.append(log)
        return log
    }

    /// Ends a log, which need not be the last one: asynchronous blocks may overlap.
    private func end(_ log: TripLog) { tripLogs.removeAll { $0 === log } }

    /// Records a read for all assertions whose blocks run.
    func noteTrip(_ kind: FaultTrip.Kind, of id: ObjectID, objectCount: Int = 1) {
        for log in tripLogs { log.note(kind, of: id, objectCount: objectCount) }
    }
}
