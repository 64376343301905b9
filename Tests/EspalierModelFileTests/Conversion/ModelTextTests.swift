// Texts of developers that stand where a model has no place for them.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct ModelTextTests {
    private static let userInfo = "<userInfo><entry key='k' value='v'/></userInfo>"

    private func document(
        model: String = "", composite: String = "", names: String = "", property: String = ""
    ) throws -> ModelDocument {
        try ModelDocument(
            xml: Data(
                """
                <model><entity name='A'><attribute name='c' optional='YES' attributeType='Composite' composite='C'/>
                <fetchedProperty name='all' \(property)><fetchRequest name='all' entity='A'/></fetchedProperty></entity>
                <composite name='C' \(names)><attribute name='x' optional='YES' attributeType='Double'/>\(composite)
                </composite>\(model)</model>
                """.utf8), path: "f")
    }

    /// The places: the element, and the word if the text is none of the user info.
    private static let places = [
        ["model"], ["composite"], ["names", "elementID"], ["names", "versionHashModifier"], ["property", "elementID"],
        ["property", "versionHashModifier"],
    ]

    @Test(arguments: places)
    func `a text without a place in a model is refused by feature, and the document keeps it`(
        _ place: [String]
    ) throws {
        let text = place.count > 1 ? "\(place[1])='former'" : Self.userInfo
        let document = try document(
            model: place[0] == "model" ? text : "", composite: place[0] == "composite" ? text : "",
            names: place[0] == "names" ? text : "", property: place[0] == "property" ? text : "")

        let conversion = try document.conversion()

        #expect(conversion.unsupportedFeatures == [.textsWithoutPlace] && conversion.unsupported.count == 1)
        let message = try #require(conversion.unsupported.first?.message)
        #expect(message.contains(place.count > 1 ? "\(place[1]) of entities" : "'k' is left out"))
        #expect(throws: ModelFileError.self) { try ManagedObjectModel(document) }
        let model = try ManagedObjectModel(document, ignoring: [.textsWithoutPlace])
        let plain = try ManagedObjectModel(self.document())
        #expect(model.descriptions == plain.descriptions)
        let written = String(decoding: try document.xml(), as: UTF8.self)
        #expect(written.contains(place.count > 1 ? "\(place[1])=\"former\"" : "value=\"v\""))
    }

    @Test func `a model without such texts is complete`() throws {
        let conversion = try document().conversion()

        #expect(conversion.unsupported.isEmpty && conversion.entities[0].fetchedProperties.count == 1)
    }
}
