// To-many relationships in every store: the members of each list, and their order.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct StoreLinkTests {
    @Test(arguments: StoreKind.allCases) func `a to-one destination makes the list of its inverse`(kind: StoreKind)
        throws
    {
        let fixture = try StoreFixture(kind)
        let (ada, bob) = try (fixture.insert("Person"), fixture.insert("Person"))
        let song = try fixture.insert("Song", to: ["owner": ada])
        let book = try fixture.insert("Book", to: ["owner": ada])

        #expect(try fixture.links(ada, "media") == [song, book])

        try fixture.change(song, to: ["owner": bob])
        try fixture.reopen()
        #expect(try fixture.links(ada, "media") == [book])
        #expect(try fixture.links(bob, "media") == [song])

        try fixture.change(song, to: ["owner": nil])
        try fixture.delete(book)
        #expect(try fixture.links(ada, "media").isEmpty && fixture.links(bob, "media").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func `an ordered list keeps the order that was sent, whatever else it says`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let album = try fixture.insert("Album")
        let songs = try (0..<5).map { _ in try fixture.insert("Song", to: ["album": album]) }
        #expect(try fixture.links(album, "songs") == songs)

        try fixture.link(album, "songs", order: [songs[4], songs[0], songs[1], songs[2], songs[3]])
        try fixture.reopen()
        #expect(try fixture.links(album, "songs") == [songs[4], songs[0], songs[1], songs[2], songs[3]])

        let stranger = try fixture.insert("Song")
        try fixture.link(album, "songs", order: [stranger, songs[2], songs[1], songs[2]])
        #expect(try fixture.links(album, "songs") == [songs[2], songs[1], songs[4], songs[0], songs[3]])

        try fixture.change(stranger, to: ["album": album])
        try fixture.delete(songs[1])
        #expect(try fixture.links(album, "songs") == [songs[2], songs[4], songs[0], songs[3], stranger])
    }

    @Test(arguments: StoreKind.allCases) func `a pair of a many-to-many relationship stands on both sides`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let tags = try (0..<3).map { try fixture.insert("Tag", ["label": .string("\($0)")]) }
        let (song, book) = try (fixture.insert("Song"), fixture.insert("Book"))

        try fixture.link(song, "tags", add: [tags[1], tags[0], tags[1]])
        try fixture.link(tags[1], "media", add: [book, song])
        try fixture.reopen()
        #expect(try fixture.links(song, "tags") == [tags[0], tags[1]])
        #expect(try fixture.links(tags[1], "media") == [song, book])
        #expect(try fixture.links(book, "tags") == [tags[1]])

        try fixture.link(tags[1], "media", remove: [song, song])
        try fixture.link(song, "tags", remove: [tags[2]])
        #expect(try fixture.links(song, "tags") == [tags[0]])

        try fixture.delete(tags[0], tags[1])
        #expect(try fixture.links(song, "tags").isEmpty && fixture.links(book, "tags").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func `an ordered many-to-many relationship keeps both orders`(kind: StoreKind)
        throws
    {
        let fixture = try StoreFixture(kind)
        let lists = try (0..<2).map { _ in try fixture.insert("Playlist") }
        let songs = try (0..<3).map { _ in try fixture.insert("Song") }

        try fixture.link(lists[1], "songs", order: [songs[2], songs[0]])
        try fixture.link(lists[0], "songs", order: [songs[0], songs[1], songs[2]])
        #expect(try fixture.links(songs[2], "playlists") == [lists[1], lists[0]])

        try fixture.link(songs[2], "playlists", order: [lists[0]])
        try fixture.reopen()
        #expect(try fixture.links(lists[1], "songs") == [songs[0]])
        #expect(try fixture.links(lists[0], "songs") == songs)
        try fixture.link(songs[0], "playlists", order: [lists[0], lists[1]])
        #expect(try fixture.links(songs[0], "playlists") == lists)
    }

    @Test(arguments: StoreKind.allCases)
    func `an order that says what it was made from changes nothing else`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let (list, person) = try (fixture.insert("Playlist"), fixture.insert("Person"))
        let songs = try (0..<5).map { _ in try fixture.insert("Song") }
        for (owner, name) in [(list, "songs"), (person, "favourites")] {
            try fixture.link(owner, name, order: [songs[0], songs[2], songs[3]])

            try fixture.link(
                owner, name, order: [songs[2], songs[1], songs[4]], madeFrom: [songs[0], songs[1], songs[2]])

            #expect(try fixture.links(owner, name) == [songs[2], songs[4], songs[3]])
            #expect(throws: StoreError.self) {
                try fixture.link(owner, name, order: [], madeFrom: [ObjectID(temporaryFor: "Song")])
            }
        }
        #expect(try songs.map { try fixture.links($0, "playlists").count } == [0, 0, 1, 1, 1])
    }

    @Test(arguments: StoreKind.allCases) func `a relationship that is its own inverse is symmetric`(kind: StoreKind)
        throws
    {
        let fixture = try StoreFixture(kind)
        let people = try (0..<3).map { _ in try fixture.insert("Person") }

        try fixture.link(people[0], "friends", add: [people[1], people[0]])
        try fixture.link(people[2], "friends", add: [people[0]])
        #expect(try fixture.links(people[0], "friends") == people)
        #expect(try fixture.links(people[1], "friends") == [people[0]])

        try fixture.link(people[0], "friends", remove: [people[0], people[2]])
        #expect(try fixture.links(people[0], "friends") == [people[1]])
        try fixture.delete(people[0])
        #expect(try fixture.links(people[1], "friends").isEmpty && fixture.links(people[2], "friends").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `both ends of a one-to-one relationship are equal, whichever of them is sent`(kind: StoreKind) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Person",
                relationships: [
                    .init("mate", to: "Person", inverse: "mateOf"), .init("mateOf", to: "Person", inverse: "mate"),
                ])
        ])
        let store: any PersistentStore =
            kind == .memory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        var request = SaveRequest()
        let new = (0..<4).map { _ in ObjectID(temporaryFor: "Person") }
        for (number, id) in new.enumerated() {
            request.insertions.append(.init(id: id, values: [], destinations: [number == 0 ? new[1] : nil, nil]))
        }
        let people = try store.save(request).inserted.ids
        func ends() throws -> [[Int?]] {
            try store.snapshots(of: people).map { row in
                [0, 1].map { slot in row?.destination(at: slot).flatMap { people.firstIndex(of: $0) } }
            }
        }
        func set(_ slot: Int, of person: Int, to other: Int?) throws -> Set<ObjectID> {
            let version = try #require(try store.snapshots(of: [people[person]])[0]?.version)
            var request = SaveRequest()
            request.updates = [.init(id: people[person], expectedVersion: version)]
            request.updates[0].destinations = [(slot, other.map { people[$0] })]
            return Set(try store.save(request).changed)
        }
        #expect(try ends() == [[1, nil], [nil, 0], [nil, nil], [nil, nil]])

        #expect(try set(1, of: 2, to: 0) == [people[0], people[1]])
        #expect(try ends() == [[2, nil], [nil, nil], [nil, 0], [nil, nil]])
        #expect(try set(0, of: 3, to: 2) == [people[2], people[0]])
        #expect(try ends() == [[nil, nil], [nil, nil], [nil, 3], [2, nil]])
        #expect(try set(1, of: 2, to: nil) == [people[3]])
        #expect(try ends() == Array(repeating: [nil, nil], count: 4))
        #expect(try set(0, of: 1, to: 1) == [people[1]])
        #expect(try ends()[1] == [1, 1])
    }

    @Test(arguments: StoreKind.allCases) func `links without inverse go with either end`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let person = try fixture.insert("Person")
        let media = try ["Song", "Book", "Song"].map { try fixture.insert($0) }

        try fixture.link(person, "favourites", order: [media[2], media[0], media[1]])
        try fixture.link(person, "watched", add: media)
        try fixture.delete(media[0])
        try fixture.reopen()
        #expect(try fixture.links(person, "favourites") == [media[2], media[1]])
        #expect(try fixture.links(person, "watched") == [media[1], media[2]])

        try fixture.link(person, "favourites", add: [media[2]], remove: [media[1]])
        #expect(try fixture.links(person, "favourites") == [media[2]])
        try fixture.delete(person)
        #expect(try fixture.links(person, "favourites").isEmpty)
    }

    @Test(arguments: StoreKind.allCases) func `the lists of many owners come in the order in which they were asked for`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let people = try (0..<14).map { _ in try fixture.insert("Person") }
        var expected: [ObjectID: [ObjectID]] = [:]
        for (person, count) in [(1, 2), (2, 1), (5, 3), (12, 1)] {
            expected[people[person]] = try (0..<count).map { _ in
                try fixture.insert("Song", to: ["owner": people[person]])
            }
        }
        let random = (0..<100).map { _ in people[Int.random(in: 0..<14)] }
        let questions = [people, people.reversed(), [], people.filter { expected[$0] == nil }, people + people, random]

        for owners in questions {
            let lists = try fixture.store.destinations(of: fixture.relationship("media", of: "Person"), for: owners)
            #expect(lists == owners.map { expected[$0] ?? [] }, "\(owners.map(\.key))")
        }
    }

    /// The store has every kind of relationship, and ten times as many songs as a leaf has room for.
    @Test(arguments: StoreKind.allCases) func `a list is counted and asked for a destination without being read`(
        kind: StoreKind
    ) throws {
        let seed = testSeed(default: 66)
        var random = SeededGenerator(seed: seed)
        let fixture = try StoreFixture(kind)
        let people = try (0..<4).map { try fixture.insert("Person", ["name": .string("\($0)")]) }
        let album = try fixture.insert("Album")
        let playlists = try (0..<2).map { _ in try fixture.insert("Playlist") }
        let tag = try fixture.insert("Tag")
        var request = SaveRequest()
        for number in 0..<1500 {
            request.insertions.append(
                try fixture.insertion(
                    number % 7 == 0 ? "Book" : "Song", ["isbn": .string("\(number)")].filter { _ in number % 7 == 0 },
                    to: number % 7 == 0 ? ["owner": people[number % 3]] : ["album": album, "owner": people[1]]))
        }
        let media = try fixture.store.save(request).inserted.ids
        let songs = media.filter { $0.entityName == "Song" }
        for (owner, name, all) in [
            (people[0], "friends", people), (people[2], "favourites", media), (people[2], "watched", media),
            (people[3], "watched", media), (playlists[0], "songs", songs), (tag, "media", media),
        ] {
            try fixture.link(owner, name, add: all.filter { _ in Bool.random(using: &random) })
        }
        try fixture.reopen()

        for owner in people + [album, tag] + playlists {
            let entity = try fixture.entity(owner.entityName)
            for relationship in entity.relationships where relationship.isToMany {
                let list = try fixture.store.destinations(of: relationship, for: [owner])[0]
                for limit in [0, 1, 700, .max] {
                    let count = try fixture.store.destinationCount(of: relationship, for: owner, limit: limit)
                    #expect(count == min(list.count, limit), "seed \(seed), \(owner) \(relationship.name)")
                }
                for id in people + media.prefix(60) + list.suffix(3) {
                    let isThere = try fixture.store.hasDestination(id, of: relationship, for: owner)
                    #expect(isThere == list.contains(id), "seed \(seed), \(id) in \(owner) \(relationship.name)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases) func `what is no list of the owner is neither counted nor searched`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let (person, tag) = try (fixture.insert("Person"), fixture.insert("Tag"))
        let (note, media) = try (
            fixture.relationship("note", of: "Person"), fixture.relationship("media", of: "Person")
        )

        for (relationship, owner) in [(note, person), (media, tag)] {
            #expect(throws: StoreError.self) {
                try fixture.store.destinationCount(of: relationship, for: owner, limit: 1)
            }
            #expect(throws: StoreError.self) { try fixture.store.hasDestination(tag, of: relationship, for: owner) }
        }
        #expect(throws: StoreError.self) {
            try fixture.store.hasDestination(ObjectID(temporaryFor: "Song"), of: media, for: person)
        }
    }

    @Test(arguments: StoreKind.allCases) func `one request may insert both ends and link them by temporary IDs`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind)
        let (album, tag) = try (fixture.insertion("Album"), fixture.insertion("Tag"))
        let songs = try (0..<2).map { _ in try fixture.insertion("Song", to: ["album": album.id]) }
        var request = SaveRequest()
        request.insertions = songs + [tag, album]
        request.links = [
            .init(
                owner: album.id, slot: try fixture.relationship("songs", of: "Album").slot,
                order: [songs[1].id, songs[0].id]),
            .init(owner: tag.id, slot: 0, added: songs.map(\.id)),
        ]

        let ids = try fixture.store.save(request).inserted.map(\.id)

        try #require(ids.count == 4)
        let saved = Array(ids[..<2])
        #expect(try fixture.links(ids[3], "songs") == saved.reversed())
        #expect(try fixture.links(ids[2], "media") == saved)
        #expect(try fixture.links(saved[0], "tags") == [ids[2]])
    }

    @Test func `one destination more in a long list writes few pages, wherever it comes`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        let store = try #require(fixture.store as? BTreeStore)
        let person = try fixture.insert("Person")
        var request = SaveRequest()
        request.insertions = try (0..<4000).map { _ in try fixture.insertion("Song") }
        var list = try store.save(request).inserted.ids
        try fixture.link(person, "favourites", order: list)
        let song = try fixture.insert("Song")
        for place in [0, 2000, 4000] {
            var new = list
            new.insert(song, at: place)
            let before = store.statistics.logByteCount
            try fixture.link(person, "favourites", order: new)
            // The list alone fills about 40 pages.
            #expect(store.statistics.logByteCount - before < 12 * 8192, "at \(place)")
            #expect(try fixture.links(person, "favourites") == new)
            try fixture.link(person, "favourites", order: list)
        }
        list.reverse()
        try fixture.link(person, "favourites", order: list)
        #expect(try fixture.links(person, "favourites") == list)
        #expect(try store.check().isOK)
    }
}
