// Content that was damaged below the store: an error names the place, a check finds everything, and nothing traps.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreDamageTests {
    /// A store in a file with a person, an album and two songs.
    private func library() throws -> (fixture: StoreFixture, person: ObjectID, album: ObjectID, songs: [ObjectID]) {
        let fixture = try StoreFixture(.treeInFile)
        let person = try fixture.insert("Person", ["name": .string("Ada")])
        let album = try fixture.insert("Album", ["name": .string("Notes")], to: ["artist": person])
        let songs = try ["one", "two"].map { try fixture.insert("Song", ["title": .string($0)], to: ["album": album]) }
        try fixture.link(person, "favourites", order: songs)
        return (fixture, person, album, songs)
    }

    /// Changes a tree of the store without the store's knowledge.
    private func damage<Key>(
        _ fixture: StoreFixture, _ name: String, _ keys: Key.Type,
        _ change: (inout WriteTransaction, Tree<Key>) throws -> Void
    ) throws {
        let database = try #require(fixture.store as? BTreeStore).database
        var transaction = try database.beginWrite()
        let tree = try #require(try transaction.tree(named: name, keys: keys))
        try change(&transaction, tree)
        try transaction.commit()
    }

    private func findings(_ fixture: StoreFixture) throws -> [String] {
        try #require(fixture.store as? BTreeStore).check().findings.map(\.description)
    }

    @Test func `a sound store has no findings and the right counts`() throws {
        let (fixture, _, _, _) = try library()

        let report = try #require(fixture.store as? BTreeStore).check()

        #expect(report.isOK && report.dangling.isEmpty)
        #expect(report.rowCounts == ["Person": 1, "Album": 1, "Song": 2])
        #expect(report.linkCount == 5)
    }

    @Test func `an error about the file begins with its path, whatever was asked of the store`() throws {
        let (fixture, person, _, songs) = try library()
        let store = try #require(fixture.store as? BTreeStore)
        let song = try fixture.entity("Song")
        let update = try fixture.update(songs[0], ["title": .string("other")])
        try damage(fixture, "rows:Media", UInt64.self) { try $0.put([1], for: songs[0].key, in: $1) }
        try damage(fixture, "links:Person.favourites", [UInt8].self) { transaction, tree in
            try transaction.put([], for: [0, 0, 0, 0, 0, 0, 0, UInt8(person.key)], in: tree)
        }
        try damage(fixture, "metadata", [UInt8].self) { try $0.put([0xFF], for: [1], in: $1) }
        var request = SaveRequest()
        request.updates = [update]
        let favourites = try fixture.relationship("favourites", of: "Person")

        var errors = [
            #expect(throws: StoreError.self) { try store.fetch(StoreFetch(entity: song)) },
            #expect(throws: StoreError.self) { try store.snapshots(of: [songs[0]]) },
            #expect(throws: StoreError.self) { try store.destinations(of: favourites, for: [person]) },
            #expect(throws: StoreError.self) { try store.metadata() },
            #expect(throws: StoreError.self) { try store.save(request) },
        ]
        try store.close()
        let reader = try BTreeStore.open(path: fixture.path, model: fixture.model, isReadOnly: true)
        errors += [
            #expect(throws: StoreError.self) { try reader.save(request) },
            #expect(throws: StoreError.self) { try reader.setMetadata([:]) },
            #expect(throws: StoreError.self) { try reader.reserveIDs(for: song, count: 1) },
            #expect(throws: StoreError.self) { try reader.rebuildDerivedTrees() },
            #expect(throws: StoreError.self) { try BTreeStore.open(path: fixture.path, model: fixture.model) },
        ]

        #expect(errors.compactMap { $0?.description }.filter { !$0.hasPrefix("\(fixture.path): ") } == [])
        #expect(errors.count { $0 != nil } == 10)
        try reader.close()
    }

    @Test func `every prefix and every changed byte of a row is read or reported, never a trap`() throws {
        let (fixture, _, _, songs) = try library()
        let database = try #require(fixture.store as? BTreeStore).database
        let tree = try #require(try database.beginRead().tree(named: "rows:Media", keys: UInt64.self))
        let row = try #require(try database.beginRead().get(songs[0].key, from: tree))
        var damaged = (0..<row.count).map { Array(row.prefix($0)) }
        for offset in row.indices {
            for bit in 0..<8 {
                damaged.append(row)
                damaged[damaged.count - 1][offset] ^= 1 << bit
            }
        }
        damaged.append(row + [0])

        for bytes in damaged {
            try damage(fixture, "rows:Media", UInt64.self) { _ = try $0.put(bytes, for: songs[0].key, in: $1) }
            do {
                let snapshots = try fixture.store.fetch(fixture.request("Song", sort: [SortKey("title")]))
                for snapshot in snapshots {
                    let entity = try fixture.entity("Song")
                    for slot in entity.attributes.indices { _ = snapshot.value(at: slot) }
                    for slot in entity.relationships.indices { _ = snapshot.destination(at: slot) }
                }
            } catch StoreError.damagedContent(_, let entity, let key, _) {
                #expect(entity == "Media" && key == songs[0].key)
            }
            _ = try findings(fixture)
        }
    }

    @Test func `a lost index entry is found`() throws {
        let (fixture, _, _, songs) = try library()
        try damage(fixture, "index:Media.title", [UInt8].self) { transaction, tree in
            var key: [UInt8] = []
            KeyCoding.append(.string("one"), as: .string, to: &key)
            let wasThere = try transaction.remove(key + bigEndian(songs[0].key), from: tree)
            #expect(wasThere)
        }

        let found = try findings(fixture)

        #expect(found.contains { $0.contains("key \(songs[0].key): the row has no entry") })
        #expect(found.count == 1)
    }

    @Test func `an entry without row, and one that is no entry, are found`() throws {
        let (fixture, _, _, _) = try library()
        try damage(fixture, "index:Media.title", [UInt8].self) { transaction, tree in
            var key: [UInt8] = []
            KeyCoding.append(.string("ghost"), as: .string, to: &key)
            _ = try transaction.put([2, 0, 0], for: key + bigEndian(99), in: tree)
            _ = try transaction.put([1], for: [1, 2, 3], in: tree)
        }

        #expect(try findings(fixture).filter { $0.contains("refers to no row") }.count == 2)
        #expect(try fixture.find("Song", "title == 'ghost'").isEmpty)
        // More rows, without which they would be sorted.
        for number in 0..<20 { _ = try fixture.insert("Song", ["title": .string("song \(number)")]) }
        let request = try fixture.request("Song", sort: [SortKey("title")], limit: 5)
        #expect(try fixture.store.explain(request).contains("order: by index"))
        let error = #expect(throws: StoreError.self) { try fixture.store.fetch(request) }
        if case .damagedContent = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test func `a list that contradicts its rows is found, in both directions`() throws {
        let (fixture, person, album, songs) = try library()
        try damage(fixture, "links:Album.songs", [UInt8].self) { transaction, tree in
            // The first entry of a list has the position in the middle of the range.
            let first = bigEndian(album.key) + bigEndian(1 << 62) + bigEndian(songs[0].key)
            let wasThere = try transaction.remove(first, from: tree)
            #expect(wasThere)
        }
        try damage(fixture, "owners:Person.favourites", [UInt8].self) { transaction, tree in
            _ = try transaction.remove(bigEndian(songs[1].key) + bigEndian(person.key), from: tree)
        }

        let found = try findings(fixture)

        #expect(found.contains { $0.contains("the list lacks Song \(songs[0].key), whose album leads to this row") })
        #expect(found.contains { $0.contains("is missing in tree \"owners:Person.favourites\"") })
        #expect(found.count == 2)
    }

    @Test func `values that must be unique and are there twice are found`() throws {
        let (fixture, person, _, _) = try library()
        let bob = try fixture.insert("Person", ["name": .string("Bob")])
        try damage(fixture, "rows:Person", UInt64.self) { transaction, tree in
            let row = try #require(try transaction.get(person.key, from: tree))
            _ = try transaction.put(row, for: bob.key, in: tree)
        }
        try damage(fixture, "unique:Person.name", [UInt8].self) { transaction, tree in
            var (ada, old): ([UInt8], [UInt8]) = ([], [])
            KeyCoding.append(.string("Ada"), as: .string, to: &ada)
            KeyCoding.append(.string("Bob"), as: .string, to: &old)
            let value = try #require(try transaction.get(ada + bigEndian(person.key), from: tree))
            _ = try transaction.put(value, for: ada + bigEndian(bob.key), in: tree)
            _ = try transaction.remove(old + bigEndian(bob.key), from: tree)
        }

        let duplicates = try #require(fixture.store as? BTreeStore).check().duplicates

        #expect(
            duplicates.map(\.description) == [
                "Person/\(person.key) and Person/\(bob.key) have the same name, which must be unique."
            ])
    }

    @Test func `wrong counters are found`() throws {
        let (fixture, _, _, _) = try library()
        try damage(fixture, "counters", UInt64.self) { transaction, tree in
            var cursor = try transaction.cursor(over: tree)
            var keys: [UInt64] = []
            var isOnEntry = try cursor.first()
            while isOnEntry {
                keys.append(try cursor.key)
                isOnEntry = try cursor.next()
            }
            for key in keys { _ = try transaction.put([0, 0, 0, 0, 0, 0, 0, 0], for: key, in: tree) }
        }

        let found = try findings(fixture)

        #expect(found.contains { $0.contains("the counter states 0 rows, but there are 2") })
        #expect(found.contains { $0.contains("the last allocated key is 0") })
    }

    @Test(arguments: [.max, .max - 1, 1 << 63, 1 << 62] as [UInt64])
    func `counters of any size give answers or errors, and no trap`(_ forged: UInt64) throws {
        let (fixture, person, album, songs) = try library()
        let store = try #require(fixture.store as? BTreeStore)
        let update = try fixture.update(songs[0], ["title": .string("other")])
        try damage(fixture, "counters", UInt64.self) { transaction, tree in
            var cursor = try transaction.cursor(over: tree)
            var keys: [UInt64] = []
            var isOnEntry = try cursor.first()
            while isOnEntry {
                keys.append(try cursor.key)
                isOnEntry = try cursor.next()
            }
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: forged >> (8 * $0)) }
            for key in keys { _ = try transaction.put(bytes, for: key, in: tree) }
        }
        var (change, insertion, deletion) = (SaveRequest(), SaveRequest(), SaveRequest())
        change.updates = [update]
        insertion.insertions = [try fixture.insertion("Song", ["title": .string("three")])]
        deletion.deletions = [.init(id: album, expectedVersion: 1)]

        let snapshot = try store.snapshot()
        for entity in ["Media", "Song", "Person"] {
            for (offset, limit) in [(0, nil), (Int.max, nil), (1, 3), (Int.max, 3), (Int.max, Int.max)] as [(Int, Int?)]
            {
                var fetch = try fixture.request(entity)
                (fetch.offset, fetch.limit) = (offset, limit)
                _ = try snapshot.count(fetch)
                _ = try snapshot.fetch(fetch)
            }
        }
        #expect(try !findings(fixture).isEmpty)
        for request in [change, insertion, deletion] { try orDamaged { _ = try store.save(request) } }
        for count in [0, 1, Int.max] {
            // So many IDs do not fit into memory: they are asked for only where no key is left.
            guard count < Int.max || forged > UInt64(Int.max) else { continue }
            try orDamaged { _ = try store.reserveIDs(for: try fixture.entity("Song"), count: count) }
        }
        #expect(try store.rebuildDerivedTrees().after?.isOK == true)
        #expect(try fixture.value(person, "name") == .string("Ada"))
    }

    @Test func `a row at the greatest version is not changed and does not come again, and the error names it`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let store = try #require(fixture.store as? BTreeStore)
        let person = try fixture.insert("Person")
        let note = try fixture.insert("Note")
        try fixture.delete(person, note)
        let greatest = UInt64(Int64.max)
        // Rows that come again begin after the version that the counter states.
        try damage(fixture, "counters", UInt64.self) { transaction, tree in
            var cursor = try transaction.cursor(over: tree)
            var keys: [UInt64] = []
            var isOnEntry = try cursor.first()
            while isOnEntry {
                keys.append(try cursor.key)
                isOnEntry = try cursor.next()
            }
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: (greatest - 1) >> (8 * $0)) }
            for key in keys where key >> 32 == 4 { _ = try transaction.put(bytes, for: key, in: tree) }
        }
        var again = SaveRequest()
        again.insertions = [
            try fixture.insertion("Person", ["name": .string("Ada"), "born": .integer(1815)]),
            try fixture.insertion("Note", ["text": .string("one")]),
        ]
        (again.insertions[0].id, again.insertions[1].id) = (person, note)
        #expect(try store.save(again).inserted.map(\.version) == [greatest, greatest])

        // In place, and anew: for another length, and for an index.
        for (id, name, value) in [
            (person, "born", .integer(1816)), (note, "text", .string("another")), (person, "name", .string("Eva")),
        ] as [(ObjectID, String, AttributeValue)] {
            expectGreatest(of: id) { try fixture.change(id, [name: value]) }
        }
        for (id, name, format) in [(person, "born", "born + 1"), (note, "text", "uppercase(text)")] {
            let values = try store.assignments(id.entityName, [name: try FetchExpression(format: format)])
            let command = StoreCommand(.update(try store.rows(id.entityName), values))
            expectGreatest(of: id) { _ = try store.execute(command) }
        }
        try expectValues(fixture, person, note)
        try fixture.delete(person, note)
        expectGreatest(of: person) { _ = try store.save(again) }
        #expect(try store.snapshots(of: [person, note]).allSatisfy { $0 == nil })
    }

    private func expectGreatest(of id: ObjectID, _ call: () throws -> Void) {
        do {
            try call()
            Issue.record("\(id) was changed")
        } catch StoreError.damagedContent(_, id.entityName, id.key, let reason) {
            #expect(reason.hasSuffix("the greatest one"))
        } catch {
            Issue.record("\(id): \(error)")
        }
    }

    private func expectValues(_ fixture: StoreFixture, _ person: ObjectID, _ note: ObjectID) throws {
        #expect(try fixture.value(person, "name") == .string("Ada"))
        #expect(try fixture.value(person, "born") == .integer(1815))
        #expect(try fixture.value(note, "text") == .string("one"))
    }

    private func orDamaged(_ call: () throws -> Void) throws {
        do { try call() } catch StoreError.damagedContent {}
    }

    @Test(arguments: ["format", "model", "entity:1", "layout:1"])
    func `a lost or damaged schema record keeps the store closed, with a reason`(record: String) throws {
        for bytes in [nil, [], [1, 2, 3]] as [[UInt8]?] {
            let (fixture, _, _, _) = try library()
            try damage(fixture, "schema", [UInt8].self) { transaction, tree in
                if let bytes {
                    _ = try transaction.put(bytes, for: Array(record.utf8), in: tree)
                } else {
                    _ = try transaction.remove(Array(record.utf8), from: tree)
                }
            }
            try fixture.store.close()

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: fixture.path, model: fixture.model)
            }

            switch error {
            case .damagedContent, .incompatibleModel: break
            default: Issue.record("\(record): \(String(describing: error))")
            }
        }
    }

    @Test(arguments: [0, 3, .max] as [UInt16])
    func `rows in a format that this library does not know keep the store closed, and it says so`(
        _ format: UInt16
    ) throws {
        let (fixture, _, _, _) = try library()
        try damage(fixture, "schema", [UInt8].self) { transaction, tree in
            let bytes = [UInt8(truncatingIfNeeded: format), UInt8(format >> 8)]
            _ = try transaction.put(bytes, for: Array("format".utf8), in: tree)
        }
        try fixture.store.close()
        let error = #expect(throws: StoreError.self) {
            try BTreeStore.open(path: fixture.path, model: fixture.model)
        }
        let sentence = "the rows are in format \(format), but this library reads only formats 1 to 2"
        #expect(error?.description == "\(fixture.path): \(sentence)")
    }

    private func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }
}
