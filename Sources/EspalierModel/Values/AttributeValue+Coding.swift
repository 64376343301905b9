// The coding of attribute values, as part of the coding of models (SD-12).
//
// Invariants
//   1. A value that is decoded equals the one that was encoded, bit for bit, whatever the coder: a value is an object
//      with one key, its kind, and numbers that are not finite are texts, because JSON has none of them.

import FoundationEssentials

extension AttributeValue: Codable {
    private enum Kind: String, CodingKey {
        case null, integer, decimal, double, float, string, boolean, date, binary, uuid, uri, transformable, objectID,
            composite
    }

    /// Encodes the value under the name of its kind.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Kind.self)
        switch self {
        case .null: try container.encode(true, forKey: .null)
        case .integer(let number): try container.encode(number, forKey: .integer)
        case .decimal(let number): try container.encode("\(number)", forKey: .decimal)
        case .double(let number): try container.encode(number, orAsText: .double)
        case .float(let number): try container.encode(Double(number), orAsText: .float)
        case .string(let text): try container.encode(text, forKey: .string)
        case .boolean(let flag): try container.encode(flag, forKey: .boolean)
        case .date(let date): try container.encode(date.timeIntervalSinceReferenceDate, orAsText: .date)
        case .binary(let data): try container.encode(data.base64EncodedString(), forKey: .binary)
        case .uuid(let uuid): try container.encode(uuid.uuidString, forKey: .uuid)
        case .uri(let uri): try container.encode(uri.absoluteString, forKey: .uri)
        case .transformable(let data): try container.encode(data.base64EncodedString(), forKey: .transformable)
        case .objectID(let id): try container.encode(id, forKey: .objectID)
        case .composite(let parts): try container.encode(parts, forKey: .composite)
        }
    }

    /// Decodes a value.
    ///
    /// - Throws: `DecodingError` if there is not exactly one kind, or no value of that kind.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Kind.self)
        func problem(_ text: String) -> DecodingError {
            .dataCorrupted(.init(codingPath: container.codingPath, debugDescription: text))
        }
        guard container.allKeys.count == 1, let kind = container.allKeys.first else {
            throw problem("a value has one key, its kind")
        }
        func text() throws -> String { try container.decode(String.self, forKey: kind) }
        func made<Value>(_ make: (String) -> Value?) throws -> Value {
            let word = try text()
            guard let value = make(word) else {
                throw problem("\"\(word)\" is not a value of the kind \(kind.rawValue)")
            }
            return value
        }
        switch kind {
        case .null: self = .null
        case .integer: self = .integer(try container.decode(Int64.self, forKey: kind))
        case .decimal: self = .decimal(try made { $0 == "NaN" ? Decimal.nan : Decimal(wholeText: $0) })
        case .double: self = .double(try container.decodeNumber(kind))
        case .float: self = .float(Float(try container.decodeNumber(kind)))
        case .string: self = .string(try text())
        case .boolean: self = .boolean(try container.decode(Bool.self, forKey: kind))
        case .date: self = .date(Date(timeIntervalSinceReferenceDate: try container.decodeNumber(kind)))
        case .binary: self = .binary(try made { Data(base64Encoded: $0) })
        case .uuid: self = .uuid(try made(UUID.init(uuidString:)))
        case .uri: self = .uri(try made { URL(string: $0) })
        case .transformable: self = .transformable(try made { Data(base64Encoded: $0) })
        case .objectID: self = .objectID(try container.decode(ObjectID.self, forKey: kind))
        case .composite: self = .composite(try container.decode([String: AttributeValue].self, forKey: kind))
        }
    }
}

extension KeyedEncodingContainer {
    /// Encodes a number, or its text if it is not finite.
    fileprivate mutating func encode(_ number: Double, orAsText key: Key) throws {
        if number.isFinite { try encode(number, forKey: key) } else { try encode("\(number)", forKey: key) }
    }
}

extension KeyedDecodingContainer {
    /// A number, or the text of one that is not finite.
    fileprivate func decodeNumber(_ key: Key) throws -> Double {
        guard let text = try? decode(String.self, forKey: key) else { return try decode(Double.self, forKey: key) }
        guard let number = Double(text), !number.isFinite else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "\"\(text)\" is not a number that is not finite")
        }
        return number
    }
}
