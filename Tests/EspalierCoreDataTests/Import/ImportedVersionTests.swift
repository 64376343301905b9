// Of the versions of a model, an import takes the one with a place for everything in the store.

import EspalierCoreData
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ImportedVersionTests {
    private static let club = """
        <?xml version="1.0" standalone="no"?>
        <database>
            <databaseInfo><version>134481920</version><UUID>C65371D9-4DC3-4EF7-87F9-C94695659E94</UUID></databaseInfo>
            <object type="CLUB" id="z102">
                <attribute name="title" type="string">Chess</attribute>
                <relationship name="members" type="0/0" destination="PERSON"></relationship>
            </object>
        </database>
        """

    /// Imports a store with two versions of the zoo's model.
    ///
    /// The current one, `New`, has a text replaced in it; `Old` is the zoo's own. Without `Old` there is an `Other`,
    /// which does not have the entity of the passports.
    private static func importing<R>(
        _ bytes: [UInt8], replacing old: String, by new: String, withOld: Bool = true,
        _ body: (CoreDataImportReport, BTreeStore) throws -> R
    ) throws -> R {
        let text = try String(contentsOf: Files.folder.appending(path: "Zoo.xcdatamodel/contents"), encoding: .utf8)
        #expect(text.contains(old), "the model has no \(old)")
        return try withTemporaryFolder { folder throws in
            let (source, target) = (folder.appending(path: "zoo"), folder.appending(path: "new").path)
            try Data(bytes).write(to: source)
            let versions = folder.appending(path: "Zoo.xcdatamodeld")
            let other = text.replacing("\"Passport\"", with: "\"Visa\"")
            try ModelVersions.write(
                [
                    (withOld ? "Old" : "Other", ModelDocument(xml: Data((withOld ? text : other).utf8))),
                    ("New", ModelDocument(xml: Data(text.replacing(old, with: new).utf8))),
                ], current: "New", to: versions)
            let report = try CoreDataImport.importStore(
                at: source.path, to: target, versions: ModelVersions(contentsOf: versions))
            let store = try BTreeStore.openWithStoredModel(path: target)
            let result = try body(report, store)
            try store.close()
            return result
        }
    }

    /// Whether the report says that the store was written with `Old`.
    private static func namesOld(_ report: CoreDataImportReport) -> Bool {
        report.notes.contains { $0.contains("the version 'Old' of the model, not with the current one") }
    }

    @Test func `an XML store whose attribute the current version renames is imported with the older version`() throws {
        try Self.importing(Array(Self.club.utf8), replacing: "\"title\"", by: "\"heading\"") { report, store throws in
            #expect(report.isComplete && Self.namesOld(report), "\(report.findings) \(report.notes)")
            let imported = ImportedStore(store: store, report: report)
            #expect(try imported.value("Club", 102, "title") == .string("Chess"))
        }
    }

    @Test func `an XML store whose attribute has another type now is imported with the older version`() throws {
        let title = "\"title\" optional=\"YES\" attributeType="
        let (old, new) = ("\(title)\"String\"", "\(title)\"Binary\"")
        try Self.importing(Array(Self.club.utf8), replacing: old, by: new) { report, store throws in
            #expect(report.isComplete && Self.namesOld(report), "\(report.findings) \(report.notes)")
            let imported = ImportedStore(store: store, report: report)
            #expect(try imported.value("Club", 102, "title") == .string("Chess"))
        }
    }

    @Test func `a SQLite store without a model is imported with the version that has all columns`() throws {
        let number = "<attribute name=\"number\" optional=\"YES\" attributeType=\"String\"/>"
        try Self.importing(try Files.bytes("zoo.sqlite"), replacing: number, by: "") { report, store throws in
            #expect(!report.findings.contains { $0.kind == .column }, "\(report.findings)")
            #expect(Self.namesOld(report), "\(report.notes)")
            #expect(store.model.entity(named: "Passport")?.attribute(named: "number") != nil)
        }
    }

    @Test func `a SQLite store without a model is imported with the version that has the types of its columns`()
        throws
    {
        let birth = "\"birth\" optional=\"YES\" attributeType="
        let (old, new) = ("\(birth)\"Date\"", "\(birth)\"Double\"")
        let bytes = try Files.bytes("zoo.sqlite")
        try Self.importing(bytes, replacing: old, by: new) { report, store throws in
            #expect(Self.namesOld(report), "\(report.notes)")
            #expect(store.model.entity(named: "Person")?.attribute(named: "birth")?.type == .date)
        }
        let error = #expect(throws: CoreDataImportError.self) {
            try Self.importing(bytes, replacing: old, by: new, withOld: false) { _, _ in }
        }
        #expect(error?.kindName == "otherModel")
        #expect(error?.description.contains("Person") == true, "\(String(describing: error))")
    }

    @Test func `if no version has a place for everything, the current one is used and the rest is listed`() throws {
        let text = Self.club.replacing("\"title\"", with: "\"motto\"")
        try Self.importing(Array(text.utf8), replacing: "\"title\"", by: "\"heading\"") { report, store throws in
            #expect(report.findings.map { "\($0.kind) \($0.property)" } == ["column motto"])
            #expect(!Self.namesOld(report))
            #expect(store.model.entity(named: "Club")?.attribute(named: "heading") != nil)
        }
    }

    @Test func `a current version without meaning here is passed over, and named if no version fits`() throws {
        let (old, new) = ("destinationEntity=\"Label\"", "destinationEntity=\"Nowhere\"")
        try Self.importing(try Files.bytes("zoo.sqlite"), replacing: old, by: new) { report, _ throws in
            #expect(Self.namesOld(report), "\(report.notes)")
        }
        let error = #expect(throws: CoreDataImportError.self) {
            try Self.importing(try Files.bytes("zoo.sqlite"), replacing: old, by: new, withOld: false) { _, _ in }
        }
        #expect(error?.kindName == "model")
        #expect(error?.description.contains("Nowhere") == true, "\(String(describing: error))")
    }
}
