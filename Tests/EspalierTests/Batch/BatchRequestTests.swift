// Batch requests through contexts and coordinators: rows, constraints, errors, and what other contexts learn.

import Espalier
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BatchRequestTests {
    private func names(_ stack: Stack, _ format: String? = nil) throws -> [String] {
        let request = FetchRequest<Track>(try format.map { try FetchPredicate(format: $0) })
        let context = stack.newContext()
        return try withExtendedLifetime(context) { try context.fetch(request).map(\.name).sorted() }
    }

    private func rows(_ count: Int) -> [[String: any PredicateArgument]] {
        (0..<count).map { ["name": "Track \($0)", "seconds": $0] }
    }

    // MARK: Insertions

    @Test(arguments: StoreKind.allCases)
    func `dictionaries become rows with default values, and nothing is left to save (BR-01)`(_ kind: StoreKind) throws {
        for count in [0, 1, 1000] {
            let stack = try Stack(kind)
            var request = BatchInsertRequest(entityName: "Track", objects: rows(count))
            request.returnsObjectIDs = true

            let result = try stack.context.execute(request)

            #expect(result.count == count && result.objectIDs?.count == count)
            #expect(!stack.context.hasChanges && stack.context.registeredObjects.isEmpty)
            let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("seconds")]))
            #expect(tracks.map(\.objectID) == result.objectIDs)
            #expect(tracks.allSatisfy { $0.medium == .file && $0.bytes == 0 && $0.plays == nil })
            #expect(tracks.enumerated().allSatisfy { $1.name == "Track \($0)" && Int($1.seconds) == $0 })
            if let store = stack.coordinator.persistentStores[0] as? BTreeStore {
                #expect(try store.check().isOK)
            }
            // The same request gives the same rows again.
            #expect(try stack.coordinator.execute(request).count == count)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a closure fills rows until it says that there are no more (BR-02)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        var calls = 0
        let request = BatchInsertRequest(entityName: "Track") { row in
            calls += 1
            row["name"] = "Lied \(calls)"
            return calls == 6
        }

        #expect(try stack.context.execute(request) == BatchResult(count: 5))

        #expect(try calls == 6 && names(stack) == (1...5).map { "Lied \($0)" })
    }

    @Test(arguments: StoreKind.allCases)
    func `an error in the closure, or in a row, ends the insertion without a trace`(_ kind: StoreKind) throws {
        struct NoMoreInk: Error {}
        let stack = try Stack(kind)
        func error(_ fill: @escaping (inout [String: any PredicateArgument], Int) throws -> Void) -> ContextError? {
            var count = 0
            let request = BatchInsertRequest(entityName: "Track") { row in
                count += 1
                row["name"] = "Track"
                if count == 5000 { try fill(&row, count) }
                return count > 5000
            }
            return contextError { try stack.context.execute(request) }
        }

        guard case .batchRowSource(let ink)? = error({ _, _ in throw NoMoreInk() }), ink is NoMoreInk else {
            Issue.record("the error of the closure is lost")
            return
        }
        for (name, value) in [
            ("seconds", "long" as any PredicateArgument), ("title", 1), ("plays", 1), ("playlists", 1),
        ] {
            guard case .assignment(let problem, row: 4999)? = error({ row, _ in row[name] = value }) else {
                Issue.record("\(name) accepts \(value)")
                continue
            }
            #expect(problem.property == name && problem.entityName == "Track")
        }
        let missing = error { row, _ in row["name"] = nil }
        #expect(missing?.violations.map(\.code) == [1570] && missing?.violations.first?.row == 4999)
        #expect(try names(stack).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `the closure cannot save its context or a child of it, because the store is being written`(_ kind: StoreKind)
        throws
    {
        let stack = try Stack(kind)
        let child = ManagedObjectContext(parent: stack.context)
        var errors: [ContextError?] = []
        let request = BatchInsertRequest(entityName: "Track") { row in
            errors.append(contextError { try stack.context.save() })
            errors.append(contextError { try child.save() })
            errors.append(contextError { try child.execute(BatchDeleteRequest(objectIDs: [])) })
            // Reading is possible.
            let stored = try? stack.context.count(for: FetchRequest<Track>())
            #expect(stored == 0)
            return true
        }
        try child.execute(request)
        #expect(errors.count == 3)
        for error in errors {
            guard case .alreadySaving(hook: "the closure of a batch request", object: nil)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(contextError { try stack.context.save() } == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `to-one relationships lead to stored objects, whose lists follow`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 2)
        let album = try #require(try stack.context.fetch(FetchRequest<Album>()).first)
        #expect(album.tracks.count == 2)

        try stack.context.execute(
            BatchInsertRequest(
                entityName: "Track",
                objects: [
                    ["name": "added", "album": album.objectID], ["name": "alone", "album": AttributeValue.null],
                ]))

        #expect(album.tracks.map(\.name).last == "added" && album.tracks.count == 3)
        let gone = ObjectID(
            entityName: "Album", storeIdentifier: stack.coordinator.persistentStores[0].identifier, key: 77)
        let lost = BatchInsertRequest(entityName: "Track", objects: [["name": "lost", "album": gone]])
        guard case .references? = contextError({ try stack.context.execute(lost) }) else {
            Issue.record("a row leads nowhere")
            return
        }
        let unsaved = Album(context: stack.context)
        let early = BatchInsertRequest(entityName: "Track", objects: [["name": "early", "album": unsaved.objectID]])
        guard case .assignment? = contextError({ try stack.context.execute(early) }) else {
            Issue.record("a row leads to an object that no store has")
            return
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `taken unique values follow request, or merge policy, or are refused (BR-03)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let owner = Listener(context: stack.context)
        owner.name = "Nina"
        let former = Playlist(context: stack.context)
        (former.name, former.owner) = ("old", owner)
        try stack.context.save()
        let other = Listener(context: stack.context)
        other.name = "Other"
        try stack.context.save()
        func upsert(_ action: ConstraintAction?, _ context: ManagedObjectContext) throws -> BatchResult {
            var request = BatchInsertRequest(
                entityName: "Playlist",
                objects: ["old", "new"].map { ["name": $0, "owner": other.objectID] })
            request.constraintAction = action
            request.returnsObjectIDs = true
            return try context.execute(request)
        }

        guard case .constraints(let conflicts)? = contextError({ _ = try upsert(nil, stack.newContext()) }) else {
            Issue.record("two playlists have one name")
            return
        }
        #expect(conflicts.map(\.values) == [[.string("old")]])
        let trumping = stack.newContext()
        trumping.mergePolicy = .storeTrump
        let kept = try upsert(nil, trumping)
        #expect(kept.count == 2 && kept.objectIDs?.first == former.objectID)
        #expect(former.owner === owner)
        let overwriting = stack.newContext()
        overwriting.mergePolicy = .objectTrump
        #expect(try upsert(nil, overwriting).objectIDs == kept.objectIDs)
        #expect(try upsert(.merge, stack.context).objectIDs == kept.objectIDs)
        #expect(former.owner === other && other.playlists.count == 2 && owner.playlists.isEmpty)
    }

    // MARK: Updates and deletions

    @Test(arguments: StoreKind.allCases)
    func `values and expressions are set in the store, and objects in memory follow (BR-04, BR-08)`(_ kind: StoreKind)
        throws
    {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(10)))
        try stack.context.execute(BatchInsertRequest(entityName: "LiveTrack", objects: rows(2)))
        let merging = stack.newContext()
        merging.automaticallyMergesChangesFromParent = true
        let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("seconds")]))
        let others = try merging.fetch(FetchRequest<Track>(sortedBy: [SortKey("seconds")]))
        let apart = stack.newContext()
        let stale = try apart.fetch(FetchRequest<Track>(sortedBy: [SortKey("seconds")]))
        _ = (tracks + others + stale).map(\.name)
        tracks[11].bytes = 5
        var request = BatchUpdateRequest(
            entityName: "Track", predicate: try FetchPredicate(format: "seconds >= 8"),
            propertiesToUpdate: [
                "bytes": try FetchExpression(format: "seconds * 10"), "medium": "vinyl",
            ])
        request.returnsObjectIDs = true

        let result = try stack.context.execute(request)

        #expect(result.count == 2 && Set(result.objectIDs ?? []) == Set(tracks[10...11].map(\.objectID)))
        #expect(tracks[10].bytes == 80 && tracks[10].medium == .vinyl && tracks[11].medium == .vinyl)
        // The unsaved change stays on top, and conflicts with the newer value.
        #expect(tracks[11].bytes == 5 && contextError { try stack.context.save() }?.conflicts.count == 1)
        merging.processPendingChanges()
        #expect(others[10].bytes == 80 && others[11].bytes == 90)
        // A context that does not merge keeps its values, and its save finds that the row is newer.
        #expect(stale[10].bytes == 0)
        stale[10].bytes = 1
        #expect(contextError { try apart.save() }?.conflicts.count == 1)
        request.includesSubentities = false
        request.predicate = nil
        #expect(try stack.newContext().execute(request).count == 10)
    }

    @Test(arguments: StoreKind.allCases)
    func `bad updates are refused by name and change nothing`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.context.execute(BatchInsertRequest(entityName: "Track", objects: rows(3)))
        func error(_ name: String, _ value: any PredicateArgument) -> ContextError? {
            contextError {
                try stack.context.execute(BatchUpdateRequest(entityName: "Track", propertiesToUpdate: [name: value]))
            }
        }

        for (name, value) in [
            ("seconds", "long" as any PredicateArgument), ("nmae", 1), ("plays", 1), ("playlists", 1),
            ("seconds", FetchExpression.keyPath(FetchKeyPath(["name"]))),
        ] {
            guard case .assignment(let problem, row: nil)? = error(name, value) else {
                Issue.record("\(name) accepts \(value)")
                continue
            }
            #expect(problem.property == name)
        }
        #expect(error("name", AttributeValue.null)?.violations.count == 3)
        let tooLong = error(
            "seconds",
            FetchExpression.function("multiply:by:", [.keyPath(FetchKeyPath(["seconds"])), .value(.integer(20_000))]))
        #expect(tooLong?.violations.map(\.property) == ["seconds"])
        guard
            case .unknownEntity("Trakc", _)? = contextError({
                try stack.context.execute(BatchUpdateRequest(entityName: "Trakc"))
            }),
            case .invalidPredicate? = contextError({
                try stack.context.execute(
                    BatchUpdateRequest(entityName: "Track", predicate: try FetchPredicate(format: "nmae == 1")))
            })
        else {
            Issue.record("an unknown name is accepted")
            return
        }
        #expect(try names(stack) == ["Track 0", "Track 1", "Track 2"])
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion by fetch or by IDs cascades, and its objects leave all contexts that merge (BR-05, BR-08)`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 2)
        let merging = stack.newContext()
        merging.automaticallyMergesChangesFromParent = true
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let (albums, tracks) = (try merging.fetch(FetchRequest<Album>()), try merging.fetch(FetchRequest<Track>()))
        _ = tracks.map(\.name) + albums.map(\.title) + artists.map(\.name)
        var request = FetchRequest<Artist>(sortedBy: [SortKey("name")])
        request.fetchLimit = 2
        request.includesPendingChanges = false

        let result = try stack.context.execute(BatchDeleteRequest(request))

        #expect(result == BatchResult(count: 2))
        #expect(artists.map(\.isDeleted) == [true, true, false])
        merging.processPendingChanges()
        #expect(albums.count(where: \.isDeleted) == 3)
        #expect(tracks.count(where: \.isDeleted) == 6)
        #expect(try stack.stored(Album.self).count == 3 && stack.stored(Track.self).count == 6)

        let rest = try merging.fetch(FetchRequest<Album>())
        var byID = BatchDeleteRequest(objectIDs: rest.map(\.objectID) + [artists[0].objectID])
        byID.returnsObjectIDs = true
        #expect(try Set(stack.coordinator.execute(byID).objectIDs ?? []) == Set(rest.map(\.objectID)))
        #expect(try stack.stored(Track.self).isEmpty && stack.stored(Artist.self).count == 1)
        #expect(try stack.context.execute(byID).count == 0)
        guard
            case .objectNotFound? = contextError({
                try stack.context.execute(BatchDeleteRequest(objectIDs: [Album(context: stack.context).objectID]))
            })
        else {
            Issue.record("an object that is not stored is deleted")
            return
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `rules that deny and relationships that are required are kept as in a save (BR-06, BR-07)`(_ kind: StoreKind)
        throws
    {
        let stack = try Stack(kind)
        let owner = Listener(context: stack.context)
        owner.name = "Nina"
        let playlist = Playlist(context: stack.context)
        (playlist.name, playlist.owner) = ("list", owner)
        try stack.context.save()

        let batch = violations { try stack.newContext().execute(BatchDeleteRequest(objectIDs: [owner.objectID])) }
        let saved = violations {
            let context = stack.newContext()
            try context.delete(try context.existingObject(with: owner.objectID))
            try context.save()
        }
        #expect(batch.map(\.code) == [1600] && batch.map(\.property) == saved.map(\.property))
        let both = BatchDeleteRequest(objectIDs: [owner.objectID, playlist.objectID])
        #expect(try stack.newContext().execute(both).count == 2)
    }
}
