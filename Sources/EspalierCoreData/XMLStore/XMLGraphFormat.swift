// Stores in XML, in the layout of Core Data's (PS-17): what XMLSource says of such files is what this format writes.
//
// Additions to the format
//   1. Versions of rows, counters and the application's metadata are in entries of the property list whose keys begin
//      with "Espalier"; a file without them, such as one of Core Data, has rows at version 1, and the plain values of
//      its property list as metadata.
//   2. A composite value is the Base64 of its tagged bytes, with the type "composite"; a text with a character that XML
//      does not allow is the Base64 of its UTF-8, with the type "utf8".
//   3. A date has 20 decimals, as those of Core Data; only one that they would change has the shortest text of its
//      number.
//   4. The hashes of entities are written and not compared: what does not fit is found at its row, by the names of
//      properties and the types of values.
//
// Invariants
//   1. Names that differ only in case are refused before anything is written: the layout could not tell them apart.
//   2. Text is written so that it is read unchanged.

public import EspalierModel
import EspalierModelFile
public import EspalierStore
import FoundationEssentials

extension StoreType {
    /// A store in XML, in the layout of Core Data; register it with `XMLGraphFormat.register()`.
    public static let xml = StoreType(rawValue: "XML")
}

/// The format of files in XML that hold a whole store.
public struct XMLGraphFormat: GraphFormat {
    static let metadataKey = "EspalierMetadata"
    static let versionsKey = "EspalierVersions"
    static let bytesType = "utf8"

    /// The format.
    public init() {}

    /// Registers `StoreType.xml`, so that descriptions can name it.
    public static func register() {
        StoreType.xml.register(
            StoreFiles(
                whole: isStoreBeginning, metadata: { bytes throws(StoreError) in try XMLMetadata.ofStore(in: bytes) }))
        StoreType.xml.register { opening in
            try opening.requireOptions(among: [])
            try opening.refuseMigration()
            guard let path = opening.path else { throw StoreError.invalidRequest(reason: "an XML store needs a path") }
            return try WholeGraphStore(
                GraphFile(path, XMLGraphFormat(), isReadOnly: opening.isReadOnly), type: .xml, model: opening.model)
        }
    }

    /// Whether bytes begin as XML does, and not as the file of another kind of store.
    public static func isBeginning(_ bytes: [UInt8]) -> Bool { XMLSource.isXML(bytes) }

    /// Whether bytes begin as a store in XML does, and not as other XML.
    @Sendable private static func isStoreBeginning(_ bytes: [UInt8]) -> Bool {
        isBeginning(bytes) && String(decoding: bytes, as: UTF8.self).contains("<database")
    }

    /// `true`: the IDs of rows are unique in the file.
    public var hasSharedKeys: Bool { true }

    /// The bytes of a file.
    ///
    /// - Throws: `StoreError.invalidRequest` if names differ only in case, if two rows have one key, or if a row does
    ///   not fit the model.
    /// - Complexity: O(bytes).
    public func bytes(of graph: StoredGraph, _ model: ManagedObjectModel) throws -> [UInt8] {
        _ = try XMLNames(model)
        return try XMLGraphWriter(graph, model).bytes()
    }

    /// The store in a file.
    ///
    /// - Throws: `StoreError.malformedFile` with the line.
    /// - Complexity: O(bytes).
    public func graph(in bytes: [UInt8], _ model: ManagedObjectModel) throws -> StoredGraph {
        try XMLGraphReader(model).graph(Self.database(in: bytes))
    }

    /// The top element of a file.
    static func database(in bytes: [UInt8]) throws(StoreError) -> XMLElement {
        do throws(XMLError) {
            return try XMLReader.read(
                bytes, elementCountMax: XMLSource.elementCountMax, childCountMax: XMLSource.elementCountMax)
        } catch {
            throw .malformedFile(path: nil, place: "line \(error.line)", reason: error.message)
        }
    }
}

/// The entities and properties of a model by their names in an XML store.
struct XMLNames {
    /// By names in capitals.
    let entities: [String: Entity]
    /// By index of the entity, and by names in small letters.
    let properties: [[String: Entity.Property]]

    /// - Throws: `StoreError.invalidRequest` if two names differ only in case.
    init(_ model: ManagedObjectModel) throws(StoreError) {
        var entities: [String: Entity] = [:]
        var properties: [[String: Entity.Property]] = []
        for entity in model.entities {
            guard entities.updateValue(entity, forKey: entity.name.uppercased()) == nil else {
                throw Self.ambiguous(entity.name)
            }
            var known: [String: Entity.Property] = [:]
            for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
                guard let property = entity.property(named: name) else { continue }
                guard known.updateValue(property, forKey: name.lowercased()) == nil else {
                    throw Self.ambiguous("\(entity.name).\(name)")
                }
            }
            properties.append(known)
        }
        (self.entities, self.properties) = (entities, properties)
    }

    private static func ambiguous(_ name: String) -> StoreError {
        .invalidRequest(
            reason: "another name differs from \(name) only in case, and an XML store cannot tell them apart: use "
                + "another kind of store, or other names")
    }
}
