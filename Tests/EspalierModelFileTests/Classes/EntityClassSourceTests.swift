// Classes of models as Swift source; SchemaSwiftTests compile whole programs with them.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct EntityClassSourceTests {
    private func library() throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Work", isAbstract: true,
                    attributes: [
                        AttributeDescription("title", .string, isOptional: false, defaultValue: .string("a \"b\"\n")),
                        AttributeDescription("year", .integer16, isIndexed: true, renamingIdentifier: "published"),
                    ]),
                EntityDescription(
                    "Album", superentity: "Work",
                    attributes: [
                        AttributeDescription("code", .uuid, isOptional: false),
                        AttributeDescription("default", .double, isOptional: false, defaultValue: .double(0.5)),
                        AttributeDescription("cover", .transformable),
                        AttributeDescription("draft", .date, isTransient: true),
                    ],
                    relationships: [
                        RelationshipDescription(
                            "artist", to: "Artist", inverse: "albums", deleteRule: .deny, isOptional: false),
                        RelationshipDescription("tags", to: "Artist", .toMany, minCount: 1, maxCount: 3),
                    ], uniquenessConstraints: [["code"], ["title", "artist"]],
                    indexes: [
                        .init("byTitle", on: [.init("title"), .init("year", isAscending: false)]),
                        .init("byYear", on: [.init("year"), .init("code")]),
                    ],
                    renamingIdentifier: "Record"),
                EntityDescription(
                    "Artist",
                    relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered)]),
            ])
    }

    @Test func `a model becomes the classes that one would have written`() throws {
        let source = try EntityClassSource(library(), origin: "Shop.xcdatamodeld")

        #expect(
            source.text == #"""
                // Made from Shop.xcdatamodeld by 'dbtool schema --swift'.

                import Espalier
                import Foundation

                @Entity(isAbstract: true)
                class Work: ManagedObject {
                    var title: String = "a \"b\"\n"
                    @Attribute(.indexed, originalName: "published") var year: Int16?
                }

                @Entity(
                    uniquenessConstraints: [["title", "artist"]],
                    indexes: [
                        .init("byTitle", on: [.init("title"), .init("year", isAscending: false)]),
                        .init("byYear", on: [.init("year"), .init("code")]),
                    ],
                    originalName: "Record")
                final class Album: Work {
                    @Attribute(.unique) var code: UUID
                    var `default`: Double = 0.5
                    @Attribute(.transformable(by: "NSSecureUnarchiveFromData")) var cover: Any?
                    @Transient var draft: Date?
                    @Relationship(inverse: "albums", deleteRule: .deny, isRequired: true) var artist: Artist?
                    @Relationship(minimum: 1, maximum: 3) var tags: ToMany<Artist>
                }

                @Entity
                final class Artist: ManagedObject {
                    @Relationship(inverse: "artist") var albums: OrderedToMany<Album>
                }

                """#)
        #expect(
            source.omissions == [
                "'Album.cover' names no transformer; its class names 'NSSecureUnarchiveFromData', as Core Data does"
            ])
    }

    @Test func `fetched properties and large values outside become marks (FR-24, MD-22)`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription("n", .string),
                        AttributeDescription("b", .binary, allowsExternalBinaryDataStorage: true),
                    ],
                    fetchedProperties: [
                        FetchedPropertyDescription("all", of: "A"),
                        FetchedPropertyDescription(
                            "same", of: "A", predicateFormat: "n == $FETCH_SOURCE.n",
                            sortedBy: [.init("n", isAscending: false, options: .caseInsensitive)], fetchLimit: 3,
                            includesSubentities: false, userInfo: ["k": "v"]),
                    ])
            ])
        let source = try EntityClassSource(model, origin: "a")

        #expect(source.text.contains("    @Attribute(.externalStorage) var b: Data?\n"))
        #expect(source.text.contains("    @FetchedProperty var all: [A]\n"))
        #expect(
            source.text.contains(
                #"    @FetchedProperty(where: "n == $FETCH_SOURCE.n", sortedBy: [.init("n", isAscending: false)], "#
                    + #"limit: 3, userInfo: ["k": "v"]) var same: [A]"# + "\n"))
        #expect(
            source.omissions == [
                "the options of the order of 'A.same' are left out",
                "the request of 'A.same' includes subentities and unsaved changes",
            ])
    }

    @Test func `rules, actions of constraints and modifiers of hashes become arguments (MD-16, F-6, MD-05)`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription(
                            "a", .float, isOptional: false, isIndexed: true, versionHashModifier: "2",
                            validationRules: [ValidationRule(.minimum(.float(-0.1)), message: "too \"low\"")]),
                        AttributeDescription(
                            "b", .string, renamingIdentifier: "c",
                            validationRules: [
                                ValidationRule(.maximumLength(4)), ValidationRule(.minimumLength(1)),
                                ValidationRule(.pattern("\\d+")), ValidationRule(.predicate("SELF != '0'")),
                            ]),
                        AttributeDescription(
                            "d", .decimal, validationRules: [ValidationRule(.maximum(.decimal(Decimal(5) / 4)))]),
                    ],
                    relationships: [RelationshipDescription("r", to: "A", versionHashModifier: "3")],
                    uniquenessConstraints: [["a"], ["b", "r"], ["a", "b"]],
                    constraintActions: [["a"]: .merge, ["a", "b"]: .keep], versionHashModifier: "4")
            ])
        let source = try EntityClassSource(model, origin: "a")

        #expect(
            source.text.hasSuffix(
                #"""

                @Entity(
                    uniquenessConstraints: [["b", "r"], ["a", "b"]],
                    constraintActions: [["a", "b"]: .keep],
                    hashModifier: "4")
                final class A: ManagedObject {
                    @Attribute(.indexed, .unique(onConflict: .merge), .minimum(Float(-0.1), message: "too \"low\""), \#
                hashModifier: "2") var a: Float
                    @Attribute(.maximumLength(4), .minimumLength(1), .pattern("\\d+"), .predicate("SELF != '0'"), \#
                originalName: "c") var b: String?
                    @Attribute(.maximum(Decimal(string: "1.25") ?? 0)) var d: Decimal?
                    @Relationship(hashModifier: "3") var r: A?
                }

                """#), "\(source.text)")
        #expect(source.omissions.isEmpty)
    }

    private static let point = [
        AttributeDescription("x", .double, isOptional: false, defaultValue: .double(0.5)),
        AttributeDescription("in", .date, defaultValue: .date(Date(timeIntervalSinceReferenceDate: 1))),
    ]

    @Test func `composites become structs, which attributes with equal elements and one name share (MD-26)`() throws {
        let xml = """
            <model><entity name='Shop'>
            <attribute name='home' optional='YES' attributeType='Composite' composite='Place'/>
            <attribute name='work' attributeType='Composite' composite='Place'/>
            <attribute name='sign' optional='YES' attributeType='Composite' composite='Shop'/></entity>
            <composite name='Place'><attribute name='street' attributeType='String' defaultValueString=''/>
            <attribute name='point' optional='YES' attributeType='Composite' composite='Point'/></composite>
            <composite name='Point'><attribute name='x' attributeType='Double'/>
            <attribute name='y' optional='YES' attributeType='Date'/></composite>
            <composite name='Shop'><attribute name='default' attributeType='Boolean'/></composite></model>
            """
        let document = try ModelDocument(xml: Data(xml.utf8))
        let source = try EntityClassSource(
            ManagedObjectModel(document), origin: "a", compositeNames: CompositeNames(document))

        #expect(
            source.text == """
                // Made from a by 'dbtool schema --swift'.

                import Espalier
                import Foundation

                @Entity
                final class Shop: ManagedObject {
                    var home: Place?
                    var work: Place
                    var sign: ShopSign?
                }

                @Composite
                struct Point {
                    var x: Double
                    var y: Date?
                }

                @Composite
                struct Place {
                    var street: String = ""
                    var point: Point?
                }

                @Composite
                struct ShopSign {
                    var `default`: Bool
                }

                """, "\(source.text)")
        #expect(source.omissions.isEmpty)
    }

    @Test func `structs of models without a file have the names of their attributes, and defaults (MD-26)`() throws {
        let place: AttributeValue = .composite(["p": .composite(["x": .double(2)])])
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription(
                            "place", .composite, defaultValue: place,
                            elements: [
                                AttributeDescription("p", .composite, isOptional: false, elements: Self.point)
                            ]),
                        AttributeDescription("b", .composite, defaultValue: .composite([:]), elements: Self.point),
                    ]),
                EntityDescription("APlace"),
                EntityDescription(
                    "a", attributes: [AttributeDescription("b", .composite, elements: [Self.point[0]])]),
            ])
        let source = try EntityClassSource(model, origin: "a")

        #expect(source.text.contains("    var place: APlace2? = APlace2(p: APlaceP(x: 2.0, `in`: nil))\n"))
        #expect(source.text.contains("    var b: AB?\n") && source.text.contains("    var b: AB2?\n"))
        #expect(source.text.contains("@Composite\nstruct APlace2 {\n    var p: APlaceP\n}\n"))
        #expect(
            source.text.contains("    var `in`: Date? = Date(timeIntervalSinceReferenceDate: 1.0)\n"))
        // A default without a value that the struct must have is no value of the struct.
        #expect(source.omissions == ["the default of 'A.b' is left out: no Swift literal expresses it"])
    }

    @Test func `what no struct and no transformable property can be is told by its path (MD-24, MD-26)`() throws {
        let bytes = AttributeDescription("t", .transformable, valueTransformerName: "T")
        let named = AttributeDescription(
            "n", .binary, allowsExternalBinaryDataStorage: true, renamingIdentifier: "m", versionHashModifier: "2",
            userInfo: ["k": "v"])
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription("some", .composite, elements: [bytes, named]),
                        AttributeDescription("none", .composite, elements: [bytes]),
                        AttributeDescription("json", .transformable, valueTransformerName: "Codable"),
                        AttributeDescription(
                            "color", .transformable, isOptional: false, defaultValue: .transformable(Data([1])),
                            valueTransformerName: "a\"b"),
                    ])
            ])
        let source = try EntityClassSource(model, origin: "a")

        #expect(
            source.text.hasSuffix(
                #"""
                final class A: ManagedObject {
                    var some: ASome?
                    // none: no property of a class has the type composite.
                    // json: no property of a class has the type transformable.
                    @Attribute(.transformable(by: "a\"b")) var color: Any?
                }

                @Composite
                struct ASome {
                    // t: no element of a struct has the type transformable.
                    var n: Data?
                }

                """#), "\(source.text)")
        let none = "of type transformable is left out"
        #expect(
            source.omissions == [
                "'A.none' of type composite is left out: a property of a class cannot have this type",
                "'A.json' \(none): a property of a class cannot have this type",
                "'A.color' must have a value, but a transformable property of a class is an optional",
                "the default of 'A.color' is left out: no Swift literal expresses it",
                "'A.some.t' \(none): an element of a struct cannot have this type",
                "the former name of 'A.some.n' is left out", "the hash modifier of 'A.some.n' is left out",
                "the storage of 'A.some.n' in a file of its own is left out",
                "the user info of 'A.some.n' is left out",
                "'A.none.t' \(none): an element of a struct cannot have this type",
            ], "\(source.omissions)")
    }

    @Test func `what no class can say is told`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription("n", .string, userInfo: ["k": "v"]),
                        AttributeDescription(
                            "b", .binary, defaultValue: .binary(Data([1])),
                            validationRules: [ValidationRule(.maximum(.binary(Data([2]))))]),
                    ])
            ], configurations: [ConfigurationDescription("C", entities: ["A"])],
            fetchRequestTemplates: [FetchRequestTemplate("q", entity: "A")]
        ).localized(["de": MessageTable([1570: "fehlt"])])
        let source = try EntityClassSource(model, origin: "a\nb")

        #expect(source.text.hasPrefix("// Made from a b by"))
        #expect(source.text.contains("    var b: Data?\n"))
        #expect(
            source.omissions == [
                "a rule of 'A.b' is left out: no Swift literal expresses its limit",
                "the default of 'A.b' is left out: no Swift literal expresses it",
                "the user info of 'A.n' is left out", "the configuration 'C' is left out",
                "the request 'q' is left out", "the messages in 'de' are left out",
            ])
    }

    @Test func `names that no property can have are refused`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription("Data", attributes: [AttributeDescription("objectID", .string)]),
                EntityDescription("class", attributes: [AttributeDescription("ref", .string)]),
                EntityDescription("Rule", attributes: [AttributeDescription("predicateExpression", .string)]),
            ])
        let error = try #require(throws: EntityClassError.self) { try EntityClassSource(model, origin: "x") }

        #expect(error.problems.count == 3)
        #expect(
            error.description.contains(
                "'Data.objectID' has the name of a property of every object; rename it in the model"))
    }

    /// Entities whose classes have other names, or cannot have their own.
    private func renamed() throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Data",
                    relationships: [
                        RelationshipDescription("owner", to: "Person", inverse: "data"),
                        RelationshipDescription("next", to: "class"),
                    ]),
                EntityDescription("class", superentity: "Person"),
                EntityDescription(
                    "Person",
                    attributes: [AttributeDescription("count", .integer64, derivation: .count(of: "data"))],
                    relationships: [RelationshipDescription("data", to: "Data", inverse: "owner", .toMany)],
                    fetchedProperties: [FetchedPropertyDescription("all", of: "Data")],
                    managedObjectClassName: "EDPerson"),
                // The first of two entities with one class has it, and a class of an entity's own name comes first.
                EntityDescription("Second", managedObjectClassName: "App.EDPerson"),
                EntityDescription("Third", managedObjectClassName: "Fourth"),
                EntityDescription("Fourth", managedObjectClassName: ".Fourth"),
                EntityDescription("Fifth", managedObjectClassName: "NSManagedObject"),
                EntityDescription("Set", managedObjectClassName: "Array"), EntityDescription("SetEntity"),
            ])
    }

    @Test func `classes have the names of the file, and other ones where Swift has the name of the entity`() throws {
        let source = try EntityClassSource(renamed(), origin: "a")

        #expect(
            source.text == #"""
                // Made from a by 'dbtool schema --swift'.

                import Espalier

                @Entity(name: "Data")
                final class DataEntity: ManagedObject {
                    @Relationship(inverse: "data") var owner: EDPerson?
                    var next: classEntity?
                }

                @Entity(name: "class")
                final class classEntity: EDPerson {
                }

                @Entity(name: "Person")
                class EDPerson: ManagedObject {
                    @Attribute(.derived(.count(of: \EDPerson.data))) var count: Int64?
                    @Relationship(inverse: "owner") var data: ToMany<DataEntity>
                    @FetchedProperty var all: [DataEntity]
                }

                @Entity
                final class Second: ManagedObject {
                }

                @Entity
                final class Third: ManagedObject {
                }

                @Entity
                final class Fourth: ManagedObject {
                }

                @Entity
                final class Fifth: ManagedObject {
                }

                @Entity(name: "Set")
                final class SetEntity2: ManagedObject {
                }

                @Entity
                final class SetEntity: ManagedObject {
                }

                """#)
        #expect(source.omissions.isEmpty)
    }
}
