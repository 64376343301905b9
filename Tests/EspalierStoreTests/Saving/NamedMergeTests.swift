// Insertions of commands that are merged into rows, on every kind of store: they give the properties that they name,
// defaults and null too, and derived values follow from these.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct NamedMergeTests {
    /// An insertion of a command that names these properties; the others have their default values.
    private func insertion(
        _ fixture: StoreFixture, _ entityName: String, _ values: [String: AttributeValue],
        to destinations: [String: ObjectID?] = [:]
    ) throws -> SaveRequest.Insertion {
        let entity = try fixture.entity(entityName)
        let row = RowValues(entity.attributes.map(\.defaultValue), relationshipCount: entity.relationships.count)
        var named = NamedProperties(
            attributeCount: entity.attributes.count, relationshipCount: entity.relationships.count)
        for (name, value) in values {
            let property = try #require(entity.property(named: name))
            if case .attribute(let slot) = property { row.setAttribute(value, at: slot) }
            named.insert(property)
        }
        for (name, id) in destinations {
            let property = try #require(entity.property(named: name))
            if case .relationship(let slot) = property { row.setDestination(id, at: slot) }
            named.insert(property)
        }
        return SaveRequest.Insertion(
            id: ObjectID(temporaryFor: entityName), StoreCommand.NewRow(row, naming: named))
    }

    @Test(arguments: StoreKind.allCases)
    func `exactly the named properties are merged (BR-03)`(kind: StoreKind) throws {
        let register = try Register(kind)
        let city = try register.insert("City", ["name": "Turin"])
        let row = try register.insert(
            "Party", ["name": "Ada", "note": "old", "rank": 5, "code": 7], to: ["city": city])

        var result = try register.save([insertion(register.fixture, "Party", ["name": .string("Ada")])])
        #expect(result.insertions == [.merged(into: row, version: 1)])

        result = try register.save([
            insertion(
                register.fixture, "Party", ["name": .string("Ada"), "rank": .integer(3), "note": .null],
                to: ["city": nil])
        ])

        #expect(result.insertions == [.merged(into: row, version: 2)])
        #expect(result.changed.contains(city))
        try register.fixture.reopen()
        #expect(try register.text(of: row) == "Ada, 7, none, 3")
        #expect(try register.destination(of: row, "city") == nil)
        #expect(try register.fixture.links(city, "parties").isEmpty)
        try register.check()
    }

    @Test(arguments: [false, true])
    func `an insertion gives no property that only a subentity of its entity has`(isNamed: Bool) throws {
        let fixture = try StoreFixture(.memory)
        let (media, song) = (try fixture.entity("Media"), try fixture.entity("Song"))
        let row = RowValues(
            media.attributes.map(\.defaultValue), relationshipCount: media.relationships.count)
        let named = NamedProperties(
            attributeCount: media.attributes.count, relationshipCount: media.relationships.count)
        let insertion = SaveRequest.Insertion(
            id: ObjectID(temporaryFor: media), row, naming: isNamed ? named : nil)
        let attributes = song.attributes.dropFirst(media.attributes.count)
        let relationships = song.relationships.dropFirst(media.relationships.count)

        #expect(attributes.map(\.name) == ["bitrate", "lossless"])
        #expect(relationships.map(\.name) == ["album", "playlists"])
        #expect(!attributes.contains { insertion.merges($0) } && !relationships.contains { insertion.merges($0) })
    }

    @Test(arguments: StoreKind.allCases)
    func `a unique value that a merged row names as null is free for the next one`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "code": 7])

        let result = try register.save([
            insertion(register.fixture, "Party", ["name": .string("Ada"), "code": .null]),
            insertion(register.fixture, "Party", ["code": .integer(7)]),
        ])

        #expect(result.insertions == [.merged(into: row, version: 2), .inserted(version: 1)])
        #expect(try register.text(of: row) == "Ada, none, none, 3")
        try register.check()
    }

    @Test(arguments: StoreKind.allCases)
    func `values that the request changes through its own properties stay named`(kind: StoreKind) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "old", "rank": 5])
        let slot = try #require(try register.fixture.entity("Party").attribute(named: "rank")).slot
        var new = try insertion(register.fixture, "Party", ["name": .string("Ada"), "rank": .integer(4)])
        new.values[slot] = .integer(3)
        new.destinations = new.destinations.map { _ in nil }

        try register.save([new])

        #expect(try register.text(of: row) == "Ada, none, old, 3")
    }

    @Test(arguments: StoreKind.deriving)
    func `a unique derived value follows the values that are merged, named or not`(kind: StoreKind) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Book",
                attributes: [
                    AttributeDescription("number", .integer64),
                    AttributeDescription("code", .string, defaultValue: .string("None")),
                    AttributeDescription("plainCode", .string, derivation: .canonical(of: "code")),
                ], uniquenessConstraints: [["number"], ["plainCode"]])
        ])
        for isNamed in [true, false] {
            let fixture = try StoreFixture(kind, model)
            let book = try fixture.insert("Book", ["number": .integer(1), "code": .string("A")])
            func new(_ values: [String: AttributeValue]) throws -> SaveRequest.Insertion {
                if isNamed { return try insertion(fixture, "Book", values) }
                return try fixture.insertion("Book", ["code": AttributeValue.string("None")].merging(values) { $1 })
            }
            var request = SaveRequest()
            request.constraintActions = [
                ConstraintName("Book", ["number"]): .merge, ConstraintName("Book", ["plainCode"]): .merge,
            ]
            request.insertions = [
                try new(["number": .integer(1), "code": .string("B")]),
                // The same text but for its case: it goes into the book that has got it.
                try new(["number": .integer(1), "code": .string("b")]),
                // The text that the book had.
                try new(["number": .integer(2), "code": .string("a")]),
            ]

            let result = try fixture.store.save(request)

            #expect(result.merged == [0, 1] && result.inserted.ids[0] == book, "named: \(isNamed)")
            #expect(try fixture.value(book, "code") == .string("b"))
            #expect(try fixture.value(book, "plainCode") == .string("b"))

            // The first one gives no code, so the book keeps the one by which the second one finds it.
            request.insertions = [
                try new(["number": .integer(1)]), try new(["number": .integer(3), "code": .string("B")]),
            ]
            #expect(try fixture.store.save(request).inserted.ids == [book, book], "named: \(isNamed)")
            #expect(try fixture.value(book, "number") == .integer(3))
            #expect(try fixture.store.count(fixture.request("Book")) == 2)
            if let store = fixture.store as? BTreeStore { #expect(try store.check().isOK) }
        }
    }
}
