// Assertions of tests about the reads of stores that faults cause (F-2).

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
        let (outer, log) = (tripLog, TripLog())
        tripLog = log
        defer {
            tripLog = outer
            outer?.add(log)
        }
        let value = try body()
        guard log.count <= limit else { throw UnexpectedTrips(limit: limit, count: log.count, trips: log.trips) }
        return value
    }

    /// Runs `body`, and fails if one of its faults reads a store (F-2).
    ///
    /// - Throws: as `assertTrips(atMost:_:)`.
    @discardableResult
    public func assertNoFaults<Value>(_ body: () throws -> Value) throws -> Value {
        try assertTrips(atMost: 0, body)
    }
}
