// Everything in a store of each kind arrives in a store of each other kind, under the keys that it had.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct StoreCopyTests {
    /// Rows of every kind of relationship, values of every type, gaps between the keys.
    private func fill(_ fixture: StoreFixture, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let people = try (0..<4).map { try fixture.insert("Person", ["name": .string("Pérson \($0)")]) }
        let albums = try (0..<3).map {
            try fixture.insert("Album", ["name": .string("\($0)")], to: ["artist": people[$0]])
        }
        let tags = try (0..<3).map { try fixture.insert("Tag", ["label": .string("t\($0)")]) }
        let songs = try (0..<9).map { number in
            try fixture.insert(
                "Song", ["title": .string("s\(number)")],
                to: ["album": random.pick(albums), "owner": random.pick(people)])
        }
        let book = try fixture.insert("Book", ["isbn": .string("1")])
        let note = try fixture.insert("Note", ["text": .string("日本")])
        try fixture.change(people[0], to: ["note": note])
        let list = try fixture.insert("Playlist", ["name": .string("p")])
        try fixture.link(list, "songs", order: [songs[4], songs[1], songs[7]])
        try fixture.link(people[1], "favourites", order: [book, songs[2]])
        try fixture.link(people[2], "watched", add: [songs[3], book])
        try fixture.link(people[0], "friends", add: [people[1], people[0]])
        for song in songs { try fixture.link(song, "tags", add: [random.pick(tags)]) }
        try fixture.link(albums[0], "songs", order: Array(fixture.links(albums[0], "songs").reversed()))
        let entity = try fixture.entity("Sample")
        for _ in 0..<5 {
            var row = try fixture.insertion("Sample")
            row.values = entity.attributes.map { random.oneIn(5) ? .null : random.value(of: $0.type) }
            var request = SaveRequest()
            request.insertions = [row]
            _ = try fixture.store.save(request)
        }
        try fixture.delete(songs[5], tags[0])
        try fixture.store.setMetadata([
            "name": .string("Llibrary"), "at": .date(Date(timeIntervalSinceReferenceDate: 1)),
        ])
    }

    private func expectEqual(_ source: StoreFixture, _ target: StoreFixture, _ copy: StoreCopy) throws {
        var count = 0
        for root in source.model.entities where root.root == root.index {
            for row in try source.store.fetch(StoreFetch(entity: root)) {
                count += 1
                let id = try #require(copy.id(of: row.id))
                let new = try #require(try target.store.snapshots(of: [id])[0], "\(row.id)")
                let entity = try source.entity(row.id.entityName)
                for attribute in entity.attributes {
                    let (old, value) = (row.value(at: attribute.slot), new.value(at: attribute.slot))
                    #expect(value.compare(old) == .orderedSame, "\(attribute.name) of \(row.id)")
                }
                for relationship in entity.relationships {
                    guard relationship.isToMany else {
                        let destination = row.destination(at: relationship.slot).flatMap(copy.id)
                        #expect(new.destination(at: relationship.slot) == destination, "\(relationship.name)")
                        continue
                    }
                    let old = try source.store.destinations(of: relationship, for: [row.id])[0].compactMap(copy.id)
                    let list = try target.store.destinations(of: relationship, for: [id])[0]
                    if relationship.isOrdered {
                        #expect(list == old, "\(relationship.name) of \(row.id)")
                    } else {
                        #expect(Set(list) == Set(old) && list.count == old.count, "\(relationship.name) of \(row.id)")
                    }
                }
            }
            #expect(
                try target.store.count(StoreFetch(entity: root)) == source.store.count(StoreFetch(entity: root)))
        }
        #expect(count >= 25)
        #expect(try target.store.metadata() == source.store.metadata())
    }

    @Test(arguments: StoreKind.allCases, StoreKind.allCases)
    func `rows, lists and metadata of every kind of store arrive in every kind (PS-03)`(
        from: StoreKind, to: StoreKind
    ) throws {
        let source = try StoreFixture(from)
        try fill(source, seed: testSeed(default: 17))
        let target = try StoreFixture(to, source.model)

        let copy = try source.store.copy(to: target.store)

        try expectEqual(source, target, copy)
        if from != .outside && to != .outside && to != .xmlFile {
            for id in try source.store.fetchIDs(source.request("Media")) {
                #expect(copy.id(of: id)?.key == id.key && copy.id(of: id)?.storeIdentifier == target.store.identifier)
            }
        }
        #expect(copy.id(of: ObjectID(temporaryFor: "Song")) == nil)
        try target.reopen()
        try expectEqual(source, target, copy)
        // Later rows get other keys.
        let next = try target.insert("Song", ["title": .string("later")])
        #expect(try !source.store.fetchIDs(source.request("Song")).compactMap(copy.id).contains(next))
        #expect(throws: StoreError.self) { try source.store.copy(to: target.store) }
    }
}
