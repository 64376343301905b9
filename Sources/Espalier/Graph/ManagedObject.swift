// A managed object: one row of a store as one context sees it, with its unsaved changes.
//
// Invariants
//   1. An object belongs to one context for life; in a context there is one object per row (MO-18).
//   2. The context refers to a clean object without retaining it, and retains a changed one (MO-43). The object never
//      retains its context: after the context has ended, `managedObjectContext` is nil. The object refers to its
//      context through its shape, so that a context that ends need not visit its objects.
//   3. A stored object holds its committed row and, only if it is changed, an `ObjectChanges`. A new object holds the
//      `RowValues` that a save will write. Other objects are held as IDs.
//   4. Objects are not Sendable: they stay in the isolation region of their context (F-1). IDs travel.
// Not here: how properties are read and written (+Attributes, +Relationships), how a fault fires (+Faulting).

public import EspalierModel
import EspalierStore

/// An object of an entity, in a context (Behaviour MO-01 to MO-43).
///
/// Reading a property of a fault loads the row. A row that is gone reads as empty (MO-17); so does one that cannot be
/// read, and the next `save()` reports why. Writing a property cannot throw in Swift: what is not allowed (an object
/// of another context, a deleted object, a wrong type) is refused, leaves everything as it was, and is reported by the
/// next `save()` of the context as a `Violation`. `setValue(_:forKey:)` does the same and throws at once.
///
/// An object does not keep its context alive. Keep the context, or the container that owns it, for as long as you use
/// its objects: an object of a context that has ended still gives the values that are in memory; reading anything else
/// of it, and writing, stops the program with a message that says so. Access by name throws
/// `ContextError.contextEnded`.
open class ManagedObject {
    // The states of an object, by the flags that its context sets, and what leads from one to the next:
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
    //   end of the context end every object: they tell only the shape (`isDetached`). A merge or refresh that finds no
    //   row makes an unchanged object inaccessible, marks a changed one as `gone`, and ends a deleted one.

    /// The flags that describe where an object is in its life.
    struct State: OptionSet {
        let rawValue: UInt16
        /// The context's registry knows the object.
        static let registered = State(rawValue: 1)
        /// The row has been asked for and `awakeFromFetch` called; otherwise the object is a fault.
        static let fulfilled = State(rawValue: 2)
        static let inserted = State(rawValue: 4)
        static let updated = State(rawValue: 8)
        static let deleted = State(rawValue: 16)
        /// Delete rules have run.
        static let propagated = State(rawValue: 32)
        /// The store had no such row when the fault fired (MO-17).
        static let inaccessible = State(rawValue: 64)
        /// Was in a context and is no longer: deleted and saved, or the context was reset.
        static let ended = State(rawValue: 128)
        /// `awakeFromFetch` runs: changes do not make the object updated (MO-28).
        static let awakening = State(rawValue: 256)
        /// Has left its context, because it was merged into a row for which there is another object.
        static let merged = State(rawValue: 512)
        /// A merge or refresh has found that the row is deleted; the changes stay until a save or rollback decides.
        static let gone = State(rawValue: 1024)
        /// What only an object in a context can be.
        static let inContext: State = [.registered, .inserted, .updated, .deleted]
    }

    var storedID: ObjectID
    /// Counted, from `init` to `deinit`, and not retained.
    private var storedShape: Unretained<EntityShape>
    /// What it has in common with all objects of its entity.
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
    /// What holds the committed values, and where in it they are: a snapshot without the ID, which is `storedID`.
    // `Optional` and not `?`, here and below: `init` sets them once, and gives no nil back before.
    private var content: Optional<RowContent>
    private var place: RowPlace
    var changes: ObjectChanges?
    /// All values of an object that no store has yet, once one of them was set.
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
    /// The flags of its life, unless its context has detached all its objects since (`state`).
    private var storedState: State = []
    /// Its place among the changed objects of its context (`ChangedObjects`).
    var changePosition: UInt32 = 0
    /// The next object of its chain in its context's registry; only the registry uses it.
    final var nextInRegistry = Unretained<ManagedObject>(nil)

    /// What the class tells about its entity; `@Entity` overrides it.
    ///
    /// The name is empty for `ManagedObject` itself.
    open class var entityDescription: EntityDescription { EntityDescription("") }

    /// The name of the class's entity: the name of the class, unless overridden together with `entityDescription`.
    open class var entityName: String { String(describing: self) }

    /// Makes an object from what its context hands it: the one initializer through which every object comes.
    ///
    /// Applications make objects with `init(context:)` and never call it. A subclass that overrides it passes the seed
    /// on; for a new object, the context takes it in afterwards.
    public required init(_ seed: consuming ObjectSeed) {
        storedID = seed.id
        (storedShape, storedCohort) = (seed.shape, seed.cohort)
        (content, place, newValues) = (seed.content, seed.place, nil)
        storedState = seed.state
        assert(!storedShape.isNil, "a seed without a shape")
        storedShape.withObject { $0.addObject() }
        storedCohort.withObject { $0.addObject() }
    }

    /// Makes an object of `entity`, inserted into `context` (MO-01).
    ///
    /// - Parameter context: `nil` for an object that joins a context later, by `insert(_:)`. If `entity` is abstract
    ///   or not of the context's model, the object stays outside and the context's next `save()` says so.
    public convenience init(entity: Entity, insertInto context: ManagedObjectContext?) {
        let shape = context?.shape(of: entity)
        let ownShape = shape ?? EntityShape(entity, model: nil, objectClass: Self.self, in: nil)
        self.init(ObjectSeed(newOf: ownShape))
        withExtendedLifetime(ownShape) {}
        context?.insertNew(self, shape)
    }

    /// Inserts a new object of this class's entity into `context` (MO-02).
    ///
    /// If the context's model has no such entity, or it is abstract, the object stays outside of the context and the
    /// context's next `save()` says so.
    public convenience init(context: ManagedObjectContext) {
        if let shape = context.shape(of: Self.self) {
            self.init(ObjectSeed(newOf: shape))
            context.insertNew(self, shape)
        } else {
            self.init(entity: Entity(detached: Self.entityDescription, named: Self.entityName), insertInto: nil)
            context.record(
                Violation(nil, entityName: Self.entityName, .unknownEntity(known: context.model.entities.map(\.name))))
        }
    }

    deinit {
        withContext { $0.memory.registry.remove(self) }
        storedCohort.withObject { $0.removeObject() }
        withShape { $0.removeObject() }
    }

    // MARK: Who it is

    /// The ID; it changes from temporary to permanent at the first save or `obtainPermanentIDs` (MO-05).
    ///
    /// A new object that was merged into a stored row has the row's ID; it belongs to no context if that has another
    /// object for the row.
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
    /// Takes the committed values from where a store has put them.
    final func setRow(_ content: RowContent, _ place: RowPlace) {
        (self.content, self.place) = (content, place)
    }
    /// Whether the committed values are in memory.
    final var hasRow: Bool { content != nil }
    /// Calls `body` with what holds the row, if it is in memory.
    @inline(__always)
    final func withRow<R>(_ body: (RowContent, RowPlace) -> R) -> R? { content.map { body($0, place) } }
    /// Whether both are in one context.
    final func isInContext(of other: ManagedObject) -> Bool {
        storedState.contains(.registered) && other.storedState.contains(.registered)
            && withShape { shape in other.withShape { shape.context.isSame(as: $0.context) } }
    }

    // MARK: State

    /// The flags of its life.
    ///
    /// A context that ends, or forgets its objects, tells only their shapes: the flags then follow from the shape.
    final var state: State {
        @inline(__always)
        get { isDetached ? storedState.subtracting(.inContext).union(.ended) : storedState }
        @inline(__always)
        set { storedState = newValue }
    }
    /// Whether it was in a context until that ended or forgot it, and did not leave by itself.
    final var wasRegistered: Bool { storedState.contains(.registered) }
    /// Whether its context is gone or has forgotten it, and it does not say so itself.
    @inline(__always)
    private final var isDetached: Bool {
        storedState.contains(.registered) && withShape { $0.context.isNil }
    }
    /// Whether the values are there to be read, and hooks have seen them, whatever became of the context.
    @inline(__always)
    final var isFulfilled: Bool { storedState.contains(.fulfilled) }
    /// Whether the object has unsaved changes, even to equal values (MO-06).
    public final var hasChanges: Bool { !state.isDisjoint(with: [.inserted, .updated, .deleted]) }
    /// Whether it was never saved (MO-08).
    public final var isInserted: Bool { state.contains(.inserted) }
    /// Whether a stored object was changed (MO-09).
    public final var isUpdated: Bool { state.contains(.updated) && !state.contains(.deleted) }
    /// Whether it is deleted and that is not saved yet, or its row turned out to be gone (MO-10, MO-17).
    public final var isDeleted: Bool { !state.isDisjoint(with: [.deleted, .inaccessible]) }
    /// Whether its values have not been used yet; asking does not load them (MO-11).
    public final var isFault: Bool { state.contains(.registered) && state.isDisjoint(with: [.fulfilled, .inserted]) }

    // MARK: Hooks

    /// Called once in the object's life, when it has been inserted (MO-27).
    ///
    /// Values set here are its baseline.
    open func awakeFromInsert() {}
    /// Called when a fault has fired; attributes set here do not make the object changed (MO-28).
    open func awakeFromFetch() {}
    /// Called by `delete`, while relationships still have their destinations (MO-30).
    open func prepareForDeletion() {}
    /// Called by `save` for every changed object, again as long as that changes something (MO-31).
    ///
    /// What it changes, inserts and deletes is saved, too. `save()` throws `ContextError.alreadySaving` here.
    open func willSave() {}
    /// Called when a save has succeeded; changes made here are new ones (MO-32).
    ///
    /// `save()` throws `ContextError.alreadySaving` here.
    open func didSave() {}
    /// Called before the object becomes a fault again (MO-33).
    open func willTurnIntoFault() {}
    /// Called when the object has become a fault again (MO-33).
    open func didTurnIntoFault() {}
    /// Checks what the model cannot say, before a first save (MO-38).
    ///
    /// Every thrown error is part of the save's report.
    open func validateForInsert() throws {}
    /// Checks what the model cannot say, before changes are saved (MO-38).
    open func validateForUpdate() throws {}
    /// Checks what the model cannot say, before a deletion is saved (MO-38).
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

extension Entity {
    /// An entity outside of every model, for an object whose context does not know its class.
    convenience init(detached description: EntityDescription, named name: String) {
        var description = description
        description.name = name
        self.init(
            description: description, index: 0, superentity: nil, root: 0, family: [0],
            attributes: description.attributes.enumerated().map {
                Attribute(description: $1, slot: $0, declaredBy: 0)
            },
            relationships: description.relationships.enumerated().map {
                Relationship(description: $1, slot: $0, declaredBy: 0, destination: 0, inverse: nil)
            },
            uniquenessConstraints: [], indexes: [])
    }
}
