// Derived values, which stores keep in the transaction of each save (MD-27, C-16): after any walk of changes they are
// what an oracle computes from the plain values.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

/// Bands with albums of tracks with tags, and something derived in every way.
enum DerivedModel {
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Band",
                attributes: [
                    AttributeDescription("name", .string),
                    AttributeDescription("plainName", .string, isIndexed: true, derivation: .canonical(of: "name")),
                    AttributeDescription("albumCount", .integer32, isIndexed: true, derivation: .count(of: "albums")),
                    AttributeDescription("seconds", .integer64, derivation: .sum(of: "seconds", in: "albums")),
                ],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "band", .toMany)]),
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string),
                    AttributeDescription("bandName", .string, derivation: .value(of: "band.plainName")),
                    AttributeDescription("trackCount", .integer16, derivation: .count(of: "tracks")),
                    AttributeDescription(
                        "longCount", .integer64, derivation: .count(of: "tracks", where: "seconds >= 100")),
                    AttributeDescription("seconds", .integer64, derivation: .sum(of: "seconds", in: "tracks")),
                    AttributeDescription("average", .double, derivation: .average(of: "seconds", in: "tracks")),
                    AttributeDescription("first", .string, derivation: .minimum(of: "name", in: "tracks")),
                    AttributeDescription("longest", .integer16, derivation: .maximum(of: "seconds", in: "tracks")),
                    AttributeDescription("changed", .date, derivation: .now),
                ],
                relationships: [
                    RelationshipDescription("band", to: "Band", inverse: "albums"),
                    RelationshipDescription("tracks", to: "Track", inverse: "album", .ordered, deleteRule: .cascade),
                ]),
            EntityDescription(
                "Track",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("seconds", .integer16),
                    AttributeDescription("loudName", .string, derivation: .uppercase(of: "name")),
                ],
                relationships: [
                    RelationshipDescription("album", to: "Album", inverse: "tracks"),
                    RelationshipDescription("tags", to: "Tag", inverse: "tracks", .toMany),
                ]),
            EntityDescription("Single", superentity: "Track", attributes: [AttributeDescription("rank", .integer16)]),
            EntityDescription(
                "Tag",
                attributes: [
                    AttributeDescription("name", .string),
                    AttributeDescription("trackCount", .integer64, derivation: .count(of: "tracks")),
                    AttributeDescription("seconds", .integer64, derivation: .sum(of: "seconds", in: "tracks")),
                ],
                relationships: [RelationshipDescription("tracks", to: "Track", inverse: "tags", .toMany)]),
        ])
    }
}

/// Compares all derived values of a store with those that follow from its plain values.
struct DerivedOracle {
    let fixture: StoreFixture

    private func rows(_ entity: String) throws -> [ObjectID] {
        try fixture.store.fetchIDs(fixture.request(entity))
    }

    private func whole(_ value: AttributeValue?) -> Int64? {
        if case .integer(let number)? = value { number } else { nil }
    }

    private func text(_ value: AttributeValue?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }

    private func expect(
        _ id: ObjectID, _ name: String, _ expected: AttributeValue, _ place: () -> String
    ) throws {
        let stored = try fixture.value(id, name)
        if stored != expected {
            Issue.record("\(place()): \(id).\(name) is \(stored.map { "\($0)" } ?? "gone"), not \(expected)")
        }
    }

    func check(_ place: () -> String) throws {
        var albumSeconds: [ObjectID: Int64] = [:]
        for album in try rows("Album") {
            let tracks = try fixture.links(album, "tracks")
            let seconds = try tracks.compactMap { try whole(fixture.value($0, "seconds")) }
            let names = try tracks.compactMap { try text(fixture.value($0, "name")) }
            albumSeconds[album] = seconds.reduce(0, +)
            try expect(album, "trackCount", .integer(Int64(tracks.count)), place)
            try expect(album, "longCount", .integer(Int64(seconds.count { $0 >= 100 })), place)
            try expect(album, "seconds", .integer(seconds.reduce(0, +)), place)
            let average =
                seconds.isEmpty
                ? AttributeValue.null
                : .double(
                    Double(seconds.reduce(0, +)) / Double(seconds.count))
            try expect(album, "average", average, place)
            try expect(album, "first", names.min().map { .string($0) } ?? .null, place)
            try expect(album, "longest", seconds.max().map { .integer($0) } ?? .null, place)
            let band = try fixture.store.snapshots(of: [album])[0]?.destination(
                at: fixture.relationship("band", of: "Album").slot)
            let name = try band.flatMap { try text(fixture.value($0, "name")) }
            try expect(album, "bandName", name.map { .string(Self.plain($0)) } ?? .null, place)
        }
        for band in try rows("Band") {
            let albums = try fixture.links(band, "albums")
            try expect(band, "albumCount", .integer(Int64(albums.count)), place)
            try expect(band, "seconds", .integer(albums.compactMap { albumSeconds[$0] }.reduce(0, +)), place)
            let name = try text(fixture.value(band, "name"))
            try expect(band, "plainName", name.map { .string(Self.plain($0)) } ?? .null, place)
            if let name { try #expect(fixture.find("Band", "plainName == %@", Self.plain(name)).contains(band)) }
            try #expect(fixture.find("Band", "albumCount == %@", albums.count).contains(band))
        }
        for track in try rows("Track") {
            let name = try text(fixture.value(track, "name"))
            try expect(track, "loudName", name.map { .string($0.uppercased()) } ?? .null, place)
        }
        for tag in try rows("Tag") {
            let tracks = try fixture.links(tag, "tracks")
            let seconds = try tracks.compactMap { try whole(fixture.value($0, "seconds")) }
            try expect(tag, "trackCount", .integer(Int64(tracks.count)), place)
            try expect(tag, "seconds", .integer(seconds.reduce(0, +)), place)
        }
    }

    /// Case and diacritics are gone from the few names of the walk.
    static func plain(_ name: String) -> String {
        ["Björk": "bjork", "ÉTÉ": "ete", "nina": "nina", "Ålesund 🎻": "alesund 🎻"][name] ?? name
    }
}

@Suite struct DerivedValuesTests {
    static let names = ["Björk", "ÉTÉ", "nina", "Ålesund 🎻"]

    @Test(arguments: StoreKind.deriving)
    func `derived values follow a walk of inserts, changes, moves and deletions`(kind: StoreKind) throws {
        let seed = testSeed(default: 27)
        var random = SeededGenerator(seed: seed)
        let fixture = try StoreFixture(kind, DerivedModel.make())
        let oracle = DerivedOracle(fixture: fixture)
        var log: [String] = []
        for step in 0..<60 {
            log.append(try Self.step(fixture, &random))
            if kind == .treeInFile, step % 20 == 19 { try fixture.reopen() }
            guard step % 3 == 0 || step > 50 else { continue }
            try oracle.check { "seed \(seed), step \(step), after \(log.suffix(4))" }
        }
        if let store = fixture.store as? BTreeStore {
            let report = try store.check()
            #expect(report.findings.isEmpty, "seed \(seed): \(report.findings)")
        }
        try fixture.store.close()
    }

    @Test(arguments: StoreKind.deriving)
    func `a count whose condition reads only names of entities leaves out other destinations`(kind: StoreKind) throws {
        let cats = Derivation.count(of: "animals", where: "entity.name == 'Cat'")
        let fixture = try StoreFixture(
            kind,
            ManagedObjectModel(entities: [
                EntityDescription(
                    "Zoo",
                    attributes: [
                        AttributeDescription("catCount", .integer64, derivation: cats),
                        // Whole numbers are kept by differences, others are computed anew.
                        AttributeDescription("exactCount", .double, derivation: cats),
                    ],
                    relationships: [RelationshipDescription("animals", to: "Animal", inverse: "zoo", .toMany)]),
                EntityDescription(
                    "Animal", attributes: [AttributeDescription("name", .string)],
                    relationships: [RelationshipDescription("zoo", to: "Zoo", inverse: "animals")]),
                EntityDescription("Cat", superentity: "Animal"), EntityDescription("Dog", superentity: "Animal"),
            ]))
        let zoos = [try fixture.insert("Zoo"), try fixture.insert("Zoo")]
        func expect(_ counts: [Int64], _ place: String) throws {
            for (zoo, count) in zip(zoos, counts) {
                #expect(try fixture.value(zoo, "catCount") == .integer(count), "\(place)")
                #expect(try fixture.value(zoo, "exactCount") == .double(Double(count)), "\(place)")
            }
        }
        let (cat, otherCat) = (
            try fixture.insert("Cat", to: ["zoo": zoos[0]]), try fixture.insert("Cat", to: ["zoo": zoos[0]])
        )
        let dog = try fixture.insert("Dog", to: ["zoo": zoos[0]])
        try expect([2, 0], "insertions")
        try fixture.change(cat, to: ["zoo": zoos[1]])
        try fixture.change(dog, to: ["zoo": zoos[1]])
        try expect([1, 1], "moves")
        try fixture.delete(dog)
        try fixture.delete(otherCat)
        try expect([0, 1], "deletions")
        if let store = fixture.store as? BTreeStore { #expect(try store.check().findings.map(\.description) == []) }
        try fixture.store.close()
    }

    /// One save of several random changes.
    private static func step(_ fixture: StoreFixture, _ random: inout SeededGenerator) throws -> String {
        var (request, text) = (SaveRequest(), "")
        let (bands, albums) = (
            try fixture.store.fetchIDs(fixture.request("Band")), try fixture.store.fetchIDs(fixture.request("Album"))
        )
        let (tracks, tags) = (
            try fixture.store.fetchIDs(fixture.request("Track")), try fixture.store.fetchIDs(fixture.request("Tag"))
        )
        var named = Set<ObjectID>()
        func value() -> AttributeValue {
            Bool.random(using: &random) ? .null : .integer(.random(in: -50...250, using: &random))
        }
        func name() -> AttributeValue {
            Int.random(in: 0..<5, using: &random) == 0 ? .null : .string(names.randomElement(using: &random) ?? "")
        }
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            switch Int.random(in: 0..<11, using: &random) {
            case 0: request.insertions.append(try fixture.insertion("Band", ["name": name()]))
            case 1, 2:
                let to = bands.randomElement(using: &random).map { ["band": $0] } ?? [:]
                let album = try fixture.insertion("Album", ["title": name()], to: to)
                request.insertions.append(album)
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    request.insertions.append(
                        try fixture.insertion("Track", ["name": name(), "seconds": value()], to: ["album": album.id]))
                }
            case 3, 4:
                let to = albums.randomElement(using: &random).map { ["album": $0] } ?? [:]
                let kind = Bool.random(using: &random) ? "Single" : "Track"
                request.insertions.append(
                    try fixture.insertion(kind, ["name": name(), "seconds": value()], to: to))
            case 5: request.insertions.append(try fixture.insertion("Tag", ["name": name()]))
            case 6:
                guard let band = bands.randomElement(using: &random), named.insert(band).inserted else { continue }
                request.updates.append(try fixture.update(band, ["name": name()]))
            case 7:
                guard let album = albums.randomElement(using: &random), named.insert(album).inserted else { continue }
                let band = bands.randomElement(using: &random)
                request.updates.append(try fixture.update(album, ["title": name()], to: ["band": band]))
            case 8, 9:
                guard let track = tracks.randomElement(using: &random), named.insert(track).inserted else { continue }
                // The last kind may be written over the bytes of the row.
                let kind = Int.random(in: 0..<3, using: &random)
                let values = kind == 0 ? ["seconds": value(), "name": name()] : ["seconds": value()]
                let places: KeyValuePairs = kind == 1 ? ["album": albums.randomElement(using: &random)] : [:]
                request.updates.append(try fixture.update(track, values, to: places))
            default:
                guard let track = tracks.randomElement(using: &random), let tag = tags.randomElement(using: &random)
                else { continue }
                let slot = try fixture.relationship("tracks", of: "Tag").slot
                request.links.append(
                    Bool.random(using: &random)
                        ? .init(owner: tag, slot: slot, added: [track])
                        : .init(owner: tag, slot: slot, removed: [track])
                )
            }
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let all = (bands + albums + tracks + tags).filter { !named.contains($0) }
            if let gone = all.randomElement(using: &random), let row = try fixture.store.snapshots(of: [gone])[0] {
                request.deletions = [.init(id: gone, expectedVersion: row.version)]
                (request.updates, request.links) = ([], [])
                request.insertions.removeAll { $0.destinations.contains { $0 != nil } }
                text = "delete \(gone), "
            }
        }
        text += "\(request.insertions.count) new, \(request.updates.count) updated, \(request.links.count) links"
        try save(request, fixture)
        return text
    }

    /// Saves, and compares the rows of the result with the stored ones.
    private static func save(_ request: SaveRequest, _ fixture: StoreFixture) throws {
        let result = try fixture.store.save(request)
        for row in Array(result.inserted) + Array(result.updated) {
            let stored = try #require(try fixture.store.snapshots(of: [row.id])[0])
            let entity = try fixture.entity(row.id.entityName)
            #expect(stored.version == row.version)
            for slot in entity.attributes.indices {
                #expect(stored.value(at: slot) == row.value(at: slot), "\(row.id).\(entity.attributes[slot].name)")
            }
        }
    }

    @Test(arguments: StoreKind.deriving)
    func `a derived value changes the row and not its version, and the result tells`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, DerivedModel.make())
        let album = try fixture.insert("Album", ["title": .string("one")])
        let before = try #require(try fixture.store.snapshots(of: [album])[0]).version
        var request = SaveRequest()
        request.insertions = [try fixture.insertion("Track", ["seconds": .integer(7)], to: ["album": album])]
        let result = try fixture.store.save(request)
        #expect(result.changed.contains(album))
        #expect(try fixture.store.snapshots(of: [album])[0]?.version == before)
        #expect(try fixture.value(album, "seconds") == .integer(7))
    }

    @Test(arguments: StoreKind.deriving)
    func `values of derived attributes in a request are ignored`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, DerivedModel.make())
        let album = try fixture.insert("Album", ["trackCount": .integer(9), "bandName": .string("x")])
        try fixture.change(album, ["title": .string("t"), "seconds": .integer(5)])
        #expect(try fixture.value(album, "trackCount") == .integer(0))
        #expect(try fixture.value(album, "bandName") == .null)
        #expect(try fixture.value(album, "seconds") == .integer(0))
    }

    @Test(arguments: StoreKind.deriving)
    func `a time of saves changes with each save of the object, not with saves of others`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, DerivedModel.make())
        let album = try fixture.insert("Album")
        let first = try #require(try fixture.value(album, "changed"))
        _ = try fixture.insert("Track", to: ["album": album])
        #expect(try fixture.value(album, "changed") == first)
        try fixture.change(album, ["title": .string("t")])
        let second = try #require(try fixture.value(album, "changed"))
        guard case (.date(let earlier), .date(let later)) = (first, second) else {
            Issue.record("\(first), \(second)")
            return
        }
        #expect(earlier < later && later <= Date())
    }

    @Test(arguments: StoreKind.deriving)
    func `a sum that does not fit its type has no value, and comes back when it fits again`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, DerivedModel.make())
        let album = try fixture.insert("Album")
        // The count has 16 bits, of which the sum of this model does not run out: a sum of 64 bits does.
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Account",
                attributes: [AttributeDescription("total", .integer64, derivation: .sum(of: "amount", in: "entries"))],
                relationships: [RelationshipDescription("entries", to: "Entry", inverse: "account", .toMany)]),
            EntityDescription(
                "Entry", attributes: [AttributeDescription("amount", .integer64)],
                relationships: [RelationshipDescription("account", to: "Account", inverse: "entries")]),
        ])
        #expect(try fixture.value(album, "seconds") == .integer(0))
        let other = try StoreFixture(kind, model)
        let account = try other.insert("Account")
        let most = try other.insert("Entry", ["amount": .integer(.max)], to: ["account": account])
        #expect(try other.value(account, "total") == .integer(.max))
        let one = try other.insert("Entry", ["amount": .integer(1)], to: ["account": account])
        #expect(try other.value(account, "total") == .null)
        try other.change(most, ["amount": .integer(5)])
        #expect(try other.value(account, "total") == .integer(6))
        try other.delete(one)
        #expect(try other.value(account, "total") == .integer(5))
    }

    @Test(arguments: StoreKind.deriving)
    func `a derived value can be unique, and a save that repeats it is refused whole`(kind: StoreKind) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Shelf", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("books", to: "Book", inverse: "shelf", .toMany)]),
            EntityDescription(
                "Book",
                attributes: [
                    AttributeDescription("code", .string),
                    AttributeDescription("plainCode", .string, derivation: .canonical(of: "code")),
                    AttributeDescription("shelfName", .string, derivation: .value(of: "shelf.name")),
                ],
                relationships: [RelationshipDescription("shelf", to: "Shelf", inverse: "books")],
                uniquenessConstraints: [["plainCode"], ["shelfName"]]),
        ])
        let fixture = try StoreFixture(kind, model)
        let shelf = try fixture.insert("Shelf", ["name": .string("A")])
        let other = try fixture.insert("Shelf", ["name": .string("B")])
        let book = try fixture.insert("Book", ["code": .string("é1")], to: ["shelf": shelf])
        _ = try fixture.insert("Book", ["code": .string("x")], to: ["shelf": other])
        #expect(throws: StoreError.self) { try fixture.insert("Book", ["code": .string("E1")]) }
        #expect(throws: StoreError.self) { try fixture.change(other, ["name": .string("A")]) }
        #expect(try fixture.value(other, "name") == .string("B"))
        #expect(try fixture.find("Book", "shelfName == 'A'") == [book])
        // Two rows exchange their values in one save.
        var request = SaveRequest()
        request.updates = [
            try fixture.update(shelf, ["name": .string("B")]), try fixture.update(other, ["name": .string("A")]),
        ]
        _ = try fixture.store.save(request)
        #expect(try fixture.value(book, "shelfName") == .string("B"))
    }

    // MARK: Models that change

    private func album(_ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album", attributes: [AttributeDescription("title", .string)] + attributes,
                relationships: [RelationshipDescription("tracks", to: "Track", inverse: "album", .toMany)]),
            EntityDescription(
                "Track", attributes: [AttributeDescription("seconds", .integer32)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: "tracks")]),
        ])
    }

    @Test func `a model that adds a derived attribute, or derives it in another way, gets its values for all rows`()
        throws
    {
        let fixture = try StoreFixture(.treeInFile, album([]))
        var albums: [ObjectID] = []
        for number in 0..<50 {
            albums.append(try fixture.insert("Album", ["title": .string("É\(number)")]))
            for _ in 0..<number % 4 {
                _ = try fixture.insert("Track", ["seconds": .integer(10)], to: ["album": albums[number]])
            }
        }
        try fixture.store.close()
        let counted = try album([
            AttributeDescription(
                "number", .integer64, isOptional: false, isIndexed: true, derivation: .count(of: "tracks")),
            AttributeDescription("plain", .string, derivation: .canonical(of: "title")),
        ])
        #expect(throws: StoreError.self) { try BTreeStore.open(path: fixture.path, model: counted, isReadOnly: true) }
        let plan = try BTreeStore.migrationPlan(at: fixture.path, to: counted, checkingRows: true)
        #expect(plan.refusal == nil)
        var store = try BTreeStore.open(path: fixture.path, model: counted)
        func numbers() throws -> [AttributeValue] {
            let entity = try #require(store.model.entity(named: "Album"))
            let slot = try #require(entity.attribute(named: "number")).slot
            return try store.fetch(StoreFetch(entity: entity)).map { $0.value(at: slot) }
        }
        #expect(try numbers() == (0..<50).map { .integer(Int64($0 % 4)) })
        #expect(try store.check().isOK)
        try store.close()
        let summed = try album([
            AttributeDescription(
                "number", .integer64, isOptional: false, isIndexed: true, derivation: .sum(of: "seconds", in: "tracks"))
        ])
        store = try BTreeStore.open(path: fixture.path, model: summed)
        #expect(try numbers() == (0..<50).map { .integer(Int64($0 % 4 * 10)) })
        #expect(try store.check().isOK)
        try store.close()
        #expect(try BTreeStore.openWithStoredModel(path: fixture.path).model.descriptions == summed.storedDescriptions)
    }

    @Test func `a wrong derived value is found by a check and mended by a rebuild`() throws {
        let fixture = try StoreFixture(.treeInFile, DerivedModel.make())
        let album = try fixture.insert("Album")
        for seconds in [10, 120] as [Int64] {
            _ = try fixture.insert("Track", ["seconds": .integer(seconds)], to: ["album": album])
        }
        let store = try #require(fixture.store as? BTreeStore)
        // The row of an album without tracks is put in the place of the one that has some.
        let other = try fixture.insert("Album")
        var transaction = try store.database.beginWrite()
        let tree = try #require(try transaction.tree(named: "rows:Album", keys: UInt64.self))
        let empty = try #require(try transaction.get(other.key, from: tree))
        _ = try transaction.put(empty, for: album.key, in: tree)
        try transaction.commit()

        let report = try store.check()
        let dryRun = try store.rebuildDerivedTrees(isDryRun: true)
        let rebuilt = try store.rebuildDerivedTrees()

        #expect(report.wrongDerivedCount == 5)
        #expect(report.findings.map(\.problem).contains("trackCount is 0, but 'tracks.@count' gives 2"))
        #expect(dryRun.derivedValueCount == 5 && dryRun.hasChanges)
        #expect(rebuilt.derivedValueCount == 5 && rebuilt.after?.isOK == true)
        #expect(try fixture.value(album, "longCount") == .integer(1))
        #expect(try store.rebuildDerivedTrees().hasChanges == false)
    }
}
