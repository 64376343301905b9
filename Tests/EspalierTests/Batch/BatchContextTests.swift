// Batch requests beside objects and unsaved changes: what contexts, children, observers and several stores see of them.

import Dispatch
import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct BatchContextTests {
    private func rows(_ count: Int) -> [[String: any PredicateArgument]] {
        (0..<count).map { ["name": "Track \($0)", "seconds": $0] }
    }

    private func names(_ stack: Stack) throws -> [String] { try stack.stored(Track.self).map(\.name).sorted() }

    @Test(arguments: StoreKind.allCases)
    func `a child passes its request to the stores, and all contexts above it follow (MC-22)`(_ kind: StoreKind) throws
    {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let child = ManagedObjectContext(parent: stack.context)
        let grandchild = ManagedObjectContext(parent: child)
        let sibling = ManagedObjectContext(parent: stack.context)
        let contexts = [stack.context, child, grandchild, sibling]
        var all: [[Track]] = []
        for context in contexts {
            all.append(try context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")])))
            _ = all.last?.map(\.bytes)
        }
        all[0][0].bytes = 7
        all[1][1].name = "Draft"

        try grandchild.execute(
            BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["seconds": 3, "bytes": 9]))

        sibling.processPendingChanges()
        for tracks in all {
            #expect(tracks.map(\.seconds) == [3, 3, 3])
            #expect(tracks[2].bytes == 9 && tracks[0].bytes == 7)
        }
        #expect(all[1][1].name == "Draft" && all[0][1].name != "Draft")
        let gone = all[0][2].objectID
        try grandchild.execute(BatchDeleteRequest(objectIDs: [gone]))
        sibling.processPendingChanges()
        for context in contexts { #expect(try context.fetchIDs(FetchRequest<Track>()).count == 2) }
    }

    @Test(arguments: StoreKind.allCases)
    func `a context sees an update in place and saves after it, and one that does not merge has a conflict`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(3)))
        let request = FetchRequest<Track>(sortedBy: [SortKey("seconds")])
        let tracks = try stack.context.fetch(request)
        let stale = stack.newContext()
        let others = try stale.fetch(request)
        #expect((tracks + others).allSatisfy { $0.bytes == 0 })

        try stack.context.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 7]))

        #expect(tracks.map(\.bytes) == [7, 7, 7])
        tracks[0].name = "after"
        try stack.context.save()
        others[1].name = "stale"
        #expect(contextError { try stale.save() }?.conflicts.map(\.object) == [others[1].objectID])
        let stored = try stack.stored(Track.self)
        #expect(stored.map(\.bytes) == [7, 7, 7])
        #expect(Set(stored.map(\.name)) == ["after", "Track 1", "Track 2"])
    }

    @Test(arguments: StoreKind.allCases)
    func `unsaved objects are not touched: new ones stay, changed ones of deleted rows are reported`(_ kind: StoreKind)
        throws
    {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(3)))
        let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("seconds")]))
        let new = Track(context: stack.context)
        new.name = "new"
        tracks[0].name = "changed"
        try stack.context.delete(tracks[1])

        #expect(try stack.context.execute(BatchDeleteRequest(FetchRequest<Track>())).count == 3)

        #expect(stack.context.insertedObjects == [new] && stack.context.deletedObjects.isEmpty)
        #expect(tracks[2].isDeleted && tracks[0].name == "changed")
        #expect(contextError { try stack.context.save() }?.conflicts.map(\.object) == [tracks[0].objectID])
        stack.context.mergePolicy = .storeTrump
        try stack.context.save()
        #expect(try names(stack) == ["new"])
    }

    @Test(arguments: StoreKind.allCases)
    func `contexts with objects of a few rows of a request merge these, and keep other objects (MC-22)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(40)))
        let merging = stack.newContext()
        merging.automaticallyMergesChangesFromParent = true
        let few = FetchRequest<Track>(
            try FetchPredicate(format: "seconds IN {3, 17, 30}"), sortedBy: [SortKey("seconds")])
        let tracks = try [stack.context.fetch(few), merging.fetch(few)]
        for track in tracks.joined() { #expect(track.bytes == 0 && !track.isFault) }
        tracks[0][0].name = "mine"

        try stack.context.execute(
            BatchUpdateRequest(
                entityName: "Track", predicate: try FetchPredicate(format: "seconds < 20"),
                propertiesToUpdate: ["bytes": 7]))

        merging.processPendingChanges()
        for tracks in tracks { #expect(tracks.map(\.bytes) == [7, 7, 0]) }
        #expect(tracks[0][0].name == "mine" && stack.context.updatedObjects == [tracks[0][0]])
        try stack.context.execute(
            BatchDeleteRequest(FetchRequest<Track>(try FetchPredicate(format: "seconds > 10"))))
        merging.processPendingChanges()
        for tracks in tracks { #expect(tracks.map(\.isDeleted) == [false, true, true]) }
        try stack.context.save()
        #expect(try names(stack).contains("mine") && names(stack).count == 11)
    }

    @Test func `observers and the sequence of saved changes get the IDs of a request`() async throws {
        let stack = try Stack(.btree)
        let merging = stack.newContext()
        merging.automaticallyMergesChangesFromParent = true
        stack.context.name = "importer"
        var received: [SavedChanges] = []
        let token = merging.addObserver(for: ManagedObjectContext.DidMergeChangesMessage.self) {
            received.append($0.changes)
        }
        var changes = stack.coordinator.savedChanges.makeAsyncIterator()
        var request = BatchInsertRequest(entityName: "Track", objects: rows(3))
        request.returnsObjectIDs = true

        let ids = try #require(try stack.context.execute(request).objectIDs)
        merging.processPendingChanges()

        let expected = SavedChanges(inserted: ids, contextName: "importer")
        #expect(received == [expected])
        #expect(await changes.next() == expected)
        try stack.context.execute(BatchDeleteRequest(objectIDs: []))
        merging.processPendingChanges()
        #expect(received.count == 1)
        token.cancel()
    }

    @Test func `two stores of one entity change one after the other, and a limit is refused (PS-07)`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let stores = try (0..<2).map { _ in try coordinator.addPersistentStore(.inMemory) }
        let context = ManagedObjectContext(coordinator)
        for (number, store) in stores.enumerated() {
            let track = Track(context: context)
            track.name = "Track \(number)"
            try context.assign(track, to: store)
        }
        try context.save()

        #expect(
            try context.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 3])).count == 2)
        #expect(try context.fetch(FetchRequest<Track>()).map(\.bytes) == [3, 3])
        var request = FetchRequest<Track>()
        request.fetchLimit = 1
        guard case .limitAcrossStores("Track")? = contextError({ try context.execute(BatchDeleteRequest(request)) })
        else {
            Issue.record("a limit has no meaning for two stores")
            return
        }
        let ids = try context.fetchIDs(FetchRequest<Track>())
        #expect(try context.execute(BatchDeleteRequest(objectIDs: ids)).count == 2)
        try coordinator.remove(stores[0])
        guard case .noStore? = contextError({ try context.execute(BatchDeleteRequest(objectIDs: ids)) }) else {
            Issue.record("a closed store answers")
            return
        }
    }

    @Test func `explain shows how the rows of a batch request and of a count are found, and changes nothing`() throws {
        let stack = try Stack(.btree)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(3)))
        let short = try FetchRequest<Track>(FetchPredicate(format: "seconds < 2"))
        var update = BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 7])
        update.predicate = short.predicate

        let deletion = try stack.coordinator.explain(BatchDeleteRequest(short))
        #expect(try Array(deletion.dropLast()) == stack.context.explain(short, as: .ids))
        #expect(deletion.last == "delete each row, by the rules of its relationships")
        #expect(deletion.contains("test 1 condition on each row"), "\(deletion)")
        #expect(try stack.coordinator.explain(update) == Array(deletion.dropLast()) + ["set 1 property of each row"])
        let ids = try stack.context.fetchIDs(short)
        #expect(try stack.coordinator.explain(BatchDeleteRequest(objectIDs: ids)).first == "2 primary keys")
        #expect(try stack.context.explain(FetchRequest<Track>(), as: .count) == ["count rows"])
        let values = ValueRequest(short.terms, columns: ["bytes"])
        #expect(try stack.context.analyze(values).foundCount == 2)
        #expect(try stack.stored(Track.self).map(\.bytes) == [0, 0, 0])
    }

    @Test func `a store that is read-only, or missing, refuses with a reason`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let context = ManagedObjectContext(coordinator)
        let request = BatchInsertRequest(entityName: "Track", objects: rows(1))
        guard case .noStore? = contextError({ try context.execute(request) }) else {
            Issue.record("no store is needed")
            return
        }
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            let writing = try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
            try context.execute(request)
            try coordinator.remove(writing)
            try coordinator.addPersistentStore(PersistentStoreDescription(path: path, isReadOnly: true))
            for error in [
                contextError { try context.execute(request) },
                contextError { try context.execute(BatchUpdateRequest(entityName: "Track")) },
                contextError { try context.execute(BatchDeleteRequest(FetchRequest<Track>())) },
            ] {
                guard case .readOnlyStore? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
            for store in coordinator.persistentStores { try coordinator.remove(store) }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `progress counts the rows of a request, and cancels it`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let progress = BatchProgress()
        var request = BatchInsertRequest(entityName: "Track", objects: rows(100))
        request.progress = progress
        try stack.context.execute(request)
        #expect(progress.completedCount == 100)
        var deletion = BatchDeleteRequest(FetchRequest<Track>())
        let cancelled = BatchProgress()
        cancelled.cancel()
        deletion.progress = cancelled
        let error = contextError { try stack.context.execute(deletion) }
        guard case .store(.commandCancelled)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.code == 3072)
        #expect(try names(stack).count == 100)
    }

    @Test func `of very many rows other contexts are told only that everything may have changed`() throws {
        let count = campaignCount("ESPALIER_BATCH_TOLD", default: 0)
        guard count > 0 else { return }
        let stack = try Stack(.btree)
        let merging = stack.newContext()
        merging.automaticallyMergesChangesFromParent = true
        try stack.context.execute(
            BatchInsertRequest(
                entityName: "Track",
                objects: rows(count).map { row in
                    ["name": row["name"] ?? "", "bytes": 1]
                }))
        let track = try #require(try merging.fetch(FetchRequest<Track>()).first)
        #expect(track.bytes == 1)
        try stack.context.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 2]))
        merging.processPendingChanges()
        #expect(track.bytes == 2)
    }

    @Test(arguments: [50, Int.max])
    func `a request that a store carries out by saving is repeated while others are faster, and ends`(
        _ limit: Int
    ) throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let isWatched = Mutex(false)
        let outruns = Mutex(0)
        coordinator.add(
            WatchedStore(model: model) { call in
                // The save of whoever is faster is none to come between.
                guard case .save = call,
                    isWatched.withLock({ isWatched in
                        defer { isWatched = false }
                        return isWatched
                    })
                else { return }
                let number = outruns.withLock { count in
                    count += 1
                    return count
                }
                guard number <= limit else { return }
                // The thread on which a store carries a request out saves nothing else in it.
                let hasSaved = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    let other = ManagedObjectContext(coordinator)
                    do {
                        for artist in try other.fetch(FetchRequest<Artist>()) { artist.founded = Int32(number) }
                        try other.save()
                    } catch {
                        Issue.record(error)
                    }
                    hasSaved.signal()
                }
                hasSaved.wait()
                isWatched.withLock { $0 = true }
            })
        let context = ManagedObjectContext(coordinator)
        Artist(context: context).name = "a"
        try context.save()
        isWatched.withLock { $0 = true }

        let error = contextError {
            try context.execute(BatchUpdateRequest(entityName: "Artist", propertiesToUpdate: ["name": "b"]))
        }

        let artist = try ManagedObjectContext(coordinator).fetch(FetchRequest<Artist>())[0]
        #expect((error == nil) == (limit == 50) && artist.name == (limit == 50 ? "b" : "a"))
        #expect(outruns.withLock(\.self) == (limit == 50 ? 51 : 1000))
        #expect(artist.founded == Int32(limit == 50 ? 50 : 1000))
    }
}
