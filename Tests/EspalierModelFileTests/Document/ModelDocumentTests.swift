// Documents of model files: reading loses nothing of a file, and a model made in code can be written as a file.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelDocumentTests {
    private func document(_ xml: String) throws -> ModelDocument { try ModelDocument(xml: Data(xml.utf8)) }

    @Test func `every word of model files is read, and written with the same bytes`() throws {
        let document = try document(EveryWord.xml)

        #expect(String(decoding: try document.xml(), as: UTF8.self) == EveryWord.xml)
        #expect(document.entities.map { $0["name"] } == ["Base", "Thing"])
        let entries = try #require(document.entity(named: "Base")).children(.userInfo).flatMap(\.children)
        #expect(entries.map { $0["value"] } == ["1 < 2 & \"x\"\ny", ""])
        #expect(document.entity(named: "Thing")?.line == 13)
    }

    @Test func `the kinds of elements in files are all there are`() throws {
        var kinds: Set<ModelElement.Kind> = []
        func visit(_ element: ModelElement) {
            kinds.insert(element.kind)
            element.children.forEach(visit)
        }
        visit(try document(EveryWord.xml).root)

        #expect(kinds == Set(ModelElement.Kind.allCases))
    }

    @Test func `comments, other quotes, references and line ends say the same`() throws {
        let plain = try document("<model name=\"a&amp;b &lt;&gt;&quot;&apos;é\"><entity name=\"A\"/></model>")
        let other = try document(
            "\u{FEFF}<?xml version='1.0' encoding='utf-8'?>\r\n<!DOCTYPE model>\r\n<!-- <entity/> -->\r\n"
                + "<model\r\n name = 'a&#38;b &#x3c;>\"&#39;&#233;' >\r\n <?tool does?><!-- - -->"
                + "<entity name='A'\t></entity >\r\n</model>\r\n<!-- end -->\n")

        #expect(other == plain)
        #expect(other.hashValue == plain.hashValue)
        #expect(try plain.xml() == other.xml())
        #expect(other.entity(named: "A")?.line == 6 && plain.entity(named: "A")?.line == 1)
        #expect(try document("<model name=\"a\n\tb\"/>").root["name"] == "a  b")
        #expect(try document("<model name='a&#10;&#9;b'/>").root["name"] == "a\n\tb")
    }

    @Test func `attributes of unknown names are kept, and named when a model is made`() throws {
        let xml = "<model novelty=\"1\"><entity name=\"A\" isAbstrct=\"YES\"/></model>"
        let document = try document(xml)

        #expect(String(decoding: try document.xml(), as: UTF8.self).contains("novelty=\"1\""))
        let conversion = try document.conversion()
        #expect(conversion.unsupportedFeatures == [.unknownAttributes])
        #expect(
            conversion.unsupported.map(\.description) == [
                "line 1: model: the attribute 'novelty' is unknown and has no effect",
                "line 1: entity 'A': the attribute 'isAbstrct' is unknown and has no effect; "
                    + "did you mean 'isAbstract'?",
            ])
        #expect(throws: ModelFileError.self) { try ManagedObjectModel(document) }
        #expect(try ManagedObjectModel(document, ignoring: [.unknownAttributes]).entities.count == 1)
    }

    @Test func `a document can be changed and made in code`() throws {
        var document = try document("<model><entity name=\"A\" isAbstract=\"YES\" syncable=\"YES\"/></model>")
        document.root.children[0]["isAbstract"] = nil
        document.root.children[0]["name"] = "B"
        document.root.children[0]["parentEntity"] = "C"
        document.root.children.append(ModelElement(.entity, [.init("name", "C")]))

        #expect(
            String(decoding: try document.xml(), as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model>
                    <entity name="B" syncable="YES" parentEntity="C"/>
                    <entity name="C"/>
                </model>
                """)
        #expect(try ManagedObjectModel(document).entity(named: "B")?.superentity == 1)
    }

    @Test func `what no file can hold is refused when it is written`() throws {
        let root = ModelElement(
            .model, [.init("name", "a\u{0}")],
            children: [ModelElement(.entity, [.init("name", "E"), .init("not a name", "")])])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(root: root, path: "x").xml() }

        #expect(error.problems.map(\.kind) == [.inexpressible, .inexpressible])
        #expect(
            error.description == """
                x: 2 problems:
                  the value of 'name' contains the character U+0, which XML does not allow; remove it
                  entity 'E': 'not a name' cannot be the name of an XML attribute
                """)
        var deep = ModelElement(.entity)
        for _ in 0..<100 { deep = ModelElement(.entity, children: [deep]) }
        let tooDeep = try #require(throws: ModelFileError.self) { try ModelDocument(root: deep).xml() }
        #expect(tooDeep.problems.map(\.kind) == [.inexpressible])
    }

    @Test func `a document made in code is held to the words of files`() throws {
        let attribute = ModelElement(.attribute, [.init("name", "n"), .init("attributeType", "Strng")])
        let root = ModelElement(
            .model,
            children: [ModelElement(.entity, [.init("name", "E")], children: [attribute, ModelElement(.entry)])])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(root: root).conversion() }

        #expect(error.problems.map(\.kind) == [.invalidValue, .unknownElement])
        #expect(error.description.contains("attributeType=\"Strng\" is not valid: did you mean 'String'?"))
        let other = try #require(throws: ModelFileError.self) {
            try ModelDocument(root: ModelElement(.entity, [.init("name", "E")])).conversion()
        }
        #expect(other.description == "the model document: the top element is 'entity'; it must be 'model'")
    }
}
