// XML stores of Core Data are imported as SQLite stores are.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import Testing

@Suite struct XMLSourceTests {
    private static let head = """
        <?xml version="1.0" standalone="no"?>
        <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
        <database>
            <databaseInfo><version>134481920</version><UUID>C65371D9-4DC3-4EF7-87F9-C94695659E94</UUID></databaseInfo>
        """

    private func with(_ objects: String, _ body: (ImportedStore) throws -> Void) throws {
        let model = try ModelDocument(contentsOf: Files.folder.appending(path: "Zoo.xcdatamodel"))
        let text = Self.head + objects + "</database>"
        try ImportedStore.with(files: ["zoo.xml": Array(text.utf8)], name: "zoo.xml", model: model, body)
    }

    @Test func `values of every type and all relationships arrive`() throws {
        try with(
            """
            <object type="PERSON" id="z102">
                <attribute name="amount" type="decimal">12.5</attribute>
                <attribute name="birth" type="date">731947175.40503501892089843750</attribute>
                <attribute name="code" type="uuid">8E430534-5F59-49DB-9479-C3290AE2713E</attribute>
                <attribute name="flag" type="bool">1</attribute><attribute name="height" type="float">1.5</attribute>
                <attribute name="homepage" type="uri">https://a.example/</attribute>
                <attribute name="name" type="string">A &lt; é</attribute>
                <attribute name="raw" type="binary">AQID
            BA==</attribute>
                <attribute name="small" type="int16">-3</attribute>
                <relationship name="pets" type="0/0" destination="ANIMAL" idrefs="z105 z103"></relationship>
                <relationship name="passport" type="0/1" destination="PASSPORT" idrefs="z104"></relationship>
                <relationship name="friends" type="0/0" destination="PERSON" idrefs="z108"></relationship>
                <relationship name="clubs" type="0/0" destination="CLUB" idrefs="z106"></relationship>
                <relationship name="labels" type="0/0" destination="LABEL" idrefs="z107"></relationship>
            </object>
            <object type="CAT" id="z103">
                <attribute name="title" type="utf8">YQFi</attribute>
                <relationship name="owner" type="0/1" destination="PERSON" idrefs="z102"></relationship>
                <relationship name="prey" type="0/1" destination="ANIMAL" idrefs="z105"></relationship>
            </object>
            <object type="PASSPORT" id="z104">
                <relationship name="holder" type="0/1" destination="PERSON" idrefs="z102"></relationship>
            </object>
            <object type="BIRD" id="z105">
                <relationship name="owner" type="0/1" destination="PERSON" idrefs="z102"></relationship>
            </object>
            <object type="CLUB" id="z106">
                <relationship name="members" type="0/0" destination="PERSON" idrefs="z108 z102"></relationship>
            </object>
            <object type="LABEL" id="z107"></object>
            <object type="PERSON" id="z108"></object>
            """
        ) { zoo throws in
            #expect(zoo.report.isComplete)
            #expect(zoo.report.storeIdentifier == "C65371D9-4DC3-4EF7-87F9-C94695659E94")
            let expected: [String: AttributeValue] = [
                "amount": .decimal(try #require(Decimal(string: "12.5"))),
                "birth": .date(Date(timeIntervalSinceReferenceDate: 731_947_175.405035)),
                "code": .uuid(try #require(UUID(uuidString: "8E430534-5F59-49DB-9479-C3290AE2713E"))),
                "flag": .boolean(true), "height": .float(1.5), "name": .string("A < é"),
                "homepage": .uri(try #require(URL(string: "https://a.example/"))),
                "raw": .binary(Data([1, 2, 3, 4])), "small": .integer(-3), "large": .null,
            ]
            for (name, value) in expected { #expect(try zoo.value("Person", 102, name) == value, "\(name)") }
            #expect(try zoo.value("Cat", 103, "title") == .string("a\u{1}b"))
            #expect(try zoo.destinations("Person", 102, "pets") == [105, 103])
            #expect(try zoo.destinations("Club", 106, "members") == [108, 102])
            #expect(try zoo.destinations("Person", 108, "friends") == [102])
            #expect(try zoo.destinations("Person", 102, "labels") == [107])
            #expect(try zoo.destination("Cat", 103, "prey") == "Bird/105")
            #expect(try zoo.destination("Passport", 104, "holder") == "Person/102")
        }
    }

    @Test func `the application's metadata arrive, and what is no plain value is listed`() throws {
        let model = try ModelDocument(contentsOf: Files.folder.appending(path: "Zoo.xcdatamodel"))
        let list = """
            <metadata><plist version="1.0"><dict>
                <key>NSPersistenceFrameworkVersion</key><integer>1244</integer>
                <key>NSStoreModelVersionIdentifiers</key><array><string></string></array>
                <key>title</key><string>my  zoo</string><key>count</key><integer> 42 </integer>
                <key>share</key><real>0.25</real><key>open</key><true/><key>old</key><false/>
                <key>since</key><date>2001-01-02T00:00:00Z</date><key>raw</key><data>AQ
            ID</data>
                <key>list</key><array><string>a</string></array><key>far</key><integer>99999999999999999999</integer>
                <key>last</key>
            </dict></plist></metadata></databaseInfo>
            """
        let text = Self.head.replacingOccurrences(of: "</databaseInfo>", with: list) + "</database>"
        let files = ["zoo.xml": Array(text.utf8)]
        try ImportedStore.with(files: files, name: "zoo.xml", model: model) { zoo throws in
            #expect(
                try zoo.store.metadata() == [
                    "title": .string("my  zoo"), "count": .integer(42), "share": .double(0.25), "open": .boolean(true),
                    "old": .boolean(false), "since": .date(Date(timeIntervalSinceReferenceDate: 86_400)),
                    "raw": .binary(Data([1, 2, 3])),
                ])
            let lost = zoo.report.findings.filter { $0.kind == .metadata }.map(\.property)
            #expect(lost == ["far", "last", "list"])
        }
    }

    @Test func `what cannot be read is listed`() throws {
        try with(
            """
            <object type="PERSON" id="z1"><attribute name="small" type="int16">x</attribute>
                <attribute name="raw" type="binary">%</attribute><attribute name="shoe" type="string">L</attribute>
                <attribute name="name" type="binary">AQID</attribute>
                <relationship name="boss" type="0/1" destination="PERSON" idrefs="z9"></relationship>
            </object>
            <object type="DOG" id="z2"></object><object type="CAT" id="3"></object>
            """
        ) { zoo throws in
            let found = Set(zoo.report.findings.map { "\($0.kind) \($0.entity)/\($0.key).\($0.property)" })
            #expect(
                found.isSuperset(of: [
                    "value Person/1.small", "value Person/1.name", "column Person/1.shoe",
                    "destination Person/1.boss", "row DOG/0.z2", "row CAT/0.3",
                ]))
            #expect(zoo.report.objectCounts["Person"] == 1)
        }
    }

    @Test(arguments: ["<object", "<object></objekt>", "&what;"])
    func `text that is no XML is refused with its line`(text: String) throws {
        let error = #expect(throws: CoreDataImportError.self) { try with(text) { _ in } }
        #expect(error?.kindName == "malformedXML")
    }

    @Test func `XML that is no store is refused`() throws {
        let error = #expect(throws: CoreDataImportError.self) {
            try ImportedStore.with(files: ["a.xml": Array("<plist></plist>".utf8)], name: "a.xml") { _ in }
        }
        #expect(error?.kindName == "notAStore")
    }

    @Test func `a store that Core Data's editor has written arrives`() throws {
        let text = try Data(contentsOf: Files.folder.appending(path: "JohnEstropia+CoreStore/xcmapping.xml"))
        func entity(_ name: String, _ content: String, parent: String = "") -> String {
            "<entity name=\"\(name)\" \(parent)>\(content)</entity>"
        }
        func attribute(_ name: String, _ type: String) -> String {
            "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\"/>"
        }
        func relationship(_ name: String, _ to: String, _ inverse: String, many: Bool = false) -> String {
            "<relationship name=\"\(name)\" optional=\"YES\" \(many ? "toMany=\"YES\"" : "maxCount=\"1\"") "
                + "deletionRule=\"Nullify\" destinationEntity=\"\(to)\" inverseName=\"\(inverse)\" "
                + "inverseEntity=\"\(to)\"/>"
        }
        let mapping = "XDDevEntityMapping"
        let texts = ["sourceName", "destinationName", "mappingTypeName"].map { attribute($0, "String") }.joined()
        let paths = ["sourceModelPath", "destinationModelPath"].map { attribute($0, "String") }.joined()
        let data = ["sourceModelData", "destinationModelData"].map { attribute($0, "Binary") }.joined()
        let xml =
            "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">"
            + entity(
                "XDDevPropertyMapping", attribute("name", "String") + attribute("valueExpressionData", "Binary"))
            + entity(
                "XDDevAttributeMapping", relationship("entityMapping", mapping, "attributeMappings"),
                parent: "parentEntity=\"XDDevPropertyMapping\"")
            + entity(
                "XDDevRelationshipMapping", relationship("entityMapping", mapping, "relationshipMappings"),
                parent: "parentEntity=\"XDDevPropertyMapping\"")
            + entity(
                mapping,
                texts + attribute("mappingNumber", "Integer 16") + attribute("autogenerateExpression", "Boolean")
                    + relationship("mappingModel", "XDDevMappingModel", "entityMappings")
                    + relationship("attributeMappings", "XDDevAttributeMapping", "entityMapping", many: true)
                    + relationship("relationshipMappings", "XDDevRelationshipMapping", "entityMapping", many: true))
            + entity(
                "XDDevMappingModel", paths + data + relationship("entityMappings", mapping, "mappingModel", many: true))
            + "</model>"
        let model = try ModelDocument(xml: Data(xml.utf8))
        try ImportedStore.with(files: ["map.xml": [UInt8](text)], name: "map.xml", model: model) { store throws in
            #expect(store.report.isComplete, "\(store.report.findings)")
            #expect(store.report.objectCounts["XDDevAttributeMapping"] == 2)
            #expect(try store.value(mapping, 104, "sourceName") == .string("Creature"))
            #expect(try store.value(mapping, 104, "mappingNumber") == .integer(1))
            #expect(try store.destination(mapping, 104, "mappingModel") == "XDDevMappingModel/105")
            #expect(try store.destinations(mapping, 104, "attributeMappings") == [102, 103])
            guard case .binary(let archive) = try store.value("XDDevMappingModel", 105, "sourceModelData") else {
                Issue.record("no data")
                return
            }
            #expect(archive.prefix(8) == Data("bplist00".utf8))
        }
    }
}
