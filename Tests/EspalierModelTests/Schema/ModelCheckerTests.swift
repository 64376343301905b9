// All faults that a model can have, each of them reported together with the others (Behaviour MD-01 to MD-33).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct ModelCheckerTests {
    private func problems(_ entities: EntityDescription...) -> [String] {
        do {
            _ = try ManagedObjectModel(entities: entities)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    private func entity(_ name: String = "A", _ attributes: AttributeDescription...) -> EntityDescription {
        EntityDescription(name, attributes: attributes)
    }

    @Test func `a sound model has no problems`() throws {
        let model = try ManagedObjectModel(entities: MusicLibrary.descriptions)
        #expect(model.entities.count == MusicLibrary.descriptions.count)
        let band = try #require(model.entity(named: "Band"))
        #expect(band.attributes.map(\.name) == ["name", "country", "founded", "memberCount"])
        #expect(model.entities[band.root].name == "Named")
        #expect(
            try #require(model.entity(named: "Named")).family.map { model.entities[$0].name } == [
                "Named", "Artist", "Band",
            ])
    }

    @Test func `relationships are found by their destination, inherited ones too (MD-09)`() throws {
        let model = try ManagedObjectModel(entities: MusicLibrary.descriptions)
        func names(_ entity: String, to destination: String) throws -> [String] {
            let (entity, destination) = (model.entity(named: entity), model.entity(named: destination))
            return try #require(entity).relationships(forDestination: #require(destination)).map(\.name)
        }

        #expect(try names("Album", to: "Artist") == ["artist"] && names("Album", to: "Track") == ["tracks"])
        #expect(try names("Band", to: "Album") == ["albums"])
        #expect(try names("Album", to: "Band") == [] && names("Album", to: "Named") == [])
        #expect(try names("Named", to: "Album") == [])
    }

    @Test func `of an entity's properties, inherited ones too, one continues an older property (MD-33)`() throws {
        func entity(_ name: String, _ superentity: String?, _ identifier: String) -> EntityDescription {
            let attribute = AttributeDescription(name.lowercased(), .string, renamingIdentifier: identifier)
            return EntityDescription(name, superentity: superentity, attributes: [attribute])
        }
        let (person, staff) = (entity("Person", nil, "x"), entity("Staff", "Person", "y"))
        let link = RelationshipDescription("link", to: "Person", renamingIdentifier: "x")
        let chief = EntityDescription("Chief", superentity: "Staff", relationships: [link])
        func problem(_ property: String) -> [String] {
            [
                "\(property): a property of superentity 'Person' has the renaming identifier 'x' too; only one "
                    + "property can have it"
            ]
        }

        #expect(problems(entity("Guest", "Person", "x"), person) == problem("Guest.guest"))
        #expect(problems(person, staff, chief) == problem("Chief.link"))
        // Subentities of one entity may have got a property each of it.
        #expect(problems(person, staff, entity("Guest", "Person", "y")) == [])
        // A store of an older library may have such a model.
        let stored = try ManagedObjectModel(
            entities: [person, staff, chief], versionIdentifiers: [], classes: [:], judgesKeeping: false)
        #expect(stored.entities.count == 3)
    }

    @Test func `all problems are reported at once, each with its place`() {
        let found = problems(
            EntityDescription(
                "Artist", superentity: "Nmaed",
                attributes: [
                    AttributeDescription("name", .string, defaultValue: .integer(1)),
                    AttributeDescription("rank", .integer16, defaultValue: .integer(40000)),
                ],
                relationships: [RelationshipDescription("albums", to: "Albun", inverse: "artist", .toMany)],
                uniquenessConstraints: [["nam"]]),
            EntityDescription("Named"), EntityDescription("Album"))
        #expect(
            found == [
                "Artist: superentity 'Nmaed' does not exist; did you mean 'Named'?",
                "Artist.name: the default does not fit: the whole number 1 is not a value of type string, "
                    + "which takes text",
                "Artist.rank: the default does not fit: 40000 is out of range for type integer16, "
                    + "which takes whole numbers from -32768 to 32767",
                "Artist.albums: destination 'Albun' does not exist; did you mean 'Album'?",
                "Artist: uniqueness constraint (nam) names 'nam', which is not a property of the entity; "
                    + "did you mean 'name'?",
            ])
    }

    @Test(arguments: ["", "1a", "a b", "a.b", "a-b", "@x", "é\u{7}", String(repeating: "x", count: 201)])
    func `a name that key paths cannot spell is refused`(name: String) {
        #expect(problems(entity(name)).count == 1)
        #expect(problems(entity("A", AttributeDescription(name, .string))).count == 1)
    }

    @Test func `names in any script are fine`() {
        #expect(
            problems(entity("Größe", AttributeDescription("名前", .string), AttributeDescription("_x1", .string))) == [])
    }

    @Test func `names must be unique, also against superentities`() {
        let found = problems(
            entity("A", AttributeDescription("x", .string)), entity("A"),
            EntityDescription(
                "B", superentity: "A", attributes: [AttributeDescription("x", .double)],
                relationships: [RelationshipDescription("y", to: "A"), RelationshipDescription("y", to: "A")]),
            entity("C", AttributeDescription("self", .string)))
        #expect(
            found == [
                "A: two entities have this name; rename one of them",
                "B.x: superentity 'A' already has a property with this name; rename one of them",
                "B.y: this entity already has a property with this name; rename one of them",
                "C.self: this name stands for the object itself in predicates; choose another",
            ])
    }

    @Test func `a cycle of inheritance is shown`() {
        let found = problems(
            EntityDescription("A", superentity: "B"), EntityDescription("B", superentity: "A"),
            EntityDescription("C", superentity: "C"))
        #expect(found.count == 3)
        #expect(found[0] == "A: inherits from itself: A → B → A; give one of them another superentity, or none")
        #expect(found[2].contains("C → C"))
    }

    @Test(arguments: [
        (AttributeDescription("x", .undefined), "cannot be stored"),
        (AttributeDescription("x", .objectID), "cannot be stored"),
        (AttributeDescription("x", .composite), "at least one element"),
        (AttributeDescription("x", .string, elements: [AttributeDescription("y", .string)]), "only type composite"),
        (AttributeDescription("x", .composite, elements: [AttributeDescription("y", .undefined)]), "cannot have type"),
        (
            AttributeDescription("x", .composite, elements: [AttributeDescription("y", .string, isTransient: true)]),
            "transient"
        ),
        (AttributeDescription("x", .string, isTransient: true, isIndexed: true), "cannot be indexed"),
        (AttributeDescription("x", .transformable, isIndexed: true), "no order"),
        (AttributeDescription("x", .string, valueTransformerName: "T"), "value transformer"),
        (AttributeDescription("x", .decimal, defaultValue: .double(0.5)), "a default of type decimal is written"),
        (AttributeDescription("x", .string, renamingIdentifier: ""), "renaming identifier is empty"),
        (
            AttributeDescription("x", .composite, elements: [AttributeDescription("y", .uri, renamingIdentifier: "")]),
            "renaming identifier is empty"
        ),
        (
            AttributeDescription(
                "x", .composite,
                elements: ["y", "z"].map { AttributeDescription($0, .string, renamingIdentifier: "w") }),
            "A.x.z: another element has the renaming identifier 'w' too"
        ),
    ]) func `an attribute that makes no sense is refused`(attribute: AttributeDescription, part: String) {
        let found = problems(entity("A", attribute))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("A.x") == true && found.first?.contains(part) == true, "\(found)")
    }

    @Test func `transient attributes may be of any type (MO-40, MD-25)`() {
        #expect(
            problems(
                entity(
                    "A", AttributeDescription("x", .undefined, isTransient: true),
                    AttributeDescription("y", .objectID, isTransient: true))) == [])
    }

    @Test func `both sides of a pair must name each other`() {
        func pair(_ inverse: String?, to destination: String = "A") -> [String] {
            problems(
                EntityDescription("A", relationships: [RelationshipDescription("b", to: "B", inverse: "a")]),
                EntityDescription(
                    "B", relationships: [RelationshipDescription("a", to: destination, inverse: inverse)]),
                EntityDescription("C", relationships: [RelationshipDescription("b", to: "B")]))
        }
        #expect(pair("b") == [])
        #expect(pair(nil) == ["A.b: inverse 'B.a' does not name this relationship as its inverse; give it inverse 'b'"])
        #expect(pair("c").first?.contains("names 'c' as its inverse") == true)
        #expect(pair("b", to: "C").first == "A.b: inverse 'B.a' leads to 'C', not back to 'A'")
        #expect(
            problems(
                EntityDescription("A", relationships: [RelationshipDescription("b", to: "B", inverse: "aa")]),
                EntityDescription("B", attributes: [AttributeDescription("aa", .string)]))
                == ["A.b: inverse 'aa' is an attribute of 'B'"])
    }

    @Test func `a pair must mean exactly each other's entity`() {
        let found = problems(
            EntityDescription("A", relationships: [RelationshipDescription("b", to: "SubB", inverse: "a")]),
            EntityDescription("B", relationships: [RelationshipDescription("a", to: "A", inverse: "b")]),
            EntityDescription("SubB", superentity: "B"))
        #expect(found.count == 2)
        #expect(found.first?.contains("make 'B' the destination") == true)
    }

    @Test func `no inverse at all is legal (MD-30), and so is an inverse to oneself`() {
        #expect(problems(EntityDescription("A", relationships: [RelationshipDescription("b", to: "A")])) == [])
        #expect(
            problems(
                EntityDescription(
                    "A", relationships: [RelationshipDescription("friends", to: "A", inverse: "friends", .toMany)]))
                == [])
    }

    @Test(arguments: [
        (RelationshipDescription("r", to: "A", .toMany, minCount: 3, maxCount: 2), "no object could be saved"),
        (RelationshipDescription("r", to: "A", .toMany, minCount: -1), "negative"),
        (RelationshipDescription("r", to: "A", maxCount: 5), "to-one relationship has 1"),
        (RelationshipDescription("r", to: "A", minCount: 2), "0 or 1"),
    ]) func `counts must be possible (MD-29)`(relationship: RelationshipDescription, part: String) {
        let found = problems(EntityDescription("A", relationships: [relationship]))
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test func `constraints and indexes name stored single values (MD-12)`() {
        let found = problems(
            EntityDescription(
                "A",
                attributes: [
                    AttributeDescription("x", .string, isIndexed: true),
                    AttributeDescription("t", .string, isTransient: true),
                    AttributeDescription("blob", .transformable),
                ],
                relationships: [
                    RelationshipDescription("one", to: "A"), RelationshipDescription("many", to: "A", .toMany),
                ],
                uniquenessConstraints: [[], ["x", "one"], ["one", "x"], ["t"], ["many"], ["x", "x"]],
                indexes: [
                    .init("x", on: [.init("one")]), .init("empty", on: []),
                    .init("bad", on: [.init("blob"), .init("y")]),
                ]))
        #expect(
            found.map { $0.dropFirst(3) } == [
                "a uniqueness constraint names no property; name at least one",
                "uniqueness constraint (one, x) is defined twice; remove one",
                "uniqueness constraint (t) names 't', which is transient; name a stored attribute",
                "uniqueness constraint (many) names 'many', which is to-many; name attributes or to-one relationships",
                "uniqueness constraint (x, x) names a property twice",
                "'A' already has an index called 'x'; rename this one",
                "index 'empty' has no elements; name at least one property",
                "index 'bad' names 'blob', whose type transformable has no order",
                "index 'bad' names 'y', which is not a property of the entity; did you mean 'x'?",
            ])
    }
}
