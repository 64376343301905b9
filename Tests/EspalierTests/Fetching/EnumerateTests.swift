// Enumerating a fetch without holding its result: the objects that `enumerate` passes, and changes during the loop.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct EnumerateTests {
    /// A stack with 45 albums of 12 tracks each, 540 in all.
    private func music(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 9, tracks: 12)
        return stack
    }

    private func names(
        _ request: FetchRequest<Track>, _ batchSize: Int, in context: ManagedObjectContext
    ) throws -> [String] {
        var names: [String] = []
        try context.enumerate(request, batchSize: batchSize) { names.append($0.name) }
        return names
    }

    @Test(arguments: StoreKind.allCases)
    func `it gives what fetch gives, whatever the batch, the order, the limit and the offset`(_ kind: StoreKind) throws
    {
        let stack = try music(kind)
        let predicate = try FetchPredicate(format: "seconds > 103")
        for (offset, limit) in [(0, 0), (0, 1), (7, 100), (100, 333), (539, 0), (540, 10), (10_000, 0)] {
            for condition in [nil, predicate] {
                for order in [[], [SortKey("name", ascending: false)]] {
                    var request = FetchRequest<Track>(condition, sortedBy: order)
                    (request.fetchOffset, request.fetchLimit) = (offset, limit)
                    let expected = try stack.newContext().fetch(request).map(\.name)
                    for batchSize in [1, 2, 100, 540, 541] {
                        let found = try names(request, batchSize, in: stack.newContext())
                        #expect(found == expected, "offset \(offset), limit \(limit), batches of \(batchSize)")
                    }
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `objects that nobody keeps end at once, and those that somebody keeps stay unique`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        let context = stack.context
        var (most, kept) = (0, [Track]())
        try context.enumerate(FetchRequest<Track>(), batchSize: 50) { track in
            #expect(track.isFault && context.registeredObject(for: track.objectID) === track)
            if track.name.hasSuffix(".0") { kept.append(track) }
            most = max(most, context.registeredObjects.count - kept.count)
        }
        #expect(most == 1 && kept.count == 45)
        #expect(context.registeredObjects == Set(kept))

        var again: [Track] = []
        try context.enumerate(FetchRequest<Track>()) { if $0.name.hasSuffix(".0") { again.append($0) } }
        #expect(again == kept)
    }

    @Test(arguments: StoreKind.allCases)
    func `a walk along relationships takes one trip a step for each batch`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        var founded = 0
        try stack.context.enumerate(FetchRequest<Track>(), batchSize: 180) {
            founded += Int($0.album?.artist?.founded ?? 0)
        }
        #expect(founded == (0..<9).reduce(0) { $0 + 12 * ($1 + 1) * (1950 + $1) })
        // The in-memory store has every row at hand and answers with one batch.
        #expect(stack.context.faultTrips <= (kind == .btree ? 6 : 2))

        let other = stack.newContext()
        var trackCount = 0
        try other.enumerate(FetchRequest<Album>(), batchSize: 15) { trackCount += $0.tracks.count }
        #expect(trackCount == 540 && other.faultTrips == (kind == .btree ? 3 : 1))
    }

    @Test(arguments: StoreKind.allCases)
    func `it sees unsaved changes as fetch does`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        let context = stack.context
        let tracks = try context.fetch(FetchRequest<Track>())
        tracks[3].name = "A renamed one"
        try context.delete(tracks[4])
        Track(context: context).name = "A new one"
        for order in [[], [SortKey("name")]] {
            let request = FetchRequest<Track>(try FetchPredicate(format: "name BEGINSWITH 'A'"), sortedBy: order)
            #expect(try names(request, 10, in: context) == context.fetch(request).map(\.name))
        }
        #expect(try names(FetchRequest<Track>(), 10, in: context).count == 540)
    }

    @Test(arguments: StoreKind.allCases, [1, 7, 1000])
    func `what is changed and saved on the way is seen by the objects that follow`(
        _ kind: StoreKind, _ batchSize: Int
    ) throws {
        let stack = try music(kind)
        let context = stack.context
        var (position, lengths) = (0, [Int16]())
        try context.enumerate(FetchRequest<Track>(), batchSize: batchSize) { track in
            lengths.append(track.seconds)
            position += 1
            guard position % 100 == 0 else { return }
            // Fetches, changes, saves and releases objects of rows that the loop has read already, before their turn.
            for other in try stack.context.fetch(FetchRequest<Track>()) { other.seconds = Int16(position) }
            try context.saveAndCompare()
        }
        let expected = (100..<540).map { Int16($0 / 100 * 100) }
        #expect(Array(lengths.dropFirst(100)) == expected)
    }

    @Test(arguments: StoreKind.allCases, [1, 7, -7, 1000])
    func `what is deleted on the way is left out, and what is inserted does not come, saved or not`(
        _ kind: StoreKind, _ number: Int
    ) throws {
        let (batchSize, isSaved) = (abs(number), number > 0)
        let stack = try music(kind)
        let context = stack.context
        let ids = try stack.newContext().fetchIDs(FetchRequest<Track>())
        let doomed = Set(ids.enumerated().filter { $0.offset % 3 == 2 }.map(\.element))
        var found: [ObjectID] = []
        try context.enumerate(FetchRequest<Track>(), batchSize: batchSize) { track in
            #expect(!track.isDeleted && !track.name.isEmpty)
            found.append(track.objectID)
            let copy = Track(context: context)
            (copy.name, copy.seconds) = (track.name, track.seconds)
            if found.count == 1 { for id in doomed { try context.delete(context.object(with: id)) } }
            if isSaved { try context.saveAndCompare() }
        }
        #expect(found == ids.filter { !doomed.contains($0) })
        try context.saveAndCompare()
        #expect(try context.count(for: FetchRequest<Track>()) == 360 * 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that another context deleted and told of is left out`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        let context = stack.context
        context.automaticallyMergesChangesFromParent = true
        var count = 0
        try context.enumerate(FetchRequest<Track>(), batchSize: 1000) { track in
            count += 1
            guard count == 10 else { return }
            let other = stack.newContext()
            for track in try other.fetch(FetchRequest<Track>()).dropFirst(20) { try other.delete(track) }
            try other.saveAndCompare()
            context.processPendingChanges()
        }
        #expect(count == 20)
    }

    @Test(arguments: StoreKind.allCases)
    func `batches are of the generation that the context reads, until it moves on`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        let other = stack.newContext()
        var (count, names) = (0, [String]())
        try stack.context.enumerate(FetchRequest<Track>(), batchSize: 100) { track in
            count += 1
            names.append(track.name)
            if count == 50 {
                for track in try other.fetch(FetchRequest<Track>()) { track.name = "New" }
                try other.saveAndCompare()
            }
            if count == 250 { try stack.context.setQueryGeneration(from: nil) }
        }
        #expect(names.prefix(250).allSatisfy { $0 != "New" } && names.dropFirst(250).allSatisfy { $0 == "New" })
        #expect(count == 540)
    }

    @Test(arguments: StoreKind.allCases)
    func `an error of the body ends it and comes through`(_ kind: StoreKind) throws {
        struct Enough: Error {}
        let stack = try music(kind)
        var count = 0
        #expect(throws: Enough.self) {
            try stack.context.enumerate(FetchRequest<Track>(), batchSize: 10) { _ in
                count += 1
                if count == 25 { throw Enough() }
            }
        }
        #expect(count == 25 && stack.context.registeredObjects.isEmpty)
        #expect(stack.context.recordedViolations.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `what is asked for besides the objects is there`(_ kind: StoreKind) throws {
        let stack = try music(kind)
        var request = FetchRequest<Track>()
        request.returnsObjectsAsFaults = false
        try stack.context.enumerate(request, batchSize: 100) { #expect(!$0.isFault) }
        request.relationshipKeyPathsForPrefetching = ["album.artist"]
        let other = stack.newContext()
        var (trips, most) = (Set<Int>(), 0)
        try other.enumerate(request, batchSize: 100) { track in
            trips.insert(other.faultTrips)
            most = max(most, other.registeredObjects.count)
            #expect(track.album?.artist?.founded != nil)
        }
        // Prefetched for each batch: the in-memory store answers with one. No object makes a trip of its own.
        #expect(trips.max() == other.faultTrips && !trips.contains(0))
        #expect(trips.count <= (kind == .btree ? 6 : 1) && most <= (kind == .btree ? 200 : 600), "\(trips), \(most)")
    }

    // MARK: Unsaved changes and several stores

    @Test func `with unsaved changes it holds a batch of objects, and not all of them`() throws {
        let stack = try music(.btree)
        let context = stack.context
        var first = FetchRequest<Track>()
        first.fetchLimit = 1
        let changed = try #require(try context.fetch(first).first)
        changed.seconds = 1
        for order in [[], [SortKey("name")]] {
            var (count, most) = (0, 0)
            try context.enumerate(FetchRequest<Track>(sortedBy: order), batchSize: 20) { track in
                count += 1
                most = max(most, context.registeredObjects.count)
            }
            #expect(count == 540 && most <= 45, "\(most) objects in memory")
        }
    }

    @Test func `with unsaved changes in several stores it gives what fetch gives, whatever the batch`() throws {
        let seed = testSeed(default: 37)
        var random = SeededGenerator(seed: seed)
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let stores: [any PersistentStore] = try (0..<2).map { _ in try BTreeStore.inMemory(model: model) }
        for store in stores { coordinator.add(store) }
        let maker = ManagedObjectContext(coordinator)
        let made = (0..<80).map { number in
            let track = Track(context: maker)
            (track.name, track.seconds) = ("track \(number)", Int16.random(in: 0..<9, using: &random))
            return track
        }
        try maker.assign(made.filter { $0.seconds % 2 == 0 || $0.name.hasSuffix("3") }, to: stores[1])
        try maker.save()
        let conditions: [FetchPredicate?] = try [nil, "seconds < 5", "name BEGINSWITH 'track 1'"].map { format in
            try format.map { try FetchPredicate(format: $0) }
        }
        let orders: [[SortKey]] = [[], [SortKey("seconds")], [SortKey("seconds", ascending: false), SortKey("name")]]
        for round in 0..<24 {
            let context = ManagedObjectContext(coordinator)
            for track in try context.fetch(FetchRequest<Track>()) where round % 3 > 0 {
                switch Int.random(in: 0..<12, using: &random) {
                case 0: try context.delete(track)
                case 1: track.seconds = Int16.random(in: 0..<9, using: &random)
                default: break
                }
            }
            if round % 3 > 1 { for number in 1...3 { Track(context: context).name = "track 1.\(number)" } }
            var request = FetchRequest<Track>(
                conditions.randomElement(using: &random) ?? nil, sortedBy: orders.randomElement(using: &random) ?? [])
            if round % 5 == 0 { request.affectedStores = [stores[round % 2].identifier] }
            let expected = try context.fetch(request).map(\.objectID)
            let batchSize = Int.random(in: 1..<50, using: &random)
            var found: [ObjectID] = []
            try context.enumerate(request, batchSize: batchSize) { found.append($0.objectID) }
            #expect(found == expected, "seed \(seed), round \(round), batches of \(batchSize)")
        }
    }

    @Test(arguments: [0, 1], [true, false])
    func `a store that is removed on the way is missed, and no other one is read for it`(
        _ removed: Int, _ readsBoth: Bool
    ) throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let stores: [any PersistentStore] = try (0..<2).map { _ in try BTreeStore.inMemory(model: model) }
        for store in stores { coordinator.add(store) }
        let context = ManagedObjectContext(coordinator)
        let made = (0..<40).map { number in
            let track = Track(context: context)
            track.name = "track \(number)"
            return track
        }
        try context.assign(made.filter { $0.name.hasSuffix("3") }, to: stores[0])
        try context.assign(made.filter { !$0.name.hasSuffix("3") }, to: stores[1])
        try context.save()
        var request = FetchRequest<Track>()
        if !readsBoth { request.affectedStores = [stores[1].identifier] }

        var found: [ObjectID] = []
        let error = contextError {
            try context.enumerate(request, batchSize: 3) { track in
                found.append(track.objectID)
                guard found.count == 2 else { return }
                try coordinator.remove(stores[removed])
                _ = try context.count(for: FetchRequest<Track>())
            }
        }

        #expect(Set(found).count == found.count, "an object came twice")
        if !readsBoth, removed == 0 {
            #expect(error == nil && found.count == 36, "\(found.count) objects, then \(String(describing: error))")
        } else if case .noStore(entity: "Track")? = error {
            #expect(found.count < 40)
        } else {
            Issue.record("a removed store gave \(found.count) objects, then \(String(describing: error))")
        }
    }

    @Test func `a child goes on although a store is added on the way`() throws {
        let stack = try music(.btree)
        let child = ManagedObjectContext(parent: stack.context)
        var found: [ObjectID] = []
        try child.enumerate(FetchRequest<Track>(), batchSize: 100) { track in
            found.append(track.objectID)
            guard found.count == 50 else { return }
            stack.coordinator.add(try BTreeStore.inMemory(model: stack.coordinator.managedObjectModel))
            _ = try child.count(for: FetchRequest<Track>())
        }
        #expect(found.count == 540 && Set(found).count == 540)
    }

    @Test func `what is saved on the way is visited once, in an order by an index, too`() throws {
        for order in [[], [SortKey("name")], [SortKey("seconds")]] {
            let stack = try music(.btree)
            let context = stack.context
            for number in 0..<5 { Track(context: context).name = "New \(number)" }
            let expected = try context.fetch(FetchRequest<Track>(sortedBy: order)).count
            var found: [ManagedObject] = []
            try context.enumerate(FetchRequest<Track>(sortedBy: order), batchSize: 50) { track in
                found.append(track)
                guard found.count % 90 == 5 else { return }
                (track.seconds, track.name) = (Int16(found.count % 7), "Z \(found.count)")
                try context.saveAndCompare()
            }
            #expect(found.count == expected && Set(found).count == expected, "\(order)")
        }
    }

    @Test func `a child leaves out what its parent has changed on the way so that it does not match, unsaved, too`()
        throws
    {
        for order in [[], [SortKey("name")]] {
            let stack = try music(.btree)
            let last = try #require(
                try stack.context.fetch(FetchRequest<Artist>(try FetchPredicate(format: "name == 'Artist 8'"))).first)
            Artist(context: stack.context).name = "New"
            let child = ManagedObjectContext(parent: stack.context)
            let request = FetchRequest<Track>(
                try FetchPredicate(format: "album.artist.founded < 2000"), sortedBy: order)
            let all = try child.fetch(request).map(\.name)
            var found: [String] = []
            try child.enumerate(request, batchSize: 50) { track in
                found.append(track.name)
                guard found.count == 120 else { return }
                last.founded = 2010
                try child.setQueryGeneration(from: nil)
            }
            #expect(all.count == 540 && found == all.filter { !$0.hasPrefix("Track 8.") }, "\(order)")
        }
    }

    @Test func `a grandchild leaves out what its parent deletes on the way, though the root changes a row`() throws {
        let stack = try music(.btree)
        let parent = ManagedObjectContext(parent: stack.context)
        let child = ManagedObjectContext(parent: parent)
        let request = FetchRequest<Track>(sortedBy: [SortKey("name")])
        let all = try child.fetch(request).map(\.name)
        let (near, far) = (all[150], all[400])
        func track(_ name: String, in context: ManagedObjectContext) throws -> Track {
            let named = FetchRequest<Track>(try FetchPredicate(format: "name == '\(name)'"))
            return try #require(try context.fetch(named).first)
        }
        var found: [String] = []
        try child.enumerate(request, batchSize: 50) { each in
            found.append(each.name)
            guard found.count == 60 else { return }
            try track(near, in: stack.context).seconds = 7
            try parent.delete(track(far, in: parent))
            try child.setQueryGeneration(from: nil)
        }
        #expect(found == all.filter { $0 != far })
    }

    @Test func `a class that does not fit and a closed store are refused as fetch refuses them`() throws {
        let stack = try music(.btree)
        let wrong = FetchRequest<Album>(entityName: "Track")
        let expected = contextError { _ = try stack.context.fetch(wrong) }
        let found = contextError { try stack.context.enumerate(wrong) { _ in } }
        #expect(found.map { "\($0)" } == expected.map { "\($0)" } && found != nil)
        var count = 0
        let closed = contextError {
            try stack.context.enumerate(FetchRequest<Track>(), batchSize: 100) { _ in
                count += 1
                if count == 30 { for store in stack.coordinator.persistentStores { try store.close() } }
            }
        }
        #expect(count == 100)
        guard case .store? = closed else {
            Issue.record("a closed store gave \(String(describing: closed))")
            return
        }
    }
}
