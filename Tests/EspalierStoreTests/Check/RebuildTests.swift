// Derived trees that contradict rows: a check names each kind of fault, a rebuild mends it, and fetches by index and by
// scan then find the same rows.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct RebuildTests {
    /// A store with every kind of list, and its rows.
    private struct Library {
        let fixture: StoreFixture
        var people: [ObjectID] = []
        var albums: [ObjectID] = []
        var songs: [ObjectID] = []
        var tags: [ObjectID] = []
        var lists: [ObjectID] = []

        init(_ kind: StoreKind = .treeInFile) throws {
            fixture = try StoreFixture(kind)
            people = try ["Ada", "Bob", "Cy"].map { try fixture.insert("Person", ["name": .string($0)]) }
            albums = try ["Notes", "More"].map {
                try fixture.insert("Album", ["name": .string($0)], to: ["artist": people[0]])
            }
            songs = try (0..<6).map {
                try fixture.insert(
                    "Song", ["title": .string("song \($0)"), "bitrate": .integer(Int64($0 % 2))],
                    to: ["album": albums[$0 % 2], "owner": people[1]])
            }
            tags = try ["loud", "slow"].map { try fixture.insert("Tag", ["label": .string($0)]) }
            lists = try ["one", "two"].map { try fixture.insert("Playlist", ["name": .string($0)]) }
            for song in songs.prefix(4) { try fixture.link(song, "tags", add: tags) }
            for list in lists { try fixture.link(list, "songs", order: [songs[3], songs[1], songs[2]]) }
            try fixture.link(people[0], "friends", add: [people[1], people[2]])
            try fixture.link(people[0], "favourites", order: [songs[5], songs[0]])
            try fixture.link(people[1], "watched", add: [songs[1], songs[4]])
        }

        var store: BTreeStore { get throws { try #require(fixture.store as? BTreeStore) } }

        /// Changes a tree of the store without the store's knowledge.
        func damage(_ name: String, _ change: (inout WriteTransaction, AnyTree, [[UInt8]]) throws -> Void) throws {
            var transaction = try store.database.beginWrite()
            let tree = try #require(try transaction.tree(named: name))
            var keys: [[UInt8]] = []
            var cursor = try transaction.cursor(over: tree)
            while try cursor.next() {
                keys.append(try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) })
            }
            try change(&transaction, tree, keys)
            try transaction.commit()
        }

        func dropFirst(_ name: String) throws {
            try damage(name) { transaction, tree, keys in _ = try transaction.remove(keys[0], from: tree) }
        }
    }

    private static let derived = [
        "index:Media.title", "index:Song.bitrate", "index:Media.byLengthAndTitle", "unique:Person.name",
        "unique:Album.name,artist", "links:Person.media", "links:Album.songs", "links:Media.tags", "links:Tag.media",
        "links:Song.playlists", "links:Playlist.songs", "links:Person.friends", "links:Person.favourites",
        "owners:Person.favourites", "links:Person.watched", "owners:Person.watched", "links:Person.albums",
    ]

    /// The answers of the store: each list of each row, and the rows that each index finds.
    private func answers(_ library: Library) throws -> [[ObjectID]] {
        let fixture = library.fixture
        var answers: [[ObjectID]] = []
        for (owners, names) in [
            (library.people, ["media", "albums", "friends", "favourites", "watched"]), (library.albums, ["songs"]),
            (library.songs, ["tags", "playlists"]), (library.tags, ["media"]), (library.lists, ["songs"]),
        ] {
            for owner in owners {
                for name in names { answers.append(try fixture.links(owner, name).sorted { $0.key < $1.key }) }
            }
        }
        answers.append(try fixture.find("Song", "title == 'song 3'"))
        answers.append(try fixture.find("Song", "bitrate == 1"))
        answers.append(try fixture.find("Person", "name == 'Ada'"))
        return answers
    }

    @Test(arguments: derived) func `an entry that was dropped is found, and put back by a rebuild`(tree: String) throws
    {
        let library = try Library()
        let before = try answers(library)
        try library.dropFirst(tree)

        let found = try library.store.check().findings
        let plan = try library.store.rebuildDerivedTrees(isDryRun: true)
        let report = try library.store.rebuildDerivedTrees()

        #expect(found.count == 1 && found[0].description.contains(tree), "\(found)")
        #expect(plan.trees == report.trees && plan.after == nil)
        #expect(report.trees.filter(\.isChanged).map(\.added) == [1])
        #expect(report.after?.isOK == true)
        #expect(try answers(library) == before)
        #expect(try library.store.rebuildDerivedTrees().hasChanges == false)
    }

    /// A rebuild cannot restore content that has no second place: one tree has both directions of `friends`.
    @Test(arguments: derived.filter { $0 != "links:Person.friends" })
    func `a tree that was emptied is rebuilt`(tree: String) throws {
        let library = try Library()
        let before = try answers(library)
        try library.damage(tree) { transaction, tree, _ in _ = try transaction.removeAll(from: tree) }

        #expect(try !library.store.check().isOK)
        let report = try library.store.rebuildDerivedTrees()

        #expect(report.after?.isOK == true && report.after?.dangling == [])
        #expect(try answers(library) == before)
    }

    @Test(arguments: derived) func `a tree that is missing as a whole is made anew`(tree: String) throws {
        let library = try Library()
        let before = try answers(library)
        var transaction = try library.store.database.beginWrite()
        let found = try transaction.tree(named: tree)
        try transaction.dropTree(try #require(found))
        try transaction.commit()
        try library.store.close()
        #expect(throws: StoreError.self) { try BTreeStore.openWithStoredModel(path: library.fixture.path) }

        let plan = try BTreeStore.rebuildDerivedTrees(at: library.fixture.path, isDryRun: true)
        let report = try BTreeStore.rebuildDerivedTrees(at: library.fixture.path)

        #expect(plan.trees == report.trees)
        #expect(report.trees.filter(\.wasMissing).map(\.tree) == [tree])
        #expect(report.after?.isOK == true)
        let store = try BTreeStore.openWithStoredModel(path: library.fixture.path)
        #expect(try store.check().isOK)
        try store.close()
        #expect(before.count > 10)
    }

    @Test func `an entry with a wrong flag or entity number is found and gets the right value`() throws {
        for value in [[2, 0, 1], [9, 0, 0], [3, 0, 0], [2, 0], []] as [[UInt8]] {
            let library = try Library()
            try library.damage("index:Media.title") { transaction, tree, keys in
                _ = try transaction.put(value, for: keys[2], in: tree)
            }

            #expect(try library.store.check().isOK == (value == [2, 0, 0]), "\(value)")
            let report = try library.store.rebuildDerivedTrees()

            #expect(report.after?.isOK == true, "\(value)")
            #expect(try library.fixture.find("Song", "title == 'song 2'") == [library.songs[2]])
        }
    }

    @Test func `rows that share unique values both stay, and check and rebuild list them`() throws {
        let library = try Library()
        // A store that had lost the entry of a row would accept a second row with the same value.
        try library.dropFirst("unique:Person.name")
        let second = try library.fixture.insert("Person", ["name": .string("Ada")])

        let found = try library.store.check()
        let report = try library.store.rebuildDerivedTrees()
        let after = try library.store.check()

        let duplicate = StoreDuplicate(
            entity: "Person", properties: ["name"], first: library.people[0], second: second)
        #expect(found.findings.count == 1 && found.duplicates == [duplicate])
        #expect(report.duplicates == [duplicate])
        #expect(after.findings.isEmpty && after.duplicates == [duplicate] && !after.isOK)
        #expect(try library.fixture.find("Person", "name == 'Ada'").count == 2)
    }

    @Test func `unique values that differ only after the part that an entry holds are told apart`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let prefix = String(repeating: "x", count: 600)
        for number in 0..<20 { _ = try fixture.insert("Person", ["name": .string(prefix + "\(number)")]) }
        let store = try #require(fixture.store as? BTreeStore)
        #expect(try store.check().isOK)
        // Make the second row a copy of the ninth.
        var transaction = try store.database.beginWrite()
        let rows = try #require(try transaction.tree(named: "rows:Person", keys: UInt64.self))
        let row = try #require(try transaction.get(9, from: rows))
        try transaction.put(row, for: 2, in: rows)
        try transaction.commit()

        let report = try store.check()

        #expect(report.duplicates.map { [$0.first.key, $0.second.key] } == [[2, 9]])
    }

    @Test func `links to and from rows that are gone are taken out, and to-one values that lead there stay`() throws {
        let library = try Library()
        try library.damage("rows:Media") { transaction, tree, _ in
            _ = try transaction.remove(bigEndian(library.songs[1].key), from: tree)
        }
        try library.damage("rows:Person") { transaction, tree, _ in
            _ = try transaction.remove(bigEndian(library.people[1].key), from: tree)
        }

        let found = try library.store.check()
        let report = try library.store.rebuildDerivedTrees()
        let after = try library.store.check()

        #expect(!found.isOK && !found.dangling.isEmpty)
        #expect(after.isOK && after.dangling.count == 5)
        #expect(after.dangling.allSatisfy { $0.tree == "rows:Media" && $0.problem.contains("owner leads to Person/") })
        #expect(report.keptReferences.count == 5 && report.removedLinks.count >= 8)
        #expect(try library.fixture.links(library.people[0], "friends") == [library.people[2]])
        #expect(try library.fixture.links(library.lists[0], "songs") == [library.songs[3], library.songs[2]])
        let (person, song) = (library.people[1].key, library.songs[1].key)
        for (tree, owner, member) in [
            ("links:Person.friends", person, person), ("links:Person.watched", person, song),
            ("owners:Person.watched", song, person), ("links:Media.tags", song, 0), ("links:Tag.media", 0, song),
            ("links:Song.playlists", song, 0), ("links:Playlist.songs", 0, song),
        ] {
            try library.damage(tree) { _, _, keys in
                let left = keys.filter { $0.starts(with: bigEndian(owner)) || $0.suffix(8) == bigEndian(member)[...] }
                #expect(left.isEmpty, "\(tree): \(left)")
            }
        }
    }

    /// The members of each ordered list, in order.
    private func orders(_ library: Library) throws -> [[ObjectID]] {
        let lists = [
            (library.albums, "songs"), (library.songs, "playlists"), (library.lists, "songs"),
            (library.people, "favourites"),
        ]
        return try lists.flatMap { owners, name in try owners.map { try library.fixture.links($0, name) } }
    }

    @Test func `a member that stands in an ordered list twice is found, and the first place stays`() throws {
        for tree in ["links:Album.songs", "links:Playlist.songs", "links:Song.playlists", "links:Person.favourites"] {
            let library = try Library()
            let before = try orders(library)
            try library.damage(tree) { transaction, tree, keys in
                // Behind all others, as positions begin at 2^62.
                let again = keys[0].prefix(8) + bigEndian(.max - 1) + keys[0].suffix(8)
                let value = try #require(try transaction.get(keys[0], from: tree))
                _ = try transaction.put(value, for: Array(again), in: tree)
            }

            let found = try library.store.check().findings
            let report = try library.store.rebuildDerivedTrees()

            #expect(found.count == 1 && found[0].problem.contains("twice"), "\(tree): \(found)")
            #expect(report.trees.filter(\.isChanged).map(\.removed) == [1])
            #expect(report.after?.isOK == true)
            #expect(try orders(library) == before)
        }
    }

    @Test func `members that both ordered ends name twice are found`() throws {
        let library = try Library()
        for (tree, first, second) in [
            ("links:Playlist.songs", library.lists[0], library.songs[1]),
            ("links:Song.playlists", library.songs[1], library.lists[0]),
        ] {
            try library.damage(tree) { transaction, tree, keys in
                let value = try #require(try transaction.get(keys[0], from: tree))
                let key = bigEndian(first.key) + bigEndian(99) + bigEndian(second.key)
                _ = try transaction.put(value, for: key, in: tree)
            }
        }

        let found = try library.store.check().findings
        let report = try library.store.rebuildDerivedTrees()

        #expect(found.count == 2 && found.allSatisfy { $0.problem.contains("twice") }, "\(found)")
        #expect(report.after?.isOK == true)
    }

    @Test func `counters are made anew, and a key that something still names is not given out again`() throws {
        let library = try Library()
        let last = library.songs[5]
        try library.damage("rows:Media") { transaction, tree, _ in
            _ = try transaction.remove(bigEndian(last.key), from: tree)
        }
        try library.damage("counters") { transaction, tree, _ in _ = try transaction.removeAll(from: tree) }

        let report = try library.store.rebuildDerivedTrees()
        let next = try library.fixture.insert("Song", ["title": .string("new")])

        #expect(report.counters.contains { $0.name == "rows of Song" && $0.before == nil && $0.after == 5 })
        #expect(report.after?.isOK == true)
        #expect(next.key > last.key)
    }

    @Test func `a required value that is missing is found`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Song", attributes: [AttributeDescription("title", .string, isOptional: false)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: "songs", isOptional: false)]),
            EntityDescription(
                "Album", relationships: [RelationshipDescription("songs", to: "Song", inverse: "album", .toMany)]),
        ])
        let store = try BTreeStore.inMemory(model: model)
        let song = try #require(model.entity(named: "Song"))
        var request = SaveRequest()
        request.insertions = [
            .init(id: try store.reserveIDs(for: song, count: 1)[0], values: [.null], destinations: [nil])
        ]
        _ = try store.save(request)

        let report = try store.check()

        #expect(report.isOK)
        #expect(
            report.unsetValues.map(\.problem) == [
                "title has no value, but requires one", "album has no destination, but requires one",
            ])
    }

    @Test func `rows whose keys are far apart are found like others`() throws {
        let library = try Library(.treeInMemory)
        var chance = SeededGenerator(seed: testSeed(default: 5100))
        try library.damage("rows:Media") { transaction, tree, keys in
            let row = try #require(try transaction.get(bigEndian(library.songs[0].key), from: tree))
            for _ in 0..<300 {
                _ = try transaction.put(row, for: bigEndian(.random(in: 100..<(1 << 47), using: &chance)), in: tree)
            }
        }

        let report = try library.store.rebuildDerivedTrees()

        #expect(report.after?.isOK == true && report.after?.rowCounts["Song"] == 306)
        #expect(try library.fixture.links(library.albums[0], "songs").count == 303)
    }

    @Test func `of many findings of a tree the first are listed, and how many more there are`() throws {
        let library = try Library(.treeInMemory)
        try library.damage("index:Media.title") { transaction, tree, _ in
            for number in 0..<2500 as Range<UInt64> {
                _ = try transaction.put([2, 0, 0], for: [1, 65, 0, 0] + bigEndian(100_000 + number), in: tree)
            }
        }

        let findings = try library.store.check().findings
        let report = try library.store.rebuildDerivedTrees()

        #expect(findings.count == 1001)
        #expect(findings.last?.problem == "1500 more findings of this kind are not listed")
        #expect(report.trees.filter(\.isChanged).map(\.removed) == [2500] && report.after?.isOK == true)
    }

    @Test func `a check that is told to stop stops, and a rebuild that is told to stop changes nothing`() throws {
        let library = try Library(.treeInMemory)
        // Damage trees that are read first, in the middle and last.
        try library.damage("counters") { transaction, tree, _ in _ = try transaction.removeAll(from: tree) }
        for (name, value) in [("index:Media.title", [2, 0, 0]), ("owners:Person.watched", [2])] as [(String, [UInt8])] {
            try library.damage(name) { transaction, tree, _ in
                for number in 0..<3000 as Range<UInt64> {
                    _ = try transaction.put(value, for: [1, 65, 0, 0] + bigEndian(100_000 + number), in: tree)
                }
            }
        }
        let before = try library.store.check().findings
        var stopCount = 0
        while true {
            var callCount = 0
            let report = try library.store.rebuildDerivedTrees { _ in
                callCount += 1
                return callCount <= stopCount
            }
            if report.mended.isComplete { break }
            stopCount += 1
            callCount = 0

            let check = try library.store.check { _ in
                callCount += 1
                return callCount < stopCount
            }

            #expect(report.after == nil)
            #expect(!check.isComplete && !check.isOK)
            let isAsBefore = try library.store.check().findings == before
            #expect(isAsBefore, "stopped at call \(stopCount)")
        }
        #expect(stopCount > 3)
        #expect(try library.store.check().isOK)
    }
}

private func bigEndian(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
}
