// The errors of contexts, coordinators and containers: the cases carry facts, and `description` makes all text.

public import EspalierModel
public import EspalierStore

/// The reason why a call of a context, coordinator or container failed.
///
/// The context is as it was before.
public enum ContextError: Error, Sendable {
    /// Rules that unsaved objects break, and refused changes (1550 ... 1600): all of them, or the first 1,000 and the
    /// number of the others (`Violation.Reason.more(count:)`).
    case violations([Violation])
    /// Rows that another context or process has changed since they were read, with both values (133020): all of them,
    /// or the first 1,000 and the number of the others (`MergeConflict.moreCount`).
    case conflicts([MergeConflict])
    /// Answers of a merge policy of the application's own that cannot be followed, and the errors that it threw
    /// (133020).
    case refusedResolutions([Violation])
    /// Values that must be unique and are not (133021): all of them, or the first 1,000 and the number of the others
    /// (`UniquenessConflict.moreCount`).
    case constraints([UniquenessConflict])
    /// Findings of several kinds (1560): the errors that the save would have reported one after the other.
    indirect case several([ContextError])
    /// All relationships that would lead to rows that another context or process has deleted, or that a deletion would
    /// leave without their destination (133000).
    case references([ReferenceConflict])
    /// Each round of `willSave` and validation hooks changes or inserts objects again, or each round of the hooks of a
    /// parent's objects that adopt newer rows for the save of a child.
    case unsettledSave(rounds: Int)
    /// A hook of a running save has called `save()` of the same context or of a child, or another call that would
    /// change the objects that are written; a hook of an object that becomes a fault has called `save()` of a child;
    /// the closure of a batch request has changed the store that carries the request out; or one of them, or an
    /// observer of a save, has removed a store. The running call continues.
    case alreadySaving(hook: String, object: ObjectID?)
    /// The model has no entity of this name.
    case unknownEntity(String, known: [String])
    /// The entity is abstract: only its subentities have objects.
    case abstractEntity(String)
    /// The object belongs to another context.
    case objectOfOtherContext(ObjectID)
    /// The object belongs to no context: it was never inserted, or is deleted, or was merged into another object, or
    /// its context was reset.
    case objectWithoutContext(ObjectID)
    /// The object's context was freed before the object.
    case contextEnded(ObjectID)
    /// No store holds such a row (133000).
    case objectNotFound(ObjectID)
    /// The objects of the entity are not of the request's class.
    case wrongResultType(entity: String, found: String, expected: String)
    /// The predicate or a sort key does not fit the entity.
    case invalidPredicate(FetchPredicateError)
    /// The request of a fetched property has failed, with this error (FR-24).
    indirect case fetchedProperty(String, entity: String, underlying: ContextError)
    /// A relationship named for prefetching does not exist.
    case unknownRelationship(String, entity: String)
    /// No open store can hold objects of this entity: the application has added none, or has closed it.
    case noStore(entity: String)
    /// The model has no configuration of this name.
    case unknownConfiguration(String, known: [String])
    /// No store of this kind is registered, or the kind does not fit the description, or its stores cannot be removed
    /// or replaced.
    case unsupportedStore(StoreType)
    /// The store is open for reading only (513).
    case readOnlyStore(path: String?)
    /// A relationship leads to an object of another store.
    case relationshipAcrossStores(owner: ObjectID, property: String, destination: ObjectID)
    /// Some stores have saved, then one failed; the next save writes the rest.
    indirect case partlySaved(underlying: ContextError)
    /// The store has discarded the generation to which the context is pinned (MC-51).
    case queryGenerationExpired(path: String?)
    /// The generation belongs to stores that are not open in this coordinator.
    case queryGenerationOfOtherStores
    /// The text is no URI of an object in one of the coordinator's stores.
    case invalidURI(String)
    /// The context does not record the changes of events.
    case eventIsNotRecorded
    /// The store of an object cannot be chosen any more: the object has its permanent ID.
    case storeIsChosen(ObjectID)
    /// The store does not accept objects of the entity.
    case storeRefusesEntity(String, path: String?)
    /// A batch request sets a property that it cannot set, or to a value that the property cannot have; and the
    /// position of the row, from 0, if that is one of a batch insertion.
    case assignment(AssignmentError, row: Int?)
    /// The closure that fills the rows of a batch insertion has thrown this error.
    case batchRowSource(underlying: any Error)
    /// A batch request has a limit or an offset, but several stores have rows of its entity.
    case limitAcrossStores(entity: String)
    /// A call by key path about an object of a class that has no table of key paths: it belongs to an actor, or is not
    /// marked with `@Entity`.
    case classWithoutKeyPaths(String)
    /// An asynchronous fetch was cancelled, by its progress or with its task (3072).
    case fetchCancelled
    /// The store has failed.
    case store(StoreError)

    /// Core Data's number for this error; the article Behaviour lists the numbers.
    public var code: Int {
        switch self {
        case .violations(let violations): violations.count == 1 ? violations[0].code : 1560
        case .conflicts, .refusedResolutions: 133020
        case .constraints: 133021
        case .several: 1560
        case .objectNotFound, .references: 133000
        case .readOnlyStore: 513
        case .partlySaved: 134040
        case .fetchedProperty(_, _, let error): error.code
        case .store(.incompatibleModel), .store(.modelChanged), .store(.otherFormat): 134100
        case .store(.migrationRefused): 134190
        case .store(.migrationCancelled): 134120
        case .store(.commandCancelled), .store(.fetchCancelled), .fetchCancelled: 3072
        case .assignment: 1550
        case .unsupportedStore: 134000
        case .store(let error) where error.isMissingFile: 260
        case .store, .queryGenerationExpired: 134030
        case .unsettledSave, .alreadySaving, .unknownEntity, .abstractEntity, .objectOfOtherContext,
            .objectWithoutContext, .contextEnded, .wrongResultType, .invalidPredicate, .unknownRelationship, .noStore,
            .relationshipAcrossStores,
            .queryGenerationOfOtherStores, .invalidURI, .eventIsNotRecorded, .storeIsChosen, .storeRefusesEntity,
            .unknownConfiguration, .batchRowSource, .limitAcrossStores, .classWithoutKeyPaths:
            134060
        }
    }
}

extension ContextError: CustomStringConvertible {
    /// The problem, its place, and the way to correct it.
    public var description: String {
        switch self {
        case .violations(let violations):
            Self.list("the changes break these rules", violations, countedOnly: violations.countedOnly)
        case .conflicts(let conflicts):
            Self.list(
                "another context or process changed these objects meanwhile", conflicts,
                countedOnly: max(0, (conflicts.last?.moreCount ?? 0) - 1))
        case .refusedResolutions(let violations):
            Self.list("the merge policy has given answers that cannot be followed", violations)
        case .constraints(let conflicts):
            Self.list(
                "these values must be unique, but are not", conflicts,
                countedOnly: max(0, (conflicts.last?.moreCount ?? 0) - 1))
        case .several(let errors): errors.map { "\($0)" }.joined(separator: "\n")
        case .references(let conflicts): Self.list("the save would break these relationships", conflicts)
        case .unsettledSave(let rounds):
            "after \(rounds) rounds the hooks of the save still change objects; `willSave` must not set a value that "
                + "is set already, no two validation hooks may set different values of one property, no hook may "
                + "insert an object on every call, and no object that becomes a fault may read an older row again"
        case .alreadySaving(let hook, let object):
            "save(), execute(), the removal of a store or a call that would change what they write was made in "
                + "\(hook)\(object.map { " of \($0)" } ?? "") while the context, its parent or its store was writing "
                + "or refreshing; remove the call: a save includes changes that hooks make before it writes; save "
                + "later ones afterwards"
        case .unknownEntity(let name, let known):
            "the model has no entity \"\(name)\"; it has \(known.joined(separator: ", "))"
        case .abstractEntity(let name): "\(name) is abstract; use one of the entities that inherit from it"
        case .objectOfOtherContext(let id):
            "\(id) belongs to another context; get it in this context with existingObject(with:)"
        case .objectWithoutContext(let id):
            "\(id) is in no context: it was never inserted, or it is deleted, or it was merged into another object, "
                + "or its "
                + "context was reset"
        case .contextEnded(let id):
            "the context of \(id) has ended; keep a reference to the ManagedObjectContext, or to the "
                + "PersistentContainer that owns it, for as long as its objects are used"
        case .objectNotFound(let id) where id.isTemporary:
            "\(id) is temporary, and this context has no such object: save the object in its own context first, or "
                + "call obtainPermanentIDs(for:) there, and then take its ID"
        case .objectNotFound(let id): "no store holds \(id), or it is deleted in this context"
        case .wrongResultType(let entity, let found, let expected):
            "objects of \(entity) are of class \(found), but the request asks for class \(expected)"
        case .invalidPredicate(let error): "\(error)"
        case .fetchedProperty(let name, let entity, let error):
            "the fetched property '\(entity).\(name)' could not be read: \(error)"
        case .unknownRelationship(let name, let entity): "\(entity) has no relationship \"\(name)\""
        case .noStore(let entity):
            "no open store accepts objects of \(entity): add one to the coordinator first, or open the container again "
                + "if it was closed"
        case .unknownConfiguration(let name, let known):
            "the model has no configuration \"\(name)\"; it has "
                + (known.isEmpty ? "none: name the entities of the store instead" : known.joined(separator: ", "))
        case .unsupportedStore(let type):
            "no store of kind \(type.rawValue) fits the description: a store in a file needs a path, a store in "
                + "memory has none and cannot migrate, and a kind of the application's own has to be registered "
                + "first (StoreType.register), and is removed by the application itself; registered are "
                + StoreType.registered.map(\.rawValue).joined(separator: ", ")
        case .readOnlyStore(let path):
            "the store \(path ?? "in memory") is open for reading only; open it for writing to save changes"
        case .relationshipAcrossStores(let owner, let property, let destination):
            "\(property) of \(owner) leads to \(destination) in another store; both objects must be in one store"
        case .partlySaved(let error): "some stores have saved, but one has failed: \(error)"
        case .queryGenerationExpired(let path):
            (path.map { "\($0): " } ?? "")
                + "the store has discarded the generation to which the context is pinned: its log reached its cap, or "
                + "the "
                + "store was closed; move on with setQueryGeneration(from: nil), or raise the store's logByteCountMax"
        case .queryGenerationOfOtherStores:
            "the generation belongs to stores that are not open here; take it from a context of the same coordinator"
        case .eventIsNotRecorded:
            "the context does not record the changes of events; set its recordsChangesOfEvent before the changes"
        case .storeIsChosen(let id):
            "\(id) has its permanent ID, which names its store; choose the store of a new object before it is saved, "
                + "before obtainPermanentIDs(for:), and before a child context reads it"
        case .storeRefusesEntity(let entity, let path):
            "the store \(path ?? "in memory") was added without \(entity) among its entityNames"
        case .invalidURI(let text):
            "\"\(text)\" is not the URI of an object; the form is x-espalier://<UUID of an open store>/<Entity>/p<key>"
        case .assignment(let error, let row): "\(error)" + (row.map { " (row \($0) of the request)" } ?? "")
        case .batchRowSource(let error): "the closure that fills rows has thrown an error: \(error)"
        case .limitAcrossStores(let entity):
            "several stores have rows of \(entity), so a limit or an offset is ambiguous; fetch the IDs, and delete "
                + "these"
        case .classWithoutKeyPaths(let name):
            "the class \(name) has no table of key paths, because it is not marked with @Entity or belongs to an "
                + "actor; name the property in a call that takes names, or mark the class with @Entity and no actor"
        case .fetchCancelled: "the fetch was cancelled by its progress or with its task; the context is as it was"
        case .store(let error): "\(error)"
        }
    }

    private static func list(
        _ title: String, _ items: [some CustomStringConvertible], countedOnly: Int = 0
    ) -> String {
        let shownCountMax = 50
        let more =
            items.count > shownCountMax ? ["  and \(items.count - shownCountMax + countedOnly) more"] : []
        return title + ":\n" + (items.prefix(shownCountMax).map { "  \($0)" } + more).joined(separator: "\n")
    }
}

extension ContextError {
    /// Makes the error that a context throws for a store's error.
    init(_ error: StoreError) {
        switch error {
        case .readOnly(let path): self = .readOnlyStore(path: path)
        case .constraint(let conflicts): self = .constraints(conflicts.map { UniquenessConflict($0) })
        case .references(let conflicts): self.init(conflicts)
        case .invalidPredicate(let error): self = .invalidPredicate(error)
        case .brokenRules(let rules): self = .violations(rules.map { Violation($0) })
        case .unknownStoreType(let type): self = .unsupportedStore(type)
        case .fetchCancelled: self = .fetchCancelled
        case .unsettledSave(let rounds): self = .unsettledSave(rounds: rounds)
        case .storage where error.isAlreadyWriting: self = .alreadySaving(hook: SaveStage.batchClosure, object: nil)
        case .conflict, .closed, .storage, .incompatibleModel, .modelChanged, .migrationRefused, .migrationCancelled,
            .commandCancelled, .otherFormat, .damagedContent, .malformedFile, .invalidRequest, .outside,
            .brokenContract, .invalidOption:
            self = .store(error)
        }
    }
}

extension ContextError {
    /// Makes `.violations` if every conflict breaks a rule of the model, `.references` otherwise.
    private init(_ conflicts: [ReferenceConflict]) {
        let violations = conflicts.compactMap(Violation.init)
        self = violations.count == conflicts.count ? .violations(violations) : .references(conflicts)
    }
}

extension Violation {
    /// The rule of the model that a deletion would break; `nil` if the relationship leads to a deleted row.
    fileprivate init?(_ conflict: ReferenceConflict) {
        let reason: Reason
        switch conflict.kind {
        case .denied: reason = .deniedDelete(destinations: conflict.destinations)
        case .required: reason = .missingValue
        case .missing, .abandoned: return nil
        }
        self.init(
            conflict.owner, entityName: conflict.owner.entityName, property: conflict.relationship, reason)
    }
}

extension [Violation] {
    /// The number of violations that the last one represents, besides itself.
    fileprivate var countedOnly: Int {
        if case .more(let count)? = last?.reason { count - 1 } else { 0 }
    }
}
