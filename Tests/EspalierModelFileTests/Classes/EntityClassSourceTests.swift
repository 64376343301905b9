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
                    // cover: no property of a class has the type transformable.
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
                "'Album.cover' of type transformable is left out: a property of a class cannot have this type"
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

    @Test func `names that no class and no property can have are refused`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription("Data", attributes: [AttributeDescription("objectID", .string)]),
                EntityDescription("class"),
            ])
        let error = try #require(throws: EntityClassError.self) { try EntityClassSource(model, origin: "x") }

        #expect(error.problems.count == 3)
        #expect(
            error.description.contains(
                "'Data.objectID' has the name of a property of every object; rename it in the model"))
    }
}
