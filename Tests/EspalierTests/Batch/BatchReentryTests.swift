// Closures of batch requests that change the store which calls them: each such call is refused with an error of its
// kind, in every kind of store, and the request goes on.

import Dispatch
import Espalier
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct BatchReentryTests {
    private func isRefused(_ error: ContextError?) -> Bool {
        if case .alreadySaving(hook: "the closure of a batch request", object: nil)? = error { true } else { false }
    }

    private static func store(_ kind: StoreKind, _ model: ManagedObjectModel) throws -> any PersistentStore {
        switch kind {
        case .inMemory: InMemoryStore(model: model)
        case .btree: try BTreeStore.inMemory(model: model)
        }
    }

    private func names(_ stack: Stack) throws -> [String] { try stack.stored(Track.self).map(\.name).sorted() }

    @Test(arguments: StoreKind.allCases)
    func `no other context can change the store from the closure of a batch request (BR-02)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: [["name": "stored"]]))
        let other = stack.newContext()
        let unsaved = Track(context: other)
        unsaved.name = "unsaved"
        var errors: [ContextError?] = []
        var count = 0
        let request = BatchInsertRequest(entityName: "Track") { row in
            count += 1
            row["name"] = "row \(count)"
            errors.append(contextError { try other.save() })
            errors.append(
                contextError {
                    try other.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 1]))
                })
            errors.append(
                contextError { try stack.coordinator.execute(BatchDeleteRequest(FetchRequest<Track>())) })
            errors.append(contextError { try other.obtainPermanentIDs(for: [unsaved]) })
            return count == 3
        }

        #expect(try stack.context.execute(request).count == 2)

        #expect(errors.count == 12 && errors.allSatisfy(isRefused), "\(errors)")
        #expect(other.insertedObjects == [unsaved] && unsaved.objectID.isTemporary && unsaved.name == "unsaved")
        // Afterwards the store takes all of it.
        try other.save()
        #expect(try names(stack) == ["row 1", "row 2", "stored", "unsaved"])
    }

    @Test(arguments: StoreKind.allCases)
    func `the closure that gets the progress of a batch request cannot change the store either (BR-02)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let coordinator = stack.coordinator
        let errors = Mutex<[ContextError?]>([])
        var request = BatchInsertRequest(entityName: "Track", objects: (0..<5).map { ["name": "Track \($0)"] })
        request.progress = BatchProgress { _ in
            let error = contextError { try coordinator.execute(BatchDeleteRequest(FetchRequest<Track>())) }
            errors.withLock { $0.append(error) }
        }

        #expect(try stack.context.execute(request).count == 5)

        let refusals = errors.withLock { $0 }
        #expect(!refusals.isEmpty && refusals.allSatisfy(isRefused), "\(refusals)")
        #expect(try names(stack).count == 5)
    }

    @Test(arguments: StoreKind.allCases)
    func `the closure of a batch request can save to another store (BR-02)`(_ kind: StoreKind) throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        for _ in 0..<2 {
            coordinator.add(try Self.store(kind, model))
        }
        let context = ManagedObjectContext(coordinator)
        let other = ManagedObjectContext(coordinator)
        var errors: [ContextError?] = []
        let request = BatchInsertRequest(entityName: "Track") { row in
            row["name"] = "row"
            let track = Track(context: other)
            track.name = "other"
            errors.append(
                contextError {
                    try other.assign(track, to: coordinator.persistentStores[1])
                    try other.save()
                })
            return errors.count == 2
        }

        #expect(try context.execute(request).count == 1)

        #expect(errors.count == 2 && errors.allSatisfy { $0 == nil })
        let reader = ManagedObjectContext(coordinator)
        #expect(try reader.fetch(FetchRequest<Track>()).map(\.name).sorted() == ["other", "other", "row"])
    }

    @Test func `a context of another coordinator is refused by the store that both have (BR-02)`() throws {
        let stack = try Stack(.btree)
        let second = PersistentStoreCoordinator(managedObjectModel: stack.coordinator.managedObjectModel)
        second.add(stack.coordinator.persistentStores[0])
        let other = ManagedObjectContext(second)
        Track(context: other).name = "unsaved"
        var errors: [ContextError?] = []
        let request = BatchInsertRequest(entityName: "Track") { row in
            errors.append(contextError { try other.save() })
            return true
        }

        try stack.context.execute(request)

        #expect(errors.count == 1 && errors.allSatisfy(isRefused), "\(errors)")
        try other.save()
        #expect(try names(stack) == ["unsaved"])
    }

    @Test(arguments: StoreKind.allCases)
    func `another thread saves to the store before a batch request or after it (BR-02)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let coordinator = stack.coordinator
        let isDone = DispatchSemaphore(value: 0)
        let failure = Mutex<String?>(nil)
        let save: @Sendable () -> Void = {
            let context = ManagedObjectContext(coordinator)
            Track(context: context).name = "thread"
            let error = contextError { try context.save() }
            failure.withLock { $0 = error.map { "\($0)" } }
            isDone.signal()
        }
        var count = 0
        let request = BatchInsertRequest(entityName: "Track") { row in
            if count == 0 { Thread.detachNewThread(save) }
            count += 1
            row["name"] = "row \(count)"
            return count == 4
        }

        #expect(try stack.context.execute(request).count == 3)
        isDone.wait()

        #expect(failure.withLock { $0 } == nil)
        #expect(try names(stack) == ["row 1", "row 2", "row 3", "thread"])
    }
}
