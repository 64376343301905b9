// Fetches that ask some of the stores only, and fetches on another thread.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreChoiceTests {
    private let model: ManagedObjectModel
    private let stores: [any PersistentStore]
    private let context: ManagedObjectContext

    /// Tracks in two stores, of which the last two are unsaved.
    init() throws {
        model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        stores = [try BTreeStore.inMemory(model: model), InMemoryStore(model: model)]
        for store in stores { coordinator.add(store) }
        context = ManagedObjectContext(coordinator)
        for number in 0..<6 {
            let track = Track(context: context)
            (track.name, track.bytes) = ("track \(number)", number)
            if number < 4 || number % 2 == 1 { try context.assign(track, to: stores[number % 2]) }
            if number == 3 { try context.save() }
        }
    }

    private func request(_ chosen: [any PersistentStore]) -> FetchRequest<Track> {
        var request = FetchRequest<Track>(sortedBy: [SortKey("bytes")])
        request.affectedStores = chosen.map(\.identifier)
        return request
    }

    @Test func `a request asks the stores that it names, also for unsaved objects and in child contexts (FR-15)`()
        throws
    {
        let first = try context.fetch(FetchRequest<Track>(FetchPredicate(format: "bytes == 0")))
        first.first?.name = "changed"
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            for reader in [context, ManagedObjectContext(parent: context)] {
                #expect(try reader.fetch(request([stores[0]])).map(\.bytes) == [0, 2, 4])
                #expect(try reader.fetch(request([stores[1]])).map(\.bytes) == [1, 3, 5])
                #expect(try reader.fetch(request(stores)).map(\.bytes) == [0, 1, 2, 3, 4, 5])
                #expect(try reader.count(for: request([stores[1]])) == 3)
                #expect(try reader.fetchIDs(request([stores[0]])).count == 3)
                var values = ValueRequest(request([stores[1]]).terms, columns: [.sum("bytes", as: "sum")])
                values.sortKeys = []
                #expect(try reader.fetch(values).map(\.values) == [[.integer(9)]])
                var visited: [Int] = []
                try reader.enumerate(request([stores[0]])) { visited.append($0.bytes) }
                #expect(visited == [0, 2, 4])
            }
        }
        for reader in [context, ManagedObjectContext(parent: context)] {
            for error in [
                contextError { _ = try reader.fetch(request([])) },
                contextError { _ = try reader.count(for: request([])) },
                contextError { _ = try reader.fetch(ValueRequest(request([]).terms, columns: ["bytes"])) },
            ] {
                guard case .noStore(entity: "Track")? = error else {
                    Issue.record("a request to no store ends with \(String(describing: error))")
                    continue
                }
            }
        }
        #expect(request(stores).terms.debugDescription.contains("in 2 stores"))
    }

    @Test func `a new object of a child is found in the store to which the root will save it (FR-15)`() throws {
        try context.save()
        let child = ManagedObjectContext(parent: context)
        let grandchild = ManagedObjectContext(parent: child)
        for maker in [child, grandchild] {
            let (plain, chosen) = (Track(context: maker), Track(context: maker))
            (plain.bytes, chosen.bytes) = (6, 7)
            try maker.assign(chosen, to: stores[1])
            #expect(try maker.fetch(request([stores[0]])).map(\.bytes) == [0, 2, 4, 6])
            #expect(try maker.fetch(request([stores[1]])).map(\.bytes) == [1, 3, 5, 7])
            #expect(try maker.count(for: request([stores[1]])) == 4)
            try maker.delete(plain)
            try maker.delete(chosen)
        }
    }

    @Test func `what leads to a changed object is found in its own store only, also by children (FR-15)`() throws {
        let album = Album(context: context)
        album.title = "old"
        try context.assign(album, to: stores[1])
        let owned = try context.fetch(request([stores[1]]))
        for track in owned { track.album = album }
        try context.save()
        let child = ManagedObjectContext(parent: context)
        let grandchild = ManagedObjectContext(parent: child)
        let reader = ManagedObjectContext(parent: grandchild)
        for (number, maker) in [context, child, grandchild].enumerated() {
            let found = try #require(try maker.fetch(FetchRequest<Album>()).first)
            found.title = "new \(number)"
            for asking in [maker, maker === grandchild ? reader : grandchild] {
                for (store, bytes) in [(stores[0], [Int]()), (stores[1], [1, 3, 5])] {
                    var request = request([store])
                    request.predicate = try FetchPredicate(format: "album.title == %@", "new \(number)")
                    #expect(try asking.fetch(request).map(\.bytes) == bytes)
                    #expect(try asking.count(for: request) == bytes.count)
                    #expect(try asking.fetch(ValueRequest(request.terms, columns: ["bytes"])).count == bytes.count)
                }
            }
            maker.rollback()
        }
    }

    @Test func `without pending changes several stores answer with what they have, in its order (FR-09)`() async throws
    {
        try context.save()
        let tracks = try context.fetch(request(stores))
        for (number, title) in ["a", "b"].enumerated() {
            let album = Album(context: context)
            album.title = title
            try context.assign(album, to: stores[number])
            for track in tracks where track.bytes % 2 == number { track.album = album }
        }
        try context.save()
        let ids = tracks.map(\.objectID)
        tracks[0].bytes = 100
        tracks[0].album?.title = "z"
        try context.delete(tracks[3])
        Track(context: context).bytes = -1

        var stored = request(stores)
        stored.includesPendingChanges = false
        #expect(try context.fetch(stored).map(\.objectID) == ids)
        #expect(try context.fetchIDs(stored) == ids)
        #expect(try context.count(for: stored) == 6)
        #expect(try await context.fetch(stored, progress: FetchProgress()).map(\.objectID) == ids)
        #expect(try await context.count(for: stored, progress: FetchProgress()) == 6)
        for batchSize in [1, 2, 0] {
            var visited: [ObjectID] = []
            try context.enumerate(stored, batchSize: batchSize) { visited.append($0.objectID) }
            // Deleted objects are not visited.
            #expect(visited == ids.filter { $0 != ids[3] })
        }
        stored.sortKeys = [SortKey("album.title"), SortKey("bytes")]
        #expect(try context.fetchIDs(stored) == [0, 2, 4, 1, 3, 5].map { ids[$0] })
        (stored.fetchOffset, stored.fetchLimit) = (2, 3)
        #expect(try context.fetchIDs(stored) == [4, 1, 3].map { ids[$0] })
    }

    @Test func `several stores answer in the order of their rows where a context has older values (MC-20)`() throws {
        try context.save()
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        let kept = try reader.fetch(request(stores))
        #expect(kept.map(\.bytes) == [0, 1, 2, 3, 4, 5])
        try #require(try context.fetch(request(stores)).first).bytes = 3
        try context.save()
        try reader.setQueryGeneration(from: nil)

        let ids = kept.map(\.objectID)
        let expected = [1, 2, 0, 3, 4, 5].map { ids[$0] }
        #expect(try reader.fetchIDs(request(stores)) == expected && kept[0].bytes == 0)
        var visited: [ObjectID] = []
        try reader.enumerate(request(stores), batchSize: 2) { visited.append($0.objectID) }
        #expect(visited == expected)
    }

    @Test func `IDs and numbers are of the generation that the context reads, also on another thread (FR-14, FR-22)`()
        async throws
    {
        var asked = request(stores)
        asked.shouldRefreshRefetchedObjects = true
        let kept = try context.fetch(asked)
        let other = ManagedObjectContext(context.persistentStoreCoordinator)
        Track(context: other).name = "late"
        try other.save()

        #expect(try context.fetchIDs(asked) == kept.map(\.objectID) && context.count(for: asked) == 6)
        #expect(try await context.fetchIDs(asked, progress: FetchProgress()) == kept.map(\.objectID))
        #expect(try await context.count(for: asked, progress: FetchProgress()) == 6)
        #expect(try await context.fetch(asked, progress: FetchProgress()).count == 7)
    }

    /// The numbers and lengths of the tracks of a store, as another context reads them.
    private func rows(_ store: any PersistentStore) throws -> [[Int]] {
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        return try withExtendedLifetime(reader) {
            try reader.fetch(request([store])).map { [$0.bytes, Int($0.seconds)] }
        }
    }

    @Test func `a batch request changes the stores that it names and no other (FR-15)`() throws {
        try context.save()
        let coordinator = context.persistentStoreCoordinator
        func insertion(_ chosen: [any PersistentStore], _ bytes: Int) -> BatchInsertRequest {
            var insertion = BatchInsertRequest(
                entityName: "Track", objects: [["name": "new", "bytes": bytes, "seconds": 1]])
            insertion.affectedStores = chosen.map(\.identifier)
            return insertion
        }
        func update(_ chosen: [any PersistentStore], _ seconds: Int) -> BatchUpdateRequest {
            var update = BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["seconds": seconds])
            update.affectedStores = chosen.map(\.identifier)
            return update
        }
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            let writing = try coordinator.addPersistentStore(PersistentStoreDescription(path: path))
            #expect(try context.execute(insertion([writing], 20)).count == 1)
            try coordinator.remove(writing)
            let fixed = try coordinator.addPersistentStore(PersistentStoreDescription(path: path, isReadOnly: true))
            defer { try? coordinator.remove(fixed) }
            #expect(try rows(fixed) == [[20, 1]])

            try context.execute(insertion([stores[1]], 7))
            try context.execute(insertion([stores[1], fixed], 9))
            #expect(try context.execute(update([stores[1]], 5)).count == 5)
            #expect(try rows(stores[0]) == [[0, 180], [2, 180], [4, 180]])
            #expect(try rows(stores[1]) == [[1, 5], [3, 5], [5, 5], [7, 5], [9, 5]])
            var first = request([stores[1]])
            first.fetchLimit = 1
            #expect(try context.execute(BatchDeleteRequest(first)).count == 1)
            #expect(try context.execute(BatchDeleteRequest(request([stores[0]]))).count == 3)
            #expect(try context.execute(update([stores[1], stores[0]], 6)).count == 4)

            for chosen in [[fixed], [stores[1], fixed]] {
                for error in [
                    contextError { try context.execute(insertion([fixed], 8)) },
                    contextError { try context.execute(update(chosen, 8)) },
                    contextError { try context.execute(BatchDeleteRequest(request(chosen))) },
                ] {
                    guard case .readOnlyStore(path: path)? = error else {
                        Issue.record("a request to a store that is read-only ends with \(String(describing: error))")
                        continue
                    }
                }
            }
            for error in [
                contextError { try context.execute(insertion([], 8)) },
                contextError { try context.execute(update([], 8)) },
                contextError { try context.execute(BatchDeleteRequest(request([]))) },
            ] {
                guard case .noStore(entity: "Track")? = error else {
                    Issue.record("a request to no store ends with \(String(describing: error))")
                    continue
                }
            }
            #expect(try rows(stores[0]).isEmpty)
            #expect(try rows(stores[1]) == [[3, 6], [5, 6], [7, 6], [9, 6]])
            #expect(try rows(fixed) == [[20, 1]])
        }
    }

    @Test func `a fetch on another thread has unsaved changes, order and progress, and can be cancelled (FR-22)`()
        async throws
    {
        let progress = FetchProgress()
        let all = try await context.fetch(FetchRequest<Track>(sortedBy: [SortKey("bytes")]), progress: progress)
        #expect(all.map(\.bytes) == [0, 1, 2, 3, 4, 5])
        try context.save()
        for number in 6..<3006 {
            let track = Track(context: context)
            (track.bytes, track.name) = (number, "many")
            try context.assign(track, to: stores[0])
        }
        try context.save()
        let many = request([stores[0]])
        let counts = CountList()
        let told = FetchProgress { counts.append($0.completedCount) }
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)

        let found = try await reader.fetch(
            FetchRequest<Track>(FetchPredicate(format: "name == 'many'")), progress: told)
        let sorted = try await reader.fetch(many, progress: FetchProgress())

        #expect(found.count == 3000 && told.completedCount == 3000 && told.totalCount == 3000)
        #expect(!counts.all.isEmpty && counts.all == counts.all.sorted())
        #expect(sorted.map(\.bytes) == [0, 2, 4] + Array(6..<3006))
        let early = FetchProgress()
        early.cancel()
        for progress in [FetchProgress { $0.cancel() }, early] {
            do {
                _ = try await reader.fetch(many, progress: progress)
                Issue.record("a cancelled fetch has a result")
            } catch {
                #expect("\(error)".contains("cancelled") && error.code == 3072)
            }
        }
        #expect(try reader.fetch(many).count == 3003)
        #expect(await Self.cancelledOutcome() == 3072)
    }

    @Test func `IDs, numbers and values are read on another thread with progress, and can be cancelled (FR-22)`()
        async throws
    {
        let maker = ManagedObjectContext(context.persistentStoreCoordinator)
        for number in 6..<2206 {
            let track = Track(context: maker)
            (track.bytes, track.name) = (number, "many")
        }
        try maker.save()
        // So that it has the new rows.
        try context.setQueryGeneration(from: nil)
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        let columns: [[FetchColumn]] = [["name", "bytes"], [.sum("bytes", as: "sum")], ["bytes", .count(as: "n")]]
        // The context has unsaved tracks, the reader has none.
        for (asking, all) in [(context, 2206), (reader, 2204)] {
            for chosen in [[stores[0]], stores] {
                let request = request(chosen)
                let (forIDs, forNumber) = (FetchProgress(), FetchProgress())
                let ids = try await asking.fetchIDs(request, progress: forIDs)
                let number = try await asking.count(for: request, progress: forNumber)
                #expect(try asking.fetchIDs(request) == ids && ids.count == number)
                #expect(number == (chosen.count == 2 ? all : all == 2206 ? 2203 : 2202))
                #expect(forIDs.completedCount > 2000 && forNumber.completedCount > 2000)
                for columns in columns {
                    var values = ValueRequest(request.terms, columns: columns)
                    if columns.count == 1 { values.sortKeys = [] }
                    for limit in [0, 1500] {
                        values.fetchLimit = limit
                        let told = FetchProgress()
                        let rows = try await asking.fetch(values, progress: told)
                        #expect(try asking.fetch(values) == rows)
                        #expect(told.completedCount >= 1500 && told.completedCount <= told.totalCount ?? 0)
                    }
                }
            }
        }
        let values = ValueRequest(request([stores[0]]).terms, columns: ["name"])
        let told = CountList()
        _ = try await reader.fetch(values, progress: FetchProgress { told.append($0.completedCount) })
        #expect(told.all.count > 1 && told.all == told.all.sorted(), "\(told.all)")
        for question in 0..<3 {
            for isEarly in [false, true] {
                let progress = FetchProgress { $0.cancel() }
                if isEarly { progress.cancel() }
                do {
                    switch question {
                    case 0: _ = try await reader.fetchIDs(request(stores), progress: progress)
                    case 1: _ = try await reader.count(for: request(stores), progress: progress)
                    default: _ = try await reader.fetch(values, progress: progress)
                    }
                    Issue.record("question \(question) has an answer although it was cancelled")
                } catch {
                    #expect(error.code == 3072)
                }
            }
        }
    }

    /// The number of the error of a fetch in a task that is cancelled.
    private static func cancelledOutcome() async -> Int? {
        await withTaskGroup(of: Int?.self) { group in
            group.cancelAll()
            group.addTask {
                do {
                    let model = try ManagedObjectModel(for: musicClasses)
                    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
                    coordinator.add(InMemoryStore(model: model))
                    let reader = ManagedObjectContext(coordinator)
                    _ = try await reader.fetch(FetchRequest<Track>(), progress: FetchProgress())
                    return nil
                } catch {
                    return (error as? ContextError)?.code
                }
            }
            return await group.next() ?? nil
        }
    }
}

/// Numbers that a progress has told.
// SAFETY: the fetch calls the progress on one thread, and has ended when the numbers are read.
private final class CountList: @unchecked Sendable {
    private(set) var all: [Int] = []

    func append(_ count: Int) { all.append(count) }
}
