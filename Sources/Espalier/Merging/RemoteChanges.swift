// Saves of other processes, as texts or IDs, merged into several contexts at once (MC-49).

import EspalierModel

extension SavedChanges {
    /// The changes of a save in another process, from the URIs of the objects (MC-49).
    ///
    /// - Throws: `ContextError.invalidURI` with the first text that names no object in one of the coordinator's stores.
    /// - Complexity: O(URIs).
    public init(
        insertedURIs: [String] = [], updatedURIs: [String] = [], deletedURIs: [String] = [],
        in coordinator: PersistentStoreCoordinator
    ) throws(ContextError) {
        func ids(_ uris: [String]) throws(ContextError) -> [ObjectID] {
            try uris.map { uri throws(ContextError) in
                try coordinator.managedObjectID(forURIRepresentation: uri)
            }
        }
        self.init(inserted: try ids(insertedURIs), updated: try ids(updatedURIs), deleted: try ids(deletedURIs))
    }
}

extension ManagedObjectContext {
    /// Merges changes that another process has saved into several contexts, parents before their children (MC-49).
    ///
    /// The contexts may be nested, but must all be in the caller's isolation. Each merges as by
    /// `mergeChanges(from:)`.
    ///
    /// - Complexity: that of the merges; O(1) for each ID of which a context has no object.
    public static func mergeRemoteChanges(
        _ changes: SavedChanges, into contexts: [ManagedObjectContext]
    ) {
        var seen = Set<ObjectIdentifier>()
        let distinct = contexts.filter { seen.insert(ObjectIdentifier($0)).inserted }
        for context in distinct.sorted(by: { $0.depth < $1.depth }) { context.mergeChanges(from: changes) }
    }

    /// The number of contexts above this one.
    private var depth: Int { parent.map { $0.depth + 1 } ?? 0 }
}
