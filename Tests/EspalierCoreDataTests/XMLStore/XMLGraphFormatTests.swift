// Stores in XML: the layout of Core Data's, read and written, and everything that is wrong with a file at its line.

import EspalierCoreData
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct XMLGraphFormatTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Author", attributes: [AttributeDescription("fullName", .string)],
                relationships: [RelationshipDescription("books", to: "Book", inverse: "author", .ordered)]),
            EntityDescription(
                "Book",
                attributes: [AttributeDescription("title", .string), AttributeDescription("price", .decimal)],
                relationships: [RelationshipDescription("author", to: "Author", inverse: "books", isOptional: false)]),
        ])
    }

    private static let identifier = "C65371D9-4DC3-4EF7-87F9-C94695659E94"

    private static func text(_ objects: String) -> [UInt8] {
        Array(
            """
            <?xml version="1.0" standalone="yes"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

            <database>
                <databaseInfo>
                    <version>134481920</version>
                    <UUID>\(identifier)</UUID>
                    <nextObjectID>104</nextObjectID>
                </databaseInfo>
            \(objects)
            </database>

            """.utf8)
    }

    private static let objects = """
            <object type="AUTHOR" id="z103">
                <attribute name="fullname" type="string">Ada &amp; &lt;Bo&gt;&#13;</attribute>
                <relationship name="books" type="0/0" destination="BOOK" idrefs="z104 z102"></relationship>
            </object>
            <object type="BOOK" id="z102">
                <attribute name="price" type="decimal">12.50</attribute>
                <relationship name="author" type="1/1" destination="AUTHOR" idrefs="z103"></relationship>
            </object>
            <object type="BOOK" id="z104">
                <relationship name="author" type="1/1" destination="AUTHOR" idrefs="z103"></relationship>
            </object>
        """

    @Test func `a file in Core Data's layout is a store, with the keys that it has (PS-17)`() throws {
        let model = try Self.model()
        let graph = try XMLGraphFormat().graph(in: Self.text(Self.objects), model)

        #expect(graph.identifier.uuidString == Self.identifier)
        #expect(graph.rows.map { "\($0.id.entityName)/\($0.id.key)" } == ["Author/103", "Book/102", "Book/104"])
        #expect(graph.rows[0].value(at: 0) == .string("Ada & <Bo>\r"))
        #expect(graph.lists.map { $0.destinations.map(\.key) } == [[104, 102]])
        #expect(graph.counters["Book"]?.lastKey == 104)
    }

    @Test func `what is written has the layout that is read (PS-17)`() throws {
        let model = try Self.model()
        let graph = try XMLGraphFormat().graph(in: Self.text(Self.objects), model)

        let text = String(decoding: try XMLGraphFormat().bytes(of: graph, model), as: UTF8.self)

        for line in Self.objects.split(separator: "\n") {
            #expect(text.contains(line.replacingOccurrences(of: "12.50", with: "12.5")), "\(line)")
        }
        #expect(text.contains("<nextObjectID>104</nextObjectID>") && text.contains("NSStoreModelVersionHashes"))
        #expect(!text.contains("Espalier"))
        let again = try XMLGraphFormat().graph(in: Array(text.utf8), model)
        #expect(try XMLGraphFormat().bytes(of: again, model) == Array(text.utf8))
    }

    private static let golden: [(type: AttributeType, value: AttributeValue, line: String)] = [
        (.integer16, .integer(-5), #"type="int16">-5<"#), (.integer32, .integer(70_000), #"type="int32">70000<"#),
        (.integer64, .integer(.max), #"type="int64">9223372036854775807<"#),
        (.decimal, .decimal(Decimal(string: "-12.50") ?? 0), #"type="decimal">-12.5<"#),
        (.double, .double(0.1), #"type="double">0.1<"#), (.double, .double(1e300), #"type="double">1e+300<"#),
        (.float, .float(0.1), #"type="float">0.10000000149011612<"#),
        (.boolean, .boolean(true), #"type="bool">1<"#), (.boolean, .boolean(false), #"type="bool">0<"#),
        (.string, .string("a<b>&\r"), #"type="string">a&lt;b&gt;&amp;&#13;<"#),
        (.binary, .binary(Data([1, 2, 3])), #"type="binary">AQID<"#),
    ]

    private static let goldenDates: [(seconds: Double, text: String)] = [
        (0, "0.00000000000000000000"), (-0.0, "-0.00000000000000000000"),
        (603_287_513.25, "603287513.25000000000000000000"), (0.1, "0.10000000000000000555"),
        (-1.0 / 3, "-0.33333333333333331483"), (63_113_904_000, "63113904000.00000000000000000000"),
        (-63_114_076_800, "-63114076800.00000000000000000000"), (1e18, "1000000000000000000.00000000000000000000"),
        (1e21, "1000000000000000000000.00000000000000000000"), (0.5, "0.50000000000000000000"),
        (1e-9, "0.00000000100000000000"),
        // Twenty decimals would be another number.
        (.leastNonzeroMagnitude, "5e-324"), (1e300, "1e+300"),
    ]

    @Test func `every type of attribute has the notation of Core Data, dates with 20 decimals (PS-17)`() throws {
        let dates = Self.goldenDates.map { seconds, text in
            (AttributeValue.date(Date(timeIntervalSinceReferenceDate: seconds)), #"type="date">\#(text)<"#)
        }
        let all = Self.golden + dates.map { (type: AttributeType.date, value: $0.0, line: $0.1) }
        for (type, value, line) in all {
            let model = try ManagedObjectModel(entities: [
                EntityDescription("Thing", attributes: [AttributeDescription("someValue", type)])
            ])
            var graph = StoredGraph(identifier: UUID())
            let id = ObjectID(.number(1), of: model.entities[0], inStore: graph.identifier)
            graph.rows = [ObjectSnapshot(id: id, version: 1, values: [value], destinations: [])]
            let bytes = try XMLGraphFormat().bytes(of: graph, model)
            let text = String(decoding: bytes, as: UTF8.self)
            let whole = #"        <attribute name="somevalue" "# + line + "/attribute>\n"
            #expect(text.contains(whole), "\(line): \(text)")
            #expect(try XMLGraphFormat().graph(in: bytes, model).rows.map { $0.value(at: 0) } == [value])
        }
    }

    @Test func `a date is read as it was written, whatever its number`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Thing", attributes: [AttributeDescription("day", .date)])
        ])
        let seed = testSeed(default: 203)
        var random = SeededGenerator(seed: seed)
        var graph = StoredGraph(identifier: UUID())
        let numbers = (0..<campaignCount("ESPALIER_XML_DATES", default: 300)).map { round in
            // Any number, and those of dates with parts of seconds.
            let number = Double(bitPattern: random.next())
            return round % 2 == 0 && number.isFinite ? number : Double(random.next() >> 20) / 1024 / 1000
        }
        graph.rows = numbers.enumerated().map { position, number in
            ObjectSnapshot(
                id: ObjectID(.number(UInt64(position) + 1), of: model.entities[0], inStore: graph.identifier),
                version: 1, values: [.date(Date(timeIntervalSinceReferenceDate: number))], destinations: [])
        }
        let again = try XMLGraphFormat().graph(in: XMLGraphFormat().bytes(of: graph, model), model)
        let read = again.rows.sorted { $0.id.key < $1.id.key }.map { $0.value(at: 0) }
        #expect(read == graph.rows.map { $0.value(at: 0) }, "seed \(seed)")
    }

    @Test func `a relationship without destinations is written, and has no references`() throws {
        let model = try Self.model()
        var graph = StoredGraph(identifier: UUID())
        graph.rows = model.entities.enumerated().map { position, entity in
            ObjectSnapshot(
                id: ObjectID(.number(UInt64(position) + 1), of: entity, inStore: graph.identifier), version: 1,
                values: entity.attributes.map { _ in .null }, destinations: [nil])
        }
        let text = String(decoding: try XMLGraphFormat().bytes(of: graph, model), as: UTF8.self)
        #expect(text.contains(#"<relationship name="books" type="0/0" destination="BOOK"></relationship>"#))
        #expect(text.contains(#"<relationship name="author" type="1/1" destination="AUTHOR"></relationship>"#))
    }

    @Test func `a store that Core Data has written opens, changes and is imported`() throws {
        try withTemporaryFolder { folder in
            XMLGraphFormat.register()
            let path = folder.appending(path: "library.xml").path
            try Data(Self.text(Self.objects)).write(to: URL(filePath: path))
            let model = try Self.model()
            let store = try StoreType.open(StoreOpening(.xml, model: model, path: path))
            let author = try #require(try store.fetchIDs(StoreFetch(entity: model.entities[0])).first)
            var request = SaveRequest()
            request.insertions = [
                .init(id: ObjectID(temporaryFor: "Book"), values: [.string("New"), .null], destinations: [author])
            ]
            #expect(try store.save(request).inserted.first?.id.key == 105)
            try store.setMetadata(["note": .string("ours")])
            try store.close()

            let again = try StoreType.open(StoreOpening(.xml, model: model, path: path, isReadOnly: true))
            #expect(try again.metadata() == ["note": .string("ours")])
            let books = try again.destinations(of: model.entities[0].relationships[0], for: [author])
            #expect(books[0].map(\.key) == [104, 102, 105])
        }
    }

    @Test func `text that XML cannot hold is kept in bytes, and names that it cannot tell apart are refused`() throws {
        let model = try Self.model()
        var graph = StoredGraph(identifier: UUID())
        let id = ObjectID(.number(1), of: model.entities[0], inStore: graph.identifier)
        for text in ["a\u{0}b", "\u{1B}", "\u{FFFF}"] {
            graph.rows = [ObjectSnapshot(id: id, version: 1, values: [.string(text)], destinations: [nil])]
            let again = try XMLGraphFormat().graph(in: XMLGraphFormat().bytes(of: graph, model), model)
            #expect(again.rows.map { $0.value(at: 0) } == [.string(text)])
        }
        let ambiguous = try ManagedObjectModel(entities: [
            EntityDescription(
                "Book", attributes: [AttributeDescription("title", .string), AttributeDescription("Title", .string)])
        ])
        #expect(throws: StoreError.self) {
            try XMLGraphFormat().bytes(of: StoredGraph(identifier: UUID()), ambiguous)
        }
    }

    @Test(arguments: [
        (##"<object type="PLANE" id="z1"></object>"##, "PLANE"), (##"<object type="BOOK" id="1"></object>"##, "'1'"),
        (##"<object type="BOOK" id="z01"></object>"##, "z01"),
        (##"<object type="BOOK" id="z1"></object><object type="BOOK" id="z1"></object>"##, "two objects"),
        (##"<object type="BOOK" id="z1"><attribute name="pages" type="int16">1</attribute></object>"##, "pages"),
        (##"<object type="BOOK" id="z1"><attribute name="price" type="decimal">x</attribute></object>"##, "price"),
        (##"<object type="BOOK" id="z1"><attribute name="title" type="binary">AQID</attribute></object>"##, "binary"),
        (##"<object type="BOOK" id="z1"><attribute name="price" type="double">12.5</attribute></object>"##, "double"),
        (##"<object type="BOOK" id="z1"><relationship name="author" idrefs="z9"></relationship></object>"##, "z9"),
        (##"<object type="BOOK" id="z1"><attribute name="title">"##, "still open"),
    ])
    func `a fault in a file is named with its line`(objects: String, word: String) throws {
        let error = #expect(throws: StoreError.self) {
            try XMLGraphFormat().graph(in: Self.text(objects), try Self.model())
        }
        guard case .malformedFile(nil, let place, let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(place.hasPrefix("line ") && reason.contains(word), "\(place): \(reason)")
    }

    @Test(arguments: [
        ##"<object type="PLANE" id="z1"></object>"##,
        ##"<object type="BOOK" id="z1"><attribute name="pages" type="int16">1</attribute></object>"##,
        ##"<object type="BOOK" id="z1"><attribute name="title" type="binary">AQID</attribute></object>"##,
    ])
    func `a file of another model is refused with the way to migrate it`(objects: String) throws {
        let error = #expect(throws: StoreError.self) {
            try XMLGraphFormat().graph(in: Self.text(objects), try Self.model())
        }
        #expect(error?.description.contains("a copy of it in a B-tree file is") == true, "\(String(describing: error))")
    }

    @Test func `plain values beside the objects of Core Data's file are metadata, and stay after a save`() throws {
        let list = """
            <metadata><plist version="1.0"><dict><key>NSPersistenceFrameworkVersion</key><integer>1244</integer>
            <key>title</key><string>Shelf</string></dict></plist></metadata></databaseInfo>
            """
        let text = String(decoding: Self.text(Self.objects), as: UTF8.self)
        let bytes = Array(text.replacingOccurrences(of: "</databaseInfo>", with: list).utf8)
        let model = try Self.model()

        let graph = try XMLGraphFormat().graph(in: bytes, model)

        #expect(graph.metadata == ["title": .string("Shelf")])
        let written = try XMLGraphFormat().bytes(of: graph, model)
        #expect(try XMLGraphFormat().graph(in: written, model).metadata == graph.metadata)
    }

    @Test func `a file tells its UUID, hashes and metadata without a model, and is removed; other XML is not`() throws {
        XMLGraphFormat.register()
        try withTemporaryFolder { folder in
            let (file, model) = (folder.appending(path: "store.xml"), try Self.model())
            let store = try StoreType.open(StoreOpening(.xml, model: model, path: file.path))
            try store.setMetadata(["note": .string("ours")])
            try store.close()

            let metadata = try StoreType.metadata(ofFileAt: file.path)

            #expect(metadata.identifier == store.identifier && metadata.values == ["note": .string("ours")])
            #expect(metadata.model == nil && metadata.entityVersionHashesByName == model.entityVersionHashesByName)
            #expect(metadata.isCompatible(with: model))
            #expect(!metadata.isCompatible(with: try ManagedObjectModel(entities: [EntityDescription("Other")])))
            try StoreType.xml.removeFile(at: file.path)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)

            // A file of Core Data without hashes.
            try Data(Self.text(Self.objects)).write(to: file)
            let other = try StoreType.metadata(ofFileAt: file.path)
            #expect(other.identifier.uuidString == Self.identifier && other.entityVersionHashesByName.isEmpty)
            for text in ["<html></html>", "<database", ""] {
                try Data(text.utf8).write(to: file)
                #expect(throws: StoreError.self) { try StoreType.metadata(ofFileAt: file.path) }
            }
            for text in ["<html></html>", ""] {
                try Data(text.utf8).write(to: file)
                #expect(throws: StoreError.self) { try StoreType.xml.removeFile(at: file.path) }
            }
            #expect(FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test func `permissions for a migration are refused, because an XML file is not migrated`() throws {
        XMLGraphFormat.register()
        try withTemporaryFolder { folder in
            let (path, model) = (folder.appending(path: "store.xml").path, try Self.model())
            let permissions = [
                MigrationOptions(allowing: [.removal(of: "Book.price")]),
                MigrationOptions(backupPath: path + ".backup"),
            ]
            for migration in permissions {
                let error = #expect(throws: StoreError.self) {
                    try StoreType.open(StoreOpening(.xml, model: model, path: path, migration: migration))
                }
                #expect(error?.description.contains("copy the store to a B-tree file") == true)
            }
            #expect(!FileManager.default.fileExists(atPath: path))
            try StoreType.open(StoreOpening(.xml, model: model, path: path)).close()
        }
    }

    @Test func `damaged files are a store or a typed error`() throws {
        let (model, whole) = (try Self.model(), Self.text(Self.objects))
        let seed = testSeed(default: 21)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<campaignCount("ESPALIER_FILE_RUNS", default: 400) {
            var bytes = whole
            for _ in 0...Int(random.next() % 3) {
                let position = Int(random.next() % UInt64(bytes.count))
                bytes[position] = Array("z0123<>/\"& \u{0}".utf8)[Int(random.next() % 12)]
            }
            do { _ = try XMLGraphFormat().graph(in: bytes, model) } catch is StoreError {}
        }
    }
}
