// A context: a set of objects in which an application reads, changes and saves a graph.
//
// Invariants
//   1. There is one object per row. The context retains its changed objects (MO-43) and, until its next fetch or save,
//      some that relationships have reached (`RecentDestinations`).
//   2. A call that throws leaves context, objects and store as they were (F-5).
//   3. A context is not Sendable: it and its objects stay in one isolation region (F-1).
// Not here: fetching (+Fetch), faults (+Faults), deleting (+Delete), saving (+Save), discarding changes (+Rollback).

public import EspalierModel
import EspalierStore

/// A set of objects, with their unsaved changes (Behaviour MC-01 to MC-64).
public final class ManagedObjectContext {
    /// The coordinator of the objects' stores; for a child context, that of its parent.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The model of the coordinator.
    public let model: ManagedObjectModel
    /// The context from which this one reads and to which it saves; `nil` if it reads and saves stores (MC-06).
    public let parent: ManagedObjectContext?
    /// A name for messages and for the history of changes.
    public var name: String?
    /// The author of the context's saves, for the messages about them (MC-52).
    public var transactionAuthor: String?
    /// Values of the application's own, which the context keeps and never reads (MC-07).
    public var userInfo: [String: Any] = [:]
    /// The policy by which a save resolves conflicts with rows that another context or process has changed (MC-42),
    /// except for entities with a policy of their own (`setMergePolicy`).
    public var mergePolicy = MergePolicy.error
    /// The merge policies of single entities, by index.
    var entityPolicies: [ManagedObjectModel.EntityIndex: MergePolicy] = [:]
    /// How saves treat new objects whose unique values a row has already: at first as the model declares; without an
    /// action the merge policy decides.
    package var constraintActions: [ConstraintName: ConstraintAction]
    /// How often the context had to ask a store for rows or destinations because a fault fired (F-2).
    public var faultTrips: Int { memory.faultTrips }
    /// The number of rows that fetches and faults have read from stores.
    public var rowsFetched: Int { memory.rowsFetched }
    /// Whether saves of other contexts are merged at the next `processPendingChanges`, fetch or save (MC-47).
    ///
    /// Unsaved changes stay on top; where both sides have changed a property, the save asks `mergePolicy`. A child
    /// context merges all changes of its parent, unsaved ones too, and has this set from the beginning.
    public var automaticallyMergesChangesFromParent = false {
        didSet {
            mailbox =
                automaticallyMergesChangesFromParent
                ? source.subscribe(notice: mergeNotice) : nil
            if mailbox == nil { leftGenerations = LeftGenerations() }
        }
    }

    /// Whether `processPendingChanges`, and with it every fetch, runs the delete rules of deleted objects; otherwise
    /// only a save does (MC-12).
    public var propagatesDeletesAtEndOfEvent = true
    /// Whether the context retains all its objects, and not only the changed ones, until it is set to `false`, is reset
    /// or ends (MC-33).
    ///
    /// - Complexity: setting it is O(objects in memory), and making an object O(1).
    public var retainsRegisteredObjects: Bool {
        get { memory.registry.retainsObjects }
        set { retainRegisteredObjects(newValue) }
    }
    /// The greatest age, in seconds, of the rows that a fault may adopt; a negative number for any age (MC-34).
    ///
    /// If a fault fires when the generation that the context reads is older than that, the context moves to the newest
    /// one first, and merges waiting saves if it merges automatically. Objects in use keep their values, and a pinned
    /// context does not move.
    public var stalenessInterval: Double = -1 {
        didSet {
            memory.limitsAge = stalenessInterval >= 0
            generation.notesTime = stalenessInterval >= 0
        }
    }
    /// Whether an object whose row turns out to be deleted reads as empty and deleted (MC-50).
    ///
    /// If `false`, that is an error: `value(forKey:)` throws it, and where a property is read by its type, the next
    /// save reports it. In both cases `existingObject(with:)` throws, and no read stops the program.
    public var shouldDeleteInaccessibleFaults = true
    /// Whether the context records which properties change in an event, for `changedValuesForCurrentEvent()` (MO-36).
    ///
    /// The record retains the objects until the event ends.
    public var recordsChangesOfEvent: Bool {
        get { eventRecord != nil }
        set { eventRecord = newValue ? eventRecord ?? EventRecord() : nil }
    }

    /// Whether the context saves by itself at the end of each event in which something has changed (SD-16).
    ///
    /// The view context saves as soon as the main actor is free, a ``BackgroundContext`` after each `perform`, the
    /// context of a ``ContextActor`` after each method and at each suspension in one, and any other context at the end
    /// of `processPendingChanges()`. A child saves to its parent when the context at the root would, and before it. If
    /// a save fails, the changes stay, observers get a ``DidFailToAutosaveMessage``, and the next event tries again.
    public var autosaveEnabled = false {
        didSet {
            // While there is an observer, the first change of an event gives notice, and the context then saves.
            autosaveToken = autosaveEnabled ? addObserver(for: ObjectsDidChangeMessage.self) { _ in } : nil
            noteUnsavedChanges()
        }
    }
    private var autosaveToken: ObservationToken?

    /// The receiver of the context's requests to its stores; at first the one that the process asks for, if it does
    /// (DB-01).
    public var requestLog = RequestLog.ofProcess { didSet { memory.logsRequests = requestLog != nil } }

    /// The objects in memory and their changes.
    #if DEBUG
        var memory = ContextMemory()
    #else
        // SAFETY: no access lasts while another begins, by the second invariant of `ContextMemory`.
        @inline(__always)
        final var memory: ContextMemory {
            _read { yield unsafe storedMemory }
            _modify { yield &(unsafe storedMemory) }
        }
        @exclusivity(unchecked) private var storedMemory = ContextMemory()
    #endif
    let cache: RowCache
    /// The stores or the parent from which the context reads, and to which it saves.
    let source: any ObjectSource
    /// This context as the source of its children; `nil` if it has none.
    weak var childSource: ParentSource?
    /// The generation of the stores that the context reads.
    let generation: ReadGeneration
    /// Deleted objects whose delete rules have not run, some of them twice, and some whose deletion was taken back.
    var unpropagated: [ManagedObject] = []
    /// Deleted objects that have adopted newer rows since their delete rules ran.
    var outdated: [ManagedObject] = []
    /// Whether delete rules run again: the unchanged objects that they reach adopt the newest row first.
    var runsRulesAgain = false
    /// Whether cascades have reached rows that are not in memory: only the store knows which rows it will delete.
    var leavesCascadesToStore: Bool { memory.reached.leavesCascades }
    /// Whether cascades are being followed.
    var followsCascades = false
    /// Objects whose rows must still have this version at the next save (MC-35).
    var locked: [ManagedObject: UInt64] = [:]
    /// Whether some object may have kept bases of changes (`ChangeBases`).
    var hasBases = false
    /// Whether some change of an unordered relationship may be marked as merged (`ToManyChange.isMerged`).
    var hasMergedSets = false
    /// The objects whose conflicts the last save has told whole, and their versions in the store.
    var reportedConflicts: [ObjectID: UInt64] = [:]
    /// Refused changes and unreadable values, for the next save to report.
    var recorded = RecordedViolations()
    /// Counts changes of values and of the sets of changed objects, so that a save sees whether hooks changed anything.
    var changeCount = 0
    /// The permanent IDs that new objects have got since the last save; `nil` if there may be none.
    var givenIDs: GivenIDs?
    /// The state of the running save; `nil` if none runs.
    var saveRun: SaveRun?
    /// The stage of the running save or transaction; `nil` if none runs.
    var stage: SaveStage?
    /// The state of the save of a child that changes this context; `nil` if none does.
    var childSave: ChildSave?
    /// Whether a batch request of this context or of a child runs: a save would wait for its transaction.
    var runsBatch = false
    var mailbox: SaveMailbox?
    /// The closures that observe the context; `nil` if there never was one.
    var observers: ContextObservers?
    /// The steps that undo the changes of the current event; `nil` without an undo manager.
    var journal: UndoJournal? { didSet { updateNoting() } }
    /// The number of nested calls of `withoutSteps`, and that of the steps of former journals.
    var (journalPauseCount, formerStepCount) = (0, 0)
    /// The number of running calls of the hooks of objects that become faults.
    var turningCount = 0
    /// The saves to merge when the running save or transaction has ended.
    var deferredSaves: [SavedChanges] = []
    /// The properties that have changed in the current event; `nil` unless the application asks for them.
    var eventRecord: EventRecord? { didSet { updateNoting() } }
    /// The objects that `withObservationTracking` follows; `nil` if the context does not care.
    var observed: ObservedObjects? {
        didSet { withExtendedLifetime(oldValue) { for shape in madeShapes { shape.observed = Unretained(observed) } } }
    }
    /// The results of fetched properties; `nil` if none was read.
    var fetchedResults: FetchedResults?
    /// The reads of stores in the blocks of assertions that run.
    var tripLogs: [TripLog] = []
    /// The condition of the last fetch, if the log wants values.
    var lastCondition: String?
    /// The generations that the context has left before it was told of all saves that they lack.
    var leftGenerations = LeftGenerations()
    /// The unique values of changed objects; `nil` if there is no observer of broken constraints.
    var uniqueCheck: UniqueValueCheck?
    /// The number of asynchronous requests that another thread reads (FR-22); an event may end before they have ended.
    var readsAside = 0
    /// The number of nested calls between `beginEvent` and `endEvent`.
    var eventDepth = 0
    /// Called when a change begins an event that no running call ends, also in a child; a child itself has none.
    var eventNotice: (() -> Void)?
    /// Whether the root was given notice of an event of this child that has not ended yet.
    var awaitsEndOfEvent = false
    /// Whether the running end of events saves this context later, after its children.
    var savesLater = false
    /// Called when a save of another context arrives, on that context's thread.
    var mergeNotice: (@Sendable () -> Void)?
    private var shapes: [EntityShape?]
    /// The shapes of the objects in memory.
    var madeShapes: [EntityShape] { shapes.compactMap(\.self) }
    private var shapesByClass: [ObjectIdentifier: EntityShape] = [:]
    /// The last shape found in `shapesByClass`: objects of the same class are usually made one after the other.
    private var lastShape: (objectClass: ObjectIdentifier, shape: EntityShape)?

    /// Makes a context on a coordinator's stores.
    public init(_ coordinator: PersistentStoreCoordinator) {
        (persistentStoreCoordinator, source, model) = (coordinator, coordinator, coordinator.managedObjectModel)
        parent = nil
        constraintActions = model.constraintActions
        cache = RowCache()
        generation = ReadGeneration(source, cache: cache)
        shapes = Array(repeating: nil, count: coordinator.managedObjectModel.entities.count)
        memory.logsRequests = requestLog != nil
    }

    /// Makes a child of a context.
    init(childOf source: ParentSource) {
        let parent = source.parent
        (persistentStoreCoordinator, model) = (parent.persistentStoreCoordinator, parent.model)
        (self.source, self.parent) = (source, parent)
        constraintActions = model.constraintActions
        cache = RowCache()
        generation = ReadGeneration(source, cache: cache)
        shapes = Array(repeating: nil, count: parent.model.entities.count)
        memory.logsRequests = requestLog != nil
        mergeNotice = parent.mergeNotice
        isObservable = parent.isObservable
        source.add(self)
    }

    deinit {
        // The undo manager may notify observers, and these must not get this context from an object.
        let manager = journal?.manager
        detachObjects()
        manager?.removeSource(ObjectIdentifier(self))
    }

    // MARK: What it holds

    /// New objects (MC-31).
    ///
    /// - Complexity: O(new objects): each read makes a set.
    public var insertedObjects: Set<ManagedObject> { Set(memory.inserted) }
    /// Stored objects with changes (MC-31).
    ///
    /// A row that only loses a reference to a deleted object changes in the save, and is among them only if it was in
    /// memory when the delete rules ran.
    ///
    /// - Complexity: O(such objects): each read makes a set.
    public var updatedObjects: Set<ManagedObject> { Set(memory.updated) }
    /// Stored objects that the next save deletes (MC-31); after `processPendingChanges` also those that delete rules
    /// reach.
    ///
    /// The first read makes objects, as faults, of the rows that cascades reach and that are not in memory. The next
    /// save then deletes these itself, at the versions that were read. Without such a read it leaves them to the store.
    ///
    /// - Complexity: O(such objects): each read makes a set.
    public var deletedObjects: Set<ManagedObject> {
        if memory.reached.isActive { makeReachedObjects() }
        return Set(memory.deleted.lazy.filter { !$0.isInserted })
    }
    /// New, changed and deleted objects.
    var changedObjects: [ManagedObject] { Array(memory.inserted) + Array(memory.updated) + Array(memory.deleted) }
    /// All objects in memory (MC-31).
    ///
    /// - Complexity: O(objects in memory): each read makes a set.
    public var registeredObjects: Set<ManagedObject> { memory.registry.objectSet }
    /// Whether there is something to save (MC-32).
    ///
    /// `withObservationTracking` follows it in a context with `isObservable`.
    public var hasChanges: Bool {
        if observed != nil { noteReadOfState() }
        return holdsChanges
    }
    /// As `hasChanges`, for the context itself: no observer follows the read.
    var holdsChanges: Bool { !(memory.inserted.isEmpty && memory.updated.isEmpty && memory.deleted.isEmpty) }
    /// The violations that the next save will report besides broken rules: refused changes and unreadable values.
    ///
    /// They are the first 1,000 of each kind. A value that cannot be read is one violation, however often it is read.
    public var recordedViolations: [Violation] { recorded.all }

    /// The object with this ID if it is in memory (MC-23); a temporary ID leads to its new object until the save.
    public func registeredObject(for id: ObjectID) -> ManagedObject? { memory.registry[id] ?? renamedObject(with: id) }

    /// The object with this ID, as a fault if it is not in memory (MC-24); asks no store, unless a new object of a
    /// parent has to get its permanent ID, because a child reads it (MC-45).
    ///
    /// - Throws: `ContextError.unknownEntity` for an entity that the model has not; as `obtainPermanentIDs(for:)`.
    public func object(with id: ObjectID) throws(ContextError) -> ManagedObject {
        if let object = registeredObject(for: id) { return object }
        if id.isTemporary { return try objectOfParents(with: id) }
        guard !shape(ofTag: id.entityTag).isNil else {
            throw .unknownEntity(id.entityName, known: model.entities.map(\.name))
        }
        return makeFault(id)
    }

    /// The object with this ID, with its values in memory (MC-25).
    ///
    /// The row must be in the generation that the context reads: a row that was stored later is not found. A context
    /// that merges automatically merges the saves of other contexts and looks again.
    ///
    /// - Throws: `ContextError.objectNotFound` if its store does not hold the row; `.noStore` if its store is not open
    ///   here; `.store` if it could not be read.
    public func existingObject(with id: ObjectID) throws(ContextError) -> ManagedObject {
        if memory.reached.isActive {
            if let shape = shape(ofTag: id.entityTag).object { followCascades(to: shape.entity) }
            if memory.reached.contains(id) { throw .objectNotFound(id) }
        }
        let object = try object(with: id)
        if object.isFault && !object.hasRow {
            try loadRow(of: object)
            if !object.hasRow, mailbox != nil {
                mergeWaitingSaves()
                try loadRow(of: object)
            }
        }
        if object.isFault && !object.hasRow {
            object.state.insert(.inaccessible)
            throw .objectNotFound(id)
        }
        object.fireFault()
        if object.isDeleted || object.isFault { throw .objectNotFound(id) }
        return object
    }

    // MARK: New objects

    /// Inserts an object that was made without a context (MC-08).
    ///
    /// - Throws: `ContextError` if the object is in another context, its entity is abstract or not of this model, or
    ///   it was deleted before. The call does not change an object that is in this context already.
    public func insert(_ object: ManagedObject) throws(ContextError) {
        if let context = object.managedObjectContext {
            guard context === self else { throw .objectOfOtherContext(object.storedID) }
            return
        }
        guard object.state.isDisjoint(with: .ended) else { throw .objectWithoutContext(object.storedID) }
        guard let entity = model.entity(named: object.entity.name) else {
            throw .unknownEntity(object.entity.name, known: model.entities.map(\.name))
        }
        guard !entity.isAbstract else { throw .abstractEntity(entity.name) }
        insertNew(object)
        if memory.hasObserved { tellObserved() }
    }

    /// Inserts and returns a new object of the entity called `entityName`, for tools that know no classes.
    ///
    /// - Throws: `ContextError.unknownEntity` or `.abstractEntity`.
    public func insertNewObject(forEntityName entityName: String) throws(ContextError) -> ManagedObject {
        guard let entity = model.entity(named: entityName) else {
            throw .unknownEntity(entityName, known: model.entities.map(\.name))
        }
        guard !entity.isAbstract else { throw .abstractEntity(entityName) }
        let shape = shape(at: entity.index)
        let object = shape.objectClass.init(ObjectSeed(newOf: shape))
        insertNew(object, shape)
        if memory.hasObserved { tellObserved() }
        return object
    }

    /// Whether `insertNew` accepts `object`.
    func canInsert(_ object: ManagedObject) -> Bool {
        object.state.isDisjoint(with: .ended) && model.entity(named: object.entity.name)?.isAbstract == false
    }

    /// Inserts a new object, or records the reason why it cannot be inserted.
    func insertNew(_ object: ManagedObject) { insertNew(object, shape(of: object.entity)) }

    /// Inserts a new object of this shape, if this context's model has its entity.
    func insertNew(_ object: ManagedObject, _ knownShape: EntityShape?) {
        guard let shape = knownShape else {
            record(Violation(object, nil, .unknownEntity(known: model.entities.map(\.name))))
            return
        }
        // The initializer of the object may have reset the context, which detaches the shapes that it had.
        if shape.context.isNil { return insertNew(object) }
        guard !shape.entity.isAbstract else {
            record(Violation(object, nil, .abstractEntity))
            return
        }
        if object.withShape({ $0 !== shape }) {
            for violation in object.adopt(shape) { record(violation) }
        }
        addInserted(object)
        object.awakeFromInsert()
    }

    /// Makes an object that has its ID and shape a new object of this context.
    func addInserted(_ object: ManagedObject) {
        object.joinContext()
        memory.registry.insert(object)
        memory.inserted.insert(object)
        changeCount &+= 1
        if memory.hasListeners {
            if memory.pendingValues.isActive { memory.pendingValues.noteChange(of: object.storedID) }
            tellListeners(of: object)
            noteInserted(object)
        }
        object.willChange { _ in .inserted }
    }

    /// Records the refusal of a change for the next save to report.
    func record(_ violation: Violation) { recorded.add(violation) }

    // MARK: Shapes and faults

    /// The shape of an entity of this context's model, found by its name if the entity is of an equal model.
    func shape(of entity: Entity) -> EntityShape? {
        if let lastShape, lastShape.shape.entity === entity { return lastShape.shape }
        if entity.index < model.entities.count, model.entities[entity.index] === entity {
            return shape(at: entity.index)
        }
        return model.entity(named: entity.name).map { shape(at: $0.index) }
    }

    /// The shape of the entity of a class; `nil` if the model has no entity of its name.
    func shape(of objectClass: ManagedObject.Type) -> EntityShape? {
        let key = ObjectIdentifier(objectClass)
        if let lastShape, lastShape.objectClass == key { return lastShape.shape }
        guard let shape = shapesByClass[key] ?? model.entity(named: objectClass.entityName).map({ shape(at: $0.index) })
        else { return nil }
        shapesByClass[key] = shape
        lastShape = (key, shape)
        return shape
    }

    private func shape(at index: Int) -> EntityShape {
        if let shape = shapes[index] { return shape }
        let entity = model.entities[index]
        let shape = EntityShape(entity, model: model, objectClass: model.objectClass(of: entity), in: self)
        // The context counts as an object, so that the count does not return to 0 after each object that is made alone.
        shape.addObject()
        shapes[index] = shape
        return shape
    }

    /// The shape of the entity whose IDs carry `tag`; none if this model has no such entity.
    ///
    /// The shape lives until the context forgets its objects.
    @inline(__always)
    func shape(ofTag tag: UInt32) -> Unretained<EntityShape> {
        let tag = Int(tag)
        return tag < memory.shapesByTag.count && !memory.shapesByTag[tag].isNil
            ? memory.shapesByTag[tag] : searchedShape(ofTag: tag)
    }

    @inline(never)
    private func searchedShape(ofTag tag: Int) -> Unretained<EntityShape> {
        guard let entity = model.entities.first(where: { Int($0.tag) == tag }) else { return Unretained(nil) }
        while memory.shapesByTag.count <= tag { memory.shapesByTag.append(Unretained(nil)) }
        memory.shapesByTag[tag] = Unretained(shape(at: entity.index))
        return memory.shapesByTag[tag]
    }

    /// Detaches every object from the context, when the context is freed or forgets its objects.
    ///
    /// Calls no hook, and releases no reference to an object, so that no object is freed meanwhile.
    ///
    /// - Parameter isReset: whether the context lives on and records the changes that its former objects refuse.
    func detachObjects(isReset: Bool = false) {
        for shape in shapes {
            shape?.detachObjects(formerContext: isReset ? self : nil)
            shape?.removeObject()
        }
        (shapes, memory.shapesByTag) = (Array(repeating: nil, count: shapes.count), [])
        (shapesByClass, lastShape) = ([:], nil)
        let results = fetchedResults
        fetchedResults = nil
        withExtendedLifetime(results) {}
    }

    /// The shape of a row that a store has returned.
    @inline(__always)
    func shapeOfRow(_ id: ObjectID) -> EntityShape {
        guard let shape = shape(ofTag: id.entityTag).object else {
            preconditionFailure("an ID came from a store whose model does not have its entity")
        }
        return shape
    }
}

@available(*, unavailable) extension ManagedObjectContext: Sendable {}

extension ManagedObject {
    /// Becomes a new object of a context, whose shape it has.
    func joinContext() {
        assert(state.isDisjoint(with: [.registered, .ended]), "an object joins a second context")
        state.formUnion([.registered, .inserted, .fulfilled])
    }

    /// Ends the object's life in its context, because that was reset or the object's deletion is saved (MO-04).
    func leaveContext() {
        if state.contains(.observed) {
            withContext { $0.observed?.forget(self) }
            state.remove(.observed)
        }
        state.subtract(.inContext)
        state.insert(.ended)
        cohort = nil
    }
}
