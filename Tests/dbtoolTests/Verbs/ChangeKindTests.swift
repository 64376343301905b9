// Kinds of differences that change little: what is printed of each, for people and for programs, what it costs and
// loses, and what a migration makes of the rows.

import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import TestSupport
import Testing

/// The rows of a small store, by entity and in the order of their keys.
private struct Rows: Equatable {
    var values: [String: [String: [AttributeValue]]] = [:]
    /// The keys of the destinations, of to-one relationships too.
    var links: [String: [String: [[UInt64]]]] = [:]

    init(_ path: String) throws {
        let store = try BTreeStore.openWithStoredModel(path: path)
        defer { try? store.close() }
        for entity in store.model.entities where !entity.isAbstract {
            let ids = try store.fetchIDs(StoreFetch(entity: entity, includesSubentities: false))
            let rows = try store.snapshots(of: ids)
            values[entity.name] = Dictionary(
                uniqueKeysWithValues: entity.attributes.map { attribute in
                    (attribute.name, rows.map { $0?.value(at: attribute.slot) ?? .null })
                })
            for relationship in entity.relationships {
                links[entity.name, default: [:]][relationship.name] =
                    relationship.isToMany
                    ? try store.destinations(of: relationship, for: ids).map { $0.map(\.key).sorted() }
                    : rows.map { $0?.destination(at: relationship.slot).map { [$0.key] } ?? [] }
            }
        }
    }
}

/// One difference: how the model changes, what is said about it, and what becomes of the rows.
private struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let change: @Sendable (inout [EntityDescription]) -> Void
    /// The member of each change that `diff-models --json` prints, without the names of its members.
    let json: [String]
    /// The cells of each change in the table of `diff-models`.
    let texts: [String]
    var losses: [String] = []
    var rowsWritten = 0
    /// The change of the rows by the migration.
    var effect: @Sendable (inout Rows) -> Void = { _ in }

    init(
        _ name: String, json: [String], texts: [String], losses: [String] = [], rowsWritten: Int = 0,
        _ change: @escaping @Sendable (inout [EntityDescription]) -> Void,
        effect: @escaping @Sendable (inout Rows) -> Void = { _ in }
    ) {
        (testDescription, self.change, self.json, self.texts) = (name, change, json, texts)
        (self.losses, self.rowsWritten, self.effect) = (losses, rowsWritten, effect)
    }
}

@Suite struct ChangeKindTests {
    /// Shelves with boxes, and tags of boxes; drafts have no rows.
    private static let base: [EntityDescription] = [
        EntityDescription("Thing", isAbstract: true, attributes: [AttributeDescription("code", .string)]),
        EntityDescription(
            "Shelf", superentity: "Thing",
            relationships: [RelationshipDescription("boxes", to: "Box", inverse: "shelf", .toMany)]),
        EntityDescription(
            "Box", superentity: "Thing",
            attributes: [
                AttributeDescription("number", .integer32),
                AttributeDescription("label", .string, isOptional: false, defaultValue: .string("none")),
                AttributeDescription("mood", .string), AttributeDescription("hint", .string, isTransient: true),
                AttributeDescription("photo", .transformable, valueTransformerName: "First"),
                AttributeDescription("loud", .string, derivation: .uppercase(of: "label")),
            ],
            relationships: [
                RelationshipDescription("shelf", to: "Shelf", inverse: "boxes"),
                RelationshipDescription("tag", to: "Tag"),
            ], uniquenessConstraints: [["number"]]),
        EntityDescription("Tag", superentity: "Thing"),
        EntityDescription("Draft", attributes: [AttributeDescription("text", .string)]),
    ]

    /// A closed file with two shelves, five boxes and two tags; three boxes are on the first shelf, and each second box
    /// has a mood and a tag.
    private static func makeStore(at path: String) throws {
        let store = try BTreeStore.open(path: path, model: try ManagedObjectModel(entities: base))
        var request = SaveRequest()
        func insert(_ name: String, _ values: [String: AttributeValue], _ to: [String: ObjectID]) throws -> ObjectID {
            let (id, entity) = (ObjectID(temporaryFor: name), try #require(store.model.entity(named: name)))
            request.insertions.append(
                .init(
                    id: id, values: entity.attributes.map { values[$0.name] ?? .null },
                    destinations: entity.relationships.map { to[$0.name] }))
            return id
        }
        let shelves = try ["a", "b"].map { try insert("Shelf", ["code": .string($0)], [:]) }
        let tags = try ["x", "y"].map { try insert("Tag", ["code": .string($0)], [:]) }
        for number in 0..<5 {
            var values: [String: AttributeValue] = [
                "number": .integer(Int64(number)), "label": .string("Box \(number)"),
                "photo": .transformable(Data([UInt8(number)])),
            ]
            if number % 2 == 0 { values["mood"] = .string("calm") }
            var to = ["shelf": shelves[number < 3 ? 0 : 1]]
            if number % 2 == 0 { to["tag"] = tags[number / 2 % 2] }
            _ = try insert("Box", values, to)
        }
        _ = try store.save(request)
        try store.close()
    }

    /// The position of an entity of `base`.
    private static let (thing, shelf, box, draft) = (0, 1, 2, 4)

    private static let cases: [Case] = [
        Case(
            "an entity is no longer abstract",
            json: [#""Thing",null,"abstractnessChanged","is no longer abstract","constant",[],null"#],
            texts: ["Thing  is no longer abstract  constant"]
        ) {
            $0[thing].isAbstract = false
        } effect: { rows in
            rows.values["Thing"] = ["code": []]
        },
        Case(
            "an entity without rows is abstract now",
            json: [#""Draft",null,"abstractnessChanged","is now abstract","check",["Draft"],null"#],
            texts: ["Draft  is now abstract  check of Draft"]
        ) {
            $0[draft].isAbstract = true
        } effect: { rows in
            rows.values["Draft"] = nil
        },
        Case(
            "a value is optional now",
            json: [#""Box","label","madeOptional","no longer needs a value","constant",[],null"#],
            texts: ["Box.label  no longer needs a value  constant"]
        ) { $0[box].attributes[1].isOptional = true },
        Case(
            "an attribute is transient now",
            json: [#""Box","mood","madeTransient","is no longer stored","constant",[],"removal of Box.mood""#],
            texts: ["Box.mood  is no longer stored  constant  removal of Box.mood"], losses: ["Box.mood"]
        ) {
            $0[box].attributes[2].isTransient = true
        } effect: { rows in
            rows.values["Box"]?["mood"] = Array(repeating: .null, count: 5)
        },
        Case(
            "an attribute is stored now",
            json: [#""Box","hint","madeStored","is now stored","constant",[],null"#],
            texts: ["Box.hint  is now stored  constant"]
        ) { $0[box].attributes[3].isTransient = false },
        Case(
            "an attribute is stored now and has a default",
            json: [
                #""Box","hint","madeStored","is now stored","constant",[],null"#,
                #""Box","hint","madeRequired","must now have a value","constant",[],null"#,
                #""Box","hint","defaultChanged","default \"look\", before nil","constant",[],null"#,
            ],
            texts: [
                "Box.hint  is now stored  constant", "Box.hint  must now have a value  constant",
                "Box.hint  default \"look\", before nil  constant",
            ]
        ) { entities in
            entities[box].attributes[3] = AttributeDescription(
                "hint", .string, isOptional: false, defaultValue: .string("look"))
        } effect: { rows in
            rows.values["Box"]?["hint"] = Array(repeating: .string("look"), count: 5)
        },
        Case(
            "new objects have another default",
            json: [
                #""Box","label","defaultChanged","default \"empty\", before \"none\"","constant",[],null"#,
                #""Box","mood","defaultChanged","default \"calm\", before nil","constant",[],null"#,
            ],
            texts: [
                "Box.label  default \"empty\", before \"none\"  constant",
                "Box.mood  default \"calm\", before nil  constant",
            ]
        ) { entities in
            entities[box].attributes[1].defaultValue = .string("empty")
            entities[box].attributes[2].defaultValue = .string("calm")
        },
        Case(
            "values have another transformer",
            json: [
                #""Box","photo","transformerChanged","transformer Second, before First","constant",[],null"#
            ],
            texts: ["Box.photo  transformer Second, before First  constant"]
        ) { $0[box].attributes[4].valueTransformerName = "Second" },
        Case(
            "stores compute a value in another way",
            json: [
                #""Box","loud","derivationChanged","derived by lowercase:(label), before by uppercase:(label)","#
                    + #""rewrite",["Box"],null"#
            ],
            texts: ["Box.loud  derived by lowercase:(label), before by uppercase:(label)  rewrite of Box"]
        ) {
            $0[box].attributes[5].derivation = .lowercase(of: "label")
        } effect: { rows in
            rows.values["Box"]?["loud"] = (0..<5).map { .string("box \($0)") }
        },
        Case(
            "the application sets a value that stores have computed",
            json: [
                #""Box","loud","derivationChanged","derived by nothing, before by uppercase:(label)","constant",[],"#
                    + "null"
            ],
            texts: ["Box.loud  derived by nothing, before by uppercase:(label)  constant"]
        ) { $0[box].attributes[5].derivation = nil },
        Case(
            "a relationship leads to a superentity",
            json: [#""Box","tag","destinationChanged","leads to Thing, before it led to Tag","constant",[],null"#],
            texts: ["Box.tag  leads to Thing, before it led to Tag  constant"]
        ) { $0[box].relationships[1].destination = "Thing" },
        Case(
            "a relationship has no inverse any more",
            json: [
                #""Shelf","boxes","inverseChanged","inverse none, before shelf","rewrite",["Shelf"],null"#,
                #""Box","shelf","inverseChanged","inverse none, before boxes","rewrite",["Box"],null"#,
            ],
            texts: [
                "Shelf.boxes  inverse none, before shelf  rewrite of Shelf",
                "Box.shelf  inverse none, before boxes  rewrite of Box",
            ]
        ) { entities in
            entities[shelf].relationships[0].inverse = nil
            entities[box].relationships[0].inverse = nil
        },
        Case(
            "fewer destinations are allowed",
            json: [
                #""Shelf","boxes","countsChanged","the minimum or maximum count differs","check",["Shelf"],null"#
            ],
            texts: ["Shelf.boxes  the minimum or maximum count differs  check of Shelf"]
        ) { ($0[shelf].relationships[0].minCount, $0[shelf].relationships[0].maxCount) = (2, 3) },
        Case(
            "a least number of destinations that every list has",
            json: [#""Shelf","boxes","countsChanged","the minimum or maximum count differs","constant",[],null"#],
            texts: ["Shelf.boxes  the minimum or maximum count differs  constant"]
        ) { $0[shelf].relationships[0].minCount = 1 },
        Case(
            "values need no longer be unique",
            json: [#""Box",null,"constraintRemoved","number no longer must be unique","constant",[],null"#],
            texts: ["Box  number no longer must be unique  constant"]
        ) { $0[box].uniquenessConstraints = [] },
    ]

    /// The cells of the rows in a table, two spaces between them.
    private func cells(_ table: String) -> [String] {
        table.split(separator: "\n").dropFirst(2).map { line in
            line.components(separatedBy: "  ").map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty }.joined(separator: "  ")
        }
    }

    /// The text without the names of members.
    private func withoutNames(_ json: String) -> String {
        ["entity", "property", "kind", "text", "cost", "rowsOf", "loses"].reduce(json) {
            $0.replacingOccurrences(of: "\"\($1)\":", with: "")
        }
    }

    @Test(arguments: cases)
    private func `what is printed of a difference, its cost and its losses are what a migration does`(
        test: Case
    ) throws {
        try withTemporaryFolder { folder in
            let (path, newPath) = (folder.appending(path: "old").path, folder.appending(path: "new").path)
            try Self.makeStore(at: path)
            var entities = Self.base
            test.change(&entities)
            let model = try ManagedObjectModel(entities: entities)
            try BTreeStore.open(path: newPath, model: model).close()
            var expected = try Rows(path)
            test.effect(&expected)

            let (text, json) = (ToolRun("diff-models", path, newPath), ToolRun("diff-models", path, newPath, "--json"))
            #expect(cells(text.output) == test.texts)
            let members = test.json.map { "{\($0)}" }.joined(separator: ",")
            #expect(withoutNames(json.output).contains("\"changes\":[\(members)]"), "\(json.output)")
            let losses = test.losses.joined(separator: ",")
            if !losses.isEmpty { #expect(ToolRun("migrate", path, "--model", newPath).code == 1) }
            let dry = ToolRun("migrate", path, "--model", newPath, "--allow", losses, "--dry-run", "--json")
            let run = ToolRun("migrate", path, "--model", newPath, "--allow", losses, "--json")

            #expect(dry.code == 0 && run.code == 0, "\(run.output)\(run.errors)")
            #expect(
                dry.output.replacingOccurrences(of: "\"dryRun\":true", with: "\"dryRun\":false") == run.output)
            #expect(run.output.contains("\"rowsWritten\":\(test.rowsWritten)"), "\(run.output)")
            #expect(try Rows(path) == expected)
            #expect(ToolRun("check", path).code == 0 && ToolRun("audit", path).code == 0)
            #expect(ToolRun("diff-models", path, newPath).code == 0)
        }
    }

    /// A model file with each part that no store keeps and model files have a word for.
    private static let file = """
        <model userDefinedModelVersionIdentifier='First'>
        <entity name='Box' representedClassName='CDBox' versionHashModifier='one'>
        <attribute name='number' optional='YES' attributeType='Integer 32' minValueString='1'/>
        <attribute name='scan' optional='YES' attributeType='Binary'/>
        <attribute name='home' optional='YES' attributeType='Composite' composite='Address'/>
        <fetchedProperty name='near' optional='YES'><fetchRequest name='q' entity='Box' \
        predicateString='number == 1'/></fetchedProperty>
        <userInfo><entry key='k' value='v'/></userInfo></entity>
        <composite name='Address'><attribute name='zip' optional='YES' attributeType='String' \
        regularExpressionString='[0-9]+' versionHashModifier='first part'>\
        <userInfo><entry key='part' value='x'/></userInfo></attribute></composite>
        <fetchRequest name='All' entity='Box' predicateString='number == 2'/>
        <configuration name='Local'><memberEntity name='Box'/></configuration></model>
        """

    @Test(
        arguments: [
            (
                "minValueString='1'", "minValueString='2'", "Box.number", "rulesChanged", ["rules >= 2, before >= 1"]
            ),
            (" minValueString='1'", "", "Box.number", "rulesChanged", ["rules none, before >= 1"]),
            (
                "== 1", "== 3", "Box.near", "fetchedPropertyChanged",
                ["fetches Box where number == 3, before Box where number == 1"]
            ),
            ("name='near'", "name='far'", "Box.", "fetchedPropertyChanged", ["before none", "fetches none"]),
            (
                "== 2", "== 4", "the model", "templateChanged",
                ["request All of Box where number == 4, before Box where number == 2"]
            ),
            (
                "name='Local'", "name='Remote'", "the model", "configurationChanged",
                ["configuration Remote of Box, before none", "configuration Local of none, before Box"]
            ),
            ("CDBox", "CDCrate", "Box", "classNameChanged", ["class CDCrate, before CDBox"]),
            ("'one'", "'two'", "Box", "hashModifierChanged", ["hash modifier two, before one"]),
            ("value='v'", "value='w'", "Box", "userInfoChanged", ["texts k=w, before k=v"]),
            (
                "attributeType='Binary'", "attributeType='Binary' allowsExternalBinaryDataStorage='YES'", "Box.scan",
                "externalStorageChanged", ["may be in a file of its own"]
            ),
            ("First", "Second", "the model", "versionIdentifiersChanged", ["version Second, before First"]),
            ("[0-9]+", "[0-9]{5}", "Box.home.zip", "rulesChanged", ["rules MATCHES"]),
            ("value='x'", "value='y'", "Box.home.zip", "userInfoChanged", ["texts part=y, before part=x"]),
            (
                "first part", "second part", "Box.home.zip", "hashModifierChanged",
                ["hash modifier second part, before first part"]
            ),
        ])
    func `model files that differ in a part that no store keeps are not called equal`(
        old: String, new: String, subject: String, kind: String, texts: [String]
    ) throws {
        try withTemporaryFolder { folder in
            func write(_ name: String, _ xml: String) throws -> URL {
                let url = folder.appending(path: "\(name).xcdatamodel")
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
                try Data(xml.utf8).write(to: url.appending(path: "contents"))
                return url
            }
            let files = [try write("old", Self.file), try write("new", Self.file.replacing(old, with: new))]
            let store = folder.appending(path: "store").path
            try BTreeStore.open(path: store, model: try ManagedObjectModel(contentsOf: files[0])).close()

            let run = ToolRun("diff-models", files[0].path, files[1].path)
            let json = ToolRun("diff-models", files[0].path, files[1].path, "--json")
            let partial = ToolRun("diff-models", store, files[1].path)

            #expect(run.code == 1 && json.code == 1)
            for text in texts {
                #expect(cells(run.output).contains { $0.hasPrefix(subject) && $0.contains(text) }, "\(run.output)")
                #expect(json.output.contains(text), "\(json.output)")
            }
            #expect(json.output.components(separatedBy: "\"kind\":\"\(kind)\"").count == texts.count + 1)
            #expect(json.output.contains("\"constantTime\":true") && json.output.contains("\"losses\":[]"))
            #expect(ToolRun("diff-models", files[1].path, files[1].path).output == "the models are equal\n")
            // Only the store lacks them.
            #expect(partial.code == 0)
            #expect(partial.output == "the models are equal in everything that a store keeps\n")
        }
    }

    @Test func `values of an attribute that was transient in between do not come back`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try Self.makeStore(at: path)
            var entities = Self.base
            entities[Self.box].attributes[2].isTransient = true
            let between = try ManagedObjectModel(entities: entities)

            _ = try BTreeStore.migrate(
                at: path, to: between, migration: MigrationOptions(allowing: [.removal(of: "Box.mood")]))
            _ = try BTreeStore.migrate(at: path, to: try ManagedObjectModel(entities: Self.base))

            #expect(try Rows(path).values["Box"]?["mood"] == Array(repeating: .null, count: 5))
            #expect(ToolRun("check", path).code == 0)
        }
    }

    @Test func `an attribute that is stored and required now, and has no default, is refused with its rows`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "store").path
            try Self.makeStore(at: path)
            var entities = Self.base
            entities[Self.box].attributes[3] = AttributeDescription("hint", .string, isOptional: false)
            let model = try ManagedObjectModel(entities: entities)

            let plan = try BTreeStore.migrationPlan(at: path, to: model, checkingRows: true)

            let failure = try #require(plan.refusal?.failures.first)
            #expect(failure.subject == "Box.hint" && failure.reason == .noValue && failure.rowCount == 5)
            #expect(plan.steps.map(\.change.cost) == [.check, .constant])
        }
    }
}
