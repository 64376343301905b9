// Between contexts and stores: which store holds what, and who is told of a save.
//
// Invariants
//   1. An object's ID says its store; a new object goes to the first writable store that takes its entity.
//   2. All entities of one hierarchy go to one store, and no relationship leads from store to store.
//   3. No lock is held while a store works or a mailbox is told.
// Not here: what contexts ask of it (+Source).

public import EspalierModel
public import EspalierStore
import FoundationEssentials
import Synchronization

/// A model and its open stores (Behaviour PS-01 to PS-29).
///
/// Safe to use from several threads.
public final class PersistentStoreCoordinator: Sendable {
    private struct Member {
        let store: any PersistentStore
        let part: SourcePart
    }
    private struct WeakMailbox {
        weak var mailbox: SaveMailbox?
    }
    private struct State {
        var members: [Member] = []
        var mailboxes: [WeakMailbox] = []
    }

    /// The model of all stores.
    public let managedObjectModel: ManagedObjectModel
    /// Guards the lists of stores and of receivers.
    private let state = Mutex(State())
    /// The number of the last store that was added to any coordinator.
    private static let lastNumber = Atomic<UInt64>(0)
    /// Goes up with every change of the list of stores.
    private let edition = Atomic<UInt64>(0)
    /// Guards the list of closures that observe the stores; they are called outside of it.
    let observers = Mutex(StoreObservers())

    /// A coordinator without stores.
    public init(managedObjectModel: ManagedObjectModel) { self.managedObjectModel = managedObjectModel }

    deinit { for member in state.withLock(\.mailboxes) { member.mailbox?.finish() } }

    // MARK: Stores

    /// The open stores, in the order they were added in.
    public var persistentStores: [any PersistentStore] { state.withLock { $0.members.map(\.store) } }

    /// Adds an open store that was made with this coordinator's model.
    ///
    /// - Parameter entityNames: the entities whose new objects it takes, each with its hierarchy; `nil` = all.
    public func add(_ store: any PersistentStore, entityNames: Set<String>? = nil) {
        let roots = entityNames.map { Set($0.compactMap { managedObjectModel.entity(named: $0)?.root }) }
        tellWillChange(added: [store])
        state.withLock { state in
            let part = SourcePart(
                number: Self.lastNumber.add(1, ordering: .relaxed).newValue,
                storeTag: Interned.stores.tag(of: store.identifier), rootEntities: roots,
                isReadOnly: store.isReadOnly, path: store.path)
            state.members.append(Member(store: store, part: part))
            edition.add(1, ordering: .sequentiallyConsistent)
        }
        tellDidChange(added: [store])
    }

    /// Opens a store and adds it (PS-02).
    ///
    /// - Throws: `ContextError.store` if it cannot be opened; `.unsupportedStore` for a kind of store that is not
    ///   built in: open such a store yourself and `add` it.
    @discardableResult
    public func addPersistentStore(
        _ description: PersistentStoreDescription
    ) throws(ContextError) -> any PersistentStore {
        let store: any PersistentStore
        switch (description.type, description.path) {
        case (.inMemory, nil): store = InMemoryStore(model: managedObjectModel)
        case (.btree, let path?):
            do {
                store = try BTreeStore.open(
                    path: path, model: managedObjectModel, isReadOnly: description.isReadOnly,
                    migration: description.migration)
            } catch {
                throw ContextError(error)
            }
        default: throw .unsupportedStore(description.type)
        }
        add(store, entityNames: description.entityNames)
        return store
    }

    /// What adding a store would do to its file, and what keeps it from being done (SD-30).
    ///
    /// - Parameter checkingRows: whether to try the migration, which is given up in the end: the plan then names the
    ///   rows that the model forbids, and says how many would be written. Nobody may have the file open for writing.
    /// - Throws: `ContextError.store` if the file cannot be read; `.unsupportedStore` for a store without a file.
    public func migrationPlan(
        for description: PersistentStoreDescription, checkingRows: Bool = false
    ) throws(ContextError) -> MigrationPlan {
        guard description.type == .btree, let path = description.path else {
            throw .unsupportedStore(description.type)
        }
        do {
            return try BTreeStore.migrationPlan(
                at: path, to: managedObjectModel, migration: description.migration, checkingRows: checkingRows)
        } catch {
            throw ContextError(error)
        }
    }

    /// Closes a store and takes it out; its objects can no longer be reached.
    ///
    /// - Throws: `ContextError.store` if closing failed; it is taken out nevertheless.
    public func remove(_ store: any PersistentStore) throws(ContextError) {
        tellWillChange(removed: [store])
        state.withLock { state in
            state.members.removeAll { $0.store === store }
            edition.add(1, ordering: .sequentiallyConsistent)
        }
        defer { tellDidChange(removed: [store]) }
        do { try store.close() } catch { throw ContextError(error) }
    }

    /// The store that holds the object; `nil` for a temporary ID or a store that is not open here (ID-04).
    public func persistentStore(for id: ObjectID) -> (any PersistentStore)? {
        state.withLock { state in
            state.members.first { $0.part.storeTag == id.storeTag }?.store
        }
    }

    /// The ID that a URI stands for (ID-07).
    ///
    /// - Throws: `ContextError.invalidURI` if it is none, or of no open store and no entity of the model.
    public func managedObjectID(forURIRepresentation text: String) throws(ContextError) -> ObjectID {
        let prefix = "x-espalier://"
        let parts = text.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard text.hasPrefix(prefix), parts.count == 3, parts[2].first == "p", let key = UInt64(parts[2].dropFirst()),
            key != 0, let identifier = UUID(uuidString: String(parts[0])),
            managedObjectModel.entity(named: String(parts[1])) != nil,
            persistentStores.contains(where: { $0.identifier == identifier })
        else { throw .invalidURI(text) }
        return ObjectID(entityName: String(parts[1]), storeIdentifier: identifier, key: key)
    }

    // MARK: Parts

    /// Goes up whenever stores come or go.
    var partsEdition: UInt64 { edition.load(ordering: .relaxed) }

    /// The open stores, as contexts see them.
    var parts: [SourcePart] { state.withLock { $0.members.map(\.part) } }

    /// The store that a part is.
    ///
    /// - Throws: `StoreError.closed` if it was taken out.
    func store(of part: SourcePart) throws(StoreError) -> any PersistentStore {
        let found = state.withLock { state in state.members.first { $0.part.number == part.number }?.store }
        guard let found else { throw .closed }
        return found
    }

    // MARK: Telling

    /// A mailbox for saves of other contexts.
    ///
    /// - Parameter notice: called when a save comes into the empty mailbox, on the thread of the context that saved.
    package func subscribe(notice: (@Sendable () -> Void)? = nil) -> SaveMailbox {
        let mailbox = SaveMailbox(notice: notice)
        state.withLock { state in
            state.mailboxes.removeAll { $0.mailbox == nil }
            state.mailboxes.append(WeakMailbox(mailbox: mailbox))
        }
        return mailbox
    }

    /// Tells every receiver but the one that saved.
    func tell(_ changes: SavedChanges, except sender: SaveMailbox?) {
        let mailboxes = state.withLock { $0.mailboxes.compactMap(\.mailbox) }
        for mailbox in mailboxes where mailbox !== sender { mailbox.deliver(changes) }
    }
}
