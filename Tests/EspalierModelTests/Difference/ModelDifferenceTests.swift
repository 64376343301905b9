// The report on the difference of two models: the name, cost and loss of each change; and values under other types.

import EspalierModel
import Foundation
import Testing

@Suite struct ModelDifferenceTests {
    private static let base = [
        EntityDescription(
            "Person",
            attributes: [
                AttributeDescription("name", .string), AttributeDescription("age", .integer16, isIndexed: true),
            ], relationships: [RelationshipDescription("pets", to: "Pet", inverse: "owner", .ordered)]),
        EntityDescription("Worker", superentity: "Person", attributes: [AttributeDescription("room", .string)]),
        EntityDescription(
            "Pet", attributes: [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("owner", to: "Person", inverse: "pets")]),
    ]

    private func difference(
        _ change: (inout [EntityDescription]) -> Void, from base: [EntityDescription] = Self.base
    ) throws -> ModelDifference {
        var entities = base
        change(&entities)
        return ModelDifference(
            from: try ManagedObjectModel(entities: base), to: try ManagedObjectModel(entities: entities))
    }

    private func texts(_ change: (inout [EntityDescription]) -> Void) throws -> [String] {
        try difference(change).changes.map(\.description)
    }

    @Test func `models that are written down in another order are alike`() throws {
        let difference = try difference { entities in
            entities.reverse()
            entities[2].attributes.reverse()
            entities[0].userInfo = ["a": "b"]
        }

        #expect(difference.isEmpty && difference.description == "the models are equal")
    }

    @Test func `parts that no store keeps are compared on request, under new names too`() throws {
        var entities = Self.base
        entities[0].uniquenessConstraints = [["name"]]
        entities[0].fetchedProperties = [FetchedPropertyDescription("others", of: "Person")]
        let former = entities
        (entities[0].name, entities[0].renamingIdentifier) = ("Human", "Person")
        (entities[0].attributes[0].name, entities[0].attributes[0].renamingIdentifier) = ("title", "name")
        entities[0].uniquenessConstraints = [["title"]]
        entities[0].fetchedProperties[0].destination = "Human"
        entities[1].superentity = "Human"
        entities[2].relationships[0].destination = "Human"
        let newer = entities
        func whole(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> [String] {
            var changed = newer
            change(&changed)
            let old = try ManagedObjectModel(
                entities: former, configurations: [.init("all", entities: ["Pet", "Person", "Worker"])],
                fetchRequestTemplates: [.init("every", entity: "Person")])
            let new = try ManagedObjectModel(
                entities: changed, configurations: [.init("all", entities: ["Human", "Worker", "Pet"])],
                fetchRequestTemplates: [.init("every", entity: "Human")])
            #expect(ModelDifference(from: old, to: new).changes.count == 2)
            return ModelDifference(from: old, to: new, comparing: .whole).changes.map(\.description).filter {
                !$0.contains("was called")
            }
        }

        #expect(try whole() == [])
        #expect(
            try whole { $0[0].constraintActions = [["title"]: .merge] } == [
                "Human: action for equal title merge, before as the merge policy says"
            ])
        #expect(
            try whole {
                $0[0].attributes[0].validationRules = [
                    .init(.minimumLength(2), message: "short"), .init(.pattern("a.*")),
                ]
                $0[0].fetchedProperties[0].sortElements = [.init("title", isAscending: false)]
            } == [
                "Human.title: rules MATCHES \"a.*\", length >= 2 with the message \"short\", before none",
                "Human.others: fetches Human by title descending, before Human",
            ])
    }

    @Test func `each change is named with its cost and its loss`() throws {
        #expect(
            try texts { entities in
                entities[0].name = "Human"
                entities[0].renamingIdentifier = "Person"
                entities[1].superentity = "Human"
                entities[2].relationships[0].destination = "Human"
            } == ["Human: was called Person"])
        #expect(
            try texts { $0[0].attributes[0].isOptional = false } == [
                "Person.name: must now have a value (reads the rows of Person, Worker)"
            ])
        #expect(
            try texts {
                $0[0].attributes[1].type = .string
                $0[0].attributes[1].isIndexed = false
            } == [
                "Person.age: type string, before integer16 (rewrites the rows of Person, Worker)",
                "Person: removed index age",
            ])
        #expect(
            try texts { $0[1].attributes = [] } == [
                "Worker.room: removed attribute; loses: removal of Worker.room"
            ])
        #expect(
            try texts { $0[0].relationships[0].cardinality = .toMany } == [
                "Person.pets: to-many, before to-many in order (rewrites the rows of Person, Worker); "
                    + "loses: order of Person.pets"
            ])
        #expect(
            try texts { $0[2].uniquenessConstraints = [["name"]] } == [
                "Pet: name must now be unique (builds an index of the rows of Pet)"
            ])
        #expect(
            try texts { $0[2].relationships[0].deleteRule = .deny } == ["Pet.owner: delete rule deny, before nullify"])
    }

    @Test func `a side of a relationship that goes loses what the other side does not say`() throws {
        let difference = try difference { entities in
            entities[0].relationships = []
            entities[2].relationships[0].inverse = nil
        }
        #expect(difference.losses == [.order(of: "Person.pets")])
        let both = try self.difference { entities in
            entities[0].relationships = []
            entities[2].relationships = []
        }
        #expect(Set(both.losses) == [.removal(of: "Person.pets"), .removal(of: "Pet.owner")])
    }

    @Test func `what moves within a hierarchy has moved, and is lost only where it is missing then`() throws {
        let up = try difference { entities in
            entities[0].attributes.append(entities[1].attributes[0])
            entities[1].attributes = []
        }
        #expect(up.changes.map(\.kind) == [.propertyMoved(from: ["Worker"])] && up.isConstantTime)
        let down = try difference { entities in
            entities[1].attributes.append(entities[0].attributes[0])
            entities[0].attributes.removeFirst()
        }
        #expect(down.losses == [.removal(of: "Person.name")])
        #expect(down.changes.first?.kind == .propertyMoved(from: ["Person"]))
    }

    @Test func `another superentity costs what the rows get, leave and join there`() throws {
        let base = [
            EntityDescription("Thing", attributes: [AttributeDescription("code", .string)]),
            EntityDescription("Book", superentity: "Thing"), EntityDescription("Disc", superentity: "Thing"),
            EntityDescription("Shelf", relationships: [RelationshipDescription("best", to: "Thing")]),
        ]
        func cost(_ change: (inout [EntityDescription]) -> Void, _ properties: EntityDescription) throws -> String? {
            var entities = base
            entities[1] = properties
            let former = entities
            change(&entities)
            let difference = ModelDifference(
                from: try ManagedObjectModel(entities: former), to: try ManagedObjectModel(entities: entities))
            let found = difference.changes.first { if case .superentityChanged = $0.kind { true } else { false } }
            return found.map { "\($0.cost) of \($0.rows.joined(separator: ", "))" }
        }
        func book(_ attributes: AttributeDescription..., unique: [[String]] = []) -> EntityDescription {
            EntityDescription(
                "Book", superentity: "Thing", attributes: attributes, uniquenessConstraints: unique)
        }
        let number = AttributeDescription("number", .integer32)
        func join(_ entities: inout [EntityDescription]) { entities[2].superentity = "Book" }

        #expect(try cost(join, book(number)) == "constant of ")
        #expect(try cost(join, book(number, unique: [["number"]])) == "index build of Disc")
        #expect(
            try cost(join, book(AttributeDescription("number", .integer32, isOptional: false))) == "check of Disc")
        #expect(
            try cost(join, book(AttributeDescription("loud", .string, derivation: .uppercase(of: "code"))))
                == "rewrite of Disc")
        // The rows get a tree of their own.
        #expect(try cost({ $0[2].superentity = nil }, book()) == "rewrite of Disc")
    }

    @Test func `names that are exchanged are followed, and identifiers of earlier versions are not taken for new ones`()
        throws
    {
        let exchanged = try difference { entities in
            entities[0].attributes = [
                AttributeDescription("age", .string, renamingIdentifier: "name"),
                AttributeDescription("name", .integer16, isIndexed: true, renamingIdentifier: "age"),
            ]
        }
        #expect(
            exchanged.changes.map(\.kind) == [.propertyRenamed(from: "name"), .propertyRenamed(from: "age")])
        var renamed = Self.base
        renamed[1].attributes = [AttributeDescription("desk", .string, renamingIdentifier: "room")]
        let later = try difference(from: renamed) {
            $0[1].attributes.append(AttributeDescription("room", .integer16))
        }
        #expect(later.changes.map(\.kind) == [.attributeAdded(.integer16)] && later.losses.isEmpty)
        // A return to the old name loses nothing.
        let back = try difference(from: renamed) { $0[1].attributes = Self.base[1].attributes }
        #expect(back.changes.map(\.kind) == [.propertyRenamed(from: "desk")])
    }

    private func difference(
        from base: [EntityDescription], _ change: (inout [EntityDescription]) -> Void
    ) throws -> ModelDifference {
        try difference(change, from: base)
    }

    @Test func `values that stores compute from now on are a loss of each entity whose objects had them set (MG-05)`()
        throws
    {
        let code = AttributeDescription("code", .integer64)
        let size = AttributeDescription("size", .integer64)
        let computed = AttributeDescription("size", .integer64, derivation: .value(of: "code"))
        func model(_ thing: [AttributeDescription], _ parts: [AttributeDescription]...) throws -> ManagedObjectModel {
            let subentities = zip(["Disc", "Book", "Page"], parts).map { name, attributes in
                EntityDescription(name, superentity: "Thing", isAbstract: name == "Page", attributes: attributes)
            }
            return try ManagedObjectModel(
                entities: [EntityDescription("Thing", isAbstract: true, attributes: thing)] + subentities)
        }
        let apart = try model([code], [computed], [size], [size])
        let together = try model([code, computed], [], [], [])

        // A page is abstract and has no objects.
        #expect(ModelDifference(from: apart, to: together).losses == [.removal(of: "Book.size")])
        let here = try model([code], [computed], [computed], [computed])
        #expect(ModelDifference(from: apart, to: here).losses == [.removal(of: "Book.size")])
        #expect(ModelDifference(from: here, to: apart).losses.isEmpty)
        #expect(ModelDifference(from: here, to: together).losses.isEmpty)
    }

    @Test func `elements of a composite that go are named`() throws {
        func model(_ names: [String]) throws -> ManagedObjectModel {
            let elements = names.map { AttributeDescription($0, .double) }
            return try ManagedObjectModel(entities: [
                EntityDescription("Place", attributes: [AttributeDescription("at", .composite, elements: elements)])
            ])
        }
        let less = ModelDifference(from: try model(["x", "y"]), to: try model(["x"]))
        #expect(less.losses == [.removal(of: "Place.at.y")])
        #expect(ModelDifference(from: try model(["x"]), to: try model(["x", "y"])).isConstantTime)
    }

    @Test func `texts and modifiers of an element are compared under its path (MD-16)`() throws {
        func model(_ text: String) throws -> ManagedObjectModel {
            var zip = AttributeDescription("zip", .string)
            (zip.versionHashModifier, zip.userInfo) = (text, ["part": text])
            return try ManagedObjectModel(entities: [
                EntityDescription("Box", attributes: [AttributeDescription("home", .composite, elements: [zip])])
            ])
        }
        let changes = ModelDifference(from: try model("x"), to: try model("y"), comparing: .whole).changes
        #expect(changes.map(\.property) == ["home.zip", "home.zip"])
        #expect(ModelDifference(from: try model("x"), to: try model("x"), comparing: .whole).changes.isEmpty)
    }

    @Test func `elements of composites are compared by their paths, at any depth`() throws {
        func model(_ place: [AttributeDescription], isTransient: Bool = false) throws -> ManagedObjectModel {
            let home = AttributeDescription(
                "home", .composite, isTransient: isTransient,
                elements: [AttributeDescription("place", .composite, elements: place)])
            return try ManagedObjectModel(entities: [EntityDescription("Person", attributes: [home])])
        }
        let older = [
            AttributeDescription("x", .double), AttributeDescription("y", .double),
            AttributeDescription("code", .string, isOptional: false), AttributeDescription("old", .string),
        ]
        let newer = [
            AttributeDescription("x", .float, isOptional: false, defaultValue: .float(1)),
            AttributeDescription("height", .double, isOptional: false, renamingIdentifier: "y"),
            AttributeDescription("code", .string), AttributeDescription("new", .string, isOptional: false),
            AttributeDescription("more", .string, defaultValue: .string("-")), AttributeDescription("less", .string),
        ]

        let difference = ModelDifference(from: try model(older), to: try model(newer))

        #expect(
            difference.changes.map(\.description) == [
                "Person.home.place.x: type float, before double (rewrites the rows of Person)",
                "Person.home.place.x: must now have a value (rewrites the rows of Person)",
                "Person.home.place.x: default 1.0, before nil",
                "Person.home.place.height: was called y (rewrites the rows of Person)",
                "Person.home.place.height: must now have a value (reads the rows of Person)",
                "Person.home.place.code: no longer needs a value",
                "Person.home.place.new: new attribute of type string (reads the rows of Person)",
                "Person.home.place.more: new attribute of type string (rewrites the rows of Person)",
                "Person.home.place.less: new attribute of type string",
                "Person.home.place.old: removed attribute (rewrites the rows of Person); loses: removal of "
                    + "Person.home.place.old",
            ])
        // No row has them.
        let transient = ModelDifference(
            from: try model(older, isTransient: true), to: try model(newer, isTransient: true))
        #expect(transient.changes.count == 10 && transient.isConstantTime && transient.losses.isEmpty)
    }

    @Test func `an element that goes is a loss of each entity that declared its composite`() throws {
        func model(isMoved: Bool) throws -> ManagedObjectModel {
            func home(_ names: [String]) -> AttributeDescription {
                AttributeDescription("home", .composite, elements: names.map { AttributeDescription($0, .string) })
            }
            return try ManagedObjectModel(entities: [
                EntityDescription("Being", isAbstract: true, attributes: isMoved ? [home(["town"])] : []),
                EntityDescription(
                    "Person", superentity: "Being", attributes: isMoved ? [] : [home(["town", "zip"])]),
                EntityDescription(
                    "Pet", superentity: "Being", attributes: isMoved ? [] : [home(["town", "basket"])]),
            ])
        }

        let difference = ModelDifference(from: try model(isMoved: false), to: try model(isMoved: true))

        #expect(difference.losses == [.removal(of: "Person.home.zip"), .removal(of: "Pet.home.basket")])
        #expect(ModelDifference(from: try model(isMoved: true), to: try model(isMoved: false)).losses == [])
    }

    @Test func `several properties that become one are named with what each of them loses and costs (MG-05)`() throws {
        func model(isMoved: Bool) throws -> ManagedObjectModel {
            let size = AttributeDescription("size", .integer64, isOptional: false)
            let parts = RelationshipDescription("parts", to: "Part", .toMany)
            return try ManagedObjectModel(entities: [
                EntityDescription(
                    "Thing", isAbstract: true, attributes: isMoved ? [size] : [],
                    relationships: isMoved ? [parts] : []),
                EntityDescription(
                    "Book", superentity: "Thing", attributes: isMoved ? [] : [size],
                    relationships: isMoved ? [] : [parts]),
                EntityDescription(
                    "Disc", superentity: "Thing", attributes: isMoved ? [] : [AttributeDescription("size", .integer32)],
                    relationships: isMoved ? [] : [RelationshipDescription("parts", to: "Part", .ordered)]),
                EntityDescription("Part"),
            ])
        }

        let difference = ModelDifference(from: try model(isMoved: false), to: try model(isMoved: true))

        #expect(difference.losses == [.order(of: "Disc.parts")] && !difference.isConstantTime)
        #expect(
            difference.changes.map(\.kind) == [
                .propertyMoved(from: ["Book", "Disc"]), .typeChanged(from: .integer32, to: .integer64), .madeRequired,
                .propertyMoved(from: ["Book", "Disc"]), .cardinalityChanged(from: .ordered, to: .toMany),
            ])
        #expect(difference.changes.map(\.cost) == [.constant, .rewrite, .check, .rewrite, .rewrite])
    }

    @Test func `counts and inverses of each relationship that becomes one of several are compared`() throws {
        func model(isMoved: Bool) throws -> ManagedObjectModel {
            func parts(inverse: String? = nil, maxCount: Int) -> [RelationshipDescription] {
                [RelationshipDescription("parts", to: "Part", inverse: inverse, .toMany, maxCount: maxCount)]
            }
            let disc = RelationshipDescription("disc", to: "Disc", inverse: "parts")
            return try ManagedObjectModel(entities: [
                EntityDescription("Thing", isAbstract: true, relationships: isMoved ? parts(maxCount: 5) : []),
                EntityDescription("Book", superentity: "Thing", relationships: isMoved ? [] : parts(maxCount: 5)),
                EntityDescription(
                    "Disc", superentity: "Thing", relationships: isMoved ? [] : parts(inverse: "disc", maxCount: 9)),
                EntityDescription("Part", relationships: isMoved ? [] : [disc]),
            ])
        }

        let difference = ModelDifference(from: try model(isMoved: false), to: try model(isMoved: true))

        #expect(
            difference.changes.map(\.kind) == [
                .propertyMoved(from: ["Book", "Disc"]), .countsChanged, .inverseChanged(from: "disc", to: nil),
                .relationshipRemoved,
            ])
        #expect(difference.changes.map(\.cost) == [.rewrite, .check, .rewrite, .rewrite])
        #expect(difference.changes[1].rows.sorted() == ["Book", "Disc"] && difference.losses == [])
    }

    @Test func `names and messages by language are compared on request, under new names too (MD-07)`() throws {
        func table(_ texts: [String: String]) throws -> MessageTable {
            try MessageTable(localizationDictionary: texts)
        }
        let old = try ManagedObjectModel(entities: Self.base).localized([
            "de": try table([
                "Entity/Person": "Person", "Property/name/Entity/Person": "Name", "Property/owner": "Halter",
                "ErrorString/1570": "fehlt",
            ])
        ])
        var entities = Self.base
        (entities[0].name, entities[0].renamingIdentifier) = ("Human", "Person")
        (entities[0].attributes[0].name, entities[0].attributes[0].renamingIdentifier) = ("title", "name")
        entities[1].superentity = "Human"
        entities[2].relationships[0].destination = "Human"
        func changes(_ tables: [String: MessageTable]) throws -> [String] {
            let new = try ManagedObjectModel(entities: entities).localized(tables)
            #expect(ModelDifference(from: old, to: new).changes.count == 2)
            return ModelDifference(from: old, to: new, comparing: .whole).changes.map(\.description).filter {
                !$0.contains("was called")
            }
        }
        let same = [
            "Entity/Human": "Person", "Property/title/Entity/Human": "Name", "Property/owner": "Halter",
            "ErrorString/1570": "fehlt",
        ]

        #expect(try changes(["de": try table(same), "en": MessageTable()]) == [])
        #expect(
            try changes(["de": try table(same.merging(["ErrorString/1570": "leer"]) { $1 })]) == [
                "the model: messages in de ErrorString/1570=leer, before ErrorString/1570=fehlt"
            ])
        #expect(
            try changes(["de": try table(same), "en": try table(["Entity/Pet": "Animal"])]) == [
                "the model: messages in en Entity/Pet=Animal, before none"
            ])
    }

    @Test func `a value becomes one of another type only if it is the same value`() {
        func migrated(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue? {
            AttributeDescription("a", type).migrated(value)
        }
        #expect(migrated(.integer(7), .string) == .string("7") && migrated(.string("7"), .integer16) == .integer(7))
        #expect(migrated(.string("07"), .integer16) == nil && migrated(.string("+7"), .integer64) == nil)
        #expect(migrated(.integer(40_000), .integer16) == nil && migrated(.double(1.5), .integer32) == nil)
        #expect(migrated(.double(0.1), .decimal) == .decimal(Decimal(string: "0.1") ?? 0))
        #expect(migrated(.boolean(true), .integer16) == .integer(1) && migrated(.integer(2), .boolean) == nil)
        #expect(migrated(.boolean(false), .string) == .string("false"))
        #expect(migrated(.string("yes"), .boolean) == nil && migrated(.string("1e400"), .double) == nil)
        let uuid = UUID()
        #expect(migrated(.string(uuid.uuidString.lowercased()), .uuid) == .uuid(uuid))
        #expect(migrated(.uuid(uuid), .string) == .string(uuid.uuidString))
        #expect(migrated(.string("2020-02-30"), .date) == nil && migrated(.null, .uuid) == .null)
        #expect(migrated(.binary(Data([0xFF])), .string) == nil)
        #expect(migrated(.binary(Data([0x41])), .string) == .string("A"))
        #expect(migrated(.binary(Data([1])), .transformable) == .transformable(Data([1])))
        #expect(migrated(.date(Date(timeIntervalSinceReferenceDate: 1)), .double) == nil)
    }
}
