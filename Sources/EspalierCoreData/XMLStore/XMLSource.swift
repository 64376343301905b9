// An XML store of Core Data as a source of rows and members.
//
// Facts, as such files show them
//   1. `<database>` holds `<databaseInfo>` and one `<object type="ENTITY" id="z102">` for each object; the number in an
//      ID is unique in the file. Names of entities are in capitals, those of properties in small letters.
//   2. `<attribute name= type=>` has the value as text: numbers in decimal notation, truth as 0 or 1, dates as seconds
//      since 2001-01-01 00:00:00 UTC, bytes in Base64. An attribute without a value is left out.
//   3. `<relationship name= idrefs="z103 z104">` has the destinations, those of ordered relationships in order.
//
// Invariants
//   1. Only regular files of at most `byteCountMax` bytes are read. Such a store is in memory as a whole, as Core Data
//      has it.

import EspalierModel
import EspalierModelFile
import FoundationEssentials

/// An XML store.
final class XMLSource: ImportSource {
    static let byteCountMax = 1 << 30
    static let elementCountMax = 1 << 26

    /// One object.
    private struct Object {
        let key: UInt64
        let entity: Entity
        let element: XMLElement
    }

    let model: ManagedObjectModel
    let metadata: [String: AttributeValue]
    /// By index of the topmost entity: its objects, by ascending key.
    private var objects: [[Object]]
    private let lastKey: UInt64
    /// By index of the entity: the properties by their names in small letters.
    private let properties: [[String: Entity.Property]]

    /// Whether the bytes are the beginning of an XML store, and not of a SQLite one.
    static func isXML(_ bytes: [UInt8]) -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let rest = bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes[...]
        return rest.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
    }

    /// - Parameter isStrict: whether a model is refused if it does not have all entities and properties of the objects,
    ///   with their types.
    init(
        _ bytes: [UInt8], path: String, model document: ModelDocument?, isStrict: Bool,
        _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        let database: XMLElement
        do throws(XMLError) {
            database = try XMLReader.read(
                bytes, elementCountMax: Self.elementCountMax, childCountMax: Self.elementCountMax)
        } catch {
            throw .malformedXML(path: path, line: error.line, reason: error.message)
        }
        guard database.name == "database" else {
            throw .notAStore(path: path, reason: "the top element is '\(database.name)', not 'database'")
        }
        let info = database.children.first { $0.name == "databaseInfo" }
        report.storeIdentifier = info?.children.first { $0.name == "UUID" }?.text ?? ""
        let facts = XMLMetadata(info)
        metadata = facts.values
        let storeModel = try StoreModel(document, cached: nil, hashedEntities: Set(facts.hashes.keys), path: path)
        let model = storeModel.model
        (self.model, report.notes) = (model, storeModel.notes)
        for name in facts.otherValues { report.add(.metadata, "", name, "the value is not a plain value") }
        properties = model.entities.map { entity in
            let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
            let pairs = names.compactMap { name in entity.property(named: name).map { (name.lowercased(), $0) } }
            return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        }
        let entities = Dictionary(
            model.entities.map { ($0.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
        let strangers = isStrict ? Self.strangers(in: database, entities, properties) : []
        guard strangers.isEmpty else {
            throw .otherModel(
                path: path, entities: strangers, reason: "the model does not have all properties of their objects")
        }
        var objects = [[Object]](repeating: [], count: model.entities.count)
        var last: UInt64 = 0
        for element in database.children where element.name == "object" {
            let name = element["type"] ?? ""
            guard let entity = entities[name.uppercased()], !entity.isAbstract, let key = Self.key(element["id"]) else {
                report.add(.row, name, element["id"] ?? "", "line \(element.line): the object has no entity or no ID")
                continue
            }
            objects[entity.root].append(Object(key: key, entity: entity, element: element))
            last = max(last, key)
        }
        for index in objects.indices { objects[index].sort { $0.key < $1.key } }
        (self.objects, lastKey) = (objects, last)
    }

    /// The entities of objects with a property that the model does not have, or has with another type, or that it does
    /// not have at all; sorted.
    private static func strangers(
        in database: XMLElement, _ entities: [String: Entity], _ properties: [[String: Entity.Property]]
    ) -> [String] {
        var names: Set<String> = []
        for object in database.children where object.name == "object" {
            let name = object["type"] ?? ""
            guard let entity = entities[name.uppercased()] else {
                names.insert(name)
                continue
            }
            let isKnown = object.children.allSatisfy { child in
                switch properties[entity.index][(child["name"] ?? "").lowercased()] {
                case .attribute(let slot)?:
                    child.name != "relationship" && entity.attributes[slot].type.reads(xmlType: child["type"])
                case .relationship?: child.name != "attribute"
                case nil: !["attribute", "relationship"].contains(child.name)
                }
            }
            if !isKnown { names.insert(entity.name) }
        }
        return names.sorted()
    }

    /// The key in an ID such as `z102`.
    private static func key(_ id: (some StringProtocol)?) -> UInt64? {
        guard let id, id.first == "z", let key = Int64(id.dropFirst()), key > 0 else { return nil }
        return UInt64(key)
    }

    func lastKey(of root: Entity) -> UInt64 { lastKey }

    // MARK: Rows

    func forEachRow(
        of root: Entity, withValues: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceRow, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError) {
        for object in objects[root.index] {
            var values = [AttributeValue](repeating: .null, count: withValues ? object.entity.attributes.count : 0)
            var destinations = [UInt64](repeating: 0, count: object.entity.relationships.count)
            for child in object.element.children {
                let name = child["name"] ?? ""
                switch properties[object.entity.index][name.lowercased()] {
                case .attribute(let slot)? where child.name == "attribute" && withValues:
                    do throws(ColumnValueError) {
                        values[slot] = try object.entity.attributes[slot].type.value(of: child)
                    } catch {
                        report.add(error.kind, object.entity.name, key: Int64(object.key), name, error.message)
                    }
                case .relationship(let slot)? where child.name == "relationship":
                    let isToMany = object.entity.relationships[slot].isToMany
                    let keys = Self.keys(child)
                    if !isToMany { destinations[slot] = keys.first.flatMap { $0 } ?? 0 }
                    if withValues, keys.contains(nil) || !isToMany && keys.count > 1 {
                        report.add(
                            .destination, object.entity.name, key: Int64(object.key), name,
                            "'\(child["idrefs"] ?? "")' is not a list of IDs of its destinations")
                    }
                case nil where withValues && ["attribute", "relationship"].contains(child.name):
                    report.add(
                        .column, object.entity.name, key: Int64(object.key), name, "the entity has no such property")
                default: break
                }
            }
            try body(
                SourceRow(entity: object.entity, key: object.key, values: values, destinations: destinations), &report)
        }
    }

    /// The keys of the destinations; `nil` for what is no ID.
    private static func keys(_ relationship: XMLElement) -> [UInt64?] {
        (relationship["idrefs"] ?? "").split(separator: " ").map { key($0) }
    }

    // MARK: Members

    func forEachMember(
        of relationship: Relationship, isFirst: Bool, _ report: inout CoreDataImportReport,
        _ body: (SourceMember, inout CoreDataImportReport) throws(CoreDataImportError) -> Void
    ) throws(CoreDataImportError) {
        let declaring = model.entities[relationship.declaredBy]
        for object in objects[declaring.root] where object.entity.isKind(of: declaring) {
            for child in object.element.children where child.name == "relationship" {
                guard child["name"]?.lowercased() == relationship.name.lowercased() else { continue }
                for (position, key) in Self.keys(child).enumerated() {
                    guard let key else { continue }
                    try body(SourceMember(owner: object.key, position: Int64(position), destination: key), &report)
                }
            }
        }
    }
}

extension AttributeType {
    /// The value of this type that the text of an element holds.
    func value(ofXML text: String) throws(ColumnValueError) -> AttributeValue {
        switch self {
        case .string: return .string(text)
        case .integer16, .integer32, .integer64, .boolean:
            guard let number = Int64(text) else { throw ColumnValueError("'\(text.prefix(40))' is not an integer") }
            return try value(ofColumn: .integer(number))
        case .double, .float, .date:
            guard let number = Double(text) else { throw ColumnValueError("'\(text.prefix(40))' is not a number") }
            return try value(ofColumn: .real(number))
        case .decimal, .uri, .uuid: return try value(ofColumn: .text(text))
        case .binary, .transformable:
            guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
                throw ColumnValueError("the text is not in Base64")
            }
            return self == .binary ? .binary(data) : .transformable(data)
        case .undefined, .objectID, .composite: throw ColumnValueError("values of type \(self) are not supported")
        }
    }
}
