// The losses of relationships of mapped entities, and of those that lead to such entities: the order of a list, and
// destinations that have become objects to which the relationship cannot lead.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MappedLinkTests {
    private static let ordered = RelationshipDescription("verses", to: "Verse", .ordered)

    /// Albums lead to songs, which have verses; some verses are refrains.
    ///
    /// - Parameter songs: the entities with verses; albums lead to the first of them.
    private static func model(_ songs: [String], _ verses: RelationshipDescription) throws -> ManagedObjectModel {
        let name = AttributeDescription("name", .string)
        let entities = songs.map { EntityDescription($0, attributes: [name], relationships: [verses]) }
        return try ManagedObjectModel(
            entities: entities + [
                EntityDescription("Verse", attributes: [name]), EntityDescription("Refrain", superentity: "Verse"),
                EntityDescription("Album", relationships: [RelationshipDescription("songs", to: songs[0], .toMany)]),
            ])
    }

    private static func withContext<Answer>(
        at path: String, _ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: model, stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    /// Saves an album of the songs `a`, which has a refrain after a verse, and `b`.
    private static func makeStore(at path: String, _ model: ManagedObjectModel) throws {
        try withContext(at: path, model) { context in
            func insert(_ entity: String, _ name: String) throws -> ManagedObject {
                let object = try context.insertNewObject(forEntityName: entity)
                try object.setValue(.string(name), forKey: "name")
                return object
            }
            let (first, second) = (try insert("Song", "a"), try insert("Song", "b"))
            try first.setValue(
                .toMany([try insert("Verse", "verse"), try insert("Refrain", "refrain")]), forKey: "verses")
            let album = try context.insertNewObject(forEntityName: "Album")
            try album.setValue(.toMany([first, second]), forKey: "songs")
            try context.save()
        }
    }

    /// The names of the verses of the song `a`, which is a track now, sorted.
    private static func verses(at path: String, _ model: ManagedObjectModel) throws -> [String] {
        try withContext(at: path, model) { context in
            let tracks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
            let track = try #require(tracks.first { $0[attribute: "name"] == .string("a") })
            guard case .toMany(let verses) = try track.value(forKey: "verses") else { return [] }
            return verses.map { "\($0[attribute: "name"])" }.sorted()
        }
    }

    @Test func `the order of a list that mappings follow without one is a loss by its name (MG-05)`() throws {
        try withStorePath { path in
            let former = try Self.model(["Song"], Self.ordered)
            let model = try Self.model(["Track"], RelationshipDescription("verses", to: "Verse", .toMany))
            try Self.makeStore(at: path, former)
            let mappings = MappingModel([EntityMapping("Song", to: "Track")])
            let loss = MigrationLoss.order(of: "Song.verses")
            let code = PropertyMapping.computed("verses", reading: ["verses"]) { source, session in
                guard case .toMany(let verses) = try source.value(forKey: "verses") else { return .toMany([]) }
                return .toMany(try verses.compactMap { try session.successor(of: $0) })
            }

            let plan = try mappings.migrationPlan(storeAt: path, from: former, to: model)
            let kept = try mappings.migrationPlan(
                storeAt: path, from: former, to: try Self.model(["Track"], Self.ordered))
            let coded = try MappingModel([EntityMapping("Song", to: "Track", [code])])
                .migrationPlan(storeAt: path, from: former, to: model)
            #expect(throws: MappingError.self) { try mappings.migrate(storeAt: path, from: former, to: model) }
            try mappings.migrate(storeAt: path, from: former, to: model, MigrationOptions(allowing: [loss]))

            #expect(plan.refusal?.losses == [loss] && plan.refusal?.failures == [])
            #expect(kept.refusal == nil && coded.refusal == nil)
            #expect(try Self.verses(at: path, model).count == 2)
        }
    }

    @Test(arguments: ["a", "b"])
    func `an order that the mapping of its owner loses, as another one keeps it, is a loss by its name (MG-05)`(
        track: String
    ) throws {
        try withStorePath { path in
            let former = try Self.model(["Song"], Self.ordered)
            let verses = RelationshipDescription("verses", to: "Verse", .toMany)
            let name = AttributeDescription("name", .string)
            let model = try ManagedObjectModel(entities: [
                EntityDescription("Piece", isAbstract: true, attributes: [name]),
                EntityDescription("Track", superentity: "Piece", relationships: [verses]),
                EntityDescription("Hymn", superentity: "Piece", relationships: [Self.ordered]),
                EntityDescription("Verse", attributes: [name]), EntityDescription("Refrain", superentity: "Verse"),
                EntityDescription("Album", relationships: [RelationshipDescription("songs", to: "Piece", .toMany)]),
            ])
            try Self.makeStore(at: path, former)
            let mappings = MappingModel([
                EntityMapping("Song", to: "Track", where: try FetchPredicate(format: "name == '\(track)'")),
                EntityMapping("Song", to: "Hymn", where: try FetchPredicate(format: "name != '\(track)'")),
            ])

            let plan = try mappings.migrationPlan(storeAt: path, from: former, to: model)
            let done = try mappings.migrate(
                storeAt: path, from: former, to: model, MigrationOptions(allowing: [.order(of: "Song.verses")]))

            // The song `b` has no verses.
            let lost = track == "a" ? ["Song.verses"] : []
            let failures = plan.refusal?.failures ?? []
            #expect((plan.refusal?.losses ?? []) == lost.map { MigrationLoss.order(of: $0) })
            #expect(failures.map(\.subject) == lost)
            #expect(failures.allSatisfy { $0.reason == .unordered(by: ["SongToTrack"]) && $0.rowCount == 1 })
            #expect(failures.allSatisfy { $0.description.contains("without one: SongToTrack") })
            #expect(done.mappings.map(\.createdCount) == [1, 1])
        }
    }

    @Test func `destinations that a relationship without a rule cannot lead to are refused, and left out by a rule`()
        throws
    {
        try withStorePath { path in
            let former = try Self.model(["Song"], Self.ordered)
            let model = try Self.model(["Track"], RelationshipDescription("verses", to: "Refrain", .ordered))
            try Self.makeStore(at: path, former)
            let rule = PropertyMapping.following("verses", "verses")

            let refused = try MappingModel([EntityMapping("Song", to: "Track")])
                .migrationPlan(storeAt: path, from: former, to: model)
            try MappingModel([EntityMapping("Song", to: "Track", [rule])])
                .migrate(storeAt: path, from: former, to: model)

            let failure = try #require(refused.refusal?.failures.first)
            #expect(refused.refusal?.losses == [] && refused.refusal?.failures.count == 1)
            #expect(failure.subject == "Track.verses" && failure.reason == .otherDestination && failure.rowCount == 1)
            #expect(failure.objects.map(\.entityName) == ["Song"])
            #expect("\(failure)".hasSuffix("or use a mapping with a rule for Track.verses"))
            let names = try Self.verses(at: path, model)
            #expect(names.count == 1 && names[0].contains("refrain"))
        }
    }

    @Test func `objects around mapped ones are refused if they would lose what these have become`() throws {
        try withStorePath { path in
            let former = try Self.model(["Song"], Self.ordered)
            let model = try Self.model(["Track", "Jingle"], Self.ordered)
            try Self.makeStore(at: path, former)
            func mappings(_ first: String, _ second: String) throws -> MappingModel {
                MappingModel([
                    EntityMapping("Song", to: "Track", where: try FetchPredicate(format: first)),
                    EntityMapping("Song", to: "Jingle", where: try FetchPredicate(format: second)),
                ])
            }

            let split = try mappings("name == 'a'", "name == 'b'")
                .migrationPlan(storeAt: path, from: former, to: model)
            let whole = try mappings("name != nil", "name == 'b'")
                .migrationPlan(storeAt: path, from: former, to: model)

            let failure = try #require(split.refusal?.failures.first)
            #expect(split.refusal?.losses == [] && split.refusal?.failures.count == 1)
            #expect(failure.subject == "Album.songs" && failure.reason == .otherDestination && failure.rowCount == 1)
            #expect(failure.objects.map(\.entityName) == ["Album"])
            // A relationship may lead to one of several objects that a song has become.
            #expect(whole.refusal == nil)
        }
    }

    @Test func `a trial of mappings tells which relationships cannot become inverses, as one without mappings does`()
        throws
    {
        func model(_ song: String, inverse: String) throws -> ManagedObjectModel {
            let idols = ["idol", "friend"].map { name in
                RelationshipDescription(name, to: "Star", inverse: name == inverse ? "fans" : nil)
            }
            return try ManagedObjectModel(entities: [
                EntityDescription(song, attributes: [AttributeDescription("name", .string)]),
                EntityDescription("Fan", relationships: idols),
                EntityDescription(
                    "Star", relationships: [RelationshipDescription("fans", to: "Fan", inverse: inverse, .toMany)]),
            ])
        }
        try withStorePath { path in
            let (former, newer) = (try model("Song", inverse: "idol"), try model("Track", inverse: "friend"))
            try Self.withContext(at: path, former) { _ in }
            let mappings = MappingModel([EntityMapping("Song", to: "Track")])

            let plan = try mappings.migrationPlan(storeAt: path, from: former, to: newer)
            let inferred = try BTreeStore.migrationPlan(at: path, to: newer)
            let trial = try SchemaMigrationPlan(from: former).then(.mapped(by: mappings), to: newer)
                .migrationPlan(storeAt: path)
            #expect(throws: MappingError.self) { try mappings.migrate(storeAt: path, from: former, to: newer) }

            let obstacles = try #require(inferred.refusal?.obstacles)
            #expect(!obstacles.isEmpty && plan.refusal == MigrationRefusal(obstacles: obstacles))
            #expect(plan.outcome == nil && plan.difference.changes.contains { $0.kind == .entityAdded })
            #expect(trial.map(\.refusal) == [plan.refusal])
        }
    }

    /// Owners with items that lead back to them, or with photos and videos.
    private static func splitModel(isOld: Bool) throws -> ManagedObjectModel {
        func part(_ name: String, _ owner: String, _ inverse: String) -> EntityDescription {
            EntityDescription(
                name, attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription(owner, to: "Owner", inverse: inverse)])
        }
        let items = RelationshipDescription("items", to: isOld ? "Item" : "Photo", inverse: "owner", .ordered)
        let videos = RelationshipDescription("videos", to: "Video", inverse: "holder", .toMany)
        return try ManagedObjectModel(
            entities: [EntityDescription("Owner", relationships: isOld ? [items] : [items, videos])]
                + (isOld
                    ? [part("Item", "owner", "items")]
                    : [part("Photo", "owner", "items"), part("Video", "holder", "videos")]))
    }

    @Test(arguments: 1...2)
    func `a split keeps what leads back to its owner, and the order of several of these is a loss (MG-05, MG-08)`(
        _ videoCount: Int
    ) throws {
        let (former, model) = (try Self.splitModel(isOld: true), try Self.splitModel(isOld: false))
        func mappings(through name: String?) throws -> MappingModel {
            MappingModel([
                EntityMapping("Item", to: "Photo", where: try FetchPredicate(format: "name == 'photo'")),
                EntityMapping(
                    "Item", to: "Video", where: try FetchPredicate(format: "name == 'video'"),
                    [.following("holder", "owner", through: name)]),
            ])
        }
        try withStorePath { path in
            try Self.withContext(at: path, former) { context in
                let owner = try context.insertNewObject(forEntityName: "Owner")
                for name in ["photo"] + Array(repeating: "video", count: videoCount) {
                    let item = try context.insertNewObject(forEntityName: "Item")
                    try item.setValue(.string(name), forKey: "name")
                    try item.setValue(.toOne(owner), forKey: "owner")
                }
                try context.save()
            }
            let order = MigrationLoss.order(of: "Owner.items")

            let kept = try mappings(through: nil).migrationPlan(storeAt: path, from: former, to: model)
            let lost = try mappings(through: "ItemToPhoto").migrationPlan(storeAt: path, from: former, to: model)
            try mappings(through: nil)
                .migrate(storeAt: path, from: former, to: model, MigrationOptions(allowing: [order]))

            #expect(kept.refusal?.losses ?? [] == (videoCount > 1 ? [order] : []))
            #expect(kept.refusal?.failures ?? [] == [])
            #expect(lost.refusal?.failures.map(\.subject) == ["Owner.items"])
            let count = try Self.withContext(at: path, model) { context in
                try context.count(
                    for: FetchRequest<ManagedObject>(
                        entityName: "Video", predicate: try FetchPredicate(format: "holder != nil")))
            }
            #expect(count == videoCount)
        }
    }
}
