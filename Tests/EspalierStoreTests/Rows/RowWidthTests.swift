// Rows whose numbers have the least sufficient width: at the ends of each width, and when a change needs a wider one.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct RowWidthTests {
    /// Numbers at both ends of each width.
    private static let numbers: [Int64] = [7, 15, 31, 63].flatMap { bits in
        let end = Int64.max >> (63 - bits)
        return bits == 63 ? [end, ~end] : [end, ~end, end + 1, ~end - 1]
    }

    @Test func `a number that grows or shrinks is kept, whatever its row was made for`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let book = try fixture.insert("Book", ["title": .string("kept"), "pages": .integer(0), "isbn": .string("1")])
        for number in Self.numbers + Self.numbers.reversed() {
            try fixture.change(book, ["pages": .integer(number)])
            try fixture.reopen()
            let row = try #require(try fixture.store.snapshots(of: [book])[0])
            let entity = try fixture.entity("Book")
            #expect(row.value(at: try #require(entity.attribute(named: "pages")).slot) == .integer(number))
            #expect(row.value(at: try #require(entity.attribute(named: "title")).slot) == .string("kept"))
        }
        try fixture.change(book, ["pages": .null])
        try fixture.reopen()
        let row = try #require(try fixture.store.snapshots(of: [book])[0])
        #expect(row.value(at: try #require(try fixture.entity("Book").attribute(named: "pages")).slot) == .null)
    }

    @Test func `a row is saved more often than its version first had room for`() throws {
        let fixture = try StoreFixture(.treeInFile)
        let album = try fixture.insert("Album", ["name": .string("often"), "year": .integer(0)])
        for year in 1...300 { try fixture.change(album, ["year": .integer(Int64(year))]) }
        try fixture.reopen()
        let row = try #require(try fixture.store.snapshots(of: [album])[0])
        #expect(row.version == 301)
        #expect(row.value(at: try #require(try fixture.entity("Album").attribute(named: "year")).slot) == .integer(300))
    }

    @Test func `one reader finds the destinations in rows of several widths, entities and stores`() throws {
        var reader: DestinationReader?
        for kind in StoreKind.allCases {
            let fixture = try StoreFixture(kind)
            let slot = try fixture.relationship("owner", of: "Media").slot
            var ids: [ObjectID] = []
            for lastKey in [0, 0xFFFE, 0xFFFF_FFFE] as [UInt64] {
                if lastKey > 0, fixture.store is BTreeStore {
                    try giveOutKeys(after: lastKey, ofEntity: "Person", fixture)
                }
                let person = try fixture.insert("Person", ["name": .string("\(lastKey)")])
                for entityName in ["Song", "Book"] {
                    ids.append(try fixture.insert(entityName, to: ["owner": person]))
                    ids.append(try fixture.insert(entityName))
                }
            }
            let rows = try fixture.store.snapshots(of: ids + ids.reversed()).compactMap { $0 }
            #expect(rows.count == 2 * ids.count && rows.contains { $0.destination(at: slot) != nil })
            for row in rows {
                var present = reader ?? DestinationReader(slot: slot)
                #expect(present.destination(in: row.content, at: row.place) == row.destination(at: slot))
                reader = present
            }
        }
    }

    @Test(arguments: [0xFFFE, 0xFF_FFFE, 0xFFFF_FFFE] as [UInt64])
    func `a destination is found whatever its primary key, also after it took the place of a nearer one`(
        _ lastKey: UInt64
    ) throws {
        let fixture = try StoreFixture(.treeInFile)
        let near = try fixture.insert("Album", ["name": .string("near")])
        let song = try fixture.insert("Song", ["title": .string("song")], to: ["album": near])
        try giveOutKeys(after: lastKey, ofEntity: "Album", fixture)
        for name in ["last of its width", "first of the next"] {
            let far = try fixture.insert("Album", ["name": .string(name)])
            #expect(far.key > lastKey)
            let second = try fixture.insert("Song", ["title": .string(name)], to: ["album": far])
            try fixture.change(song, to: ["album": far])
            try fixture.reopen()
            let slot = try fixture.relationship("album", of: "Song").slot
            for row in try fixture.store.snapshots(of: [song, second]) { #expect(row?.destination(at: slot) == far) }
            #expect(try #require(fixture.store as? BTreeStore).check().isOK)
        }
    }

    @Test func `a store has more entities than a byte can count`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            let count = 300
            let model = try ManagedObjectModel(
                entities: (0..<count).map { number in
                    EntityDescription(
                        "Entity\(number)", attributes: [AttributeDescription("number", .integer64)],
                        relationships: [RelationshipDescription("next", to: "Entity\((number + 1) % count)")])
                })
            var store = try BTreeStore.open(path: path, model: model)
            var request = SaveRequest()
            for entity in model.entities {
                request.insertions.append(
                    .init(
                        id: ObjectID(temporaryFor: entity.name), values: [.integer(Int64(entity.index) << 20)],
                        destinations: [nil]))
            }
            for index in 0..<count {
                request.insertions[index].destinations = [request.insertions[(index + 1) % count].id]
            }
            let ids = try store.save(request).inserted.map(\.id)
            try store.close()
            store = try BTreeStore.open(path: path, model: model)
            for (index, row) in try store.snapshots(of: ids).enumerated() {
                #expect(row?.value(at: 0) == .integer(Int64(model.entities[index].index) << 20))
                #expect(row?.destination(at: 0) == ids[(index + 1) % count])
            }
            for entity in model.entities { #expect(try store.fetch(StoreFetch(entity: entity)).count == 1) }
            try store.close()
        }
    }

    /// Makes the store assign primary keys after `lastKey` to rows of an entity that has no superentity.
    private func giveOutKeys(after lastKey: UInt64, ofEntity name: String, _ fixture: StoreFixture) throws {
        let database = try #require(fixture.store as? BTreeStore).database
        var transaction = try database.beginWrite()
        let counters = try #require(try transaction.tree(named: "counters", keys: UInt64.self))
        let number = UInt64(try fixture.entity(name).index + 1)
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: lastKey >> (8 * $0)) }
        let isReplaced = try transaction.put(bytes, for: 2 << 32 | number, in: counters)
        try #require(isReplaced)
        try transaction.commit()
    }
}
