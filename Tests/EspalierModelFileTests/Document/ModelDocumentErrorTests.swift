// Errors of model files name the line, the element and the correction; no file makes the reader hang or trap.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelDocumentErrorTests {
    private func error(_ xml: String) throws -> ModelFileError {
        try #require(throws: ModelFileError.self) {
            try ManagedObjectModel(ModelDocument(xml: Data(xml.utf8), path: "f"))
        }
    }

    @Test(
        arguments: [
            ("", "f: line 1: the text has no element; an XML text must have exactly one top element"),
            ("no xml", "f: line 1: an element must begin here, with <"),
            ("<model>\n", "f: line 2: the text ends within 'model' of line 1; close it with </model>"),
            ("<model>\n<entity>\n</model>", "f: line 3: </model> closes no element; 'entity' of line 2 is still open"),
            ("<model/>\n<model/>", "f: line 2: something follows the end of the top element; remove it"),
            ("<model a=\"1\"\na=\"2\"/>", "f: line 2: 'model' has the attribute 'a' twice; remove one"),
            ("<model a=1/>", "f: line 1: the value of the attribute 'a' is not in quotes"),
            ("<model a/>", "f: line 1: the attribute 'a' has no value; write a=\"…\""),
            ("<model a='1'b='2'/>", "f: line 1: no space separates the attributes of 'model'; put one between them"),
            (
                "<model a=\"<\"/>",
                "f: line 1: the value of the attribute 'a' contains <; write &lt;, or close the quotes"
            ),
            ("<model a=\"", "f: line 1: the value of the attribute 'a' has no closing quote"),
            ("<model a=\"1\"", "f: line 1: the tag of 'model' does not end; close it with >"),
            ("<model>\n</model", "f: line 2: </model has no > at its end"),
            ("<>", "f: line 1: the name of an element is missing"),
            (
                "<model a='&nbsp;'/>",
                "f: line 1: &nbsp; is unknown; there are &amp; &lt; &gt; &quot; &apos; and numbers of characters"
            ),
            (
                "<model a='&#0;'/>",
                "f: line 1: &#0; is unknown; there are &amp; &lt; &gt; &quot; &apos; and numbers of characters"
            ),
            (
                "<model a='x & y'/>",
                "f: line 1: & begins a reference that does not end with ;  Write &amp; for the character"
            ),
            ("<model a='\u{1}'/>", "f: line 1: XML does not allow the control character 1; remove it"),
            ("<model><!-- </model>", "f: line 1: a comment does not end; close it with -->"),
            ("<model><![CDATA[ </model>", "f: line 1: a CDATA section does not end; close it with ]]>"),
            ("<?xml version='1.0'", "f: line 1: a processing instruction does not end; close it with ?>"),
            (
                "<?xml version='1.0' encoding='latin1'?><model/>",
                "f: line 1: the encoding is not UTF-8; save the text as UTF-8"
            ),
            ("<!DOCTYPE model", "f: line 1: the document type does not end; close it with >"),
            (
                "<!DOCTYPE model [<!ENTITY a 'aaaa'>]><model/>",
                "f: line 1: the document type has its own declarations, which this reader does not support; "
                    + "remove the [ … ]"
            ),
        ])
    func `broken XML is refused with its line`(xml: String, message: String) throws {
        let error = try error(xml)

        #expect(error.description == message)
        #expect(error.problems.map(\.kind) == [.malformedXML])
    }

    @Test func `bytes that are no UTF-8 are refused with their line`() throws {
        let latin = Data("<model>\n<entity name=\"caf".utf8) + [0xE9] + Data("\"/></model>".utf8)
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(xml: latin, path: "f") }
        #expect(error.description == "f: line 2: the bytes are not UTF-8; save the text as UTF-8")
        let wide = try #require(throws: ModelFileError.self) {
            try ModelDocument(xml: Data([0xFF, 0xFE, 0x3C, 0]), path: "f")
        }
        #expect(wide.description == "f: line 1: the text is UTF-16; save it as UTF-8")
    }

    @Test(
        arguments: [
            ("<plist/>", .unknownElement, "f: line 1: the top element is 'plist'; in a model file it must be 'model'"),
            (
                "<model>\n<entitty name='A'/></model>", .unknownElement,
                "f: line 2: model: the element 'entitty' is unknown; did you mean 'entity'?; allowed here are "
                    + "composite, configuration, elements, entity, fetchRequest, userInfo"
            ),
            (
                "<model><entity name='A'>\n<entry key='k'/></entity></model>", .unknownElement,
                "f: line 2: entity 'A': the element 'entry' is not allowed here; allowed here are "
                    + "attribute, compoundIndexes, "
                    + "fetchIndex, fetchedProperty, relationship, uniquenessConstraints, userInfo"
            ),
            (
                "<model><entity name='A'>\n<userInfo/>\n<userInfo/></entity></model>", .unknownElement,
                "f: line 3: entity 'A': a second element 'userInfo' is here; merge the two"
            ),
            (
                "<model><entity name='A'>\n text</entity></model>", .unknownElement,
                "f: line 1: entity 'A': the element contains text, but elements of model files have none; "
                    + "remove the text"
            ),
            (
                "<model>\n<entity/></model>", .missingAttribute,
                "f: line 2: entity: the required attribute 'name' is missing; add it"
            ),
            (
                "<model><entity name='A'>\n<attribute name='n' attributeType='Integer 8'/></entity></model>",
                .invalidValue,
                "f: line 2: entity 'A', attribute 'n': attributeType=\"Integer 8\" is not valid: did you mean "
                    + "'Integer 16'? the value must be one of 'Integer 16', 'Integer 32', 'Integer 64', "
                    + "'Decimal', 'Double', "
                    + "'Float', 'String', 'Boolean', 'Date', 'Binary', 'UUID', 'URI', 'Transformable', 'Composite', "
                    + "'Undefined'"
            ),
            (
                "<model><entity name='A' isAbstract='yes'/></model>", .invalidValue,
                "f: line 1: entity 'A': isAbstract=\"yes\" is not valid: the value must be YES or NO"
            ),
            (
                "<model><entity name='A'><attribute name='n' attributeType='Integer 16' "
                    + "defaultValueString='x'/></entity></model>",
                .invalidValue,
                "f: line 1: entity 'A', attribute 'n': defaultValueString=\"x\" is not a value of "
                    + "type integer16; correct it, "
                    + "or leave it out"
            ),
            (
                "<model><entity name='A'><attribute name='n' attributeType='Integer 16' "
                    + "defaultValueString='70000'/></entity></model>",
                .invalidModel,
                "f: line 1: entity 'A', attribute 'n': the default does not fit: 70000 is out of range for type "
                    + "integer16, which takes whole numbers from -32768 to 32767"
            ),
            (
                "<model><entity name='A'><relationship name='r' maxCount='-1' destinationEntity='A'/></entity></model>",
                .invalidValue,
                "f: line 1: entity 'A', relationship 'r': maxCount=\"-1\" is not valid: the "
                    + "value must be a whole number, 0 or more"
            ),
            (
                "<model>\n<entity name='A' parentEntity='Bse'/><entity name='Base'/></model>", .invalidModel,
                "f: line 2: entity 'A': superentity 'Bse' does not exist; did you mean 'Base'?"
            ),
            (
                "<model><entity name='A' parentEntity='B'/>\n<entity name='B' parentEntity='A'/></model>",
                .invalidModel,
                "inherits from itself: B → A → B; give one of them another superentity, or none"
            ),
            (
                "<model><entity name='A'>\n<relationship name='r' maxCount='1' destinationEntity='A' inverseName='q' "
                    + "inverseEntity='A'/></entity></model>", .invalidModel,
                "f: line 2: entity 'A', relationship 'r': inverse 'q' is not a relationship of 'A'; did you mean 'r'?"
            ),
            (
                "<model><entity name='B'/><entity name='A'><relationship name='r' maxCount='1' destinationEntity='A' "
                    + "inverseName='r' inverseEntity='B'/></entity></model>", .invalidModel,
                "f: line 1: entity 'A', relationship 'r': the inverse belongs to 'B', but the "
                    + "destination is 'A'; both must be the same entity"
            ),
            (
                "<model><entity name='A'><attribute name='x' attributeType='String' elementID='o'/>\n"
                    + "<attribute name='y' attributeType='String' elementID='o'/></entity></model>", .invalidModel,
                "f: line 2: entity 'A', attribute 'y': another property has the renaming identifier "
                    + "'o' too; only one property can have it"
            ),
            (
                "<model><entity name='A'><attribute name='x' attributeType='String' elementID='o'/></entity>\n<entity "
                    + "name='B' parentEntity='A'><attribute name='y' attributeType='String' elementID='o'/></entity>"
                    + "</model>", .invalidModel,
                "f: line 2: entity 'B', attribute 'y': a property of superentity 'A' has the renaming identifier 'o' "
                    + "too; only one property can have it"
            ),
            (
                "<model><entity name='A' elementID='O'/>\n<entity name='B' elementID='O'/></model>", .invalidModel,
                "f: line 2: entity 'B': entity 'A' has the renaming identifier 'O' too; only one entity can have it"
            ),
            (
                "<model><entity name='A'/>\n<entity name='A'/></model>", .invalidModel,
                "f: line 1: entity 'A': two entities have this name; rename one of them"
            ),
            (
                "<model><entity name='A'><attribute name='p' attributeType='Composite' composite='Pont'/></entity>"
                    + "<composite name='Point'/></model>", .invalidModel,
                "f: line 1: entity 'A', attribute 'p': names the composite 'Pont', which does not "
                    + "exist; did you mean 'Point'?"
            ),
            (
                "<model><composite name='P'><attribute name='x' attributeType='Double'/></composite>\n"
                    + "<composite name='P'/></model>", .invalidModel,
                "f: line 2: composite 'P': two composites have this name; rename one of them"
            ),
            (
                "<model><configuration name='C'><memberEntity name='A'/></configuration></model>", .invalidModel,
                "f: model: configuration 'C' names the entity 'A', which does not exist"
            ),
            (
                "<model><fetchRequest name='q' entity='A'/></model>", .invalidModel,
                "f: model: request 'q' names the entity 'A', which does not exist"
            ),
            (
                "<model><entity name='A'><userInfo><entry key='k'/>\n<entry key='k'/></userInfo></entity></model>",
                .invalidValue,
                "f: line 2: entity 'A', entry 'k': two entries have this key; remove one of them"
            ),
        ] as [(String, ModelFileError.Kind, String)])
    func `a model that cannot be is refused with file, line, element and what would be right`(
        xml: String, kind: ModelFileError.Kind, message: String
    ) throws {
        let error = try error(xml)

        #expect(error.description == message || error.description.contains(message) && error.problems.count > 1)
        #expect(error.problems.contains { $0.kind == kind })
        #expect(error.path == "f")
    }

    @Test func `all problems are reported at once, in the order of the file`() throws {
        let error = try error(
            "<model>\n<entty/>\n<entity name='A' isAbstract='1'>\n<attribut/>\n<attribute/>\n</entity></model>")

        #expect(error.problems.map(\.line) == [2, 3, 4, 5])
        #expect(error.description.hasPrefix("f: 4 problems:\n  line 2: "))
    }

    @Test func `a file that is too large, too deep or too wide is refused in bounded time`() throws {
        func kinds(_ xml: String) throws -> [ModelFileError.Kind] { try error(xml).problems.map(\.kind) }

        for count in [17, 1_000, 100_000] {
            #expect(try kinds(String(repeating: "<model>", count: count)) == [.tooLarge])
        }
        #expect(try kinds(String(repeating: "<model>", count: 16)) == [.malformedXML])
        #expect(try kinds("<model>" + String(repeating: "<entity/>", count: 5_000) + "</model>") == [.tooLarge])
        let wide = "<entity name='A'>" + String(repeating: "<attribute/>", count: 4_000) + "</entity>"
        #expect(try kinds("<model>" + String(repeating: wide, count: 20) + "</model>") == [.tooLarge])
        let big = Data(count: 17 << 20)
        let tooBig = try #require(throws: ModelFileError.self) { try ModelDocument(xml: big, path: "f") }
        #expect(tooBig.problems.map(\.kind) == [.tooLarge])
        #expect(tooBig.description == "f: the file has 17825792 bytes; a model file can have at most 16777216")
    }

    @Test func `inheritance without bound and composites that contain themselves are refused`() throws {
        let line = (0..<70).map { "<entity name='E\($0)' parentEntity='E\($0 + 1)'/>" }.joined()
        let deep = try error("<model>\(line)<entity name='E70'/></model>")
        #expect(deep.problems.map(\.kind) == [.tooLarge])
        #expect(deep.description.contains("inherits through more than 64 others"))

        let part = "<attribute name='a' attributeType='Composite' composite='C'/>"
        let round = try error("<model><entity name='E'>\(part)</entity><composite name='C'>\(part)</composite></model>")
        #expect(round.description.contains("composites are nested more than 8 deep; no composite may contain itself"))

        // Each level has 30 times as many parts as the one before.
        let levels = (0..<4).map { level in
            let parts = (0..<30).map {
                "<attribute name='a\($0)' attributeType='Composite' composite='C\(level + 1)'/>"
            }
            return "<composite name='C\(level)'>\(parts.joined())</composite>"
        }
        let bomb = try error(
            "<model><entity name='E'><attribute name='a' attributeType='Composite' composite='C0'/></entity>"
                + "\(levels.joined())<composite name='C4'><attribute name='x' "
                + "attributeType='Double'/></composite></model>"
        )
        #expect(bomb.problems.allSatisfy { $0.kind == .tooLarge } && bomb.problems.count <= 100)
        #expect(bomb.description.contains("the composites together have too many parts; use fewer"))
    }
}
