// The opening of several described stores for one coordinator, none of which is changed before all others are known to
// open.
//
// Order: the stores that opening does not change are opened, and those that it changes are tried; the caller may then
// migrate some stores by other means; the rest is opened, and all stores are added to the coordinator.
//
// Invariants
//   1. After an error no store is open, and none is in the coordinator.

import EspalierStore

/// Described stores that are being opened.
struct JointOpening {
    /// The stores as their kinds get them, in the order of their descriptions.
    let openings: [StoreOpening]
    private let coordinator: PersistentStoreCoordinator
    private let descriptions: [PersistentStoreDescription]
    private let entityNames: [Set<String>?]
    /// The open stores; `nil` for those that are left.
    private var stores: [(any PersistentStore)?]

    /// Opens nothing yet.
    ///
    /// - Throws: `ContextError.unsupportedStore`, `.unknownConfiguration` for a description that no store can have.
    init(
        _ descriptions: [PersistentStoreDescription], in coordinator: PersistentStoreCoordinator
    ) throws(ContextError) {
        (self.coordinator, self.descriptions) = (coordinator, descriptions)
        entityNames = try descriptions.map { description throws(ContextError) in
            try coordinator.entityNames(of: description)
        }
        openings = try descriptions.map { description throws(ContextError) in
            try coordinator.opening(of: description)
        }
        stores = Array(repeating: nil, count: descriptions.count)
    }

    /// Opens the stores that opening does not change.
    ///
    /// Of the others, all but the first are tried: nothing is changed before that one. A single store is not tried, and
    /// is open afterwards.
    ///
    /// - Parameters:
    ///   - migrated: the positions of the stores that the caller migrates next, which are neither opened nor tried. If
    ///     there are any, what opening changes in others must be such that no row can be refused.
    ///   - onOpening: called after each store with the number of open ones.
    /// - Throws: `ContextError` of the first store that fails.
    mutating func openUnchanged(
        except migrated: Set<Int> = [], onOpening: (Int) -> Void
    ) throws(ContextError) {
        let others = openings.indices.filter { !migrated.contains($0) }
        var changed: Set<Int> = []
        if openings.count > 1 {
            do throws(StoreError) {
                changed = Set(try StoreType.tryOpening(others.map { openings[$0] }).map { others[$0] })
            } catch { throw ContextError(error) }
        }
        try open(others.filter { !changed.contains($0) }, onOpening)
    }

    /// Opens the stores that are left, and adds all stores to the coordinator in the order of their descriptions.
    ///
    /// - Parameter onOpening: called after each store with the number of open ones.
    /// - Throws: `ContextError` of the first store that fails.
    mutating func finish(onOpening: (Int) -> Void) throws(ContextError) -> [any PersistentStore] {
        try open(stores.indices.filter { stores[$0] == nil }, onOpening)
        for case let (position, store?) in stores.enumerated() {
            let description = descriptions[position]
            coordinator.add(
                store, entityNames: entityNames[position], name: description.name, description: description)
        }
        return stores.compactMap(\.self)
    }

    /// Closes the stores that are open, because the opening has failed; they have nothing unsaved.
    func cancel() {
        // The caller has the error that ended the opening.
        for case let store? in stores { try? store.close() }
    }

    private mutating func open(_ positions: [Int], _ onOpening: (Int) -> Void) throws(ContextError) {
        for position in positions {
            do throws(StoreError) { stores[position] = try StoreType.open(openings[position]) } catch {
                cancel()
                throw ContextError(error)
            }
            onOpening(stores.count { $0 != nil })
        }
    }
}
