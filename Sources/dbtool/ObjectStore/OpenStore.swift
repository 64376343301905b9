// An object store that a verb has opened read-only, with the model in its file.

import EspalierEngine
import EspalierModel
import EspalierStore

/// A store opened by path; every failure names the path.
struct OpenStore {
    /// The path as given on the command line.
    let path: String
    private let store: any PersistentStore

    /// Opens the store at `path` read-only, with its own model.
    ///
    /// All reads see one moment of the store, even if another process writes it meanwhile.
    init(_ path: String) throws(ToolError) {
        self.path = path
        var options = DatabaseOptions()
        options.access = .readOnly
        let store = try withPath(path) { () throws(StoreError) in
            try BTreeStore.openWithStoredModel(path: path, options: options)
        }
        store.database.stopFollowing()
        self.store = store
    }

    /// The model in the file.
    var model: ManagedObjectModel { store.model }

    /// The entity called `name`.
    func entity(named name: String) throws(ToolError) -> Entity {
        if let entity = model.entity(named: name) { return entity }
        throw .unknownName(UnknownName(kind: "entity", name: name, candidates: model.entities.map(\.name)))
    }

    /// The number of rows of exactly this entity.
    func rowCount(of entity: Entity) throws(ToolError) -> Int {
        try count(StoreFetch(entity: entity, includesSubentities: false))
    }

    /// The IDs of the rows of exactly this entity, ascending.
    func ids(of entity: Entity) throws(ToolError) -> [ObjectID] {
        try withPath(path) { () throws(StoreError) in
            try store.fetchIDs(StoreFetch(entity: entity, includesSubentities: false))
        }
    }

    /// The rows that match.
    func fetch(_ request: StoreFetch) throws(ToolError) -> SnapshotList {
        try withPath(path) { () throws(StoreError) in try store.fetch(request) }
    }

    /// About the first `count` rows that match, and the fetch for the rest.
    func fetchBatch(_ request: StoreFetch, of count: Int) throws(ToolError) -> FetchBatch {
        try withPath(path) { () throws(StoreError) in try store.fetchBatch(request, of: count) }
    }

    /// The number of matching rows.
    func count(_ request: StoreFetch) throws(ToolError) -> Int {
        try withPath(path) { () throws(StoreError) in try store.count(request) }
    }

    /// The steps in which the store would find the rows, or their number.
    func explain(_ request: StoreFetch, as form: FetchForm) throws(ToolError) -> [String] {
        try withPath(path) { () throws(StoreError) in try store.explain(request, as: form) }
    }

    /// The same steps after their execution, with numbers of rows and times.
    func analyze(_ request: StoreFetch) throws(ToolError) -> PlanStep {
        try withPath(path) { () throws(StoreError) in try store.snapshot().analyze(request) }
    }

    /// The values that a request reads of the rows that match.
    func values(_ request: StoreValueFetch) throws(ToolError) -> ValueCollector {
        try withPath(path) { () throws(StoreError) in try store.values(request) }
    }

    /// The steps in which the store would find values.
    func explain(_ request: StoreValueFetch) throws(ToolError) -> [String] {
        try withPath(path) { () throws(StoreError) in try store.explain(request) }
    }

    /// The same steps after their execution, with numbers of rows or entries and times.
    func analyze(_ request: StoreValueFetch) throws(ToolError) -> PlanStep {
        try withPath(path) { () throws(StoreError) in try store.snapshot().analyze(request) }
    }

    /// The destinations of a to-many relationship for each owner.
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(ToolError) -> [[ObjectID]] {
        try withPath(path) { () throws(StoreError) in try store.destinations(of: relationship, for: owners) }
    }

    /// Closes the store.
    func close() throws(ToolError) { try withPath(path) { () throws(StoreError) in try store.close() } }
}
