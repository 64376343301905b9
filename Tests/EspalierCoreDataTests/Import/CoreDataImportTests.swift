// Every row, value, relationship and position of a store of Core Data arrives, and what cannot be read is listed.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct CoreDataImportTests {
    private static let photo = "596ECDCA-987E-454C-A269-04E0817C5E33"

    private static func zooFiles(_ name: String = "zoo.sqlite") throws -> [String: [UInt8]] {
        ["zoo.sqlite": try Files.bytes(name), ".zoo_SUPPORT/_EXTERNAL_DATA/\(photo)": Array("a photo".utf8)]
    }

    /// Runs `body` with the import of the zoo: in one batch, in batches of two, and each row and member in one of its
    /// own.
    private func withZoo(_ body: (ImportedStore) throws -> Void) throws {
        for count in [2, 1, nil] {
            let limits = count.map { ImportLimits(rowCount: $0, rowCountMax: $0, memberCount: $0) } ?? ImportLimits()
            try ImportedStore.with(
                files: try Self.zooFiles(), name: "zoo.sqlite", model: try Files.zooModel(), limits: limits, body)
        }
    }

    // MARK: Values

    @Test func `values of every type arrive, in files of their own too`() throws {
        try withZoo { zoo throws in
            let expected: [String: AttributeValue] = [
                "amount": .decimal(try #require(Decimal(string: "12.5"))),
                "birth": .date(Date(timeIntervalSinceReferenceDate: 731_947_175.405035)),
                "code": .uuid(try #require(UUID(uuidString: "8E430534-5F59-49DB-9479-C3290AE2713E"))),
                "color": .transformable(Data([0, 1])), "flag": .boolean(true), "height": .float(1.5),
                "homepage": .uri(try #require(URL(string: "https://a.example/x?y=1"))), "large": .integer(1 << 40),
                "middle": .integer(-70_000), "name": .string("Ada"), "photo": .binary(Data("inline".utf8)),
                "raw": .binary(Data([1] + "raw".utf8)), "small": .integer(-32_768), "weight": .double(70.25),
            ]
            for (name, value) in expected { #expect(try zoo.value("Person", 1, name) == value, "\(name)") }
            #expect(try zoo.value("Person", 2, "photo") == .binary(Data("a photo".utf8)))
            #expect(try zoo.value("Person", 3, "photo") == .binary(Data()))
            #expect(try zoo.value("Person", 2, "raw") == .binary(Data()))
            #expect(try zoo.value("Person", 3, "amount") == .decimal(try #require(Decimal(string: "0.1"))))
            #expect(try zoo.value("Person", 2, "birth") == .date(Date(timeIntervalSinceReferenceDate: 0)))
            #expect(try zoo.value("Person", 2, "name") == .string("Bob é𝄞"))
            #expect(try zoo.value("Person", 5, "flag") == .null)
        }
    }

    @Test func `attributes of one name in two subentities have their values from the columns of their own`() throws {
        try withZoo { zoo throws in
            #expect(try zoo.value("Bird", 30, "title") == .string("Lady"))
            #expect(try zoo.value("Cat", 2, "title") == .string("Sir"))
            #expect(try zoo.value("Cat", 7, "title") == .null)
            #expect(try zoo.value("Bird", 30, "wingspan") == .double(0.25))
        }
    }

    // MARK: Relationships

    @Test func `to-one relationships lead to rows of the right entity, forward and backward`() throws {
        try withZoo { zoo throws in
            #expect(try zoo.destination("Cat", 2, "prey") == "Bird/30")
            #expect(try zoo.destination("Cat", 7, "prey") == "Cat/2")
            #expect(try zoo.destination("Person", 1, "boss") == "Person/3")
            #expect(try zoo.destination("Person", 2, "boss") == "Person/1")
            #expect(try zoo.destination("Person", 5, "boss") == "Person/5")
            #expect(try zoo.destinations("Person", 1, "reports") == [2])
        }
    }

    @Test func `both ends of a one-to-one relationship agree`() throws {
        try withZoo { zoo throws in
            #expect(try zoo.destination("Person", 1, "passport") == "Passport/2")
            #expect(try zoo.destination("Person", 3, "passport") == "Passport/1")
            #expect(try zoo.destination("Passport", 1, "holder") == "Person/3")
            #expect(try zoo.destination("Passport", 2, "holder") == "Person/1")
        }
    }

    @Test func `lists keep their order, from one to many and from many to many`() throws {
        try withZoo { zoo throws in
            #expect(try zoo.destinations("Person", 1, "pets") == [7, 30, 2])
            #expect(try zoo.destinations("Club", 1, "members") == [2, 5, 1])
            #expect(try zoo.destinations("Person", 5, "clubs") == [1])
            #expect(try zoo.destinations("Club", 2, "members") == [])
        }
    }

    @Test func `relationships that are their own inverse, or have none, keep their members`() throws {
        try withZoo { zoo throws in
            #expect(try zoo.destinations("Person", 1, "friends") == [2])
            #expect(try zoo.destinations("Person", 5, "friends") == [3])
            #expect(try zoo.destinations("Person", 1, "labels") == [1, 3])
            #expect(try zoo.destinations("Person", 5, "labels") == [4])
        }
    }

    // MARK: The store as a whole

    @Test func `the report counts the objects, and lists tables and metadata that are not theirs`() throws {
        try withZoo { zoo throws in
            #expect(
                zoo.report.objectCounts == [
                    "Bird": 2, "Cat": 2, "Club": 2, "Label": 4, "Passport": 2, "Person": 4,
                ])
            #expect(zoo.report.ignoredTables == ["ACHANGE", "ATRANSACTION"])
            #expect(zoo.report.storeIdentifier == "68EFC1D5-E5CE-4B04-BC3C-9C3FD734558A")
            #expect(zoo.report.findings.map(\.kind) == [.metadata])
            #expect(zoo.report.findings.first?.property == "list")
            #expect(try zoo.store.metadata() == ["theme": .string("dark"), "opened": .integer(12)])
        }
    }

    @Test func `keys that were given once in Core Data are not given again`() throws {
        try withTemporaryFolder { folder throws -> Void in
            let (source, target) = (folder.appending(path: "zoo.sqlite"), folder.appending(path: "zoo.espalier").path)
            try Data(try Files.bytes("zoo.sqlite")).write(to: source)
            try CoreDataImport.importStore(at: source.path, to: target, model: try Files.zooModel())
            let store = try BTreeStore.openWithStoredModel(path: target)
            let cat = try #require(store.model.entity(named: "Cat"))

            #expect(try #require(try store.reserveIDs(for: cat, count: 1).first).key > 40)
            try store.close()
        }
    }

    @Test func `everything that cannot be read is listed, and all else arrives`() throws {
        try ImportedStore.with(
            files: ["zoo.sqlite": try Files.bytes("zoo-broken.sqlite")], name: "zoo.sqlite", model: try Files.zooModel()
        ) { zoo throws in
            let found = Set(zoo.report.findings.map { "\($0.kind) \($0.entity)/\($0.key).\($0.property)" })
            #expect(
                found == [
                    "metadata /0.list", "value Person/1.small", "value Person/1.flag", "destination Person/1.boss",
                    "value Person/2.name", "externalFile Person/2.photo", "column Bird/31.ZTITLE1", "row Animal/35.",
                    "row Animal/36.", "row Club/-4.", "destination Club/1.members", "destination Club/9.members",
                    "inverse Passport/1.holder", "value Person/3.amount",
                ])
            #expect(zoo.report.findingCount == found.count)
            #expect(try zoo.value("Person", 1, "small") == .null)
            #expect(try zoo.value("Person", 1, "middle") == .integer(-70_000))
            #expect(try zoo.value("Person", 3, "amount") == .null)
            #expect(try zoo.destinations("Club", 1, "members") == [2, 5, 1])
            #expect(zoo.report.objectCounts["Club"] == 2)
        }
    }

    @Test func `a link at the target stays, and nothing is written where it leads`() throws {
        try withTemporaryFolder { folder throws -> Void in
            let (source, link) = (folder.appending(path: "zoo.sqlite"), folder.appending(path: "link"))
            try Data(try Files.bytes("zoo.sqlite")).write(to: source)
            try FileManager.default.createSymbolicLink(
                at: link, withDestinationURL: folder.appending(path: "elsewhere"))
            let error = #expect(throws: CoreDataImportError.self) {
                try CoreDataImport.importStore(at: source.path, to: link.path, model: try Files.zooModel())
            }

            #expect(error?.kindName == "targetExists")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["link", "zoo.sqlite"])
        }
    }

    @Test func `a relationship that is not stored needs no column`() throws {
        let text = try String(
            contentsOf: Files.folder.appending(path: "Zoo.xcdatamodel/contents"), encoding: .utf8)
        let more =
            "<relationship name=\"rival\" optional=\"YES\" transient=\"YES\" maxCount=\"1\" "
            + "deletionRule=\"Nullify\" destinationEntity=\"Club\"/></entity>"
        let club = try #require(text.range(of: "entity name=\"Club\""))
        let place = try #require(text.range(of: "</entity>", range: club.lowerBound..<text.endIndex))
        let document = try ModelDocument(xml: Data(text.replacingCharacters(in: place, with: more).utf8))
        try ImportedStore.with(files: try Self.zooFiles(), name: "zoo.sqlite", model: document) { zoo throws in
            #expect(zoo.report.findings.map(\.kind) == [.metadata])
            #expect(zoo.report.notes.count == 1)
        }
    }

    @Test func `a store whose target exists is not imported, and the target stays`() throws {
        try withTemporaryFolder { folder throws -> Void in
            let (source, target) = (folder.appending(path: "zoo.sqlite"), folder.appending(path: "there"))
            try Data(try Files.bytes("zoo.sqlite")).write(to: source)
            try Data([1]).write(to: target)
            let error = #expect(throws: CoreDataImportError.self) {
                try CoreDataImport.importStore(at: source.path, to: target.path, model: try Files.zooModel())
            }

            #expect(error?.kindName == "targetExists")
            #expect(try Data(contentsOf: target) == Data([1]))
        }
    }

    @Test func `after a failure there is neither a new store nor a part of one`() throws {
        let file = try Files.bytes("zoo.sqlite")
        var chance = SeededGenerator(seed: testSeed(default: 1710))
        try withTemporaryFolder { folder throws -> Void in
            let source = folder.appending(path: "zoo.sqlite")
            var failures = 0
            for _ in 0..<40 {
                var damaged = file
                damaged[Int.random(in: 0..<file.count, using: &chance)] ^= 0x81
                damaged[4096 * Int.random(in: 1..<file.count / 4096, using: &chance)] = 77
                try Data(damaged).write(to: source)
                let target = folder.appending(path: "new").path
                do throws(CoreDataImportError) {
                    try CoreDataImport.importStore(at: source.path, to: target, model: try? Files.zooModel())
                    try? FileManager.default.removeItem(atPath: target)
                } catch {
                    failures += 1
                    #expect(!error.description.isEmpty)
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["zoo.sqlite"])
            }
            #expect(failures > 10)
        }
    }

    @Test func `an import that is ended leaves nothing`() throws {
        try withTemporaryFolder { folder throws -> Void in
            let source = folder.appending(path: "zoo.sqlite")
            try Data(try Files.bytes("zoo.sqlite")).write(to: source)
            let error = #expect(throws: CoreDataImportError.self) {
                try CoreDataImport.importStore(
                    at: source.path, to: folder.appending(path: "new").path, model: try Files.zooModel(),
                    progress: { _ in false })
            }

            #expect(error?.kindName == "cancelled")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["zoo.sqlite"])
        }
    }

    // MARK: Models

    @Test func `a store without a model of its own needs one`() throws {
        let error = #expect(throws: CoreDataImportError.self) {
            try ImportedStore.with(files: try Self.zooFiles(), name: "zoo.sqlite") { _ in }
        }
        #expect(error?.kindName == "noModel")
    }

    @Test(arguments: [("Club", "Society", ["Club"]), ("number", "code", ["Passport"])])
    func `a model with other entities or properties than the store is refused by name`(
        name: String, other: String, entities: [String]
    ) throws {
        let text = try String(
            contentsOf: Files.folder.appending(path: "Zoo.xcdatamodel/contents"), encoding: .utf8)
        let document = try ModelDocument(xml: Data(text.replacing("\"\(name)\"", with: "\"\(other)\"").utf8))
        let error = #expect(throws: CoreDataImportError.self) {
            try ImportedStore.with(files: try Self.zooFiles(), name: "zoo.sqlite", model: document) { _ in }
        }
        #expect(error?.otherEntities == entities)
    }

    /// The model of the store `places.sqlite`, with a text replaced.
    private static func places(_ old: String = "", _ new: String = "") throws -> ModelDocument {
        let text = try String(
            contentsOf: Files.folder.appending(path: "Places.xcdatamodel/contents"), encoding: .utf8)
        return try ModelDocument(xml: Data((old.isEmpty ? text : text.replacing(old, with: new)).utf8))
    }

    @Test func `a store with a composite and a derived attribute arrives with the model that it keeps`() throws {
        let files = ["places.sqlite": try Files.bytes("places.sqlite")]
        try ImportedStore.with(files: files, name: "places.sqlite") { places throws in
            #expect(places.report.objectCounts == ["Club": 2, "Member": 3])
            #expect(try places.value("Club", 1, "title") == .string("Chess"))
            #expect(try places.value("Club", 1, "size") == .integer(2))
            // The archive does not list the parts of the composite: its values are reported, not dropped.
            #expect(places.report.findings.map { "\($0.kind) \($0.key).\($0.property)" } == ["column 1.ZPLACE_CITY"])
            #expect(places.report.notes.contains { $0.hasPrefix("entity 'Club', attribute 'place': is a composite") })
        }
    }

    @Test func `the model file of a store with a composite and a required derived attribute is not another model`()
        throws
    {
        let files = ["places.sqlite": try Files.bytes("places.sqlite")]
        try ImportedStore.with(files: files, name: "places.sqlite", model: try Self.places()) { places throws in
            #expect(places.report.objectCounts == ["Club": 2, "Member": 3])
            #expect(try places.value("Club", 1, "size") == .integer(2))
            #expect(places.store.model.entity(named: "Club")?.attribute(named: "size")?.isOptional == false)
            let found = Set(places.report.findings.map { "\($0.kind) \($0.entity)/\($0.key).\($0.property)" })
            #expect(found == ["property Club/0.place", "column Club/1.ZPLACE_CITY"])
        }
    }

    @Test(
        arguments: [
            ("attributeType=\"Composite\" composite=\"Place\"", "attributeType=\"String\""),
            ("<attribute name=\"place\" optional=\"YES\" attributeType=\"Composite\" composite=\"Place\"/>", ""),
            ("name=\"place\"", "name=\"spot\""), ("Integer 64", "Integer 32"),
            ("<attribute name=\"title\" optional=\"YES\"", "<attribute name=\"title\""),
        ])
    func `an entity with a composite is compared by everything that the model in the store has of it`(
        old: String, new: String
    ) throws {
        let files = ["places.sqlite": try Files.bytes("places.sqlite")]
        let error = #expect(throws: CoreDataImportError.self) {
            try ImportedStore.with(
                files: files, name: "places.sqlite", model: try Self.places(old, new)
            ) { _ in }
        }
        #expect(error?.otherEntities == ["Club"])
    }

    @Test(arguments: ["page-512.sqlite", "definitions.sqlite"])
    func `a SQLite file that Core Data has not written is refused`(name: String) throws {
        let error = #expect(throws: CoreDataImportError.self) {
            try ImportedStore.with(files: ["a.sqlite": try Files.bytes(name)], name: "a.sqlite") { _ in }
        }
        #expect(error?.kindName == "notAStore")
        #expect(error?.description.contains("; name the SQLite or XML file of a store that Core Data has") == true)
    }
}
