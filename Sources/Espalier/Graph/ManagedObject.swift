// A managed object: one row of a store as one context sees it, with its unsaved changes.
//
// Invariants
//   1. An object belongs to one context for life; in a context there is one object per row (MO-18).
//   2. The context refers to a clean object without retaining it, and retains a changed one (MO-43). The object never
//      retains its context: after the context has ended, `managedObjectContext` is nil. The object refers to its
//      context through its shape, so that a context that ends need not visit its objects.
//   3. A stored object holds its committed row and, only if it is changed, an `ObjectChanges`. A new object holds the
//      `RowValues` that a save will write. Relationships refer to other objects by ID.
//   4. Objects are not Sendable: they stay in the isolation region of their context (F-1). Only IDs cross it.
// Not here: how properties are read and written (+Attributes, +Relationships), how a fault fires (+Faulting).

public import EspalierModel
import EspalierStore

/// An object of an entity, in a context (Behaviour MO-01 to MO-43).
///
/// Reading a property of a fault loads the row. A deleted row reads as empty (MO-17); so does a row that cannot be
/// read, and the next `save()` reports the error. Writing a property cannot throw in Swift: a write that is not allowed
/// (to a deleted object, of a wrong type, of an object of another context) is refused and changes nothing, and the next
/// `save()` of the context reports it as a `Violation`. `setValue(_:forKey:)` does the same and throws at once.
///
/// An object does not retain its context. Keep the context, or the container that owns it, for as long as you use its
/// objects. After the context has ended, an object still returns values that are in memory; reading anything else of
/// it, and writing, stops the program with a message that says so. Access by name throws `ContextError.contextEnded`.
open class ManagedObject {
    // The states of an object, by the flags that its context sets, and the transitions between them:
    //
    //        insert                      a fetch, a relationship, object(with:)
    //           |                                    |
    //           v                                    v     first use, and the store has no row
    //       inserted ---------- save --------+     fault --------------------------------------> inaccessible
    //           |                            |      |  ^
    //           |                            | first|  | refresh, rows of a generation that was lost
    //           |                            |  use |  |
    //           |                            v      v  |
    //           |                            fulfilled ---- change ---> updated ---- save, rollback ---> fulfilled
    //           |                               |                          |
    //           | delete                        | delete                   | delete
    //           +----------------------------> deleted <-------------------+
    //                                           |   |
    //                              rollback <---+   +---> save ---> ended
    //
    //   A rollback makes a deleted object fulfilled again, and ends an inserted one, deleted or not. `reset` and the
    //   end of the context end every object: they change only the shape (`isDetached`). A merge or refresh that finds
    //   no row makes an unchanged object inaccessible, marks a changed one as `gone`, and ends a deleted one.

    /// The flags of an object's life cycle.
    struct State: OptionSet {
        let rawValue: UInt32
        /// The context's registry knows the object.
        static let registered = State(rawValue: 1)
        /// The row was requested and `awakeFromFetch` called; otherwise the object is a fault.
        static let fulfilled = State(rawValue: 2)
        static let inserted = State(rawValue: 4)
        static let updated = State(rawValue: 8)
        static let deleted = State(rawValue: 16)
        /// Delete rules have run.
        static let propagated = State(rawValue: 32)
        /// The store had no such row when the fault fired (MO-17).
        static let inaccessible = State(rawValue: 64)
        /// The object was in a context and has left it: deleted and saved, or the context was reset.
        static let ended = State(rawValue: 128)
        /// `awakeFromFetch` runs: changes do not make the object updated (MO-28).
        static let awakening = State(rawValue: 256)
        /// The object has left its context, because it was merged into a row that has another object, or because it was
        /// made for an ID that another object has got.
        static let merged = State(rawValue: 512)
        /// A merge or refresh has found that the row is deleted; the changes stay until a save or rollback decides.
        static let gone = State(rawValue: 1024)
        /// The hooks of an object that becomes a fault run.
        static let turning = State(rawValue: 2048)
        /// A running undo has revoked the insertion, the deletion, or other changes; no flag of a call that has ended.
        static let insertionUndone = State(rawValue: 4096)
        static let deletionUndone = State(rawValue: 8192)
        static let updateUndone = State(rawValue: 16384)
        /// `withObservationTracking` has followed a read of the object.
        static let observed = State(rawValue: 32768)
        /// The deletion has no undo step, so no undo takes it back; the flag means nothing without `deleted`.
        static let unrecordedDeletion = State(rawValue: 65536)
        /// The flags that only an object in a context can have.
        static let inContext: State = [.registered, .inserted, .updated, .deleted]
    }

    var storedID: ObjectID
    /// Counted as an object of the shape from `init` to `deinit`, and not retained.
    private var storedShape: Unretained<EntityShape>
    /// The state that it shares with all objects of its entity.
    final var shape: EntityShape {
        get {
            guard let shape = storedShape.object else { preconditionFailure("an object without a shape") }
            return shape
        }
        set {
            newValue.addObject()
            storedShape.withObject { $0.removeObject() }
            storedShape = Unretained(newValue)
        }
    }
    /// Calls `body` with the shape, which is not retained.
    @inline(__always)
    final func withShape<R>(_ body: (EntityShape) -> R) -> R {
        guard let result = storedShape.withObject(body) else { preconditionFailure("an object without a shape") }
        return result
    }
    /// The storage of the committed values and the position in it: a snapshot without the ID, which is `storedID`.
    // `Optional` and not `?`, here and below: `init` then sets each once, without a default of nil before.
    private var content: Optional<RowContent>
    private var place: RowContent.Place
    var changes: ObjectChanges?
    /// All values of a new object, allocated when one of them is first set.
    var newValues: Optional<RowValues>
    /// Counted and not retained, like the shape.
    private var storedCohort: Unretained<Cohort>
    /// The objects it was fetched with: their faults fire together (F-2).
    final var cohort: Cohort? {
        get { storedCohort.object }
        set {
            newValue?.addObject()
            storedCohort.withObject { $0.removeObject() }
            storedCohort = Unretained(newValue)
        }
    }
    /// Calls `body` with the cohort, if there is one, without retaining it.
    @inline(__always)
    final func withCohort<R>(_ body: (Cohort) -> R) -> R? { storedCohort.withObject(body) }
    /// The flags of its life cycle; if its context has detached all its objects since, see `state`.
    private var storedState: State = []
    /// Its position among the changed objects of its context (`ChangedObjects`).
    var changePosition: UInt32 = 0
    /// The next object of its chain in its context's registry; only the registry uses it.
    final var nextInRegistry = Unretained<ManagedObject>(nil)

    /// The entity that this class describes; `@Entity` overrides it.
    ///
    /// The name is empty for `ManagedObject` itself.
    open class var entityDescription: EntityDescription { EntityDescription("") }

    /// The properties of the class's own entity, with the classes of destinations; `@Entity` overrides it.
    ///
    /// For @Entity only.
    open class var _entityProperties: [_PropertyDescription] { [] }

    /// The key paths of the modelled properties; `@Entity` overrides it.
    open class var _propertyPaths: [_PropertyPath] { [] }

    /// The key paths of `ManagedObject` itself, of which none is modelled.
    ///
    /// For @Entity only.
    public class func _propertyPaths<Root: ManagedObject>(of root: Root.Type) -> [_PropertyPath] { [] }

    /// The name of the class's entity: the name of the class, unless `@Entity` has another one in its argument `name`,
    /// or it is overridden together with `entityDescription`.
    open class var entityName: String { String(describing: self) }

    /// Makes an object from the seed that its context passes: every object is made by this one initializer.
    ///
    /// Applications make objects with `init(context:)` and never call this one. A subclass that overrides it passes the
    /// seed to `super`; the context registers a new object after the initializer has returned.
    public required init(_ seed: consuming ObjectSeed) {
        storedID = seed.id
        (storedShape, storedCohort) = (seed.shape, seed.cohort)
        (content, place, newValues) = (seed.content.object, seed.place, nil)
        storedState = seed.state
        assert(!storedShape.isNil, "a seed without a shape")
        assert(storedState.isDisjoint(with: [.inserted, .updated, .deleted]), "an object begins with changes")
        assert(content == nil || !storedID.isTemporary, "a row with a temporary ID")
        storedShape.withObject { $0.addObject() }
        storedCohort.withObject { $0.addObject() }
    }

    /// Makes an object of `entity`, inserted into `context` (MO-01).
    ///
    /// - Parameter context: `nil` for an object that joins a context later, by `insert(_:)`. If `entity` is abstract or
    ///   not in the context's model, the object stays outside and the context's next `save()` reports that.
    public convenience init(entity: Entity, insertInto context: ManagedObjectContext?) {
        let shape = context?.shape(of: entity)
        let ownShape = shape ?? EntityShape(entity, model: nil, objectClass: Self.self, in: nil)
        self.init(ObjectSeed(newOf: ownShape))
        withExtendedLifetime(ownShape) {}
        guard let context else { return }
        context.insertNew(self, shape)
        if context.memory.hasObserved { context.tellObserved() }
    }

    /// Inserts a new object of this class's entity into `context` (MO-02).
    ///
    /// If the context's model has no such entity, or the entity is abstract, the object stays outside the context and
    /// the context's next `save()` reports that.
    public convenience init(context: ManagedObjectContext) {
        if let shape = context.shape(of: Self.self) {
            self.init(ObjectSeed(newOf: shape))
            context.insertNew(self, shape)
            if context.memory.hasObserved { context.tellObserved() }
        } else {
            self.init(entity: OutsideEntities.entity(of: Self.self), insertInto: nil)
            context.record(
                Violation(nil, entityName: Self.entityName, .unknownEntity(known: context.model.entities.map(\.name))))
        }
    }

    deinit {
        assert(state.isDisjoint(with: [.inserted, .updated, .deleted]), "invariant 2: a changed object ends")
        withContext { context in
            context.memory.registry.remove(self)
            context.fetchedResults?.forget(self)
            if storedState.contains(.observed) { context.observed?.forget(self) }
        }
        storedCohort.withObject { $0.removeObject() }
        withShape { $0.removeObject() }
    }

    // MARK: Identity

    /// The ID; it changes from temporary to permanent at the first save or `obtainPermanentIDs` (MO-05).
    ///
    /// A new object that was merged into a stored row has the row's ID; it belongs to no context if the row has another
    /// object.
    public final var objectID: ObjectID { storedID }
    /// The entity.
    public final var entity: Entity { withShape { $0.entity } }
    /// The context; `nil` after the deletion was saved, after `reset()` and when the context has ended (MO-04).
    public final var managedObjectContext: ManagedObjectContext? {
        storedState.contains(.registered) ? withShape { $0.context.object } : nil
    }
    /// Calls `body` with the context, if there is one, without retaining it: it must not end meanwhile.
    @inline(__always)
    final func withContext<R>(_ body: (ManagedObjectContext) -> R) -> R? {
        storedState.contains(.registered) ? withShape { $0.context.withObject(body) } : nil
    }
    /// The committed values; `nil` for an unsaved object and for a fault whose row is not in memory.
    final var row: ObjectSnapshot? {
        get { content.map { ObjectSnapshot(id: storedID, content: $0, place: place) } }
        set { (content, place) = (newValue?.content, newValue?.place ?? .none) }
    }
    /// Sets the committed values to a position in a store's row content.
    final func setRow(_ content: RowContent, _ place: RowContent.Place) {
        assert(!storedID.isTemporary, "the row of an object that no store has")
        (self.content, self.place) = (content, place)
    }
    /// Whether the committed values are in memory.
    final var hasRow: Bool { content != nil }
    /// Calls `body` with the storage of the row, if it is in memory.
    @inline(__always)
    final func withRow<R>(_ body: (RowContent, RowContent.Place) -> R) -> R? { content.map { body($0, place) } }
    /// Whether both objects are in the same context.
    final func isInContext(of other: ManagedObject) -> Bool {
        storedState.contains(.registered) && other.storedState.contains(.registered)
            && withShape { shape in other.withShape { shape.context.isSame(as: $0.context) } }
    }

    /// Asserts invariant 3 and the rules of `State`; call it inside `assert`, between events.
    final func checkInvariants() -> Bool {
        let values = changes?.values
        assert(newValues == nil || values?.attributes.isEmpty != false, "invariant 3: two values of one attribute")
        assert(newValues == nil || values?.destinations.isEmpty != false, "invariant 3: two destinations")
        assert(newValues == nil || state.contains(.inserted), "invariant 3: \(storedID) is not new, and has new values")
        assert(!state.contains(.propagated) || state.contains(.deleted), "the rules of \(storedID) ran, which is there")
        assert(state.contains(.inserted) || !storedID.isTemporary, "\(storedID) is not new, and has no row")
        return true
    }

    // MARK: State

    /// The flags of its life cycle.
    ///
    /// A context that ends, or forgets its objects, detaches only their shapes: the flags then follow from the shape.
    final var state: State {
        @inline(__always)
        get { isDetached ? storedState.subtracting(.inContext).union(.ended) : storedState }
        @inline(__always)
        set { storedState = newValue }
    }
    /// Whether it is in a context, or was until the context ended or forgot it; false after it has left by itself.
    final var wasRegistered: Bool { storedState.contains(.registered) }
    /// Whether its context has ended or forgotten it without a change of its own flags.
    @inline(__always)
    private final var isDetached: Bool {
        storedState.contains(.registered) && withShape { $0.context.isNil }
    }
    /// Whether the values are readable and hooks have seen them, whatever the context does later.
    @inline(__always)
    final var isFulfilled: Bool { storedState.contains(.fulfilled) }
    /// Whether the object has unsaved changes, even to equal values (MO-06).
    public final var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }
    /// Whether it is new and not saved yet (MO-08).
    public final var isInserted: Bool { state.contains(.inserted) }
    /// Whether it is a stored object with changes (MO-09).
    public final var isUpdated: Bool { state.contains(.updated) && !state.contains(.deleted) }
    /// Whether its deletion is not saved yet, or its row was found to be deleted (MO-10, MO-17).
    public final var isDeleted: Bool { !state.isDisjoint(with: [.deleted, .inaccessible]) }
    /// Whether the object is a fault, and whether it is becoming one or ceases to be one (MO-12); loads nothing.
    public final var faultingState: FaultingState {
        let state = state
        if state.contains(.turning) { return .turningIntoFault }
        if state.contains(.awakening) { return .awakening }
        return isFault ? .fault : .fulfilled
    }
    /// Whether its values have not been used yet; asking does not load them (MO-11).
    public final var isFault: Bool { state.contains(.registered) && state.isDisjoint(with: [.fulfilled, .inserted]) }

    // MARK: Hooks

    /// Called once in the object's life, after its insertion (MO-27).
    ///
    /// Values set here are the object's baseline.
    open func awakeFromInsert() {}
    /// Called after a fault has fired; attributes set here do not make the object changed (MO-28).
    open func awakeFromFetch() {}
    /// Called after something else than the application has set values of an object that is no fault (MO-29).
    ///
    /// That is an undo, a rollback, a refresh below unsaved changes, or a merge policy. Renew here what the object
    /// derives from its values. Attributes set here do not make the object changed, and are refused without a report if
    /// the object is deleted. An object that a refresh makes a fault gets `awakeFromFetch` at its next use instead.
    open func awake(fromSnapshotEvents events: SnapshotEvents) {}
    /// Called by `delete`, while relationships still have their destinations (MO-30).
    open func prepareForDeletion() {}
    /// Called by `save` for every changed object, and repeated until a call changes nothing (MO-31).
    ///
    /// The save includes what it changes, inserts and deletes. `save()` throws `ContextError.alreadySaving` here.
    open func willSave() {}
    /// Called after a save has succeeded; changes made here are new ones (MO-32).
    ///
    /// `save()` throws `ContextError.alreadySaving` here.
    open func didSave() {}
    /// Called before the object becomes a fault again (MO-33).
    ///
    /// Changes of the object that are made here are discarded. A child's `save()` throws `ContextError.alreadySaving`.
    open func willTurnIntoFault() {}
    /// Called after the object has become a fault again (MO-33).
    ///
    /// A child's `save()` throws `ContextError.alreadySaving` here.
    open func didTurnIntoFault() {}
    /// The names of the properties that `validate(_:forKey:)` checks in every save that inserts or changes them
    /// (MO-37).
    open class var validatedKeys: [String] { [] }
    /// Checks one value of one property, and may replace it by a better one (MO-37).
    ///
    /// Called by `validateValue(_:forKey:)`, and by a save for each new or changed property in `validatedKeys`. The
    /// model's own rules are checked besides. The save's report contains every thrown error. A class with a table of
    /// key paths checks a value with the type of its property: `checkValue(_:forKey:of:by:)`.
    open func validate(_ value: inout PropertyValue, forKey key: String) throws {}
    /// Checks rules that the model cannot express, before a first save (MO-38).
    ///
    /// The save's report contains every thrown error: throw a ``Violation`` to name property, value and remedy, or
    /// `ContextError.violations` for several findings (MO-38). If a hook sets a value, of any object, all is validated
    /// again, and the hook is called once more, until every hook leaves the values that there are: hooks must not set
    /// different values of one property.
    open func validateForInsert() throws {}
    /// Checks rules that the model cannot express, before changes are saved (MO-38).
    open func validateForUpdate() throws {}
    /// Checks rules that the model cannot express, before a deletion is saved (MO-38).
    open func validateForDelete() throws {}
}

@available(*, unavailable) extension ManagedObject: Sendable {}

extension ManagedObject: Hashable {
    /// Whether both are the same instance (MO-42).
    public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
    /// Hashes the instance (MO-42).
    public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject: CustomStringConvertible {
    /// Entity, ID and, unless it is a fault, the attributes.
    public final var description: String {
        let head = "\(entity.name) \(storedID)"
        guard !isFault else { return head + " (fault)" }
        guard !isContextEnded || hasValues else { return head + " (its context has ended)" }
        return head + " { "
            + entity.attributes.map { "\($0.name): \(attributeValue(at: $0.slot).text)" }.joined(separator: ", ") + " }"
    }
}
