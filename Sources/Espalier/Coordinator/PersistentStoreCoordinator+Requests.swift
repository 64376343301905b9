// What contexts ask of stores, with the store's errors turned into the context's.
//
// Invariants
//   1. Without an open store that could answer, the answer is an error and never empty.

import EspalierModel
import EspalierStore

extension PersistentStoreCoordinator {
    /// The rows that match in every store that may hold some, one array per store.
    func fetch(_ fetch: StoreFetch) throws(ContextError) -> [SnapshotList] {
        var results: [SnapshotList] = []
        for store in try openStores(holding: fetch.entity) {
            do { results.append(try store.fetch(fetch)) } catch { throw ContextError(error) }
        }
        return results
    }

    /// The IDs of the rows that match, one array per store.
    func fetchIDs(_ fetch: StoreFetch) throws(ContextError) -> [[ObjectID]] {
        var results: [[ObjectID]] = []
        for store in try openStores(holding: fetch.entity) {
            do { results.append(try store.fetchIDs(fetch)) } catch { throw ContextError(error) }
        }
        return results
    }

    /// How many rows match, in all stores together.
    func count(_ fetch: StoreFetch) throws(ContextError) -> Int {
        var sum = 0
        for store in try openStores(holding: fetch.entity) {
            do { sum += try store.count(fetch) } catch { throw ContextError(error) }
        }
        return sum
    }

    /// How stores answer a fetch, line by line.
    func explain(_ fetch: StoreFetch) throws(ContextError) -> [String] {
        var lines: [String] = []
        for store in try openStores(holding: fetch.entity) {
            do { lines += try store.explain(fetch) } catch { throw ContextError(error) }
        }
        return lines
    }

    /// Rows by ID, all of one store; `nil` where there is none.
    func snapshots(of ids: [ObjectID]) throws(ContextError) -> [ObjectSnapshot?] {
        guard let first = ids.first else { return [] }
        let store = try openStore(for: first)
        do { return try store.snapshots(of: ids) } catch { throw ContextError(error) }
    }

    /// Destinations of owners that are all of one store.
    func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(ContextError) -> [[ObjectID]] {
        guard let first = owners.first else { return [] }
        let store = try openStore(for: first)
        do { return try store.destinations(of: relationship, for: owners) } catch { throw ContextError(error) }
    }

    /// How many destinations the store holds for `owner`, or `limit` if there are more.
    func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(ContextError) -> Int {
        let store = try openStore(for: owner)
        do { return try store.destinationCount(of: relationship, for: owner, limit: limit) } catch {
            throw ContextError(error)
        }
    }

    /// Whether the store holds `destination` as a destination of `owner`.
    func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(ContextError) -> Bool {
        let store = try openStore(for: owner)
        do { return try store.hasDestination(destination, of: relationship, for: owner) } catch {
            throw ContextError(error)
        }
    }

    /// The stores that may hold objects of `entity`.
    ///
    /// - Throws: `ContextError.noStore` if there are none, which is no empty answer: nobody was asked.
    private func openStores(holding entity: Entity) throws(ContextError) -> [any PersistentStore] {
        let stores = stores(holding: entity)
        guard !stores.isEmpty else { throw .noStore(entity: entity.name) }
        return stores
    }

    private func openStore(for id: ObjectID) throws(ContextError) -> any PersistentStore {
        guard let store = persistentStore(for: id) else { throw .noStore(entity: id.entityName) }
        return store
    }
}
