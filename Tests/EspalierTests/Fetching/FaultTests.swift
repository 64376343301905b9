// Faults, uniquing, and the number of trips to the store that a walk through the graph makes.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test(arguments: StoreKind.allCases)
    func `a row is one object in a context and another one in another context`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 2)
        let tracks = try stack.context.fetch(FetchRequest<Track>())

        #expect(tracks[0].album === tracks[1].album && tracks[0].album != nil)
        #expect(try stack.context.fetch(FetchRequest<Track>()) == tracks)
        let other = stack.newContext()
        let twin = try other.existingObject(with: tracks[0].objectID)
        #expect(twin !== tracks[0] && twin.objectID == tracks[0].objectID)
    }

    @Test func `a context finds just the objects in use, however many come and go`() throws {
        let seed = testSeed(default: 43)
        var random = SeededGenerator(seed: seed)
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 12, tracks: 8)
        let ids = try stack.context.fetchIDs(FetchRequest<Track>()) + stack.context.fetchIDs(FetchRequest<Album>())
        var kept: [ObjectID: ManagedObject] = [:]
        for step in 0..<4000 {
            guard let id = ids.randomElement(using: &random) else { break }
            // The context holds few objects at first, then all, then few again.
            if Int.random(in: 0..<4000, using: &random) < (step < 2000 ? step : 4000 - step) {
                kept[id] = try stack.context.object(with: id)
            } else {
                kept[id] = nil
            }
            #expect(stack.context.registeredObject(for: id) === kept[id], "seed \(seed), step \(step)")
        }
        #expect(ids.allSatisfy { stack.context.registeredObject(for: $0) === kept[$0] }, "seed \(seed)")
        #expect(stack.context.registeredObjects == Set(kept.values), "seed \(seed)")
    }

    @Test(arguments: StoreKind.allCases)
    func `walking 500 rows across two relationships takes one trip per step`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 9, tracks: 12)
        let tracks = try stack.context.fetch(FetchRequest<Track>())
        #expect(tracks.count == 540 && stack.context.faultTrips == 0)

        let founded = tracks.reduce(0) { $0 + Int($1.album?.artist?.founded ?? 0) }

        #expect(founded == (0..<9).reduce(0) { $0 + 12 * ($1 + 1) * (1950 + $1) })
        #expect(stack.context.faultTrips == 2)
        #expect(stack.context.rowsFetched == 540 + 45 + 9)
    }

    @Test func `an object that a relationship led to is there for the next one, until the next fetch or save`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 9, tracks: 2)
        let tracks = try stack.context.fetch(FetchRequest<Track>())
        func albumCount() -> Int { stack.context.registeredObjects.count - tracks.count }

        #expect(Set(tracks.compactMap { $0.album?.objectID }).count == 45 && albumCount() == 45)
        _ = try stack.context.count(for: FetchRequest<Track>())
        #expect(albumCount() == 0)
        _ = tracks[0].album
        tracks[1].name = "New"
        #expect(albumCount() == 1)
        try stack.context.saveAndCompare()
        #expect(albumCount() == 0)
        _ = tracks[0].album
        stack.context.reset()
        #expect(stack.context.registeredObjects.isEmpty)
    }

    @Test func `relationships keep no more than 1024 objects in memory`() throws {
        let stack = try Stack(.inMemory)
        let writer = stack.newContext()
        for number in 0..<1100 {
            let (track, album) = (Track(context: writer), Album(context: writer))
            (track.name, album.title, track.album) = ("\(number)", "\(number)", album)
        }
        try writer.saveAndCompare()
        let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("album.title")]))

        let titles = tracks.map { $0.album?.title }

        #expect(titles == titles.sorted { $0 ?? "" < $1 ?? "" } && Set(titles).count == 1100)
        #expect(stack.context.registeredObjects.count == 1100 + 1024)
        #expect(tracks.map { $0.album?.title } == titles)
    }

    @Test(arguments: StoreKind.allCases)
    func `walking down two to-many relationships takes two trips per step`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 9, tracks: 12)
        let artists = try stack.context.fetch(FetchRequest<Artist>())

        let seconds = artists.reduce(0) { sum, artist in
            sum + artist.albums.reduce(0) { $0 + $1.tracks.reduce(0) { $0 + Int($1.seconds) } }
        }

        #expect(seconds == 45 * (0..<12).reduce(0) { $0 + 100 + $1 })
        #expect(stack.context.faultTrips <= 4)
    }

    @Test(arguments: StoreKind.allCases)
    func `prefetching loads before the walk, and the walk then needs no trip`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 4, tracks: 3)
        var request = FetchRequest<Artist>()
        request.relationshipKeyPathsForPrefetching = ["albums.tracks"]
        let artists = try stack.context.fetch(request)
        let trips = stack.context.faultTrips

        let names = Set(artists.flatMap { $0.albums.flatMap { $0.tracks.map(\.name) } })

        #expect(names.count == 30 && stack.context.faultTrips == trips)
        request.relationshipKeyPathsForPrefetching = ["albums.songs"]
        #expect(throws: ContextError.self) { try stack.context.fetch(request) }
    }

    @Test(arguments: [0, 3])
    func `a wrong path for prefetching is refused before rows are read, however many there are (FR-10)`(
        count: Int
    ) throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription("Region", attributes: [AttributeDescription("name", .string)]),
                EntityDescription(
                    "State", superentity: "Region",
                    relationships: [RelationshipDescription("towns", to: "Town", inverse: "state", .toMany)]),
                EntityDescription(
                    "Town", attributes: [AttributeDescription("name", .string)],
                    relationships: [RelationshipDescription("state", to: "State", inverse: "towns")]),
            ],
            fetchRequestTemplates: [
                FetchRequestTemplate("all", entity: "Region", relationshipKeyPathsForPrefetching: ["streets"])
            ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        for _ in 0..<count { _ = try context.insertNewObject(forEntityName: "State") }
        try context.save()
        func prefetching(_ path: String, from entity: String) -> FetchRequest<ManagedObject> {
            var request = FetchRequest<ManagedObject>(entityName: entity)
            request.relationshipKeyPathsForPrefetching = [path]
            return request
        }
        let template = try FetchRequest<ManagedObject>(try #require(model.fetchRequestTemplates.first))

        // All rows are states, which have towns; but not every region has.
        let wrong: [(FetchRequest<ManagedObject>, name: String, entity: String)] = [
            (template, "streets", "Region"), (prefetching("towns", from: "Region"), "towns", "Region"),
            (prefetching("name", from: "Region"), "name", "Region"), (prefetching("", from: "Region"), "", "Region"),
            (prefetching("towns.streets", from: "State"), "streets", "Town"),
            (prefetching("towns..state", from: "State"), "", "Town"),
        ]
        for (request, name, entity) in wrong {
            let attempts: [() throws -> Void] = [
                { _ = try context.fetch(request) }, { _ = try context.fetchIDs(request) },
                { _ = try context.count(for: request) }, { _ = try context.fetchPages(request) },
                { try context.enumerate(request) { _ in } }, { _ = try context.explain(request) },
            ]
            for (number, attempt) in attempts.enumerated() {
                guard case .unknownRelationship(name, entity: entity)? = contextError(attempt) else {
                    Issue.record("\(request.relationshipKeyPathsForPrefetching) is not refused by attempt \(number)")
                    continue
                }
            }
        }
        #expect(try context.fetch(prefetching("towns.state", from: "State")).count == count)
    }

    @Test(arguments: StoreKind.allCases)
    func `a fault shows what it is without firing, and fires on first use`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let id = try #require(try stack.context.fetchIDs(FetchRequest<Artist>()).first)
        let context = stack.newContext()

        let object = try context.object(with: id)
        #expect(object.isFault && object.entity.name == "Artist" && object.objectID == id && !object.hasChanges)
        #expect(context.faultTrips == 0)
        #expect(object.hasFault(forRelationshipNamed: "albums"))
        #expect((object as? Artist)?.name == "Artist 0")
        #expect(!object.isFault && context.faultTrips == 1)
        #expect(context.registeredObject(for: id) === object)
        #expect(try object.objectIDs(forRelationshipNamed: "albums").count == 1)
        #expect(!object.hasFault(forRelationshipNamed: "albums"))
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that is gone reads as empty, says isDeleted and is not found`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let other = stack.newContext()
        let fault = try #require(try other.object(with: artist.objectID) as? Artist)
        try stack.context.delete(artist)
        try stack.context.saveAndCompare()

        #expect(fault.name == "" && fault.isDeleted && fault.albums.isEmpty)
        guard
            case .objectNotFound(fault.objectID)? = contextError({
                _ = try other.existingObject(with: fault.objectID)
            })
        else {
            Issue.record("existingObject found a row that is gone")
            return
        }
        fault.name = "New"
        #expect(violations { try other.saveAndCompare() }.count == 1)
        try other.saveAndCompare()
    }

    @Test(arguments: StoreKind.allCases)
    func `refresh takes the store's values, with or without unsaved changes on top`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        #expect(artist.founded == 1950)
        let other = stack.newContext()
        let twin = try #require(try other.existingObject(with: artist.objectID) as? Artist)
        twin.founded = 2000
        twin.name = "Theirs"
        try other.saveAndCompare()

        artist.name = "Mine"
        stack.context.refresh(artist, mergesChanges: true)
        #expect(artist.name == "Mine" && artist.founded == 2000)
        // Both contexts have changed the name: one save reports that, and a refresh after it settles the conflict.
        #expect(throws: ContextError.self) { try stack.context.saveAndCompare() }
        stack.context.refresh(artist, mergesChanges: true)
        try stack.context.saveAndCompare()
        stack.context.refresh(artist, mergesChanges: false)
        #expect(artist.isFault && artist.name == "Mine")
    }

    @Test func `refreshing all objects keeps what is unsaved and takes the rest from the store`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 0)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        #expect(artists.map(\.founded) == [1950, 1951])
        artists[0].founded = 1
        let other = stack.newContext()
        for artist in try other.fetch(FetchRequest<Artist>()) { artist.founded = 2 }
        try other.saveAndCompare()

        stack.context.refreshAllObjects()

        #expect(artists.map(\.founded) == [1, 2])
    }

    @Test func `an object that came back after its cohort's rows were cached shows the newest save`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 2)
        let tracks = try stack.context.fetch(FetchRequest<Track>())
        tracks[0].album?.title = "First"
        try stack.context.saveAndCompare()
        tracks[1].album?.title = "Second"
        try stack.context.saveAndCompare()

        #expect(tracks[0].album?.title == "Second")
        #expect(try stack.stored(Album.self).map(\.title) == ["Second"])
    }

    @Test(arguments: StoreKind.allCases)
    func `objects that were saved together are walked together`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let artists = (0..<20).map { number in
            let artist = Artist(context: stack.context)
            artist.name = "\(number)"
            let album = Album(context: stack.context)
            (album.title, album.artist) = ("\(number)", artist)
            return artist
        }
        try stack.context.saveAndCompare()

        #expect(artists.flatMap { $0.albums.map(\.title) } == artists.map(\.name))
        #expect(stack.context.faultTrips <= 2)
    }

    @Test func `after reset objects belong to no context and are fetched anew`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        artist.name = "Changed"

        stack.context.reset()

        #expect(artist.managedObjectContext == nil && !stack.context.hasChanges)
        #expect(try stack.context.fetch(FetchRequest<Artist>()).map(\.name) == ["Artist 0"])
    }

    @Test func `a walk from object to object may be as long as one likes`() throws {
        let model = try ManagedObjectModel(for: [Station.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let length = 30_000
        do {
            let context = ManagedObjectContext(coordinator)
            var last: Station?
            for number in 0..<length {
                let station = Station(context: context)
                (station.number, station.previous) = (number, last)
                last = station
            }
            try context.saveAndCompare()
        }
        let context = ManagedObjectContext(coordinator)
        let first = try #require(
            try context.fetch(FetchRequest<Station>(FetchPredicate(format: "number == 0"))).first)

        var (station, count) = (Optional(first), 0)
        while let here = station { (station, count) = (here.next, count + 1) }

        #expect(count == length)
    }
}

extension FaultTests {
    @Test(arguments: [false, true])
    func `a class may let go of the context while an object of it is made`(_ isToMany: Bool) throws {
        let model = try ManagedObjectModel(for: [Leaf.self, Branch.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        do {
            let context = ManagedObjectContext(coordinator)
            let branch = Branch(context: context)
            for _ in 0..<3 { Leaf(context: context).branch = branch }
            try context.saveAndCompare()
        }
        let keeper = Keeper(ManagedObjectContext(coordinator))
        if isToMany {
            let branch = try #require(try keeper.context?.fetch(FetchRequest<Branch>()).first)
            Keeper.$present.withValue(keeper) { _ = branch.leaves.count }
        } else {
            let leaf = try #require(try keeper.context?.fetch(FetchRequest<Leaf>()).first)
            Keeper.$present.withValue(keeper) { _ = leaf.branch }
        }
        #expect(!keeper.wasThere.isEmpty && keeper.wasThere.allSatisfy { $0 })
        #expect(keeper.watched == nil)
    }
}

/// The only owner of a context, which releases it in an object's initializer.
// SAFETY: @unchecked Sendable, because a test uses it on its own thread only.
private final class Keeper: @unchecked Sendable {
    @TaskLocal static var present: Keeper?
    var context: ManagedObjectContext?
    weak var watched: ManagedObjectContext?
    /// At each object: whether the context was still alive after its owner had released it.
    var wasThere: [Bool] = []

    init(_ context: ManagedObjectContext) { (self.context, watched) = (context, context) }

    func letGo() {
        context?.reset()
        context = nil
        wasThere.append(watched != nil)
    }
}

private final class Branch: ManagedObject {
    required init(_ seed: consuming ObjectSeed) {
        Keeper.present?.letGo()
        super.init(seed)
    }
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Branch",
            properties: [EntityDescription._property("leaves", Set<Leaf>.self, options: .init(inverse: "branch"))])
    }
    var leaves: Set<Leaf> { _get("leaves", at: 0) }
}

private final class Leaf: ManagedObject {
    required init(_ seed: consuming ObjectSeed) {
        Keeper.present?.letGo()
        super.init(seed)
    }
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Leaf",
            properties: [EntityDescription._property("branch", Branch?.self, options: .init(inverse: "leaves"))])
    }
    var branch: Branch? {
        get { _get("branch", at: 0) }
        set { _set("branch", at: 0, newValue) }
    }
}

/// A place on a line, whose next place is a destination.
private final class Station: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Station",
            properties: [
                EntityDescription._property("number", Int.self),
                EntityDescription._property("previous", Station?.self, options: .init(inverse: "next")),
                EntityDescription._property("next", Station?.self, options: .init(inverse: "previous")),
            ])
    }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var previous: Station? {
        get { _get("previous", at: 1) }
        set { _set("previous", at: 1, newValue) }
    }
    var next: Station? {
        get { _get("next", at: 2) }
        set { _set("next", at: 2, newValue) }
    }
}
