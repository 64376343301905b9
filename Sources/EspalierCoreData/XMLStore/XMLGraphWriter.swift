// Writes a graph as the XML of a store.

import EspalierModel
import EspalierStore
import FoundationEssentials

struct XMLGraphWriter {
    private let graph: StoredGraph
    private let model: ManagedObjectModel
    private var text = ""

    init(_ graph: StoredGraph, _ model: ManagedObjectModel) { (self.graph, self.model) = (graph, model) }

    consuming func bytes() throws(StoreError) -> [UInt8] {
        text = """
            <?xml version="1.0" standalone="yes"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

            <database>

            """
        writeInfo()
        var lists: [ObjectID: [Int: [ObjectID]]] = [:]
        for list in graph.lists { lists[list.owner, default: [:]][list.relationship.slot] = list.destinations }
        var keys = Set<UInt64>(minimumCapacity: graph.rows.count)
        for row in graph.rows.sorted(by: { $0.id.key < $1.id.key }) {
            guard keys.insert(row.id.key).inserted else {
                throw .invalidRequest(
                    reason: "two rows have the key \(row.id.key): in an XML store, keys are unique over all entities")
            }
            try write(row, lists[row.id] ?? [:])
        }
        text += "</database>\n"
        return Array(text.utf8)
    }

    // MARK: Metadata

    private mutating func writeInfo() {
        let last = max(graph.counters.values.map(\.lastKey).max() ?? 0, graph.rows.map(\.id.key).max() ?? 0)
        text += """
                <databaseInfo>
                    <version>134481920</version>
                    <UUID>\(graph.identifier.uuidString)</UUID>
                    <nextObjectID>\(last)</nextObjectID>
                    <metadata>
                        <plist version="1.0">
                            <dict>

            """
        var versions: [String: AttributeValue] = [:]
        for row in graph.rows where row.version != 1 {
            versions["z\(row.id.key)"] = .integer(Int64(clamping: row.version))
        }
        for (name, counters) in graph.counters where counters.goneVersion > 0 {
            versions[name] = .integer(Int64(clamping: counters.goneVersion))
        }
        write(graph.metadata, under: XMLGraphFormat.metadataKey)
        write(versions, under: XMLGraphFormat.versionsKey)
        text += "                    <key>NSStoreModelVersionHashes</key>\n                    <dict>\n"
        for entity in model.entities.sorted(by: { $0.name < $1.name }) {
            text += "                        <key>\(entity.name)</key>\n"
            text += "                        <data>\(Data(entity.versionHash).base64EncodedString())</data>\n"
        }
        text += """
                                </dict>
                                <key>NSStoreModelVersionHashesVersion</key>
                                <integer>3</integer>
                            </dict>
                        </plist>
                    </metadata>
                </databaseInfo>

            """
    }

    private mutating func write(_ values: [String: AttributeValue], under key: String) {
        guard !values.isEmpty else { return }
        let bytes = NamedValues.bytes(of: values)
        text += "                    <key>\(key)</key>\n"
        text += "                    <data>\(Data(bytes).base64EncodedString())</data>\n"
    }

    // MARK: Rows

    private mutating func write(_ row: ObjectSnapshot, _ lists: [Int: [ObjectID]]) throws(StoreError) {
        guard let entity = model.entity(named: row.id.entityName) else {
            throw .invalidRequest(reason: "the model has no entity \(row.id.entityName), of which \(row.id) is a row")
        }
        if let counts = row.slotCounts, counts != (entity.attributes.count, entity.relationships.count) {
            throw .invalidRequest(reason: "\(row.id) has other numbers of values than its entity")
        }
        text += "    <object type=\"\(entity.name.uppercased())\" id=\"z\(row.id.key)\">\n"
        for attribute in entity.attributes {
            let value = row.value(at: attribute.slot)
            guard let (type, content) = Self.content(of: value, attribute) else { continue }
            text += "        <attribute name=\"\(attribute.name.lowercased())\" type=\"\(type)\">"
            text += content + "</attribute>\n"
        }
        for relationship in entity.relationships {
            let ids =
                relationship.isToMany
                ? lists[relationship.slot] ?? [] : row.destination(at: relationship.slot).map { [$0] } ?? []
            let counts = relationship.isToMany ? "0/0" : "1/1"
            let destination = model.destination(of: relationship).name.uppercased()
            text += "        <relationship name=\"\(relationship.name.lowercased())\" type=\"\(counts)\""
            text += " destination=\"\(destination)\""
            if !ids.isEmpty { text += " idrefs=\"\(ids.map { "z\($0.key)" }.joined(separator: " "))\"" }
            text += "></relationship>\n"
        }
        text += "    </object>\n"
    }

    /// The type and the text of a value; `nil` if there is none.
    private static func content(
        of value: AttributeValue, _ attribute: Attribute
    ) -> (type: String, text: String)? {
        switch value {
        case .null, .objectID: return nil
        case .integer(let number):
            let type = attribute.type == .integer16 ? "int16" : attribute.type == .integer32 ? "int32" : "int64"
            return (type, "\(number)")
        case .decimal(let number): return ("decimal", "\(number)")
        case .double(let number): return ("double", "\(number)")
        // As a double: the shortest text of a float is not the text of the double that has its value.
        case .float(let number): return ("float", "\(Double(number))")
        case .boolean(let bit): return ("bool", bit ? "1" : "0")
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            return ("date", seconds.textWithTwentyDecimals ?? "\(seconds)")
        case .uuid(let uuid): return ("uuid", uuid.uuidString)
        case .binary(let data): return ("binary", data.base64EncodedString())
        case .transformable(let data): return ("transformable", data.base64EncodedString())
        case .string(let text):
            if let escaped = escaped(text) { return ("string", escaped) }
            return (XMLGraphFormat.bytesType, Data(text.utf8).base64EncodedString())
        case .uri(let uri): return ("uri", escaped(uri.absoluteString) ?? "")
        case .composite:
            var bytes: [UInt8] = []
            TaggedValue.append(value, to: &bytes)
            return ("composite", Data(bytes).base64EncodedString())
        }
    }

    /// The text with references for what is markup; `nil` if it has a character that XML does not allow.
    private static func escaped(_ text: String) -> String? {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            // A reader makes a line break of it otherwise.
            case "\r": result += "&#13;"
            case "\t", "\n", "\u{20}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
                result.unicodeScalars.append(scalar)
            default: return nil
            }
        }
        return result
    }
}
