// The link between contexts and stores: it finds the store of an object and delivers saves to other contexts.
//
// Invariants
//   1. An object's ID names its store; a new object is saved in the first writable store that accepts its entity,
//      unless it was assigned to another one.
//   2. A store accepts a hierarchy as a whole or not at all, and no relationship connects two stores.
//   3. No lock is held while a store works or a mailbox is notified.
// Not here: the coordinator as a source of contexts (+Source), several stores that are opened together (JointOpening).

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
        /// The checks of its answers; `nil` for a store of this package, which needs none or makes them itself.
        let checks: ContractChecks?
        /// The name by which the application finds the store.
        let name: String?
        /// The description from which the store was opened; `nil` if the application opened it.
        var description: PersistentStoreDescription?
    }
    /// A store that was put in the place of another one, perhaps after others.
    private struct Move {
        weak var former: (any PersistentStore)?
        weak var store: (any PersistentStore)?

        /// Both stores, retained.
        ///
        /// It may be the last reference to one, whose end closes its file: let go of it outside the lock.
        var stores: (former: (any PersistentStore)?, store: (any PersistentStore)?) { (former, store) }
    }
    private struct State {
        var members: [Member] = []
        /// The moves of stores that somebody still retains.
        var moves: [Move] = []
        var mailboxes = WeakList<SaveMailbox>()
        /// The saves between their beginning and the delivery of their messages, with the threads that make them.
        var writers: [UInt64: UInt] = [:]
        var lastWriter: UInt64 = 0
        /// The commands that stores carry out at this moment.
        var commands: [RunningCommand] = []
    }

    /// The model of all stores.
    public let managedObjectModel: ManagedObjectModel
    /// The resolved forms of the requests that contexts repeat.
    let knownRequests: KnownRequests
    /// Guards the lists of stores, of receivers, of writers and of commands.
    private let state = Mutex(State())
    /// Incremented with every change of the list of stores.
    private let edition = Atomic<UInt64>(0)
    /// Guards the list of closures that observe the stores; the closures are called outside the lock.
    let observers = Mutex(StoreObservers())

    /// A coordinator without stores.
    public init(managedObjectModel: ManagedObjectModel) {
        self.managedObjectModel = managedObjectModel
        knownRequests = KnownRequests(managedObjectModel)
    }

    deinit { for mailbox in state.withLock(\.mailboxes.objects) { mailbox.finish() } }

    // MARK: Stores

    /// The open stores, in the order in which they were added.
    public var persistentStores: [any PersistentStore] { state.withLock { $0.members.map(\.store) } }

    /// Adds an open store that was made with this coordinator's model.
    ///
    /// - Parameters:
    ///   - entityNames: the entities whose new objects it accepts, each with its hierarchy; `nil` = all.
    ///   - name: a name by which `persistentStore(named:)` finds it.
    public func add(_ store: any PersistentStore, entityNames: Set<String>? = nil, name: String? = nil) {
        add(store, entityNames: entityNames, name: name, description: nil)
    }

    func add(
        _ store: any PersistentStore, entityNames: Set<String>?, name: String?,
        description: PersistentStoreDescription?
    ) {
        let member = member(store, entityNames, name, description)
        tellWillChange(added: [store])
        state.withLock { state in
            state.members.append(member)
            edition.add(1, ordering: .sequentiallyConsistent)
        }
        store.didAdd(configurationName: description?.configurationName)
        tellDidChange(added: [store])
    }

    private func member(
        _ store: any PersistentStore, _ entityNames: Set<String>?, _ name: String?,
        _ description: PersistentStoreDescription?
    ) -> Member {
        let roots = entityNames.map { Set($0.compactMap { managedObjectModel.entity(named: $0)?.root }) }
        let checks = ContractChecks(of: store, model: managedObjectModel)
        let part = SourcePart(
            number: SourcePart.newNumber(),
            storeTag: Interned.stores.tag(of: store.identifier), rootEntities: roots,
            isReadOnly: store.isReadOnly || description?.isReadOnly == true, path: store.path,
            outsideType: checks != nil || store is IncrementalStore ? store.type.rawValue : nil)
        return Member(store: store, part: part, checks: checks, name: name, description: description)
    }

    /// Opens a store and adds it (PS-02).
    ///
    /// - Throws: `ContextError.store` if it cannot be opened; `.unsupportedStore` for a kind of store that is not
    ///   registered (`StoreType.register`), or that does not fit the path; `.unknownConfiguration`.
    @discardableResult
    public func addPersistentStore(
        _ description: PersistentStoreDescription
    ) throws(ContextError) -> any PersistentStore {
        let entityNames = try entityNames(of: description)
        let store = try open(description)
        add(store, entityNames: entityNames, name: description.name, description: description)
        return store
    }

    private func open(_ description: PersistentStoreDescription) throws(ContextError) -> any PersistentStore {
        let opening = try opening(of: description)
        do { return try StoreType.open(opening) } catch { throw ContextError(error) }
    }

    /// The description as stores get it.
    func opening(of description: PersistentStoreDescription) throws(ContextError) -> StoreOpening {
        switch (description.type, description.path) {
        case (.inMemory, _?), (.btree, nil): throw .unsupportedStore(description.type)
        default: break
        }
        return StoreOpening(
            description.type, model: managedObjectModel, path: description.path, isReadOnly: description.isReadOnly,
            options: description.options, migration: description.migration.logged)
    }

    /// Puts an open store in the place of another one, which is closed: new objects go to the same place.
    ///
    /// Other threads see one of the two at every moment. A former store that an observer has removed meanwhile has no
    /// place: the new one then comes after all others.
    ///
    /// - Parameter entityNames: the entities of the description.
    /// - Returns: the error of closing the former store, which is removed nevertheless.
    func replace(
        _ former: any PersistentStore, by store: any PersistentStore, _ description: PersistentStoreDescription,
        entityNames: Set<String>?
    ) -> ContextError? {
        tellWillChange(removed: [former])
        former.willRemove()
        exchange(former, for: store, description, entityNames)
        var failure: ContextError?
        do throws(ContextError) { try close(former) } catch { failure = error }
        tellDidChange(removed: [former])
        tellDidChange(added: [store])
        return failure
    }

    /// Closes a store, calls `body`, and puts the store that is then described in the place of the closed one.
    ///
    /// Other threads see one of the two at every moment. Until the new one is open they get `StoreError.closed`: if the
    /// place were empty, new objects would go to another store. A change that another thread is making is waited for;
    /// this thread must make none (`checkIsNotWriting`).
    ///
    /// - Throws: `ContextError` if the store cannot be closed, or the new one cannot be opened; the former store is
    ///   removed nevertheless.
    func reopen(
        _ former: any PersistentStore, as description: PersistentStoreDescription, afterClosing body: () -> Void
    ) throws(ContextError) -> any PersistentStore {
        let entityNames = try entityNames(of: description)
        tellWillChange(removed: [former])
        former.willRemove()
        let store: any PersistentStore
        do throws(ContextError) {
            try close(former)
            body()
            store = try open(description)
        } catch {
            drop(former)
            tellDidChange(removed: [former])
            throw error
        }
        exchange(former, for: store, description, entityNames)
        tellDidChange(removed: [former])
        tellDidChange(added: [store])
        return store
    }

    /// Puts an open store in the place that another one has among the open stores, in one step.
    private func exchange(
        _ former: any PersistentStore, for store: any PersistentStore, _ description: PersistentStoreDescription,
        _ entityNames: Set<String>?
    ) {
        let member = member(store, entityNames, description.name, description)
        tellWillChange(added: [store])
        let retained = state.withLock { state in
            let known = state.moves.map(\.stores)
            state.moves = zip(state.moves, known).compactMap { move, stores in
                guard stores.former != nil, let last = stores.store else { return nil }
                return last === former ? Move(former: stores.former, store: store) : move
            }
            state.moves.append(Move(former: former, store: store))
            if let position = state.members.firstIndex(where: { $0.store === former }) {
                state.members[position] = member
            } else {
                state.members.append(member)
            }
            edition.add(1, ordering: .sequentiallyConsistent)
            return known
        }
        withExtendedLifetime(retained) {}
        store.didAdd(configurationName: description.configurationName)
    }

    /// Closes a store after the change that another thread is making to it.
    ///
    /// - Parameter body: called when nothing is being changed, before the store is closed.
    private func close(_ store: any PersistentStore, afterChanges body: () -> Void = {}) throws(ContextError) {
        (store as? any BuiltInStore)?.endChanges()
        body()
        do { try store.close() } catch { throw ContextError(error) }
    }

    /// Takes a store out of the list of open ones.
    private func drop(_ store: any PersistentStore) {
        state.withLock { state in
            state.members.removeAll { $0.store === store }
            edition.add(1, ordering: .sequentiallyConsistent)
        }
    }

    /// The description with the name and the entities of an open store, unless it has its own.
    func completed(
        _ description: PersistentStoreDescription, inPlaceOf former: any PersistentStore
    ) -> PersistentStoreDescription {
        let known = state.withLock { state in
            state.members.first { $0.store === former }.map {
                (name: $0.name, roots: $0.part.rootEntities, configuration: $0.description?.configurationName)
            }
        }
        guard let known else { return description }
        var completed = description
        completed.name = description.name ?? known.name
        guard description.entityNames == nil, description.configurationName == nil else { return completed }
        completed.configurationName = known.configuration
        if known.configuration == nil {
            completed.entityNames = known.roots.map { Set($0.map { managedObjectModel.entities[$0].name }) }
        }
        return completed
    }

    /// The store that is in the place of another one now: that one itself, unless it was moved.
    ///
    /// - Complexity: O(moves).
    func storeInPlace(of store: any PersistentStore) -> any PersistentStore {
        let moves = state.withLock { state in state.moves.map(\.stores) }
        return moves.first { $0.former === store }?.store ?? store
    }

    /// The description from which an open store was made: with its options, and the name of its configuration (PS-11).
    ///
    /// It is `nil` for a store that the application has opened itself.
    public func description(of store: any PersistentStore) -> PersistentStoreDescription? {
        state.withLock { state in state.members.first { $0.store === store }?.description }
    }

    /// The entities of a described store: those that it names, or those of its configuration.
    func entityNames(of description: PersistentStoreDescription) throws(ContextError) -> Set<String>? {
        guard let name = description.configurationName else { return description.entityNames }
        guard let entities = managedObjectModel.entities(forConfigurationNamed: name) else {
            throw .unknownConfiguration(name, known: managedObjectModel.configurations.map(\.name))
        }
        return Set(entities.map(\.name))
    }

    /// The changes that adding a store would make to its file, and the reasons that prevent them (SD-30).
    ///
    /// - Parameter checkingRows: whether to try the migration, which is rolled back in the end: the plan then names the
    ///   rows that the model forbids, and says how many would be written. No other process or store object may have a
    ///   B-tree file open for writing. The migration of a binary file is tried in memory.
    /// - Throws: `ContextError.store` if the file cannot be read; `.unsupportedStore` for a store whose kind is never
    ///   migrated, or that has no file.
    /// - Complexity: that of opening the file, and O(size of the two models); if `checkingRows`, that of the migration.
    public func migrationPlan(
        for description: PersistentStoreDescription, checkingRows: Bool = false
    ) throws(ContextError) -> MigrationPlan {
        let opening = try opening(of: description)
        let plan: MigrationPlan?
        do throws(StoreError) {
            plan = try StoreType.migrationPlan(opening, checkingRows: checkingRows)
        } catch {
            throw ContextError(error)
        }
        guard let plan else { throw .unsupportedStore(description.type) }
        return plan
    }

    /// Closes a store and removes it; its objects can no longer be reached (PS-03).
    ///
    /// The change that another thread is making to the store is finished first, and so is that of a batch request,
    /// whose closure must not wait for this call. Changes that wait for it are refused with `StoreError.closed`. Reads
    /// of other threads end with that error, too. Later calls do not find the store: they throw `.noStore` if no other
    /// one is asked. A store of the application's own kind is closed at once, unless its `close()` waits.
    ///
    /// - Throws: Before anybody is told: `ContextError.alreadySaving` in a hook or an observer of a save of this
    ///   thread, also one to another store, and in the closure of a batch request; the store stays open. Otherwise
    ///   `.store` if closing failed; the store is removed nevertheless. A B-tree file is released then, and its next
    ///   opening recovers what was committed, except if something else is reading it, as `BTreeStore.check(progress:)`:
    ///   with the engine's `transactionsOpen` it stays locked, until `close()` of the store succeeds or nobody retains
    ///   the store.
    /// - Complexity: that of closing the store.
    public func remove(_ store: any PersistentStore) throws(ContextError) {
        try checkIsNotWriting()
        tellWillChange(removed: [store])
        store.willRemove()
        defer { tellDidChange(removed: [store]) }
        try close(store) { drop(store) }
    }

    /// The store that holds the object; `nil` for a temporary ID or a store that is not open here (ID-04).
    public func persistentStore(for id: ObjectID) -> (any PersistentStore)? {
        state.withLock { state in
            state.members.first { $0.part.storeTag == id.storeTag }?.store
        }
    }

    /// The first open store that was added with this name; `nil` if there is none (SD-14).
    ///
    /// - Complexity: O(stores).
    public func persistentStore(named name: String) -> (any PersistentStore)? {
        state.withLock { state in state.members.first { $0.name == name }?.store }
    }

    /// The ID that a URI denotes (ID-07).
    ///
    /// - Throws: `ContextError.invalidURI` if the text is no such URI, or names no open store or no entity of the
    ///   model.
    public func managedObjectID(forURIRepresentation text: String) throws(ContextError) -> ObjectID {
        guard let id = ObjectID(uriRepresentation: text), !id.isTemporary,
            managedObjectModel.entity(named: id.entityName) != nil, persistentStore(for: id) != nil
        else { throw .invalidURI(text) }
        return id
    }

    // MARK: Parts

    /// Incremented whenever a store is added or removed.
    var partsEdition: UInt64 { edition.load(ordering: .relaxed) }

    /// The open stores, as contexts see them.
    var parts: [SourcePart] { state.withLock { $0.members.map(\.part) } }

    /// Whether a fetch asks an open store.
    ///
    /// - Complexity: O(stores).
    func hasStore(for fetch: StoreFetch) -> Bool {
        state.withLock { state in
            state.members.contains { $0.part.takes(fetch.entity) && fetch.asks(storeTag: $0.part.storeTag) }
        }
    }

    /// The part that an open store is; `nil` if it is not open here.
    func part(of store: any PersistentStore) -> SourcePart? {
        state.withLock { state in state.members.first { $0.store === store }?.part }
    }

    /// The store of a part, and the checks of its answers if it needs any.
    ///
    /// - Throws: `StoreError.closed` if the store was removed.
    func storeAndChecks(
        of part: SourcePart
    ) throws(StoreError) -> (store: any PersistentStore, checks: ContractChecks?) {
        let found = state.withLock { state in
            state.members.first { $0.part.number == part.number }.map { (store: $0.store, checks: $0.checks) }
        }
        guard let found else { throw .closed }
        return found
    }

    // MARK: Messages

    /// Makes a mailbox for saves of other contexts.
    ///
    /// - Parameter notice: called when a save is delivered to the empty mailbox, on the thread of the context that
    ///   saved.
    /// - Complexity: O(1), amortized.
    package func subscribe(notice: (@Sendable () -> Void)? = nil) -> SaveMailbox {
        let mailbox = SaveMailbox(notice: notice)
        state.withLock { $0.mailboxes.append(mailbox) }
        return mailbox
    }

    func beginWriting() -> UInt64 {
        state.withLock { state in
            state.lastWriter += 1
            state.writers[state.lastWriter] = CallingThread.number
            return state.lastWriter
        }
    }

    func endWriting(_ writer: UInt64) { state.withLock { $0.writers[writer] = nil } }

    var writers: Set<UInt64> { state.withLock { Set($0.writers.keys) } }

    /// Throws if a save or a batch request of this thread runs: a hook, an observer or a closure makes the call, which
    /// would wait for the end of what its own thread is writing.
    ///
    /// - Complexity: O(running saves and commands).
    func checkIsNotWriting() throws(ContextError) {
        let thread = CallingThread.number
        guard thread != 0 else { return }
        let place = state.withLock { state -> String? in
            guard state.writers.values.contains(thread) else { return nil }
            let isInCommand = state.commands.contains { $0.thread == thread }
            return isInCommand ? SaveStage.batchClosure : SaveStage.hookOrObserver
        }
        if let place { throw .alreadySaving(hook: place, object: nil) }
    }

    /// Notes that the store of a part carries out a command, or is moved, on this thread, until `end(_:)`.
    ///
    /// - Returns: `nil` if the system does not number threads.
    func beginCommand(in part: SourcePart) -> RunningCommand? {
        guard let command = RunningCommand(part) else { return nil }
        state.withLock { $0.commands.append(command) }
        return command
    }

    /// Ends a command that `beginCommand` has begun.
    func end(_ command: RunningCommand?) {
        guard let command else { return }
        state.withLock { state in
            if let position = state.commands.firstIndex(of: command) { state.commands.remove(at: position) }
        }
    }

    /// Throws if the store of a part carries out a command on this thread: a closure of that command makes the call,
    /// which would wait for the end of the closure.
    func checkIsNotInCommand(_ part: SourcePart) throws(StoreError) {
        guard let command = RunningCommand(part) else { return }
        if state.withLock({ $0.commands.contains(command) }) { throw .alreadyWriting(path: part.path) }
    }

    /// Delivers changes to every mailbox except the sender's.
    func tell(_ changes: SavedChanges, except sender: SaveMailbox?) {
        let mailboxes = state.withLock(\.mailboxes.objects)
        for mailbox in mailboxes where mailbox !== sender { mailbox.deliver(changes) }
    }
}

/// A command that a store carries out: it may call closures of the application, on the thread of the command.
struct RunningCommand: Equatable, Sendable {
    private let part: UInt64
    let thread: UInt

    /// A command in a part, on this thread; `nil` if the system does not number threads.
    init?(_ part: SourcePart) {
        let thread = CallingThread.number
        if thread == 0 { return nil }
        (self.part, self.thread) = (part.number, thread)
    }
}
