// Each kind of step from one model to another: the content that it keeps, its cost, and the cases that it refuses.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct MigrationTests {
    // MARK: Steps in constant time

    @Test func `a new optional attribute touches no row, and rows that are saved later have it`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model {
                $0[1].attributes.append(AttributeDescription("rating", .integer16))
            }

            let store = try BTreeStore.open(path: path, model: model)

            let album = try #require(model.entity(named: "Album"))
            let rating = try #require(album.attribute(named: "rating")).slot
            let id = try #require(try store.fetchIDs(StoreFetch(entity: album)).first)
            #expect(try store.snapshots(of: [id])[0]?.value(at: rating) == .null)
            var update = SaveRequest.Update(id: id, expectedVersion: 1)
            update.values = [(rating, .integer(5))]
            var request = SaveRequest()
            request.updates = [update]
            _ = try store.save(request)
            #expect(try store.snapshots(of: [id])[0]?.value(at: rating) == .integer(5))
            #expect(try store.snapshots(of: [id])[0]?.value(at: 1) == .string("album 11"))
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `entities and properties that are renamed keep everything, and no row is written`() throws {
        try MigrationLibrary.migrating { entities in
            entities[0].name = "Musician"
            entities[0].renamingIdentifier = "Artist"
            entities[0].attributes[1].name = "fullName"
            entities[0].attributes[1].renamingIdentifier = "name"
            entities[0].relationships[0].name = "records"
            entities[0].relationships[0].renamingIdentifier = "albums"
            entities[0].relationships[0].inverse = "musician"
            entities[1].relationships[0] = RelationshipDescription(
                "musician", to: "Musician", inverse: "records", renamingIdentifier: "artist")
            entities[1].indexes = [.init("byArtist", on: [.init("musician"), .init("title")])]
        } _: { before, after, plan in
            #expect(plan.outcome?.isConstantTime == true && plan.difference.isConstantTime)
            #expect(after.rows(of: "Musician").count == 3 && after.rows(of: "Artist").isEmpty)
            for serial in 1...3 as ClosedRange<Int64> {
                #expect(after.value(serial, "fullName") == before.value(serial, "name"))
                #expect(after.list(serial, "records") == before.list(serial, "albums"))
                #expect(after.list(serial, "notes") == before.list(serial, "notes"))
            }
            for serial in 11...22 as ClosedRange<Int64> {
                #expect(after.reference(serial, "musician") == before.reference(serial, "artist"))
            }
        }
    }

    @Test func `two entities that exchange their names exchange their rows`() throws {
        try MigrationLibrary.migrating { entities in
            (entities[2].name, entities[2].renamingIdentifier) = ("Note", "Genre")
            (entities[3].name, entities[3].renamingIdentifier) = ("Genre", "Note")
            entities[0].relationships[1].destination = "Genre"
            entities[1].relationships[1].destination = "Note"
        } _: { before, after, plan in
            #expect(plan.outcome?.isConstantTime == true)
            #expect(after.rows(of: "Note").keys.sorted() == [31, 32, 33])
            #expect(after.list(1, "notes") == [41, 42] && after.list(11, "genres") == before.list(11, "genres"))
        }
    }

    @Test func `an attribute that is removed and comes back later does not bring old values along`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let without = try MigrationLibrary.model { $0[3].attributes.removeLast() }
            let options = MigrationOptions(allowing: [.removal(of: "Note.text")])
            try BTreeStore.open(path: path, model: without, migration: options).close()

            let store = try BTreeStore.open(path: path, model: MigrationLibrary.model { _ in })

            #expect(try GraphDump(store).rows(of: "Note").values.allSatisfy { $0.values["text"] == .null })
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `an entity that is removed and comes back later is empty and takes rows`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let without = try MigrationLibrary.model { entities in
                entities.removeLast()
                entities[0].relationships.removeLast()
            }
            let options = MigrationOptions(allowing: [.removal(of: "Note"), .removal(of: "Artist.notes")])
            try BTreeStore.open(path: path, model: without, migration: options).close()

            let model = try MigrationLibrary.model { _ in }
            let store = try BTreeStore.open(path: path, model: model)

            #expect(try GraphDump(store).rows(of: "Note").isEmpty && store.check().isOK)
            var graph = GraphInsertion(model)
            try graph.add(91, "Note", ["text": .string("new")])
            try graph.save(in: store)
            #expect(try GraphDump(store).value(91, "text") == .string("new"))
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `the name of a removed entity is free for another one that is renamed`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let options = MigrationOptions(allowing: [.removal(of: "Note"), .removal(of: "Artist.notes")])
            var entities = Array(MigrationLibrary.library().dropLast())
            entities[0].relationships.removeLast()
            let without = try ManagedObjectModel(entities: entities)
            try BTreeStore.open(path: path, model: without, migration: options).close()
            (entities[2].name, entities[2].renamingIdentifier) = ("Note", "Genre")
            entities[1].relationships[1].destination = "Note"
            let renamed = try ManagedObjectModel(entities: entities)
            try BTreeStore.open(path: path, model: renamed).close()
            let store = try BTreeStore.open(path: path, model: renamed)
            #expect(try GraphDump(store).rows(of: "Note").keys.sorted() == [31, 32, 33])
            #expect(try GraphDump(store).list(11, "genres").count == 2 && store.check().isOK)
            try store.close()
        }
    }

    // MARK: Losses

    @Test func `what would be lost is refused by its name, and allowed by it`() throws {
        func change(_ entities: inout [EntityDescription]) {
            entities[1].attributes.removeLast()
            entities[0].relationships[0].cardinality = .toMany
            entities.removeLast()
            entities[0].relationships.removeLast()
        }
        let losses: [MigrationLoss] = [
            .order(of: "Artist.albums"), .removal(of: "Artist.notes"), .removal(of: "Album.price"),
            .removal(of: "Note"),
        ]

        let refused = try MigrationLibrary.refusal(of: change)
        #expect(Set(refused?.losses ?? []) == Set(losses) && refused?.failures == [])
        #expect(refused?.description.contains("removal of Album.price") == true)
        #expect(
            try MigrationLibrary.refusal(of: change, allowing: [losses[0], losses[2]])?.losses.sorted() == [
                losses[1], losses[3],
            ])
        try MigrationLibrary.migrating(change, allowing: Set(losses)) { before, after, _ in
            #expect(after.rows.count == before.rows.count - 4 && after.rows(of: "Note").isEmpty)
            #expect(after.rows[11]?.values == ["title": .string("album 11")])
            #expect(after.list(1, "albums") == before.list(1, "albums").sorted())
        }
    }

    @Test func `an older model loses nothing in silence`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let newer = try MigrationLibrary.model { $0[3].attributes.append(AttributeDescription("colour", .string)) }
            try BTreeStore.open(path: path, model: newer).close()

            let plan = try BTreeStore.migrationPlan(at: path, to: try MigrationLibrary.model { _ in })

            #expect(plan.refusal?.losses == [.removal(of: "Note.colour")])
            #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: try MigrationLibrary.model { _ in })
            }
            let store = try BTreeStore.open(path: path, model: newer)
            #expect(try store.check().isOK)
            try store.close()
        }
    }

    @Test func `a store that may not migrate refuses another model with a reason for each entity`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let newer = try MigrationLibrary.model { $0[3].attributes.append(AttributeDescription("colour", .string)) }

            for isReadOnly in [false, true] {
                let error = #expect(throws: StoreError.self) {
                    try BTreeStore.open(
                        path: path, model: newer, isReadOnly: isReadOnly, migration: isReadOnly ? .automatic : .off)
                }
                guard case .incompatibleModel(_, let reason)? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                let remedy =
                    isReadOnly
                    ? "open it for writing once, which migrates it" : "allow its migration, which the options turn off"
                #expect(
                    reason == "the model differs: entity Note: attribute colour is new; \(remedy), or use the model "
                        + "that it has")
            }
        }
    }

    @Test func `a new attribute with a default value gives it to every row, and no row is written`() throws {
        try MigrationLibrary.migrating { entities in
            entities[1].attributes.append(
                AttributeDescription("format", .string, isOptional: false, defaultValue: .string("CD"), isIndexed: true)
            )
        } _: { before, after, plan in
            #expect(plan.outcome?.rowsWritten == 0 && plan.outcome?.indexesBuilt == 1)
            for (serial, row) in before.rows(of: "Album") {
                var expected = row
                expected.values["format"] = .string("CD")
                #expect(after.rows[serial] == expected)
            }
        }
    }

    // MARK: Steps that rewrite rows

    @Test func `what must have a value now gets the default where it has none, and other rows stay`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let old = try MigrationLibrary.model { _ in }
            let filled = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            try graph.add(51, "Note")
            try graph.save(in: filled)
            try filled.close()
            let model = try MigrationLibrary.model {
                $0[3].attributes[1] = AttributeDescription(
                    "text", .string, isOptional: false, defaultValue: .string("empty"))
            }

            let plan = try BTreeStore.migrate(at: path, to: model)

            #expect(plan.outcome?.rowsWritten == 1)
            let store = try BTreeStore.open(path: path, model: model)
            #expect(try GraphDump(store).value(51, "text") == .string("empty"))
            #expect(try GraphDump(store).value(41, "text") == .string("41"))
            try store.close()
        }
    }

    @Test func `a new attribute that must have a value and has no default is refused with the rows`() throws {
        let refused = try MigrationLibrary.refusal {
            $0[2].attributes.append(AttributeDescription("title", .string, isOptional: false))
        }

        let failure = try #require(refused?.failures.first)
        #expect(failure.subject == "Genre.title" && failure.reason == .noValue && failure.rowCount == 3)
        #expect(refused?.description.contains("give it a default value") == true)
        #expect(failure.objects.map(\.key) == [1, 2, 3] && failure.objects.allSatisfy { $0.entityName == "Genre" })
    }

    @Test func `another type takes the values over where each has an equal`() throws {
        try MigrationLibrary.migrating { entities in
            entities[0].attributes[2].type = .string
            entities[1].attributes[2].type = .decimal
            entities[3].attributes[1].type = .integer32
        } _: { _, after, plan in
            #expect(plan.outcome?.rowsWritten == 3 + 12 + 4)
            #expect(after.value(2, "born") == .string("1902"))
            #expect(after.value(11, "price") == .decimal(Decimal(string: "5.5") ?? 0))
            #expect(after.value(43, "text") == .integer(43))
        }
    }

    @Test func `another type is refused with the rows whose values have no equal`() throws {
        let refused = try MigrationLibrary.refusal { $0[1].attributes[2].type = .integer32 }

        let failure = try #require(refused?.failures.first)
        #expect(failure.subject == "Album.price" && failure.reason == .inexact(.integer32))
        #expect(failure.rowCount == 6 && failure.objects.map(\.key) == [1, 3, 5, 7, 9, 11])
        #expect(refused?.description.contains("Album/1, Album/3") == true)
    }

    @Test func `to-one becomes to-many and back, on either side`() throws {
        func widen(_ entities: inout [EntityDescription]) {
            entities[1].relationships[0].cardinality = .toMany
            entities[1].relationships[0].maxCount = 0
            entities[1].indexes = []
        }
        try MigrationLibrary.migrating(widen) { before, after, _ in
            for serial in 11...22 as ClosedRange<Int64> {
                #expect(after.list(serial, "artist") == [before.reference(serial, "artist") ?? 0])
            }
            for serial in 1...3 as ClosedRange<Int64> {
                #expect(after.list(serial, "albums") == before.list(serial, "albums"))
            }
        }
        func narrow(_ entities: inout [EntityDescription]) {
            entities[1].relationships[1].cardinality = .toOne
            entities[1].relationships[1].maxCount = 1
        }
        try MigrationLibrary.migrating(narrow, genresPerAlbum: 1) { before, after, _ in
            for serial in 11...22 as ClosedRange<Int64> {
                #expect(after.reference(serial, "genres") == before.list(serial, "genres").first)
            }
            for serial in 31...33 as ClosedRange<Int64> {
                #expect(after.list(serial, "albums") == before.list(serial, "albums"))
            }
        }
        let refused = try MigrationLibrary.refusal(of: narrow)
        let failure = try #require(refused?.failures.first)
        #expect(failure.reason == .severalDestinations && failure.subject == "Album.genres" && failure.rowCount == 12)
    }

    @Test func `an entity can go after a relationship to it has become to-many and gone`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let lists = try MigrationLibrary.model { entities in
                entities[1].relationships[0].cardinality = .toMany
                entities[1].relationships[0].maxCount = 0
                entities[1].indexes = []
            }
            let without = try MigrationLibrary.model { entities in
                entities[1].relationships.removeFirst()
                entities[1].indexes = []
                entities.removeFirst()
            }
            try BTreeStore.open(path: path, model: lists).close()
            let migration = MigrationOptions(allowing: [.removal(of: "Artist"), .removal(of: "Album.artist")])

            let store = try BTreeStore.open(path: path, model: without, migration: migration)

            #expect(try store.check().findings.map(\.description) == [])
            #expect(try GraphDump(store).rows(of: "Album").count == 12)
            try store.close()
        }
    }

    @Test func `an inverse that comes is filled from the relationship that was there, and one that goes loses nothing`()
        throws
    {
        try MigrationLibrary.migrating { entities in
            entities[0].relationships[1].inverse = "artists"
            entities[3].relationships = [
                RelationshipDescription("artists", to: "Artist", inverse: "notes", .toMany)
            ]
        } _: { _, after, _ in
            #expect(after.list(42, "artists") == [1, 2] && after.list(41, "artists") == [1])
            #expect(after.list(44, "artists") == [] && after.list(1, "notes") == [41, 42])
        }
        try MigrationLibrary.migrating { entities in
            entities[1].relationships[1].inverse = nil
            entities[2].relationships = []
        } _: { before, after, _ in
            #expect(after.list(12, "genres") == before.list(12, "genres"))
        }
        let refused = try MigrationLibrary.refusal { entities in
            entities[0].relationships[1].inverse = "artist"
            entities[3].relationships = [RelationshipDescription("artist", to: "Artist", inverse: "notes")]
        }
        #expect(refused?.failures.first?.subject == "Note.artist")
        #expect(refused?.failures.first?.objects.map(\.key) == [2])
    }

    // MARK: Hierarchies

    @Test func `entities that get a common superentity keep their rows, and what led to them leads to them`() throws {
        try MigrationLibrary.migrating { entities in
            for (index, name) in [(2, "serialOfGenre"), (3, "serialOfNote")] {
                entities[index].superentity = "Label"
                entities[index].attributes[0].name = name
                entities[index].attributes[0].renamingIdentifier = "serial"
            }
            entities.append(
                EntityDescription(
                    "Label", isAbstract: true, attributes: [AttributeDescription("colour", .string)]))
        } _: { before, after, plan in
            #expect(plan.outcome?.rowsMoved == 4 || plan.outcome?.rowsMoved == 3)
            #expect(after.list(1, "notes") == [41, 42] && after.value(44, "text") == .string("44"))
            for serial in 11...22 as ClosedRange<Int64> {
                #expect(after.list(serial, "genres") == before.list(serial, "genres"))
            }
            for serial in 31...33 as ClosedRange<Int64> {
                #expect(after.list(serial, "albums") == before.list(serial, "albums"))
            }
        }
    }

    @Test func `pairs of a relationship that is its own inverse, and of one to one, go along with their rows`() throws {
        try withStorePath { path in
            func model(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
                var entities = ["Cat", "Dog"].map { name in
                    EntityDescription(
                        name, attributes: [AttributeDescription("serial\(name)", .integer64)],
                        relationships: [
                            RelationshipDescription("friends\(name)", to: name, inverse: "friends\(name)", .toMany),
                            RelationshipDescription("mate\(name)", to: name, inverse: "mate\(name)"),
                        ])
                }
                change(&entities)
                return try ManagedObjectModel(entities: entities)
            }
            let old = try model()
            let store = try BTreeStore.open(path: path, model: old)
            var graph = GraphInsertion(old)
            for (name, first) in [("Cat", 1), ("Dog", 11)] as [(String, Int64)] {
                for serial in first...(first + 3) { graph.announce(serial, name) }
                for serial in first...(first + 3) {
                    let mate = first + ((serial - first) ^ 1)
                    try graph.add(serial, name, to: ["mate\(name)": mate])
                }
                try graph.link(first, "friends\(name)", [first + 1, first + 2])
            }
            try graph.save(in: store)
            let before = try GraphDump(store)
            #expect(before.list(12, "friendsDog") == [11] && before.reference(11, "mateDog") == 12)
            try store.close()

            let united = try model { entities in
                for index in entities.indices { entities[index].superentity = "Animal" }
                entities.append(EntityDescription("Animal", isAbstract: true))
            }
            let after = try BTreeStore.open(path: path, model: united)

            #expect(try GraphDump(after).differences(from: before) == [])
            #expect(try after.check().isOK && after.check().dangling.isEmpty)
            try after.close()
        }
    }

    @Test func `properties move up and down in a hierarchy without a row being written`() throws {
        try withStorePath { path in
            func model(onParent: Bool) throws -> ManagedObjectModel {
                let name = AttributeDescription("name", .string, isIndexed: true)
                return try ManagedObjectModel(entities: [
                    EntityDescription(
                        "Thing", isAbstract: true,
                        attributes: [AttributeDescription("serial", .integer64)] + (onParent ? [name] : [])),
                    EntityDescription("Chair", superentity: "Thing", attributes: onParent ? [] : [name]),
                    EntityDescription("Table", superentity: "Thing", attributes: onParent ? [] : [name]),
                ])
            }
            let low = try model(onParent: false)
            let store = try BTreeStore.open(path: path, model: low)
            var graph = GraphInsertion(low)
            try graph.add(1, "Chair", ["name": .string("a")])
            try graph.add(2, "Table", ["name": .string("b")])
            try graph.save(in: store)
            let before = try GraphDump(store)
            try store.close()

            let up = try BTreeStore.migrate(at: path, to: try model(onParent: true))
            let raised = try BTreeStore.open(path: path, model: try model(onParent: true))
            #expect(try GraphDump(raised) == before && raised.check().isOK)
            try raised.close()
            let down = try BTreeStore.migrate(at: path, to: low)
            let lowered = try BTreeStore.open(path: path, model: low)
            #expect(try GraphDump(lowered) == before && lowered.check().isOK)
            try lowered.close()

            #expect(up.outcome?.rowsWritten == 0 && down.outcome?.rowsWritten == 0)
            #expect(up.outcome?.indexesBuilt == 1 && down.outcome?.indexesBuilt == 2)
        }
    }

    @Test func `values that must be unique now are refused with the rows that share them`() throws {
        let refused = try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model { entities in
                entities[1].attributes[1].name = "heading"
                entities[1].attributes[1].renamingIdentifier = "title"
                entities[1].indexes = []
                entities[1].uniquenessConstraints = [["artist"], ["heading"]]
            }
            return try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true).refusal
        }

        #expect(refused?.failures.map(\.reason) == [.notUnique(["artist"])])
        #expect(refused?.failures.first?.objects.isEmpty == false)
    }

    @Test func `a backup that is asked for is the store as it was`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model { $0[0].attributes.append(AttributeDescription("died", .integer16)) }

            try BTreeStore.open(
                path: path, model: model, migration: MigrationOptions(backupPath: path + ".backup")
            ).close()

            let backup = try BTreeStore.openWithStoredModel(path: path + ".backup")
            #expect(backup.model.descriptions == MigrationLibrary.library())
            #expect(try backup.check().isOK && GraphDump(backup).rows.count == 22)
            try backup.close()
        }
    }
}
