// The conversion of indexes of model files: expressions and conditions, and the indexes that no store can keep.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct IndexConversionTests {
    private func conversion(_ xml: String) throws -> ModelConversion {
        try ModelDocument(xml: Data(xml.utf8)).conversion()
    }

    @Test func `indexes of expressions come back from a file with the types of their values, and as classes (FR-25)`()
        throws
    {
        let item = EntityDescription(
            "Item",
            attributes: [
                AttributeDescription("name", .string), AttributeDescription("price", .decimal),
                AttributeDescription("weight", .double),
            ],
            indexes: [
                .init("lower", on: [.init(expression: "lowercase:(name)"), .init("weight")]),
                .init("total", on: [.init(expression: "price * 2", isAscending: false)], predicateFormat: "weight > 1"),
                .init("half", on: [.init(expression: "weight / 2")]),
            ])
        let model = try ManagedObjectModel(entities: [item])

        let xml = try ModelDocument(model).xml()
        let again = try ManagedObjectModel(ModelDocument(xml: xml))
        let source = try EntityClassSource(model, origin: "a test").text

        #expect(again.descriptions == model.descriptions)
        let text = String(decoding: xml, as: UTF8.self)
        #expect(text.contains("expression=\"lowercase:(name)\" expressionType=\"String\""))
        #expect(text.contains("expression=\"price * 2\" expressionType=\"Decimal\""))
        #expect(text.contains("expression=\"weight / 2\" expressionType=\"Double\""))
        #expect(source.contains(".init(expression: \"lowercase:(name)\")"))
        #expect(source.contains(".init(expression: \"price * 2\", isAscending: false)"))
        let folded = EntityDescription(
            "Item", attributes: [AttributeDescription("name", .string)],
            indexes: [.init("i", on: [.init(expression: "uppercase(name)", folding: .diacriticInsensitive)])])
        #expect(throws: ModelFileError.self) { try ModelDocument(ManagedObjectModel(entities: [folded])) }
    }

    @Test func `an expression of a file may be a property, and text that is none is refused by feature`() throws {
        func xml(_ expression: String) -> String {
            "<model><entity name='A'><attribute name='n' optional='YES' attributeType='String'/><fetchIndex name='i'>"
                + "<fetchIndexElement expression='\(expression)' expressionType='String' order='descending'/>"
                + "</fetchIndex></entity></model>"
        }
        #expect(try conversion(xml("n")).entities[0].indexes == [.init("i", on: [.init("n", isAscending: false)])])
        let refused = try conversion(xml("ln(n"))
        #expect(refused.unsupportedFeatures == [.specialIndexes])
        #expect(refused.entities[0].indexes.isEmpty)
    }

    @Test func `an index that needs more than values of the object itself is left out by feature, and no other`()
        throws
    {
        let special = [
            "album.title", "canonical:(album.title)", "canonical:(day)", "day - now()", "uppercase(album.title)", "tag",
            "nam", "name.@count",
        ]
        let kept = ["lowercase:(name)", "rank * 2", "name", "album", "canonical:(name)"]
        var parts = (kept + special).enumerated().map { place, expression in
            "<fetchIndex name='i\(place)'>"
                + "<fetchIndexElement expression='\(expression)' order='ascending'/></fetchIndex>"
        }
        parts.append(
            "<fetchIndex name='j' partialIndexPredicate='album.title == \"a\"'>"
                + "<fetchIndexElement property='name' order='ascending'/></fetchIndex>")
        parts.append(
            "<fetchIndex name='k'><fetchIndexElement property='name' order='ascending'/>"
                + "<fetchIndexElement expression='name' order='ascending'/></fetchIndex>")
        let xml =
            "<model><entity name='Album'><attribute name='title' optional='YES' attributeType='String'/></entity>"
            + "<entity name='Track'><attribute name='name' optional='YES' attributeType='String'/>"
            + "<attribute name='day' optional='YES' attributeType='Date'/>"
            + "<attribute name='rank' optional='YES' attributeType='Integer 32'/>"
            + "<attribute name='tag' optional='YES' transient='YES' attributeType='String'/>"
            + "<relationship name='album' optional='YES' maxCount='1' destinationEntity='Album'/>"
            + parts.joined() + "</entity></model>"
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")

        let conversion = try document.conversion()
        #expect(conversion.unsupportedFeatures == [.specialIndexes])
        #expect(conversion.unsupported.count == special.count + 2)
        #expect(conversion.entities[1].indexes.map(\.name) == kept.indices.map { "i\($0)" })
        #expect(throws: ModelFileError.self) { try ManagedObjectModel(document) }
        let model = try ManagedObjectModel(document, ignoring: [.specialIndexes])
        #expect(model.descriptions[1].indexes.count == kept.count)
        // A property that is none, and no expression, is an error as before.
        let wrong = xml.replacing("fetchIndexElement property='name'", with: "fetchIndexElement property='nam'")
        #expect(throws: ModelFileError.self) {
            try ManagedObjectModel(ModelDocument(xml: Data(wrong.utf8)), ignoring: [.specialIndexes])
        }
    }

    @Test func `indexes that name parts of an unknown composite are left out with it, in subentities too`() throws {
        let part = { (name: String) in "<fetchIndexElement property='\(name)' type='Binary'/>" }
        let xml = """
            <model><entity name='B' parentEntity='A'><fetchIndex name='i'>\(part("c.city"))</fetchIndex>
            <fetchIndex name='j'>\(part("n"))</fetchIndex></entity>
            <entity name='A'><attribute name='n' optional='YES' attributeType='String'/>
            <attribute name='c' optional='YES' attributeType='Composite'/></entity></model>
            """
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")
        let model = try ManagedObjectModel(document, ignoring: [.compositeParts])

        #expect(model.entity(named: "B")?.description.indexes.map(\.name) == ["j"])
        #expect(model.entity(named: "A")?.attributes.map(\.name) == ["n"])
        #expect(
            try document.conversion().unsupported.map(\.description).last
                == "line 1: entity 'B': the index 'i' names 'c', a composite whose parts the file does not have, so "
                + "it is left out")
    }
}
