// The objects of a context that `withObservationTracking` follows, and whether the context has changes (MO-41).
//
// Invariants
//   1. Only an object that was read within `withObservationTracking` has a registrar, and has it until it leaves the
//      context; its flag `observed` says so.
//   2. Observers run when a change is complete, at both ends of a relationship, and at the end of a call that changes
//      several objects: code of the application never runs in the middle of a change.
//   3. Nothing is retained for a read outside of `withObservationTracking`.
//   4. A change of a source of a derived attribute is noted as a change of that attribute too, whether the object
//      with the source is followed or not (`DerivedDependents`). One event makes one pass over the objects for each
//      attribute that follows across a to-one relationship, however many sources have changed.
//   5. A read outside of `withObservationTracking`, of an object that nobody follows, asks the registrar of the probe
//      and changes nothing.

import EspalierModel
import EspalierStore
public import Observation
import Synchronization

/// The observed objects of a context.
final class ObservedObjects {
    /// Identifies a property to the registrars.
    final class Place: Hashable {
        private let flag: Flag

        init(_ flag: Flag) { self.flag = flag }

        static func == (left: Place, right: Place) -> Bool { left === right }

        func hash(into hasher: inout Hasher) {
            flag.isSet.store(true, ordering: .relaxed)
            hasher.combine(ObjectIdentifier(self))
        }
    }

    /// Whether a registrar has put a property into a set, which it does only within `withObservationTracking`: nothing
    /// else says whether a read is followed.
    ///
    /// A registrar of another actor's object may hash the property too: then an object gets a registrar in vain.
    final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    fileprivate typealias Path = KeyPath<ManagedObject, Void>

    /// The registrar of the next object that is observed, and a path that stands for any property.
    fileprivate final class Probe {
        let registrar = ObservationRegistrar()
        private let path: Path
        private let flag: Flag

        init(_ path: Path, _ flag: Flag) { (self.path, self.flag) = (path, flag) }

        /// Whether this moment may be within `withObservationTracking`, for the read of a property of `object`.
        ///
        /// If it is, the registrar has an observer now, and `noteRead` makes it the object's. If not, some registrar
        /// has looked up a path meanwhile, which `noteRead` finds out.
        func mayFollow(_ object: ManagedObject) -> Bool {
            registrar.access(object, keyPath: path)
            return flag.isSet.load(ordering: .relaxed)
        }
    }

    /// An object that is followed.
    private struct Followed {
        let registrar: ObservationRegistrar
        /// The object is forgotten before it is freed.
        let object: Unretained<ManagedObject>
    }

    private var followed: [ObjectIdentifier: Followed] = [:]
    /// Renewed when an object gets its registrar.
    private var probe: Probe
    /// The same, which reads do not retain.
    private var unretainedProbe: Unretained<Probe>
    private let probedPath: Path
    private var attributePaths: [Path] = []
    private var relationshipPaths: [Path] = []
    /// Identifies the results of all fetched properties of an object, which are made and forgotten together.
    private lazy var fetchedPath = newPath()
    private let flag: Flag
    private let model: ManagedObjectModel
    /// Made when the first object is followed: most contexts follow none.
    private lazy var dependents = DerivedDependents(model)
    /// Changes of which no observer was notified yet; without a property, all of the object.
    private var pending: [(registrar: ObservationRegistrar, object: ManagedObject, property: Entity.Property?)] = []
    /// The changed sources of derived attributes whose objects were not searched yet, by the number of the attribute.
    private var waiting: [Int: (dependent: DerivedDependents.Dependent, sources: Set<ManagedObject>)] = [:]

    /// Whether observers are being notified.
    ///
    /// A registrar forgets an observer only after it has run. If an observer changes what it observes, the change is
    /// told afterwards, because otherwise the observer would be notified again without end.
    private var isTelling = false
    /// The observers of the context itself; a reset keeps them.
    let state: ObservedState

    init(_ model: ManagedObjectModel, _ state: ObservedState = ObservedState()) {
        let flag = Flag()
        let path: Path = \ManagedObject.[observed: Place(flag)]
        let probe = Probe(path, flag)
        (self.model, self.state, self.flag, probedPath) = (model, state, flag, path)
        (self.probe, unretainedProbe) = (probe, Unretained(probe))
    }

    /// Whether the read of a property of an object may have to be registered: `noteRead` decides.
    func mayFollow(_ object: ManagedObject) -> Bool {
        object.isObserved || unretainedProbe.withObject { $0.mayFollow(object) } == true
    }

    /// Registers the read of a property, or of a fetched one without a slot, if it is within `withObservationTracking`;
    /// returns whether it is the first of an object.
    func noteRead(_ property: Entity.Property?, of object: ManagedObject) -> Bool {
        if object.isObserved, let registrar = followed[ObjectIdentifier(object)]?.registrar {
            registrar.access(object, keyPath: path(property))
            return false
        }
        let (registrar, path) = (probe.registrar, path(property))
        flag.isSet.store(false, ordering: .relaxed)
        registrar.access(object, keyPath: path)
        guard flag.isSet.exchange(false, ordering: .relaxed) else { return false }
        followed[ObjectIdentifier(object)] = Followed(registrar: registrar, object: Unretained(object))
        let next = Probe(probedPath, flag)
        (probe, unretainedProbe) = (next, Unretained(next))
        return true
    }

    /// Records a change of one property, or of the whole object, and of the attributes that are derived from it.
    ///
    /// - Complexity: O(1) for each derived attribute that follows from this one.
    func noteChange(_ property: Entity.Property?, of object: ManagedObject) {
        guard !followed.isEmpty else { return }
        // An object that leaves the context is forgotten before its observers are notified.
        if object.isObserved, let registrar = followed[ObjectIdentifier(object)]?.registrar {
            pending.append((registrar, object, property))
        }
        for dependent in dependents.dependents(on: property, of: object.entity) {
            guard let way = dependent.way else {
                noteChange(.attribute(dependent.slot), of: object)
                continue
            }
            guard let context = object.managedObjectContext else { continue }
            if way.inverse.isToMany {
                waiting[dependent.number, default: (dependent, [])].sources.insert(object)
            } else if let id = object.knownDestinationID(at: way.inverse.slot), let owner = context.memory.registry[id],
                owner.entity.isKind(of: dependent.entity)
            {
                noteChange(.attribute(dependent.slot), of: owner)
            }
        }
    }

    /// Records a change of each relationship of a followed object for which `isChanged` is true.
    ///
    /// - Complexity: O(followed objects).
    func noteChange(of isChanged: (Relationship) -> Bool) {
        for object in followed.values.compactMap(\.object.object) where !object.isDeleted {
            for relationship in object.entity.relationships where isChanged(relationship) {
                noteChange(.relationship(relationship.slot), of: object)
            }
        }
    }

    /// Whether a change of an object has to be recorded.
    func follows(_ object: ManagedObject) -> Bool {
        object.isObserved || (!followed.isEmpty && dependents.isSource(object.entity))
    }

    /// Records the change of each derived attribute that follows from a waiting source.
    ///
    /// This reads no row, and so finds objects of other lists too if the relationship is many-to-many. An object whose
    /// own relationship has changed after its source is not found, but was recorded by that change.
    ///
    /// - Complexity: O(followed objects) for each derived attribute with waiting sources; O(objects in memory) if
    ///   others follow from it in turn.
    private func noteOwners(in context: ManagedObjectContext?) {
        while !waiting.isEmpty {
            // The sources are released after the access: freeing one may run code that changes others.
            let found = waiting
            defer { withExtendedLifetime(found) {} }
            waiting = [:]
            for (dependent, sources) in found.values {
                guard let way = dependent.way else { continue }
                let ids = Set(sources.map(\.storedID))
                // An owner that nobody follows counts only if an attribute of a further object follows from it.
                let all = dependents.isSource(dependent) ? context?.memory.registry.objects : nil
                let candidates = all ?? followed.values.compactMap(\.object.object)
                assert(StepCount.note(candidates.count))
                for owner in candidates where owner.entity.isKind(of: dependent.entity) {
                    let isOwner =
                        way.relationship.isToMany
                        || owner.knownDestinationID(at: way.relationship.slot).map { ids.contains($0) } == true
                    if isOwner { noteChange(.attribute(dependent.slot), of: owner) }
                }
            }
        }
    }

    /// Notifies the observers of the recorded changes.
    ///
    /// - Parameter context: the context of the objects; `nil` if they have left it.
    func tell(in context: ManagedObjectContext?) {
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while !pending.isEmpty || !waiting.isEmpty {
            noteOwners(in: context)
            let changes = pending
            pending = []
            for (registrar, object, property) in changes { tell(registrar, property, of: object) }
        }
    }

    private func tell(_ registrar: ObservationRegistrar, _ property: Entity.Property?, of object: ManagedObject) {
        let paths = property.map { [path($0)] } ?? [fetchedPath] + object.allProperties.map { path($0) }
        for path in paths {
            registrar.willSet(object, keyPath: path)
            registrar.didSet(object, keyPath: path)
        }
    }

    /// Notifies the observers of objects that have left the context all at once.
    func tell(_ objects: [ManagedObject]) {
        for object in objects { noteChange(nil, of: object) }
        end()
        tell(in: nil)
    }

    /// Forgets all objects: from now on they are freed without being forgotten one by one.
    func end() {
        // A registrar's closure may retain the last reference to a followed object: it is freed after the access.
        let former = (followed, waiting)
        defer { withExtendedLifetime(former) {} }
        (followed, waiting) = ([:], [:])
    }

    /// Forgets an object that leaves the context, or is freed.
    func forget(_ object: ManagedObject) {
        // Its registrar's closure may retain the last reference to another one: it is freed after the access.
        let former = followed.removeValue(forKey: ObjectIdentifier(object))
        withExtendedLifetime(former) {}
    }

    private func path(_ property: Entity.Property?) -> Path {
        switch property {
        case .attribute(let slot)?:
            while attributePaths.count <= slot { attributePaths.append(newPath()) }
            return attributePaths[slot]
        case .relationship(let slot)?:
            while relationshipPaths.count <= slot { relationshipPaths.append(newPath()) }
            return relationshipPaths[slot]
        case nil: return fetchedPath
        }
    }

    private func newPath() -> Path {
        let place = Place(flag)
        return \ManagedObject.[observed: place]
    }
}

/// The observers of a context's `hasChanges`.
final class ObservedState {
    private let registrar = ObservationRegistrar()
    private let flag = ObservedObjects.Flag()
    private lazy var path = newPath()
    /// The value that observers have read; `nil` if no observer waits for another one.
    private var shown: Bool?

    /// Registers a read, if it is within `withObservationTracking`; returns whether it is.
    func noteRead(_ hasChanges: Bool, of context: ManagedObjectContext) -> Bool {
        flag.isSet.store(false, ordering: .relaxed)
        registrar.access(context, keyPath: path)
        guard flag.isSet.load(ordering: .relaxed) else { return false }
        // An observer that reads in the middle of an event leaves the others the value that they have read.
        if shown == nil { shown = hasChanges }
        return true
    }

    /// Notifies the observers if the value is another one than they have read.
    func tell(_ hasChanges: Bool, of context: ManagedObjectContext) {
        guard let shown, shown != hasChanges else { return }
        self.shown = nil
        registrar.willSet(context, keyPath: path)
        registrar.didSet(context, keyPath: path)
    }

    private func newPath() -> KeyPath<ManagedObjectContext, Void> {
        let place = ObservedObjects.Place(flag)
        return \ManagedObjectContext.[observed: place]
    }
}

extension ManagedObjectContext: Observable {
    /// Exists only as a part of a key path, which tells a registrar that the context itself is meant.
    subscript(observed place: ObservedObjects.Place) -> Void { () }

    /// Registers the read of `hasChanges`, if it is within `withObservationTracking`.
    @inline(never)
    func noteReadOfState() {
        guard let observed, observed.state.noteRead(holdsChanges, of: self) else { return }
        memory.hasObserved = true
        updateNoting()
    }
}

extension ManagedObject: Observable {
    /// Exists only as a part of key paths, which tell registrars a property.
    final subscript(observed place: ObservedObjects.Place) -> Void { () }

    /// Whether the object has a registrar.
    final var isObserved: Bool { state.contains(.observed) }

    /// The destination of a to-one relationship, as far as it is in memory.
    fileprivate final func knownDestinationID(at slot: Int) -> ObjectID? {
        if let unsaved = unsavedDestinationID(at: slot) { return unsaved }
        return row?.destination(at: slot)
    }

    fileprivate final var allProperties: [Entity.Property] {
        entity.attributes.map { .attribute($0.slot) } + entity.relationships.map { .relationship($0.slot) }
    }

    /// Registers the read of a property, if it is within `withObservationTracking` and the context follows that.
    @inline(__always)
    final func noteRead(_ property: Entity.Property) {
        if withShape({ !$0.observed.isNil }) { noteObservableRead(property) }
    }

    /// Registers the read of fetched properties, if it is within `withObservationTracking`.
    ///
    /// A result stays as it is until the whole object is refreshed, which is what an observer is notified of.
    final func noteFetchedRead() {
        if withShape({ !$0.observed.isNil }) { noteObservableRead(nil) }
    }

    @inline(never)
    private final func noteObservableRead(_ property: Entity.Property?) {
        // An object that has left the context has no observers: a probe of it would keep them.
        guard wasRegistered, withShape({ $0.observed.withObject { $0.mayFollow(self) } }) == true else { return }
        guard let context = managedObjectContext, let observed = context.observed else { return }
        guard observed.noteRead(property, of: self) else { return }
        state.insert(.observed)
        context.memory.hasObserved = true
        context.updateNoting()
    }

    /// Notifies the observers of changes that are complete.
    @inline(__always)
    final func tellObserved() {
        withContext { context in
            if context.memory.hasObserved { context.tellObserved() }
        }
    }
}

extension ManagedObjectContext {
    /// Whether `withObservationTracking` follows the reads of this context's objects (MO-41).
    ///
    /// The view context of a container and its children have it set from the beginning. Where it is set, a closure that
    /// reads attributes and relationships is notified when one of them changes: by a setter, an undo, a rollback, a
    /// refresh or a merge; so is one that reads `hasChanges` of the context. Each read asks the thread whether it is
    /// followed; where it is not set, reads take no longer.
    ///
    ///     withObservationTracking {
    ///         label.text = track.name
    ///     } onChange: {
    ///         Task { @MainActor in update() }
    ///     }
    ///
    /// `onChange` is called once, when the change is complete: at the end of the setter or of the call that has changed
    /// the object. A reader of a derived attribute is notified of changes of the values from which it follows, and of
    /// the save that writes it anew.
    public var isObservable: Bool {
        get { observed != nil }
        set {
            guard newValue != isObservable else { return }
            // Registrars are freed after the access, because their closures may retain the last reference to an object.
            let former = observed
            defer { withExtendedLifetime(former) {} }
            observed?.end()
            observed = newValue ? ObservedObjects(model) : nil
            if !newValue {
                for object in memory.registry.objects { object.state.remove(.observed) }
                memory.hasObserved = false
                updateNoting()
            }
        }
    }

    /// Records a change of a whole object for its observers.
    @inline(__always)
    func noteObserved(_ object: ManagedObject) {
        if memory.hasObserved { observed?.noteChange(nil, of: object) }
    }

    /// Notifies the observers of the recorded changes, unless a call is unfinished: its end notifies them.
    @inline(never)
    func tellObserved() {
        guard eventDepth == 0, let observed else { return }
        observed.tell(in: self)
        observed.state.tell(holdsChanges, of: self)
    }

    /// Decides whether changes are noted before they are made.
    func updateNoting() { memory.notesChanges = journal != nil || eventRecord != nil || memory.hasObserved }
}

extension UndoStep.Change {
    /// The property that changes; `nil` if the object is inserted or deleted.
    var property: Entity.Property? {
        switch self {
        case .inserted, .deleted: nil
        case .attribute(let slot, _): .attribute(slot)
        case .destination(let slot, _), .added(let slot, _), .removed(let slot, _, _), .moved(let slot, _, _),
            .order(let slot, _):
            .relationship(slot)
        }
    }
}
