// Compiled models: those that Core Data itself kept in stores, compared with the files they were compiled from; and
// others.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct CompiledModelReaderTests {
    private static let folder = "duckduckgo+BrowserServicesKit/"

    private func compiled(_ name: String) -> URL { RealModels.url("\(Self.folder)Compiled/\(name).mom") }

    @Test(
        arguments: [
            ("Bookmarks_V1", "BookmarksModel", "BookmarksModel"),
            ("Bookmarks_V2", "BookmarksModel", "BookmarksModel 2"),
            ("Bookmarks_V3", "BookmarksModel", "BookmarksModel 3"),
            ("Bookmarks_V4", "BookmarksModel", "BookmarksModel 4"),
            ("Bookmarks_V5", "BookmarksModel", "BookmarksModel 5"),
            ("SyncMetadata_V3", "SyncMetadata", "SyncMetadata 3"),
        ])
    func `a model that Core Data archived is the model of the file that it was compiled of`(
        name: String, model: String, version: String
    ) throws {
        let archived = try ManagedObjectModel(contentsOf: compiled(name))
        let versions = try ModelVersions(contentsOf: RealModels.url("\(Self.folder)\(model).xcdatamodeld"))
        let written = try ManagedObjectModel(try versions.document(named: version))

        #expect(archived.versionChecksum == written.versionChecksum)
        #expect(Self.plain(archived) == Self.plain(written))
        let document = try ModelDocument(contentsOf: compiled(name))
        #expect(try ModelDocument(xml: document.xml()) == document)
    }

    /// Descriptions in the order of names, without indexes on one property, which the compiler adds for its own
    /// purposes.
    private static func plain(_ model: ManagedObjectModel) -> [EntityDescription] {
        model.descriptions.map(plain).sorted { $0.name < $1.name }
    }

    private static func plain(_ entity: EntityDescription) -> EntityDescription {
        var entity = entity
        entity.attributes.sort { $0.name < $1.name }
        for index in entity.attributes.indices { entity.attributes[index].isIndexed = false }
        entity.relationships.sort { $0.name < $1.name }
        entity.indexes.sort { $0.name < $1.name }
        return entity
    }

    /// An archive of two entities with every feature that no real archive here has.
    private static func archive() -> Data {
        var builder = ArchiveBuilder()
        func attribute(
            _ type: Int64, _ more: [(String, ArchiveBuilder.Item)], _ name: String = "NSAttributeDescription"
        ) -> ArchiveBuilder.Item {
            builder.add(name, [("NSAttributeType", .integer(type)), ("NSFlagsKey", .integer(0))] + more)
        }
        let own = builder.map([("k", .text("v"))])
        let date = builder.add("NSDate", [("NS.time", .real(-1.5))])
        let uuid = builder.add("NSUUID", [("NS.uuidbytes", .data(Array(0..<16)))])
        let link = builder.add("NSURL", [("NS.relative", builder.add(.text("a:b")))])
        let odd = builder.add("NSDecimalNumber", [("NS.mantissa", .integer(1))])
        let price = builder.decimal(Decimal(-5) / 4)
        let rules = builder.list([builder.add("NSComparisonPredicate", [])])
        let parent = builder.add(
            "NSEntityDescription",
            [
                ("NSEntityName", .text("Base")), ("NSIsAbstract", .boolean(true)),
                ("NSProperties", builder.map([("born", attribute(900, [("NSDefaultValue", date)]))])),
            ])
        let properties = builder.map([
            // A compiler may repeat inherited properties.
            ("born", attribute(900, [("NSDefaultValue", date)])),
            ("id", attribute(1100, [("NSDefaultValue", uuid), ("NSUserInfo", own)])),
            ("home", attribute(1200, [("NSDefaultValue", link), ("NSIsOptional", .boolean(true))])),
            ("name", attribute(700, [("NSDefaultValue", .text("é\u{1F600}")), ("NSValidationPredicates", rules)])),
            ("rank", attribute(200, [("NSDefaultValue", .integer(-3)), ("NSIsIndexed", .boolean(true))])),
            ("rate", attribute(500, [("NSDefaultValue", .real(0.5))])),
            ("live", attribute(800, [("NSDefaultValue", .integer(1))])),
            ("cost", attribute(400, [("NSDefaultValue", odd)])),
            ("price", attribute(400, [("NSDefaultValue", price)])),
            ("sum", attribute(300, [], "NSDerivedAttributeDescription")),
            ("next", builder.add("NSNewDescription", [("NSAttributeType", .integer(700)), ("NSNovelty", .text("x"))])),
            ("seen", builder.add("NSFetchedPropertyDescription", [])),
        ])
        let child = builder.add(
            "NSEntityDescription",
            [
                ("NSEntityName", .text("Child")), ("NSSuperentity", parent), ("NSProperties", properties),
                ("NSCompoundIndexes", builder.list([builder.list([.text("rank"), .text("name")])])),
                ("NSUniqueTuples", builder.list([builder.list([.text("id")])])), ("NSNewField", .integer(7)),
            ])
        let root = builder.add(
            "NSManagedObjectModel",
            [
                ("NSEntities", builder.map([("Child", child), ("Base", parent)])),
                ("NSVersionIdentifiers", builder.list([.text("7")])),
                ("NSFetchRequestTemplates", builder.map([("q", .null)])),
            ])
        return builder.archive(root)
    }

    @Test func `what a compiled model says beyond that comes to the document, and nothing is dropped`() throws {
        let document = try ModelDocument(compiled: Self.archive(), path: "f")

        #expect(
            String(decoding: try document.xml(), as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model userDefinedModelVersionIdentifier="7" NSFetchRequestTemplates="q">
                    <entity name="Base" isAbstract="YES">
                        <attribute name="born" attributeType="Date" defaultDateTimeInterval="-1.5"/>
                    </entity>
                    <entity name="Child" parentEntity="Base" NSNewField="?">
                        <attribute name="cost" attributeType="Decimal" NSDefaultValue="NSDecimalNumber"/>
                        <attribute name="home" attributeType="URI" defaultValueString="a:b" optional="YES"/>
                        <attribute name="id" attributeType="UUID" \
                defaultValueString="00010203-0405-0607-0809-0A0B0C0D0E0F">
                            <userInfo>
                                <entry key="k" value="v"/>
                            </userInfo>
                        </attribute>
                        <attribute name="live" attributeType="Boolean" defaultValueString="YES"/>
                        <attribute name="name" attributeType="String" defaultValueString="é😀" \
                validationPredicates="NSComparisonPredicate"/>
                        <attribute name="next" attributeType="String" class="NSNewDescription" NSNovelty="?"/>
                        <attribute name="price" attributeType="Decimal" defaultValueString="-1.25"/>
                        <attribute name="rank" attributeType="Integer 32" indexed="YES" defaultValueString="-3"/>
                        <attribute name="rate" attributeType="Double" defaultValueString="0.5"/>
                        <fetchedProperty name="seen"/>
                        <attribute name="sum" attributeType="Integer 64" derived="YES"/>
                        <compoundIndexes>
                            <compoundIndex>
                                <index value="rank"/>
                                <index value="name"/>
                            </compoundIndex>
                        </compoundIndexes>
                        <uniquenessConstraints>
                            <uniquenessConstraint>
                                <constraint value="id"/>
                            </uniquenessConstraint>
                        </uniquenessConstraints>
                    </entity>
                </model>
                """)
        let conversion = try document.conversion()
        #expect(
            conversion.unsupportedFeatures == [
                .unknownAttributes, .validationRules, .derivedAttributes, .fetchedProperties,
            ])
        #expect(conversion.unsupported.filter { $0.kind == .unsupported(.unknownAttributes) }.count == 5)
    }

    @Test(arguments: [(0, nil, nil), (4, "YES", nil), (16, nil, "YES"), (20, "YES", "YES"), (36, "YES", nil)])
    func `flags of an attribute say that values are outside of the store, or kept`(
        flags: Int64, external: String?, preserved: String?
    ) throws {
        var builder = ArchiveBuilder()
        let attribute = builder.add(
            "NSAttributeDescription", [("NSAttributeType", .integer(1000)), ("NSFlagsKey", .integer(flags))])
        let entity = builder.add(
            "NSEntityDescription", [("NSEntityName", .text("A")), ("NSProperties", builder.map([("b", attribute)]))])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("A", entity)]))])
        let document = try ModelDocument(compiled: builder.archive(root))
        let found = try #require(document.root.children(.entity).first?.children(.attribute).first)

        #expect(found["allowsExternalBinaryDataStorage"] == external)
        #expect(found["preserveAfterDeletion"] == preserved)
        // A flag without a known meaning is not dropped.
        #expect((found["NSFlagsKey"] == nil) == (flags != 36))
    }

    @Test func `a folder of compiled models has a current version`() throws {
        try withTemporaryFolder { folder in
            let shop = folder.appending(path: "Shop.momd")
            try FileManager.default.createDirectory(at: shop, withIntermediateDirectories: true)
            func failure() throws -> String {
                let error = try #require(throws: ModelFileError.self) { try ModelDocument(contentsOf: shop) }
                return error.description.replacing(shop.path, with: "momd")
            }
            #expect(try failure() == "momd: the folder contains no file NAME.mom")
            for name in ["Bookmarks_V1", "Bookmarks_V2"] {
                try FileManager.default.copyItem(at: compiled(name), to: shop.appending(path: "\(name).mom"))
                if name == "Bookmarks_V1" {
                    #expect(try ModelDocument(contentsOf: shop) == ModelDocument(contentsOf: compiled(name)))
                }
            }
            #expect(
                try failure()
                    == "momd: the folder does not say which version is the current one: 'Bookmarks_V1.mom', "
                    + "'Bookmarks_V2.mom'; name it in 'VersionInfo.plist'"
            )
            let key = "NSManagedObjectModel_CurrentVersionName"
            let list = shop.appending(path: "VersionInfo.plist")
            for name in ["Bookmarks_V1", "Bookmarks_V2"] {
                try Data("<plist><dict><key>\(key)</key><string>\(name)</string></dict></plist>".utf8).write(to: list)
                #expect(try ModelDocument(contentsOf: shop) == ModelDocument(contentsOf: compiled(name)))
                try ArchiveBuilder.bytes(.dictionary([("x", .integer(1)), (key, .text(name))])).write(to: list)
                #expect(try ModelDocument(contentsOf: shop) == ModelDocument(contentsOf: compiled(name)))
                #expect(try ManagedObjectModel(contentsOf: shop).entities.count == 1)
            }
            #expect(try ModelLibrary(folders: [folder]).model(named: "Shop").entity(named: "BookmarkEntity") != nil)
            try ArchiveBuilder.bytes(.dictionary([(key, .text("V3"))])).write(to: list)
            #expect(
                try failure()
                    == "momd/VersionInfo.plist: the current version 'V3' does not exist; the versions are "
                    + "'Bookmarks_V1.mom', 'Bookmarks_V2.mom'"
            )
            try ArchiveBuilder.bytes(.dictionary([(key, .integer(3))])).write(to: list)
            #expect(
                try failure()
                    == "momd/VersionInfo.plist: the key '\(key)' has no text; it must name a version")
            try Data("bplist00".utf8).write(to: list)
            #expect(try failure() == "momd/VersionInfo.plist: byte 0: this is not a binary property list of version 00")
        }
    }

    @Test func `each version in a folder of compiled models is read by its name`() throws {
        try withTemporaryFolder { folder in
            let shop = folder.appending(path: "Shop.momd")
            try FileManager.default.createDirectory(at: shop, withIntermediateDirectories: true)
            for name in ["Bookmarks_V1", "Bookmarks_V5"] {
                try FileManager.default.copyItem(at: compiled(name), to: shop.appending(path: "\(name).mom"))
            }
            let key = "NSManagedObjectModel_CurrentVersionName"
            try Data("<plist><dict><key>\(key)</key><string>Bookmarks_V1</string></dict></plist>".utf8)
                .write(to: shop.appending(path: "VersionInfo.plist"))

            let versions = try ModelVersions(contentsOf: shop)

            #expect(versions.names == ["Bookmarks_V1", "Bookmarks_V5"] && versions.currentName == "Bookmarks_V1")
            #expect(try versions.document() == ModelDocument(contentsOf: compiled("Bookmarks_V1")))
            let last = try ModelDocument(contentsOf: compiled("Bookmarks_V5"))
            #expect(try versions.document(named: "Bookmarks_V5") == last)
            let hashes = try ManagedObjectModel(last).storedVersionHashesByName
            let found = try ModelLibrary(folders: [folder]).model(withEntityVersionHashes: hashes)
            #expect(found?.storedVersionHashesByName == hashes)
            let error = try #require(throws: ModelFileError.self) { try versions.document(named: "Bookmarks_V2") }
            #expect(
                error.description.hasSuffix(
                    "the version 'Bookmarks_V2' does not exist; the versions are 'Bookmarks_V1', 'Bookmarks_V5'"))
        }
    }

    @Test func `bytes that are no archive of a model are refused with what is wrong`() throws {
        func failure(_ bytes: Data) throws -> String {
            let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }
            #expect(error.problems.map(\.kind) == [.malformedArchive])
            return error.description
        }
        let whole = try Data(contentsOf: compiled("Bookmarks_V1"))
        func changed(_ position: Int, _ byte: UInt8) -> Data {
            var bytes = Array(whole)
            bytes[position < 0 ? bytes.count + position : position] = byte
            return Data(bytes)
        }
        let end = whole.count - 32

        #expect(try failure(Data()) == "f: byte 0: this is not a binary property list of version 00")
        #expect(try failure(changed(-26, 0)) == "f: byte \(end): the sizes of offsets and references are impossible")
        #expect(try failure(changed(-24, 0xFF)) == "f: byte \(end + 8): a number is greater than any file size")
        #expect(
            try failure(changed(-20, 1))
                == "f: byte \(end): the number of objects is impossible, or greater than the limit")
        #expect(try failure(changed(-4, 1)) == "f: byte \(end): the offset table is outside of the file")
        #expect(try failure(changed(8, 0xF0)) == "f: byte 8: 240 is not a known kind of object")
        #expect(try failure(ArchiveBuilder.bytes(.array([.null]))) == "f: the property list is not a keyed archive")
        var other = ArchiveBuilder()
        let text = other.add("NSString", [])
        #expect(
            try failure(other.archive(text)) == "f: the archive does not contain a model; "
                + "name a model that Core Data's compiler made")
    }

    @Test(arguments: [
        ("a~b", "x", "'a~b' cannot be the name of an XML attribute"),
        (
            "NSRenamingIdentifier", "\u{1}",
            "the value of 'elementID' contains the character U+1, which XML does not allow; remove it"
        ),
    ])
    func `names and texts that no model file can hold are refused`(name: String, text: String, message: String) throws {
        var builder = ArchiveBuilder()
        let entity = builder.add("NSEntityDescription", [("NSEntityName", .text("E")), (name, .text(text))])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("E", entity)]))])
        let bytes = builder.archive(root)
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }

        #expect(error.problems.map(\.kind) == [.malformedArchive])
        #expect(error.description == "f: entity 'E': \(message); compile the model again")
    }

    @Test func `a property list whose objects share bytes is refused`() throws {
        // The 1,000 objects all share one text of 400 bytes.
        let text = [0x5F, 0x11, 0x01, 0x90] + [UInt8](repeating: 0x61, count: 400)
        var bytes = Array("bplist00".utf8) + text
        let table = bytes.count
        for _ in 0..<1_000 { bytes.append(8) }
        bytes += [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0x03, 0xE8, 0, 0, 0, 0, 0, 0, 0, 0]
        bytes += [0, 0, 0, 0, 0, 0, UInt8(table >> 8), UInt8(table & 255)]
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: Data(bytes), path: "f") }

        #expect(error.description == "f: byte 12: the objects contain more parts than the file has bytes")
    }

    @Test func `an archive that lists one object of many fields again and again is refused`() throws {
        let object = ArchiveBuilder.Item.dictionary((0..<100).map { ("k\($0)", .null) })
        let bytes = ArchiveBuilder.bytes(
            .dictionary([("$top", .dictionary([("root", .reference(0))])), ("$objects", .copies(object, 2_000))]))
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }

        #expect(error.description == "f: the property list is not a keyed archive")
    }

    @Test func `an archive that names one thing again and again is refused in bounded time`() throws {
        var builder = ArchiveBuilder()
        let attribute = builder.add("NSAttributeDescription", [("NSAttributeType", .integer(700))])
        let many = builder.map((0..<4_000).map { ("a\($0)", attribute) })
        let entities = (0..<2_000).map { number in
            (
                "E\(number)",
                builder.add("NSEntityDescription", [("NSEntityName", .text("E\(number)")), ("NSProperties", many)])
            )
        }
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map(entities))])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: builder.archive(root)) }

        #expect(error.problems.map(\.kind) == [.tooLarge])
    }

    /// The archive of a model of one entity, with these further fields.
    private static func archive(
        _ builder: ArchiveBuilder, model: [(String, ArchiveBuilder.Item)] = [],
        entity: [(String, ArchiveBuilder.Item)] = []
    ) -> Data {
        var builder = builder
        let description = builder.add("NSEntityDescription", [("NSEntityName", .text("E"))] + entity)
        let entities = builder.map([("E", description)])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", entities)] + model)
        return builder.archive(root)
    }

    @Test func `of the names of very many requests only the first ones are kept`() throws {
        var builder = ArchiveBuilder()
        let name = builder.add(.text(String(repeating: "q", count: 20_000)))
        let requests = builder.add(
            "NSDictionary", [("NS.keys", .copies(name, 1_000)), ("NS.objects", .copies(.null, 1_000))])
        let document = try ModelDocument(
            compiled: Self.archive(builder, model: [("NSFetchRequestTemplates", requests)]))
        let names = try #require(document.root["NSFetchRequestTemplates"])

        #expect(names.utf8.count < 10_000 && names.hasSuffix("qqq…, …"), "\(names.utf8.count)")
    }

    @Test func `a long text that an archive names again and again is refused, since a file would repeat it`() throws {
        var builder = ArchiveBuilder()
        let text = builder.add(.text(String(repeating: "t", count: 100_000)))
        let texts = builder.map((0..<200).map { ("k\($0)", text) })
        let bytes = Self.archive(builder, entity: [("NSUserInfo", texts)])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }

        #expect(error.problems.map(\.kind) == [.tooLarge])
        #expect(error.description.hasPrefix("f: the texts of the model have 20"), "\(error.description.prefix(200))")
    }

    @Test func `nothing more of an archive is read once its texts are too long together`() throws {
        var builder = ArchiveBuilder()
        let text = builder.add(.text(String(repeating: "t", count: 200_000)))
        let texts = builder.map((0..<500).map { ("k\($0)", text) })
        let first = builder.add("NSEntityDescription", [("NSEntityName", .text("A")), ("NSUserInfo", texts)])
        // That this one has too many fields is not told.
        let fields = (0..<5_000).map { ("f\($0)", ArchiveBuilder.Item.integer(1)) }
        let second = builder.add("NSEntityDescription", [("NSEntityName", .text("B"))] + fields)
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("A", first), ("B", second)]))])
        let error = try #require(throws: ModelFileError.self) {
            try ModelDocument(compiled: builder.archive(root), path: "f")
        }

        #expect(error.description == "f: entity 'A': the archive has too many parts")
    }

    @Test func `a long version identifier or class name that an archive names again and again is refused`() throws {
        var builder = ArchiveBuilder()
        let text = builder.add(.text(String(repeating: "t", count: 200_000)))
        let identifiers = builder.add("NSSet", [("NS.objects", .copies(text, 500))])
        let bytes = Self.archive(builder, model: [("NSVersionIdentifiers", identifiers)])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }
        #expect(error.description == "f: model: the archive has too many parts")

        let entities = (0..<500).map { number in
            let fields = [("NSEntityName", ArchiveBuilder.Item.text("E")), ("NSClassNameForEntity", text)]
            return ("E\(number)", builder.add("NSEntityDescription", fields))
        }
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map(entities))])
        let other = try #require(throws: ModelFileError.self) {
            try ModelDocument(compiled: builder.archive(root), path: "f")
        }
        #expect(other.description == "f: entity 'E': the archive has too many parts")
    }

    @Test func `the name of a field is short, since it is looked up in each object`() throws {
        let name = String(repeating: "n", count: 257)
        let bytes = Self.archive(ArchiveBuilder(), entity: [(name, .integer(1))])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(compiled: bytes, path: "f") }

        #expect(error.description == "f: the property list is not a keyed archive")
    }

    @Test func `an entity with very many unknown fields is refused`() throws {
        let fields = (0..<5_000).map { ("f\($0)", ArchiveBuilder.Item.integer(1)) }
        let error = try #require(throws: ModelFileError.self) {
            try ModelDocument(compiled: Self.archive(ArchiveBuilder(), entity: fields), path: "f")
        }

        #expect(
            error.description
                == "f: entity 'E': has 5000 fields with unknown names; at most 4096 are allowed")
        #expect(error.problems.map(\.kind) == [.tooLarge])
    }

    @Test func `changed archives are models or errors, and never trap`() throws {
        let names = ["Bookmarks_V1", "Bookmarks_V2", "Bookmarks_V3", "Bookmarks_V4", "Bookmarks_V5", "SyncMetadata_V3"]
        let files = try names.map { Array(try Data(contentsOf: compiled($0))) }
        let seed = testSeed(default: 2028)
        var models = 0
        for number in 0..<UInt64(campaignCount("ESPALIER_MODEL_MUTATIONS", default: 1_500)) {
            var random = SeededGenerator(seed: seed &+ number)
            var bytes = files.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                // A quarter of the changes are in the last 200 bytes, which hold the offsets of the objects.
                let first = Int.random(in: 0..<4, using: &random) == 0 ? bytes.count - 200 : 0
                bytes[Int.random(in: first..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Int.random(in: 0..<20, using: &random) == 0 {
                bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
            }
            do throws(ModelFileError) {
                let document = try ModelDocument(compiled: Data(bytes))
                _ = try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
                models += 1
            } catch {
                #expect(!error.problems.isEmpty, "seed \(seed &+ number)")
            }
        }

        #expect(models > 0)
    }
}
