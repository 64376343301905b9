// The bodies whose bytes are files of other makers: models and mappings of the model editor, compiled models, stores in
// XML.
//
// Promises
//   1. Any bytes give a document, mappings, objects, or an error that names an element or a line; reading ends.
//   2. A document that was read is written as bytes that give an equal document, and so is the model that it means.
//   3. A store in XML is imported, or refused; then there is no new file.

import EspalierCoreData
import EspalierEngine
import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport

extension FuzzBody {
    /// A model of one entity, as the model editor writes it.
    private static let smallModel = """
        <?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
        userDefinedModelVersionIdentifier="">
            <entity name="A" representedClassName="A" syncable="YES">
                <attribute name="n" optional="YES" attributeType="String" defaultValueString="x"/>
                <relationship name="b" optional="YES" maxCount="1" deletionRule="Nullify" \
        destinationEntity="A" inverseName="c" inverseEntity="A"/>
                <relationship name="c" optional="YES" toMany="YES" deletionRule="Nullify" \
        destinationEntity="A" inverseName="b" inverseEntity="A"/>
            </entity>
        </model>
        """

    /// The bytes are a model file, `contents`.
    public static let modelFile = FuzzBody(
        name: "model-file",
        seeds: { realFiles("contents").merging(["small": Array(smallModel.utf8)]) { own, _ in own } },
        run: { bytes in
            do throws(ModelFileError) { check(try ModelDocument(xml: Data(bytes))) } catch { check(error) }
        })

    /// The bytes are a compiled model, `NAME.mom`.
    public static let compiledModel = FuzzBody(
        name: "compiled-model",
        seeds: { realFiles(".mom").merging(["header": Array("bplist00".utf8)]) { own, _ in own } },
        run: { bytes in
            do throws(ModelFileError) { check(try ModelDocument(compiled: Data(bytes))) } catch { check(error) }
        })

    /// The bytes are a mapping file, `xcmapping.xml`.
    public static let mappingFile = FuzzBody(
        name: "mapping-file",
        seeds: {
            let text = """
                <database><object type="XDDEVMAPPINGMODEL" id="z1"><relationship name="entitymappings" \
                type="0/0" destination="XDDEVENTITYMAPPING" idrefs="z2"/></object><object \
                type="XDDEVENTITYMAPPING" id="z2"><attribute name="name" type="string">AToB</attribute>\
                <attribute name="sourcename" type="string">A</attribute></object></database>
                """
            return realFiles("xcmapping.xml").merging(["small": Array(text.utf8)]) { own, _ in own }
        },
        run: { bytes in
            do throws(ModelFileError) {
                let description = try MappingDescription(xml: Data(bytes))
                for mapping in description.entityMappings { precondition(!mapping.name.isEmpty) }
            } catch {
                check(error)
            }
        })

    /// The bytes are a store of Core Data in XML, which is imported with the small model, and with that of the zoo: it
    /// has attributes of every type, inheritance, ordered lists and relationships from many to many.
    public static let xmlStore = FuzzBody(
        name: "xml-store",
        seeds: {
            let text = """
                <?xml version="1.0"?><database><databaseInfo/><object type="A" id="z1"><attribute name="n" \
                type="string">x</attribute><relationship name="b" type="1/1" destination="A" idrefs="z1"/>\
                </object></database>
                """
            var seeds = ["small": Array(text.utf8)]
            for name in ["zoo", "zoo-wrong"] {
                let file = Checkout.root.appending(path: "Fuzz/Corpus/xml-store/\(name)")
                seeds[name] = (try? Data(contentsOf: file)).map { Array($0) }
            }
            return seeds
        },
        run: { bytes in
            for document in [smallDocument, zooDocument] { importXML(bytes, document) }
        })

    private static func importXML(_ bytes: [UInt8], _ document: ModelDocument?) {
        do throws(StorageError) {
            let system = MemoryFileSystem()
            let file = try system.open("file", role: .store, mode: .createExclusively)
            // SAFETY: the bytes outlive the call.
            try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(StorageError) in
                try unsafe file.writeFully(bytes, at: 0)
            }
            try importStore(in: system, model: document)
        } catch {
            preconditionFailure("a file system in memory fails: \(error)")
        }
    }

    /// The real files of other projects whose paths end in `ending`, if they are small.
    private static func realFiles(_ ending: String) -> [String: [UInt8]] {
        let folder = Checkout.root.appending(path: "Tests/EspalierModelFileTests/Models")
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        var files: [String: [UInt8]] = [:]
        for path in paths where path.hasSuffix(ending) {
            guard let bytes = try? Data(contentsOf: folder.appending(path: path)), bytes.count <= 65_536 else {
                continue
            }
            files[path.replacing("/", with: "-").replacing(" ", with: "_")] = Array(bytes)
        }
        return files
    }

    private static var smallDocument: ModelDocument? { try? ModelDocument(xml: Data(smallModel.utf8)) }

    /// The model of the stores among the tests of the import.
    private static let zooDocument = try? ModelDocument(
        contentsOf: Checkout.root.appending(path: "Tests/EspalierCoreDataTests/Stores/Zoo.xcdatamodel"))

    private static func check(_ error: ModelFileError) {
        precondition(!error.problems.isEmpty && !error.description.isEmpty, "an error without a problem")
    }

    private static func check(_ document: ModelDocument) {
        do throws(ModelFileError) {
            let again = try ModelDocument(xml: try document.xml())
            precondition(again == document, "a document is written as another one")
        } catch {
            preconditionFailure("a document that was read cannot be read again: \(error)")
        }
        let model: ManagedObjectModel
        do throws(ModelFileError) {
            model = try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
        } catch {
            return check(error)
        }
        do throws(ModelFileError) {
            let made = try ManagedObjectModel(try ModelDocument(model))
            precondition(made.descriptions == model.descriptions, "a model is written as another one")
        } catch {
            preconditionFailure("a model that was read cannot be written: \(error)")
        }
    }
}
