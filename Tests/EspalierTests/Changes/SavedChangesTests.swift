// The saves of contexts, as streams report them to the application and to other contexts: order, completeness, and
// bounded memory.

import Espalier
import EspalierModel
import Synchronization
import Testing

@Suite struct SavedChangesTests {
    private func makeCoordinator() throws -> PersistentStoreCoordinator {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        return coordinator
    }

    private func ids(_ keys: some Sequence<UInt64>) -> [ObjectID] {
        keys.map { ObjectID(storeTag: 1, entityTag: 1, key: $0) }
    }

    // MARK: The stream

    @Test func `every iterator receives every save since it was made, in order`() async throws {
        let coordinator = try makeCoordinator()
        let context = ManagedObjectContext(coordinator)
        context.name = "import"
        var first = coordinator.savedChanges.makeAsyncIterator()
        let artist = Artist(context: context)
        artist.name = "a"
        try context.save()
        var second = coordinator.savedChanges.makeAsyncIterator()
        artist.name = "b"
        try context.save()
        let id = artist.objectID
        try context.delete(artist)
        try context.save()

        let seen = [await first.next(), await first.next(), await first.next()]
        let seenLater = [await second.next(), await second.next()]

        let expected = [
            SavedChanges(inserted: [id], contextName: "import"), SavedChanges(updated: [id], contextName: "import"),
            SavedChanges(deleted: [id], contextName: "import"),
        ]
        #expect(seen == expected)
        #expect(seenLater == Array(expected.dropFirst()))
    }

    @Test(arguments: [false, true])
    func `name and author of a context travel with its saves, to merges, messages and streams (MC-52)`(
        _ isChild: Bool
    ) async throws {
        let coordinator = try makeCoordinator()
        let root = ManagedObjectContext(coordinator)
        let (sender, receiver) =
            isChild
            ? (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
            : (root, ManagedObjectContext(coordinator))
        receiver.automaticallyMergesChangesFromParent = true
        var stream = coordinator.savedChanges.makeAsyncIterator()
        (root.name, root.transactionAuthor) = ("root", "Ada")
        sender.name = "import"
        var seen: [String] = []
        func note(_ kind: String, _ changes: SavedChanges) {
            seen.append("\(kind) \(changes.contextName ?? "-") \(changes.author ?? "-")")
        }
        let tokens = [
            sender.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { note("saved", $0.changes) },
            receiver.addObserver(for: ManagedObjectContext.DidMergeChangesMessage.self) { note("merged", $0.changes) },
        ]
        for author in ["Ünal", nil] {
            sender.transactionAuthor = author
            Artist(context: sender).name = "a"
            try sender.save()
            if isChild { try root.save() }
            receiver.processPendingChanges()
        }
        try sender.transaction(author: "block") { Artist(context: sender).name = "b" }
        if isChild { try root.save() }
        receiver.processPendingChanges()
        _ = try receiver.execute(BatchDeleteRequest(FetchRequest<Artist>()))

        var told: [String] = []
        for _ in 0..<4 {
            let changes = await stream.next()
            told.append("\(changes?.contextName ?? "-") \(changes?.author ?? "-")")
        }
        withExtendedLifetime(tokens) {}
        #expect(seen.filter { $0.hasPrefix("saved") } == ["saved import Ünal", "saved import -", "saved import block"])
        #expect(sender.transactionAuthor == nil)
        if isChild {
            #expect(told == ["root Ada", "root Ada", "root Ada", "- -"])
            // A child is told of its sibling's save; that of their parent then changes nothing for it.
            #expect(seen.contains("merged import Ünal") && seen.contains("merged import block"))
        } else {
            #expect(told == ["import Ünal", "import -", "import block", "- -"])
            #expect(seen.contains("merged import Ünal") && seen.contains("merged import block"))
        }
    }

    @Test func `the message of a batch request reads and changes as that of a save does`() async throws {
        let coordinator = try makeCoordinator()
        let context = ManagedObjectContext(coordinator)
        var stream = coordinator.savedChanges.makeAsyncIterator()
        let objects: [[String: any PredicateArgument]] = (0..<70).map { ["name": "Track \($0)"] }
        var insertion = BatchInsertRequest(entityName: "Track", objects: objects)
        insertion.returnsObjectIDs = true
        let ids = try #require(try context.execute(insertion).objectIDs)
        try context.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: ["bytes": 7]))

        let (inserted, updated) = (await stream.next(), await stream.next())

        #expect(inserted == SavedChanges(inserted: ids) && updated == SavedChanges(updated: ids))
        var changed = try #require(updated)
        #expect(changed.inserted.isEmpty && changed.updated == ids)
        changed.updated.removeLast(69)
        changed.deleted.append(ids[1])
        #expect(changed == SavedChanges(updated: [ids[0]], deleted: [ids[1]]))
        #expect(updated?.updated.count == 70)
    }

    @Test func `saves of several authors that become one have no author`() {
        var queue = SavedChangesQueue()
        for number in 0..<600 {
            queue.append(SavedChanges(updated: ids([1, 2]), contextName: "a", author: number < 300 ? "x" : "y"))
        }
        let all = queue.takeAll()
        #expect(all.first?.author == nil && all.first?.contextName == "a")
        for _ in 0..<600 { queue.append(SavedChanges(updated: ids([1]), author: "x")) }
        #expect(queue.takeAll().allSatisfy { $0.author == "x" })
    }

    @Test func `a loop waits for saves, and ends with its task and with the coordinator`() async throws {
        for isCancelled in [true, false] {
            var coordinator: PersistentStoreCoordinator? = try makeCoordinator()
            let iterator = try #require(coordinator).savedChanges.makeAsyncIterator()
            let started = Mutex(false)
            let task = Task {
                var (iterator, count) = (iterator, 0)
                started.withLock { $0 = true }
                while await iterator.next() != nil { count += 1 }
                return count
            }
            while !started.withLock(\.self) { await Task.yield() }
            for number in 0..<3 {
                let context = ManagedObjectContext(try #require(coordinator))
                Artist(context: context).name = "\(number)"
                try context.save()
            }

            if isCancelled {
                try await Task.sleep(for: .milliseconds(20))
                task.cancel()
            } else {
                coordinator = nil
            }

            #expect(await task.value <= 3)
            if !isCancelled { #expect(await task.value == 3) }
        }
    }

    @Test func `a context takes in what the stream gives`() async throws {
        let coordinator = try makeCoordinator()
        let context = ManagedObjectContext(coordinator)
        let (artist, other) = (Artist(context: context), Artist(context: context))
        (artist.name, other.name) = ("a", "b")
        try context.save()
        var changes = coordinator.savedChanges.makeAsyncIterator()
        let writer = ManagedObjectContext(coordinator)
        (try writer.existingObject(with: artist.objectID) as? Artist)?.name = "theirs"
        try writer.delete(try writer.existingObject(with: other.objectID))
        try writer.save()

        context.mergeChanges(from: try #require(await changes.next()))

        #expect(artist.name == "theirs" && other.isDeleted)
    }

    @Test func `merging everything refreshes every object, keeps local changes and notices what is gone`() throws {
        let coordinator = try makeCoordinator()
        let context = ManagedObjectContext(coordinator)
        let artists = ["a", "b", "c"].map { name in
            let artist = Artist(context: context)
            artist.name = name
            return artist
        }
        try context.save()
        let writer = ManagedObjectContext(coordinator)
        (try writer.existingObject(with: artists[0].objectID) as? Artist)?.name = "theirs"
        (try writer.existingObject(with: artists[1].objectID) as? Artist)?.name = "theirs"
        try writer.delete(try writer.existingObject(with: artists[2].objectID))
        try writer.save()
        artists[1].founded = 1

        context.mergeChanges(from: SavedChanges(isEverything: true))

        #expect(artists[0].name == "theirs")
        #expect(artists[1].name == "theirs" && artists[1].founded == 1 && artists[1].hasChanges)
        #expect(artists[2].name == "" && artists[2].isDeleted)
    }

    // MARK: Bounded memory

    @Test func `few saves come out one by one`() {
        var queue = SavedChangesQueue()
        for key in 1...200 { queue.append(SavedChanges(inserted: ids([UInt64(key)]))) }

        var keys: [UInt64] = []
        while let next = queue.takeFirst() { keys += next.inserted.map(\.key) }

        #expect(keys == Array(1...200) && queue.isEmpty)
    }

    @Test func `many saves of few objects become one, with the last word on each`() {
        var queue = SavedChangesQueue()
        queue.append(SavedChanges(inserted: ids([1, 2]), updated: ids([3, 4, 5]), contextName: "a"))
        queue.append(SavedChanges(deleted: ids([2, 4]), contextName: "a"))
        for _ in 0..<100_000 { queue.append(SavedChanges(updated: ids([1, 5, 6]), contextName: "a")) }
        queue.append(SavedChanges(inserted: ids([4]), contextName: "b"))

        let all = queue.takeAll()

        var (inserted, updated, deleted) = (Set<ObjectID>(), Set<ObjectID>(), Set<ObjectID>())
        for saved in all {
            inserted.formUnion(saved.inserted)
            updated.formUnion(saved.updated)
            deleted.formUnion(saved.deleted)
        }
        #expect(all.count <= 32_768 && all.allSatisfy { !$0.isEverything })
        #expect(all.first?.inserted == ids([1]) && all.first?.updated == ids([3, 5, 6]))
        #expect(all.first?.deleted == ids([2, 4]) && all.first?.contextName == "a")
        #expect(all.last?.inserted == ids([4]))
        #expect(updated.count == 4 && deleted.count == 2 && inserted.count == 2)
    }

    @Test func `a mailbox that nobody reads holds a bounded number of IDs after a million saves`() {
        var queue = SavedChangesQueue()
        var (countMax, idCountMax) = (0, 0)

        for number in 0..<UInt64(1_000_000) {
            queue.append(SavedChanges(inserted: ids([number + 1]), contextName: number % 2 == 0 ? "a" : "b"))
            countMax = max(countMax, queue.count)
            idCountMax = max(idCountMax, queue.idCount)
        }

        #expect(countMax <= 32_769 && idCountMax <= SavedChangesQueue.idCountMax)
        #expect(queue.idCount == 0 && queue.takeAll() == [SavedChanges(isEverything: true)])
    }

    @Test func `one save is whole, however large it is, and the next one makes it everything`() {
        var queue = SavedChangesQueue()
        let large = SavedChanges(inserted: ids(1...UInt64(SavedChangesQueue.idCountMax + 1)))

        queue.append(large)
        #expect(queue.takeFirst() == large)
        queue.append(large)
        queue.append(SavedChanges(updated: ids([7])))

        #expect(queue.takeAll() == [SavedChanges(isEverything: true)])
    }

    @Test func `a receiver that does not come is told once`() throws {
        let coordinator = try makeCoordinator()
        let noticeCount = Mutex(0)
        let mailbox = coordinator.subscribe { noticeCount.withLock { $0 += 1 } }
        func save() throws {
            let context = ManagedObjectContext(coordinator)
            Artist(context: context).name = "a"
            try context.save()
        }

        for _ in 0..<10 { try save() }
        #expect(noticeCount.withLock(\.self) == 1)
        #expect(mailbox.takeAll().count == 10)
        try save()

        #expect(noticeCount.withLock(\.self) == 2)
    }
}
