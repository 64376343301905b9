// Reads the XML of a store as a graph: every fault is an error with its line.

import EspalierModel
import EspalierModelFile
import EspalierStore
import FoundationEssentials

struct XMLGraphReader {
    private let model: ManagedObjectModel
    private let names: XMLNames
    private var identifier = UUID()
    private var versions: [String: AttributeValue] = [:]
    /// The IDs of objects, by the texts in the file.
    private var ids: [String: ObjectID] = [:]

    /// The way out for a file that was written with another model.
    private static let remedy =
        "open the file with the model that it was written with: an XML file is not migrated, but a copy of it in a "
        + "B-tree file is"

    init(_ model: ManagedObjectModel) throws(StoreError) {
        self.model = model
        names = try XMLNames(model)
    }

    private static func malformed(_ element: XMLElement, _ reason: String) -> StoreError {
        .malformedFile(path: nil, place: "line \(element.line)", reason: reason)
    }

    /// The element with the facts about a store, and the UUID in it.
    static func identity(of database: XMLElement) throws(StoreError) -> (info: XMLElement, identifier: UUID) {
        guard database.name == "database" else {
            throw malformed(database, "the top element is '\(database.name)', not 'database'")
        }
        guard let info = database.children.first(where: { $0.name == "databaseInfo" }) else {
            throw malformed(database, "there is no 'databaseInfo'")
        }
        let text = info.children.first { $0.name == "UUID" }?.text ?? ""
        guard let identifier = UUID(uuidString: text) else {
            throw malformed(info, "'\(text.prefix(40))' is no UUID of a store")
        }
        return (info, identifier)
    }

    consuming func graph(_ database: XMLElement) throws(StoreError) -> StoredGraph {
        let (info, identifier) = try Self.identity(of: database)
        self.identifier = identifier
        var graph = StoredGraph(identifier: identifier)
        graph.metadata = try entry(XMLGraphFormat.metadataKey, of: info)
        if graph.metadata.isEmpty { graph.metadata = XMLMetadata(info).values }
        versions = try entry(XMLGraphFormat.versionsKey, of: info)
        let objects = database.children.filter { $0.name == "object" }
        var elements: [(element: XMLElement, entity: Entity, id: ObjectID)] = []
        for element in objects {
            let (entity, id) = try identity(of: element)
            elements.append((element, entity, id))
        }
        for (element, entity, id) in elements {
            graph.rows.append(try row(element, entity, id))
            graph.lists += try lists(element, entity, id)
        }
        let last = info.children.first { $0.name == "nextObjectID" }.flatMap { UInt64($0.text) } ?? 0
        let lastKey = max(min(last, 1 << 62), graph.rows.map(\.id.key).max() ?? 0)
        for entity in model.entities where entity.root == entity.index {
            graph.counters[entity.name] = .init(lastKey: lastKey, goneVersion: version(entity.name) ?? 0)
        }
        return graph
    }

    // MARK: Metadata

    /// An entry of the property list that has tagged bytes.
    private func entry(_ key: String, of info: XMLElement) throws(StoreError) -> [String: AttributeValue] {
        let list = info.children.first { $0.name == "metadata" }?.children.first { $0.name == "plist" }
        let entries = list?.children.first { $0.name == "dict" }?.children ?? []
        guard let position = entries.firstIndex(where: { $0.name == "key" && $0.text == key }),
            position + 1 < entries.count
        else { return [:] }
        let value = entries[position + 1]
        guard let data = Data(base64Encoded: value.text, options: .ignoreUnknownCharacters),
            let values = NamedValues.decode([UInt8](data))
        else { throw Self.malformed(value, "the data under \(key) are not what this library writes") }
        return values
    }

    private func version(_ name: String) -> UInt64? {
        guard case .integer(let version)? = versions[name], version > 0 else { return nil }
        return UInt64(version)
    }

    // MARK: Rows

    private mutating func identity(of element: XMLElement) throws(StoreError) -> (Entity, ObjectID) {
        let name = element["type"] ?? ""
        guard let entity = names.entities[name.uppercased()], !entity.isAbstract else {
            throw Self.malformed(element, "the model has no entity '\(name)' with objects; \(Self.remedy)")
        }
        let text = element["id"] ?? ""
        guard text.first == "z", let key = Int64(text.dropFirst()), key > 0, "z\(key)" == text else {
            throw Self.malformed(element, "'\(text.prefix(40))' is no ID; IDs are z and a number")
        }
        let id = ObjectID(.number(UInt64(key)), of: entity, inStore: identifier)
        guard ids.updateValue(id, forKey: text) == nil else {
            throw Self.malformed(element, "two objects have the ID \(text)")
        }
        return (entity, id)
    }

    private func row(_ element: XMLElement, _ entity: Entity, _ id: ObjectID) throws(StoreError) -> ObjectSnapshot {
        var (values, destinations) = ([String: AttributeValue](), [String: ObjectID]())
        for child in element.children where ["attribute", "relationship"].contains(child.name) {
            let name = (child["name"] ?? "").lowercased()
            switch names.properties[entity.index][name] {
            case .attribute(let slot)? where child.name == "attribute":
                let attribute = entity.attributes[slot]
                guard values[attribute.name] == nil else {
                    throw Self.malformed(child, "'\(name)' is there twice")
                }
                values[attribute.name] = try value(child, attribute)
            case .relationship(let slot)? where child.name == "relationship":
                let relationship = entity.relationships[slot]
                guard !relationship.isToMany else { continue }
                let found = try destinationIDs(child)
                guard found.count <= 1, destinations[relationship.name] == nil else {
                    throw Self.malformed(child, "'\(name)' is to-one, but has several destinations")
                }
                destinations[relationship.name] = found.first
            default: throw Self.malformed(child, "\(entity.name) has no \(child.name) '\(name)'; \(Self.remedy)")
            }
        }
        return try ObjectSnapshot(
            id: id, version: version("z\(id.key)") ?? 1, of: entity, values: values, destinations: destinations)
    }

    private func value(_ element: XMLElement, _ attribute: Attribute) throws(StoreError) -> AttributeValue {
        guard attribute.type.reads(xmlType: element["type"]) else {
            let type = element["type"] ?? ""
            throw Self.malformed(
                element,
                "\(attribute.name) has the type \(type) in the file, and \(attribute.type) in the model; "
                    + Self.remedy)
        }
        switch attribute.type {
        case .composite, .undefined:
            guard let data = Data(base64Encoded: element.text, options: .ignoreUnknownCharacters),
                let value = TaggedValue.decode([UInt8](data))
            else { throw Self.malformed(element, "the text is no value in Base64") }
            return value
        case .decimal where element.text == "NaN": return .decimal(.nan)
        default: break
        }
        do throws(ColumnValueError) {
            return try attribute.type.value(of: element)
        } catch {
            throw Self.malformed(element, "\(attribute.name): \(error.message)")
        }
    }

    private func lists(
        _ element: XMLElement, _ entity: Entity, _ id: ObjectID
    ) throws(StoreError) -> [StoredGraph.List] {
        var lists: [StoredGraph.List] = []
        for child in element.children where child.name == "relationship" {
            guard case .relationship(let slot)? = names.properties[entity.index][(child["name"] ?? "").lowercased()],
                entity.relationships[slot].isToMany
            else { continue }
            lists.append(StoredGraph.List(id, entity.relationships[slot], try destinationIDs(child)))
        }
        return lists
    }

    private func destinationIDs(_ element: XMLElement) throws(StoreError) -> [ObjectID] {
        var found: [ObjectID] = []
        for text in (element["idrefs"] ?? "").split(separator: " ") {
            guard let id = ids[String(text)] else {
                throw Self.malformed(element, "'\(text.prefix(40))' is the ID of no object in the file")
            }
            found.append(id)
        }
        return found
    }
}
