// The property list with the metadata of an XML store: `<databaseInfo><metadata><plist><dict>`, with a `<key>` before
// each value.
//
// Invariants
//   1. Every entry of the application is a value or is named among the others: none is left out silently. Names that
//      begin with `NS` are Core Data's own.

import EspalierModel
import EspalierModelFile
import EspalierStore
import FoundationEssentials

/// The metadata of an XML store.
struct XMLMetadata {
    /// The recorded version hashes of entities, by name; empty if there are none.
    let hashes: [String: [UInt8]]
    /// The application's own values.
    let values: [String: AttributeValue]
    /// The names of the application's own values that are no plain values, sorted.
    let otherValues: [String]

    init(_ info: XMLElement?) {
        let list = info?.children.first { $0.name == "metadata" }?.children.first { $0.name == "plist" }
        let entries = list?.children.first { $0.name == "dict" }?.children ?? []
        var values: [String: AttributeValue] = [:]
        var (hashes, others): ([String: [UInt8]], [String]) = ([:], [])
        var position = 0
        while position < entries.count {
            let (key, value) = (entries[position], position + 1 < entries.count ? entries[position + 1] : nil)
            // A value without a key has no name under which it could be missed.
            position += key.name == "key" ? 2 : 1
            guard key.name == "key" else { continue }
            if key.text == "NSStoreModelVersionHashes" { hashes = Self.hashes(in: value?.children ?? []) }
            guard !key.text.hasPrefix("NS"), !key.text.hasPrefix("_NS"), key.text != XMLGraphFormat.versionsKey else {
                continue
            }
            if key.text == XMLGraphFormat.metadataKey, let own = value.flatMap(Self.ownValues) {
                values.merge(own) { _, own in own }
            } else if let plain = value.flatMap(Self.value) {
                values[key.text] = plain
            } else {
                others.append(key.text)
            }
        }
        (self.hashes, self.values, otherValues) = (hashes, values, others.sorted())
    }

    /// The metadata that a store states about itself (PS-05).
    ///
    /// - Throws: `StoreError.malformedFile` with the line.
    /// - Complexity: O(bytes).
    static func ofStore(in bytes: [UInt8]) throws(StoreError) -> EspalierStore.StoreMetadata {
        let database = try XMLGraphFormat.database(in: bytes)
        let (info, identifier) = try XMLGraphReader.identity(of: database)
        let metadata = XMLMetadata(info)
        return EspalierStore.StoreMetadata(
            identifier: identifier, entityVersionHashesByName: metadata.hashes, values: metadata.values)
    }

    /// The version hashes in a dictionary of a property list; an entity whose hash is no data has an empty one.
    private static func hashes(in entries: [XMLElement]) -> [String: [UInt8]] {
        var hashes: [String: [UInt8]] = [:]
        for (position, key) in entries.enumerated() where key.name == "key" {
            let text = position + 1 < entries.count ? entries[position + 1].text : ""
            let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters)
            hashes[key.text] = data.map { [UInt8]($0) } ?? []
        }
        return hashes
    }

    /// The metadata that this library has written into a file of its own.
    private static func ownValues(_ element: XMLElement) -> [String: AttributeValue]? {
        Data(base64Encoded: element.text, options: .ignoreUnknownCharacters).flatMap { NamedValues.decode([UInt8]($0)) }
    }

    private static func value(_ element: XMLElement) -> AttributeValue? {
        let text = element.text.split(whereSeparator: \.isWhitespace).joined()
        switch element.name {
        case "string": return .string(element.text)
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "integer": return Int64(text).map { .integer($0) }
        case "real": return Double(text).map { .double($0) }
        case "date": return (try? Date(text, strategy: .iso8601)).map { .date($0) }
        case "data":
            return Data(base64Encoded: element.text, options: .ignoreUnknownCharacters).map { .binary($0) }
        default: return nil
        }
    }
}
