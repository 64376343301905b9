// The link between contexts and stores: it finds the store of an object and delivers saves to other contexts.
//
// Invariants
//   1. An object's ID names its store; a new object is saved in the first writable store that accepts its entity.
//   2. All entities of one hierarchy are in one store, and no relationship connects two stores.
//   3. No lock is held while a store works or a mailbox is notified.
// Not here: the coordinator as a source of contexts (+Source).

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
    /// Incremented with every change of the list of stores.
    private let edition = Atomic<UInt64>(0)
    /// Guards the list of closures that observe the stores; the closures are called outside the lock.
    let observers = Mutex(StoreObservers())

    /// A coordinator without stores.
    public init(managedObjectModel: ManagedObjectModel) { self.managedObjectModel = managedObjectModel }

    deinit { for member in state.withLock(\.mailboxes) { member.mailbox?.finish() } }

    // MARK: Stores

    /// The open stores, in the order in which they were added.
    public var persistentStores: [any PersistentStore] { state.withLock { $0.members.map(\.store) } }

    /// Adds an open store that was made with this coordinator's model.
    ///
    /// - Parameter entityNames: the entities whose new objects it accepts, each with its hierarchy; `nil` = all.
    public func add(_ store: any PersistentStore, entityNames: Set<String>? = nil) {
        let roots = entityNames.map { Set($0.compactMap { managedObjectModel.entity(named: $0)?.root }) }
        tellWillChange(added: [store])
        state.withLock { state in
            let part = SourcePart(
                number: SourcePart.newNumber(),
                storeTag: Interned.stores.tag(of: store.identifier), rootEntities: roots,
                isReadOnly: store.isReadOnly, path: store.path)
            state.members.append(Member(store: store, part: part))
            edition.add(1, ordering: .sequentiallyConsistent)
        }
        tellDidChange(added: [store])
    }

    /// Opens a store and adds it (PS-02).
    ///
    /// - Throws: `ContextError.store` if it cannot be opened; `.unsupportedStore` for a kind of store that is not built
    ///   in: open such a store yourself and pass it to `add`; `.unknownConfiguration`.
    @discardableResult
    public func addPersistentStore(
        _ description: PersistentStoreDescription
    ) throws(ContextError) -> any PersistentStore {
        let entityNames = try entityNames(of: description)
        let store: any PersistentStore
        switch (description.type, description.path) {
        case (.inMemory, nil): store = InMemoryStore(model: managedObjectModel)
        case (.btree, let path?):
            do {
                store = try BTreeStore.open(
                    path: path, model: managedObjectModel, isReadOnly: description.isReadOnly,
                    migration: description.migration.logged)
            } catch {
                throw ContextError(error)
            }
        default: throw .unsupportedStore(description.type)
        }
        add(store, entityNames: entityNames)
        return store
    }

    /// The entities of a described store: those that it names, or those of its configuration.
    private func entityNames(of description: PersistentStoreDescription) throws(ContextError) -> Set<String>? {
        guard let name = description.configurationName else { return description.entityNames }
        guard let entities = managedObjectModel.entities(forConfigurationNamed: name) else {
            throw .unknownConfiguration(name, known: managedObjectModel.configurations.map(\.name))
        }
        return Set(entities.map(\.name))
    }

    /// The changes that adding a store would make to its file, and the reasons that prevent them (SD-30).
    ///
    /// - Parameter checkingRows: whether to try the migration, which is rolled back in the end: the plan then names the
    ///   rows that the model forbids, and says how many would be written. No other process or store object may have the
    ///   file open for writing.
    /// - Throws: `ContextError.store` if the file cannot be read; `.unsupportedStore` for a store without a file.
    public func migrationPlan(
        for description: PersistentStoreDescription, checkingRows: Bool = false
    ) throws(ContextError) -> MigrationPlan {
        guard description.type == .btree, let path = description.path else {
            throw .unsupportedStore(description.type)
        }
        do {
            return try BTreeStore.migrationPlan(
                at: path, to: managedObjectModel, migration: description.migration.logged, checkingRows: checkingRows)
        } catch {
            throw ContextError(error)
        }
    }

    /// Closes a store and removes it; its objects can no longer be reached.
    ///
    /// - Throws: `ContextError.store` if closing failed; the store is removed nevertheless.
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

    /// The ID that a URI denotes (ID-07).
    ///
    /// - Throws: `ContextError.invalidURI` if the text is no such URI, or names no open store or no entity of the
    ///   model.
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

    /// Incremented whenever a store is added or removed.
    var partsEdition: UInt64 { edition.load(ordering: .relaxed) }

    /// The open stores, as contexts see them.
    var parts: [SourcePart] { state.withLock { $0.members.map(\.part) } }

    /// The store of a part.
    ///
    /// - Throws: `StoreError.closed` if the store was removed.
    func store(of part: SourcePart) throws(StoreError) -> any PersistentStore {
        let found = state.withLock { state in state.members.first { $0.part.number == part.number }?.store }
        guard let found else { throw .closed }
        return found
    }

    // MARK: Messages

    /// Makes a mailbox for saves of other contexts.
    ///
    /// - Parameter notice: called when a save is delivered to the empty mailbox, on the thread of the context that
    ///   saved.
    package func subscribe(notice: (@Sendable () -> Void)? = nil) -> SaveMailbox {
        let mailbox = SaveMailbox(notice: notice)
        state.withLock { state in
            state.mailboxes.removeAll { $0.mailbox == nil }
            state.mailboxes.append(WeakMailbox(mailbox: mailbox))
        }
        return mailbox
    }

    /// Delivers changes to every mailbox except the sender's.
    func tell(_ changes: SavedChanges, except sender: SaveMailbox?) {
        let mailboxes = state.withLock { $0.mailboxes.compactMap(\.mailbox) }
        for mailbox in mailboxes where mailbox !== sender { mailbox.deliver(changes) }
    }
}
