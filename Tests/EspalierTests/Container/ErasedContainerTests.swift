// Containers that are erased while their stores are being changed, by another thread or by the caller.

import Dispatch
import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct ErasedContainerTests {
    private func description(_ kind: StoreKind, _ folder: URL) -> PersistentStoreDescription {
        switch kind {
        case .inMemory: .inMemory
        case .btree: PersistentStoreDescription(url: folder.appending(path: "a"))
        }
    }

    private func isRefused(_ error: ContextError?) -> Bool {
        if case .alreadySaving(hook: "the closure of a batch request", object: nil)? = error { true } else { false }
    }

    @MainActor @Test(arguments: StoreKind.allCases)
    func `a container is erased after a change that another thread is making, and goes on (SD-13)`(
        _ kind: StoreKind
    ) throws {
        try withTemporaryFolder { folder in
            let container = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses), stores: [description(kind, folder)])
            let coordinator = container.persistentStoreCoordinator
            let isWriting = DispatchSemaphore(value: 0)
            let isErasing = DispatchSemaphore(value: 0)
            let isDone = DispatchSemaphore(value: 0)
            let token = coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { _ in
                isErasing.signal()
            }
            // Most of the rows are made when the store is about to be closed.
            Thread.detachNewThread {
                var count = 0
                let request = BatchInsertRequest(entityName: "Track") { row in
                    if count == 0 {
                        isWriting.signal()
                        isErasing.wait()
                    }
                    count += 1
                    row["name"] = "row \(count)"
                    return count == 5000
                }
                // A store in memory makes the rows before it changes: then it may be closed.
                _ = contextError { try coordinator.execute(request) }
                isDone.signal()
            }
            isWriting.wait()

            let error = contextError { try container.erase() }
            isErasing.signal()
            isDone.wait()

            #expect(error == nil, "\(String(describing: error))")
            #expect(try container.viewContext.count(for: FetchRequest<Track>()) == 0)
            Track(context: container.viewContext).name = "later"
            try container.viewContext.save()
            #expect(try container.viewContext.count(for: FetchRequest<Track>()) == 1)
            token.cancel()
            try container.close()
        }
    }

    @MainActor @Test(arguments: StoreKind.allCases)
    func `the closure of a batch request cannot erase the container, and the request goes on (SD-13, BR-02)`(
        _ kind: StoreKind
    ) throws {
        try withTemporaryFolder { folder in
            let container = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses), stores: [description(kind, folder)])
            let coordinator = container.persistentStoreCoordinator
            let store = try #require(coordinator.persistentStores.first)
            Track(context: container.viewContext).name = "unsaved"
            var errors: [ContextError?] = []
            let request = BatchInsertRequest(entityName: "Track") { row in
                row["name"] = "row \(errors.count)"
                errors.append(contextError { try container.erase() })
                return errors.count == 3
            }

            #expect(try coordinator.execute(request).count == 2)

            #expect(errors.count == 3 && errors.allSatisfy(isRefused), "\(errors)")
            #expect(coordinator.persistentStores.first === store)
            #expect(container.viewContext.insertedObjects.count == 1)
            try container.viewContext.save()
            #expect(try container.viewContext.count(for: FetchRequest<Track>()) == 3)
            try container.close()
        }
    }
}
