// The words by which XML stores state the types of values, compared with the types of a model.
//
// Invariants
//   1. Values of one notation are read as they were written, or refused one by one: integers of another width, texts of
//      another form, bytes with and without a transformer.
//   2. A word that is not known states nothing: Core Data may write others.

import EspalierModel
import EspalierModelFile
import FoundationEssentials

extension AttributeType {
    /// Types whose values are written in one way.
    private enum Notation {
        case integer
        case text
        case bytes
        case decimal
        case double
        case float
        case truth
        case date
        case composite
    }

    private static let notations: [String: Notation] = [
        "int16": .integer, "int32": .integer, "int64": .integer, "string": .text, XMLGraphFormat.bytesType: .text,
        "uri": .text, "uuid": .text, "binary": .bytes, "transformable": .bytes, "decimal": .decimal,
        "double": .double, "float": .float, "bool": .truth, "date": .date, "composite": .composite,
    ]

    /// `nil` for a type whose values state their types themselves.
    private var notation: Notation? {
        switch self {
        case .integer16, .integer32, .integer64: .integer
        case .string, .uri, .uuid: .text
        case .binary, .transformable: .bytes
        case .decimal: .decimal
        case .double: .double
        case .float: .float
        case .boolean: .truth
        case .date: .date
        case .composite: .composite
        case .undefined, .objectID: nil
        }
    }

    /// Whether a value that is stated to be of the type `word` can be read as one of this type.
    func reads(xmlType word: String?) -> Bool {
        guard let word, let written = Self.notations[word.lowercased()], let notation else { return true }
        return written == notation
    }

    /// The value of this type that an element holds.
    func value(of element: XMLElement) throws(ColumnValueError) -> AttributeValue {
        guard reads(xmlType: element["type"]) else {
            throw ColumnValueError(
                "the store has a value of type \(element["type"] ?? ""), the model one of type \(self)")
        }
        guard notation == .text, element["type"]?.lowercased() == XMLGraphFormat.bytesType else {
            return try value(ofXML: element.text)
        }
        guard let data = Data(base64Encoded: element.text, options: .ignoreUnknownCharacters),
            let text = String(validating: data, as: UTF8.self)
        else { throw ColumnValueError("the text is no UTF-8 in Base64") }
        return try value(ofXML: text)
    }
}
