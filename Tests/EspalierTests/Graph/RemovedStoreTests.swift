// Stores that are removed while they are being changed or read, by another thread or by the caller.

import Dispatch
import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct RemovedStoreTests {
    /// The two calls that remove a store.
    enum Removal: CaseIterable {
        case remove, close
    }

    private static func container(_ kind: StoreKind, _ folder: URL) throws -> PersistentContainer {
        let description =
            switch kind {
            case .inMemory: PersistentStoreDescription.inMemory
            case .btree: PersistentStoreDescription(url: folder.appending(path: "a"))
            }
        return try PersistentContainer(model: ManagedObjectModel(for: musicClasses), stores: [description])
    }

    private static func remove(
        _ store: any PersistentStore, from container: PersistentContainer, by removal: Removal
    ) -> ContextError? {
        contextError {
            switch removal {
            case .remove: try container.persistentStoreCoordinator.remove(store)
            case .close: try container.close()
            }
        }
    }

    // MARK: Other threads

    @Test(arguments: StoreKind.allCases, Removal.allCases)
    func `a store is removed after the change that another thread is making, and its file is free (PS-03)`(
        _ kind: StoreKind, _ removal: Removal
    ) throws {
        try withTemporaryFolder { folder in
            let container = try Self.container(kind, folder)
            let coordinator = container.persistentStoreCoordinator
            let store = try #require(coordinator.persistentStores.first)
            let (isWriting, isRemoving) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let isDone = DispatchSemaphore(value: 0)
            let failures = Mutex<[String]>([])
            let token = coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { _ in
                isRemoving.signal()
            }
            // Most of the rows are made when the store is about to be closed.
            Thread.detachNewThread {
                var count = 0
                let request = BatchInsertRequest(entityName: "Track") { row in
                    if count == 0 {
                        isWriting.signal()
                        isRemoving.wait()
                    }
                    count += 1
                    row["name"] = "row \(count)"
                    guard count == 5000 else { return false }
                    let reader = ManagedObjectContext(coordinator)
                    let error = contextError { _ = try reader.count(for: FetchRequest<Track>()) }
                    if let error { failures.withLock { $0.append("read: \(error)") } }
                    return true
                }
                let error = contextError { try coordinator.execute(request) }
                if let error { failures.withLock { $0.append("write: \(error)") } }
                isDone.signal()
            }
            isWriting.wait()

            let error = Self.remove(store, from: container, by: removal)
            isRemoving.signal()
            isDone.wait()

            #expect(error == nil, "\(String(describing: error))")
            #expect(coordinator.persistentStores.isEmpty)
            token.cancel()
            // A store in memory makes the rows before it changes: then it may be closed.
            guard kind == .btree else { return }
            #expect(failures.withLock(\.self).isEmpty)
            let again = try Self.container(kind, folder)
            #expect(
                try ManagedObjectContext(again.persistentStoreCoordinator).count(for: FetchRequest<Track>()) == 4999)
            try again.close()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `reads of another thread end with the error of a closed store, and do not keep it open (PS-03)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        let coordinator = stack.coordinator
        let store = try #require(coordinator.persistentStores.first)
        let isReading = DispatchSemaphore(value: 0)
        let isDone = DispatchSemaphore(value: 0)
        let failures = Mutex<[String]>([])
        let read: @Sendable (_ body: () throws -> Void) -> Void = { body in
            for turn in 0... {
                do {
                    try body()
                } catch ContextError.store(.closed), ContextError.noStore(entity: _), StoreError.closed {
                    break
                } catch {
                    failures.withLock { $0.append("\(error)") }
                    break
                }
                if turn == 0 { isReading.signal() }
            }
            isReading.signal()
            isDone.signal()
        }
        Thread.detachNewThread {
            let context = ManagedObjectContext(coordinator)
            read {
                context.reset()
                _ = try context.fetch(FetchRequest<Track>())
            }
        }
        Thread.detachNewThread { read { _ = try store.metadata() } }
        for _ in 0..<2 { isReading.wait() }

        let error = contextError { try coordinator.remove(store) }
        for _ in 0..<2 { isDone.wait() }

        #expect(error == nil, "\(String(describing: error))")
        #expect(failures.withLock(\.self).isEmpty)
    }

    // MARK: The same thread

    @Test(arguments: StoreKind.allCases, Removal.allCases)
    func `the closure of a batch request cannot remove a store, and the request goes on (PS-03, BR-02)`(
        _ kind: StoreKind, _ removal: Removal
    ) throws {
        try withTemporaryFolder { folder in
            let container = try Self.container(kind, folder)
            let coordinator = container.persistentStoreCoordinator
            let store = try #require(coordinator.persistentStores.first)
            let second = try coordinator.addPersistentStore(.inMemory)
            let toldCount = Mutex(0)
            let token = coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { _ in
                toldCount.withLock { $0 += 1 }
            }
            var errors: [ContextError?] = []
            let request = BatchInsertRequest(entityName: "Track") { row in
                row["name"] = "row \(errors.count)"
                errors.append(Self.remove(store, from: container, by: removal))
                return errors.count == 3
            }

            #expect(try coordinator.execute(request).count == 2)

            let areRefused = errors.allSatisfy { error in
                if case .alreadySaving("the closure of a batch request", nil)? = error { true } else { false }
            }
            #expect(errors.count == 3 && areRefused, "\(errors)")
            #expect(toldCount.withLock(\.self) == 0)
            #expect(coordinator.persistentStores.map(\.identifier) == [store, second].map(\.identifier))
            token.cancel()
            let context = ManagedObjectContext(coordinator)
            Track(context: context).name = "later"
            try context.save()
            #expect(try context.count(for: FetchRequest<Track>()) == 3)
            try container.close()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `hooks and observers of a save cannot remove the store, and the save goes on (PS-03)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind, classes: [Page.self])
        let (coordinator, context) = (stack.coordinator, stack.context)
        let store = try #require(coordinator.persistentStores.first)
        let toldCount = Mutex(0)
        let told = coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { _ in
            toldCount.withLock { $0 += 1 }
        }
        var refused: [String] = []
        let remove: (String) -> Void = { place in
            let error = contextError { try coordinator.remove(store) }
            guard case .alreadySaving("a hook or an observer of a save", nil)? = error else {
                Issue.record("\(place): \(String(describing: error))")
                return
            }
            refused.append(place)
        }
        let tokens = [
            context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { _ in remove("WillSaveMessage") },
            context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { _ in remove("DidSaveMessage") },
        ]
        let page = Page(context: context)
        page.title = "a"
        page.act = remove

        try context.save()

        #expect(refused == ["WillSaveMessage", "willSave", "validateForInsert", "didSave", "DidSaveMessage"])
        #expect(toldCount.withLock(\.self) == 0)
        #expect(try stack.stored(Page.self).map(\.title) == ["a"])
        // After the save it is removed as any other.
        try coordinator.remove(store)
        #expect(coordinator.persistentStores.isEmpty && toldCount.withLock(\.self) == 1)
        withExtendedLifetime((told, tokens)) {}
    }

    // MARK: Closing

    @Test func `a store that cannot be closed is removed nevertheless, with the error (PS-03)`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let store = WatchedStore(model: model) { call throws(StoreError) in
            if case .close = call { throw StoreError.invalidRequest(reason: "the disk is gone") }
        }
        coordinator.add(store)

        guard case .store(.invalidRequest("the disk is gone"))? = contextError({ try coordinator.remove(store) }) else {
            Issue.record("nobody is told of the error")
            return
        }

        #expect(coordinator.persistentStores.isEmpty)
        let context = ManagedObjectContext(coordinator)
        guard case .noStore? = contextError({ _ = try context.fetch(FetchRequest<Track>()) }) else {
            Issue.record("a removed store is asked")
            return
        }
    }

    @Test func `a file that nobody has written is as it was after its store was removed (PS-03)`() throws {
        try withTemporaryFolder { folder in
            let first = try Self.container(.btree, folder)
            try first.close()
            let file = folder.appending(path: "a")
            let before = try Data(contentsOf: file)

            let second = try Self.container(.btree, folder)
            let context = ManagedObjectContext(second.persistentStoreCoordinator)
            #expect(try context.count(for: FetchRequest<Artist>()) == 0)
            try second.close()

            #expect(try Data(contentsOf: file) == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a"])
        }
    }
}

/// A page whose hooks call a closure with their names.
private final class Page: ManagedObject {
    var act: (String) -> Void = { _ in }

    override class var entityDescription: EntityDescription {
        EntityDescription("Page", properties: [EntityDescription._property("title", String?.self)])
    }
    var title: String? {
        get { _get("title", at: 0) }
        set { _set("title", at: 0, newValue) }
    }

    override func willSave() { act("willSave") }
    override func validateForInsert() throws { act("validateForInsert") }
    override func didSave() { act("didSave") }
}
