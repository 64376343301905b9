// A batch request in terms of the model and of the stores: one command for each store that it concerns.
//
// Invariants
//   1. Everything in the request that does not fit the model is found before the first store changes, except the rows
//      of a closure, which are made while their store writes.
//   2. Stores change one after the other, each in a transaction of its own. If one fails, those before it stay changed,
//      and the request throws `partlySaved`, as a save does (MC-40).

import EspalierModel
import EspalierStore
import FoundationEssentials

/// The commands of a request.
struct BatchPlan {
    /// The result of a plan.
    struct Outcome {
        var result: BatchResult
        var changes = SavedChanges()
        /// The error of a store, after which others have changed.
        var failure: ContextError?
    }

    private(set) var steps: [(part: SourcePart, command: StoreCommand)] = []
    private let returnsObjectIDs: Bool
    /// The error of the application's closure, or of the row that it has filled.
    private let failure = ClosureFailure()
    let coordinator: PersistentStoreCoordinator

    private var model: ManagedObjectModel { coordinator.managedObjectModel }

    // MARK: Making

    /// - Parameter actions: the actions on rows whose unique values are taken, for an entity.
    init(
        _ request: BatchInsertRequest, _ coordinator: PersistentStoreCoordinator,
        _ actions: (Entity) -> [ConstraintName: ConstraintAction]
    ) throws(ContextError) {
        (self.coordinator, returnsObjectIDs) = (coordinator, request.returnsObjectIDs)
        let entity = try coordinator.managedObjectModel.requiredEntity(named: request.entityName)
        guard !entity.isAbstract else { throw .abstractEntity(entity.name) }
        let (fill, failure) = (request.begin(), failure)
        var draft = RowDraft(entity, coordinator.managedObjectModel)
        var position = 0
        var command = StoreCommand(
            .insert(entity) { () throws(StoreError) in
                draft.reset()
                do {
                    if try fill(&draft) { return nil }
                } catch {
                    throw failure.stop(with: .batchRowSource(underlying: error))
                }
                if let error = draft.error { throw failure.stop(with: .assignment(error, row: position)) }
                position += 1
                return draft.row
            })
        (command.validates, command.returnsIDs) = (request.validates, request.returnsObjectIDs)
        (command.progress, command.constraintActions) = (request.progress, actions(entity))
        steps = [(try coordinator.partForNewRows(of: entity, in: request.affectedStores), command)]
    }

    init(_ request: BatchUpdateRequest, _ coordinator: PersistentStoreCoordinator) throws(ContextError) {
        (self.coordinator, returnsObjectIDs) = (coordinator, request.returnsObjectIDs)
        var terms = FetchTerms(entityName: request.entityName, predicate: request.predicate)
        (terms.includesSubentities, terms.affectedStores) = (request.includesSubentities, request.affectedStores)
        let fetch = try coordinator.knownRequests.storeFetch(terms)
        let assignments: [ResolvedAssignment]
        do { assignments = try request.assignments(of: fetch.entity, in: coordinator.managedObjectModel) } catch {
            throw .assignment(error, row: nil)
        }
        for part in try coordinator.writableParts(taking: fetch) {
            var command = StoreCommand(.update(.matching(fetch), assignments))
            (command.validates, command.returnsIDs) = (request.validates, request.returnsObjectIDs)
            command.progress = request.progress
            steps.append((part, command))
        }
    }

    init(_ request: BatchDeleteRequest, _ coordinator: PersistentStoreCoordinator) throws(ContextError) {
        (self.coordinator, returnsObjectIDs) = (coordinator, request.returnsObjectIDs)
        var selections: [(part: SourcePart, rows: StoreCommand.Rows)] = []
        switch request.selection {
        case .matching(let terms):
            let fetch = try coordinator.knownRequests.storeFetch(terms)
            for part in try coordinator.writableParts(taking: fetch) { selections.append((part, .matching(fetch))) }
        case .ids(let ids):
            for (part, ids) in try coordinator.writableParts(holding: ids) { selections.append((part, .ids(ids))) }
        }
        for (part, rows) in selections {
            var command = StoreCommand(.delete(rows))
            (command.returnsIDs, command.progress) = (request.returnsObjectIDs, request.progress)
            steps.append((part, command))
        }
    }

    // MARK: Carrying out

    /// Changes the stores.
    ///
    /// - Throws: the error of the first store; that of a later one is part of the outcome.
    func carryOut() throws(ContextError) -> Outcome {
        var outcome = Outcome(result: BatchResult(objectIDs: returnsObjectIDs ? [] : nil))
        for (number, (part, command)) in steps.enumerated() {
            do throws(StoreError) {
                outcome.add(try coordinator.execute(command, in: part))
            } catch {
                let reason = failure.error ?? ContextError(error)
                guard number > 0 else { throw reason }
                outcome.failure = reason
                break
            }
        }
        return outcome
    }
}

extension BatchPlan.Outcome {
    /// The most IDs of which other contexts are told one by one.
    private static let toldCountMax = SavedChangesQueue.idCountMax

    fileprivate mutating func add(_ store: CommandResult) {
        // A store of an application may state any number.
        let (count, isTooGreat) = result.count.addingReportingOverflow(store.count)
        result.count = isTooGreat ? .max : count
        result.objectIDs?.append(contentsOf: store.ids)
        let idCount = store.inserted.count + store.updated.count + store.deleted.count
        guard changes.idCount + idCount <= Self.toldCountMax, !changes.isEverything else {
            changes = SavedChanges(isEverything: true)
            return
        }
        changes.insertedIDs.add(store.inserted)
        changes.updatedIDs.add(store.updated)
        changes.deletedIDs.add(store.deleted)
    }
}

/// The error of an application's closure, which a store passes on as an error of its own.
private final class ClosureFailure {
    private(set) var error: ContextError?

    /// Keeps the error, and returns the one that stops the store.
    func stop(with error: ContextError) -> StoreError {
        self.error = error
        return .commandCancelled(path: nil)
    }
}

extension PersistentStoreCoordinator {
    /// The part for new rows of an entity: the first writable one that accepts it, of those that a request names.
    fileprivate func partForNewRows(of entity: Entity, in stores: [UUID]?) throws(ContextError) -> SourcePart {
        guard let stores else { return try partForNewObjects(of: entity) }
        let tags = stores.map { Interned.stores.existingTag(of: $0) }
        let taking = parts.filter { $0.takes(entity) && tags.contains($0.storeTag) }
        guard let first = taking.first else { throw .noStore(entity: entity.name) }
        guard let part = taking.first(where: { !$0.isReadOnly }) else { throw .readOnlyStore(path: first.path) }
        return part
    }

    /// The parts that have rows of a fetch's entity and that the fetch asks, all of them writable.
    fileprivate func writableParts(taking fetch: StoreFetch) throws(ContextError) -> [SourcePart] {
        let found = parts.filter { $0.takes(fetch.entity) && fetch.asks(storeTag: $0.storeTag) }
        guard !found.isEmpty else { throw .noStore(entity: fetch.entity.name) }
        guard found.count == 1 || fetch.limit == nil && fetch.offset == 0 else {
            throw .limitAcrossStores(entity: fetch.entity.name)
        }
        if let part = found.first(where: \.isReadOnly) { throw .readOnlyStore(path: part.path) }
        return found
    }

    /// The parts that have these rows, each with its own, all of them writable.
    fileprivate func writableParts(
        holding ids: [ObjectID]
    ) throws(ContextError) -> [(part: SourcePart, ids: [ObjectID])] {
        var byStore: [UInt32: [ObjectID]] = [:]
        for id in ids {
            if id.isTemporary { throw .objectNotFound(id) }
            byStore[id.storeTag, default: []].append(id)
        }
        var found: [(part: SourcePart, ids: [ObjectID])] = []
        for (_, ids) in byStore.sorted(by: { $0.key < $1.key }) {
            guard let part = part(holding: ids[0]) else { throw .noStore(entity: ids[0].entityName) }
            if part.isReadOnly { throw .readOnlyStore(path: part.path) }
            found.append((part, ids))
        }
        return found
    }
}

extension ManagedObjectModel {
    /// The entity called `name`.
    fileprivate func requiredEntity(named name: String) throws(ContextError) -> Entity {
        guard let entity = entity(named: name) else { throw .unknownEntity(name, known: entities.map(\.name)) }
        return entity
    }
}
