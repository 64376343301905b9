// `schema` of model files, and the classes that it prints, as text and compiled with this package.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct SchemaSwiftTests {
    /// Writes a model file into `folder`; returns its path.
    private func write(_ model: ManagedObjectModel, _ name: String, in folder: URL) throws -> String {
        let url = folder.appending(path: name)
        try ModelDocument(model).write(to: url)
        return url.path
    }

    private static func rules(_ conditions: ValidationRule.Condition...) -> [ValidationRule] {
        conditions.map { ValidationRule($0) }
    }

    /// The elements of a composite: of any plain type, required or not, with a default or not, and one in another.
    private static let place = [
        AttributeDescription("in", .string, isOptional: false, defaultValue: .string("\"")),
        AttributeDescription("since", .date), AttributeDescription("code", .uuid, isOptional: false),
        AttributeDescription("weight", .float, defaultValue: .float(0.1)),
        AttributeDescription("price", .decimal, isOptional: false, defaultValue: .decimal(Decimal(5) / 4)),
        AttributeDescription(
            "point", .composite,
            elements: [
                AttributeDescription("x", .double, isOptional: false, defaultValue: .double(-0.5)),
                AttributeDescription("y", .integer16), AttributeDescription("isFar", .boolean, isOptional: false),
            ]),
    ]

    /// A model with a default that model files cannot express.
    private func furnished() throws -> ManagedObjectModel {
        let point: AttributeValue = .composite(["x": .double(3), "isFar": .boolean(true)])
        let whole: AttributeValue = .composite([
            "in": .string("\\"), "code": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
            "price": .decimal(2), "point": point,
        ])
        return try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Room",
                    attributes: [
                        AttributeDescription("place", .composite, defaultValue: whole, elements: Self.place)
                    ])
            ])
    }

    private func library() throws -> ManagedObjectModel {
        try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Work", isAbstract: true,
                    attributes: [
                        AttributeDescription(
                            "title", .string, isOptional: false, defaultValue: .string("a \"\\(b)\"\n"),
                            versionHashModifier: "m",
                            validationRules: Self.rules(.maximumLength(9), .minimumLength(1), .pattern("\\D*"))),
                        AttributeDescription("switch", .boolean, isOptional: false, defaultValue: .boolean(true)),
                        AttributeDescription(
                            "year", .integer16, isIndexed: true, renamingIdentifier: "published",
                            validationRules: Self.rules(.minimum(.integer(-1)), .maximum(.integer(2100)))),
                    ], versionHashModifier: "\"2\""),
                EntityDescription(
                    "Album", superentity: "Work",
                    attributes: [
                        AttributeDescription("code", .uuid, isOptional: false),
                        AttributeDescription(
                            "born", .date, defaultValue: .date(Date(timeIntervalSinceReferenceDate: -0.5)),
                            validationRules: Self.rules(.minimum(.date(Date(timeIntervalSinceReferenceDate: -9))))),
                        AttributeDescription("home", .uri), AttributeDescription("cover", .binary),
                        AttributeDescription("color", .transformable, valueTransformerName: "Color \"x\""),
                        AttributeDescription("place", .composite, elements: Self.place),
                        AttributeDescription("venue", .composite, isOptional: false, elements: Self.place),
                        AttributeDescription(
                            "price", .decimal, isOptional: false, defaultValue: .decimal(Decimal(5) / 4),
                            validationRules: Self.rules(.minimum(.decimal(Decimal(1) / 8)))),
                        AttributeDescription("a", .integer32, isOptional: false),
                        AttributeDescription("b", .integer64),
                        AttributeDescription(
                            "c", .double, defaultValue: .double(1e100),
                            validationRules: Self.rules(.maximum(.double(1e100)))),
                        AttributeDescription(
                            "d", .float, isTransient: true, validationRules: Self.rules(.minimum(.float(0.1)))),
                    ],
                    relationships: [
                        RelationshipDescription(
                            "artist", to: "Artist", inverse: "albums", deleteRule: .deny, isOptional: false),
                        RelationshipDescription(
                            "like", to: "Album", inverse: "like", .toMany, minCount: 1, maxCount: 3),
                        RelationshipDescription(
                            "next", to: "Album", renamingIdentifier: "after", versionHashModifier: "n"),
                    ], uniquenessConstraints: [["title", "artist"], ["code"]],
                    indexes: [.init("byTitle", on: [.init("title"), .init("year", isAscending: false)])],
                    renamingIdentifier: "Record"),
                EntityDescription(
                    "Artist",
                    relationships: [
                        RelationshipDescription(
                            "albums", to: "Album", inverse: "artist", .ordered, deleteRule: .cascade)
                    ]),
                // The class of one has the file's name, and that of the other cannot have its own.
                EntityDescription(
                    "Person", relationships: [RelationshipDescription("data", to: "Data", inverse: "owner", .toMany)],
                    managedObjectClassName: "EDPerson"),
                EntityDescription(
                    "Data", attributes: [AttributeDescription("bytes", .binary)],
                    relationships: [RelationshipDescription("owner", to: "Person", inverse: "data")]),
            ])
    }

    /// The characters of a description in a fixed order: a composite value is a dictionary, which has none.
    private static func sorted(_ text: (some StringProtocol)?) -> [Character] { (text ?? "").sorted() }

    @Test func `the classes of a model file compile, and their model has its hashes`() throws {
        try withTemporaryFolder { folder in
            let model = try library()
            let run = ToolRun("schema", try write(model, "Library.xcdatamodel", in: folder), "--swift")
            #expect(run.code == 0 && run.errors.isEmpty)

            let furnished = try furnished()
            let rooms = try EntityClassSource(furnished, origin: "code")
            #expect(rooms.omissions.isEmpty)
            let document =
                "```swift\n\(run.output)\n\(rooms.text)\n"
                + "let model = try ManagedObjectModel(for: [Album.self, Artist.self, EDPerson.self])\n"
                + "print(model.versionChecksum)\nfor entity in model.entities { print(entity.description) }\n"
                + "print(try ManagedObjectModel(for: [Room.self]).descriptions[0])\n```\n"
            let program = try ExampleProgram(
                firstOf: document, modules: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"])
            let lines = try program.run(in: folder).split(separator: "\n")

            #expect(lines.first.map(String.init) == model.versionChecksum)
            // The hash does not cover defaults, former names, indexes and rules.
            for entity in model.entities {
                var description = entity.description
                if entity.name == "Data" { description.managedObjectClassName = "DataEntity" }
                #expect(lines.contains { $0 == "\(description)" }, "\(description)")
            }
            #expect(Self.sorted(lines.last) == Self.sorted("\(furnished.descriptions[0])"))
        }
    }

    @Test func `the classes of real model files compile, with composites and transformers (MD-24, MD-26)`() throws {
        let models = Checkout.root.appending(path: "Tests/EspalierModelFileTests/Models")
        let paths = [
            "duckduckgo+BrowserServicesKit/BookmarksModel.xcdatamodeld",
            "fatbobman+CoreDataEvolution/CoreDataEvolutionIntegrationModel.xcdatamodeld",
        ].map { models.appending(path: $0).path }
        let runs = paths.map { ToolRun("schema", $0, "--swift") }
        for run in runs { #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)") }
        #expect(runs[0].output.hasPrefix("// Made from BookmarksModel.xcdatamodeld by 'dbtool schema --swift'.\n"))
        #expect(runs[1].output.contains("    var location: CDEItemLocation?\n"))
        #expect(runs[1].output.contains("@Composite\nstruct CDEItemLocation {\n    var x: Double = 0.0\n"))
        #expect(runs[1].output.contains("by: \"NSSecureUnarchiveFromData\")) var keywords_payload: Any?\n"))

        let program = try ExampleProgram(
            firstOf:
                "```swift\n\(runs[0].output)\n\(runs[1].output)\n"
                + "print(try ManagedObjectModel(for: [BookmarkEntity.self]).versionChecksum)\n"
                + "print(try ManagedObjectModel(for: [CDEItem.self]).versionChecksum)\n```\n",
            modules: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"])
        try withTemporaryFolder { folder in
            let output = try program.run(in: folder)
            // The editor's modifiers of the hash are a part of it.
            let checksums = try paths.map { try ManagedObjectModel(contentsOf: URL(filePath: $0)).versionChecksum }
            #expect(output == checksums.map { "\($0)\n" }.joined())
        }
    }

    @Test func `a store's classes are printed as those of its model file`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "albums.espalier").path
            try AlbumStore.make(at: path)
            let file = try write(AlbumStore.model(), "Albums.xcdatamodel", in: folder)
            let (run, other) = (ToolRun("schema", path, "--swift"), ToolRun("schema", file, "--swift"))
            let (text, expected) = (run.output.drop { $0 != "\n" }, other.output.drop { $0 != "\n" })

            #expect(run.code == 0 && other.code == 0 && run.errors.isEmpty && other.errors.isEmpty)
            // Only the first line says where they are from.
            #expect(run.output.hasPrefix("// Made from ") && run.output.contains("albums.espalier by 'dbtool schema"))
            #expect(text == expected)
            #expect(text.contains("    @Relationship(inverse: \"labels\") var albums: ToMany<Album>\n"))
        }
    }

    @Test func `schema shows a model file without rows, and tells what it asks for and nothing does`() throws {
        try withTemporaryFolder { folder in
            let url = folder.appending(path: "A.xcdatamodel")
            let xml = """
                <model><entity name='A'>
                <attribute name='n' attributeType='Boolean' minValueString='1'/>
                <attribute name='t' attributeType='Transformable'/></entity></model>
                """
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data(xml.utf8).write(to: url.appending(path: "contents"))
            let run = ToolRun("schema", url.path)
            let note =
                "note: \(url.path): line 2: entity 'A', attribute 'n': has the rule minValueString=\"1\", "
                + "which Espalier does not check: it has no meaning for type boolean\n"

            #expect(run.code == 0 && run.errors == note)
            #expect(run.output == "A\n  n  boolean\n  t  transformable\n\n")
            #expect(ToolRun("schema", url.path + "/", "A", "--json").output.contains("\"rows\":null"))
            #expect(
                ToolRun("schema", url.path, "--swift").errors == note
                    + "note: \(url.path): 'A.t' must have a value, but a transformable property of a class is "
                    + "an optional\n"
                    + "note: \(url.path): 'A.t' names no transformer; its class names 'NSSecureUnarchiveFromData', "
                    + "as Core Data does\n"
            )
        }
    }

    @Test func `a model file is shown although a named request does not fit, and a note names the request (FR-17)`()
        throws
    {
        try withTemporaryFolder { folder in
            let url = folder.appending(path: "A.xcdatamodel")
            let xml = """
                <model><entity name='A'><attribute name='n' optional='YES' attributeType='String'/></entity>
                <fetchRequest name='good' entity='A' predicateString='n == $N'/>
                <fetchRequest name='bad' entity='A' predicateString='m == 1'/></model>
                """
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            try Data(xml.utf8).write(to: url.appending(path: "contents"))

            for run in [ToolRun("schema", url.path), ToolRun("diff-models", url.path, url.path)] {
                #expect(run.code == 0 && run.errors.hasPrefix("note: \(url.path): request 'bad' is not valid: "))
                #expect(run.errors.contains("'m'") && !run.errors.contains("'good'"), "\(run.errors)")
            }
        }
    }

    @Test func `a model file that is wrong, and words that do not go together, are refused`() throws {
        try withTemporaryFolder { folder in
            let missing = ToolRun("schema", folder.appending(path: "No.xcdatamodeld").path, "--swift")
            #expect(missing.code == 3 && missing.errors.hasSuffix("No.xcdatamodeld: the file does not exist\n"))
            let entity = EntityDescription("Data", attributes: [AttributeDescription("objectID", .string)])
            let path = try write(ManagedObjectModel(entities: [entity]), "A.xcdatamodel", in: folder)
            let hidden = ToolRun("schema", path, "--swift")
            #expect(hidden.code == 2)
            #expect(
                hidden.errors
                    == "dbtool: \(path): 'Data.objectID' has the name of a property of every object; rename it in the "
                    + "model\n"
            )
            #expect(ToolRun("schema", path, "--swift", "--json").code == 2)
            #expect(ToolRun("schema", path, "Data", "--swift").code == 2)
        }
    }
}
