// The version hash of each entity, which covers the properties of a model that determine how objects are stored
// (MD-05).
//
// Invariants
//   1. The hash includes, with inherited properties: the names of entity and superentity; of each attribute name, type,
//      optional, transient and elements; of each relationship name, destination, inverse, cardinality, optional,
//      minCount and maxCount; the uniqueness constraints (MD-12); the version hash modifiers, if there are any.
//   2. The hash excludes defaults, delete rules, actions of constraints, validation rules, value transformers, renaming
//      identifiers, indexes, fetched properties, whether large values may be in files of their own, whether the entity
//      is abstract, and the order of declarations.
//   3. The hash is FNV-1a with 128 bits over the canonical encoding below, most significant byte first. It is stored in
//      files: changing the hash or the encoding changes the file format.

extension Entity {
    /// A hash of 16 bytes over the properties that determine how objects of this entity are stored.
    ///
    /// The hashes of entities of two models are equal exactly if objects stored with one model can be read with the
    /// other (except with a probability of 2^-128).
    ///
    /// - Complexity: O(properties).
    public var versionHash: [UInt8] {
        var writer = ModelWriter()
        writer.text(name)
        writer.optional(description.superentity)
        writer.list(attributes.map(\.description).sorted { $0.name < $1.name }) { $0.structure(of: $1) }
        writer.list(relationships.map(\.description).sorted { $0.name < $1.name }) { $0.structure(of: $1) }
        let constraints = uniquenessConstraints.map { $0.sorted() }.sorted { $0.lexicographicallyPrecedes($1) }
        writer.list(constraints) { $0.list($1) { $0.text($1) } }
        // Without modifiers the list is not written, so such hashes equal those from before modifiers were supported.
        let modifiers = versionHashModifiers
        if !modifiers.isEmpty {
            writer.list(modifiers) { writer, modifier in
                writer.text(modifier.property)
                writer.text(modifier.text)
            }
        }
        return fowlerNollVo(writer.bytes)
    }

    /// The modifiers of the entity, under an empty name, and of its properties, sorted by name.
    private var versionHashModifiers: [(property: String, text: String)] {
        let named =
            [("", description.versionHashModifier)]
            + attributes.map { ($0.name, $0.description.versionHashModifier) }
            + relationships.map { ($0.name, $0.description.versionHashModifier) }
        return named.compactMap { name, text in text.map { (name, $0) } }.sorted { $0.property < $1.property }
    }
}

extension ManagedObjectModel {
    /// The version hash of each entity, by name.
    public var entityVersionHashesByName: [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0.versionHash) })
    }

    /// A hash over the version hashes of all entities, as 32 hexadecimal digits.
    public var versionChecksum: String {
        let hashes = entities.sorted { $0.name < $1.name }.flatMap(\.versionHash)
        return fowlerNollVo(hashes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension ModelWriter {
    fileprivate mutating func structure(of attribute: AttributeDescription) {
        text(attribute.name)
        uint(UInt64(attribute.type.rawValue))
        flags(attribute.isOptional, attribute.isTransient)
        list(attribute.elements.sorted { $0.name < $1.name }) { $0.structure(of: $1) }
    }

    fileprivate mutating func structure(of relationship: RelationshipDescription) {
        text(relationship.name)
        text(relationship.destination)
        optional(relationship.inverse)
        bytes.append(relationship.cardinality.rawValue)
        flags(relationship.isOptional)
        uint(UInt64(max(0, relationship.minCount)))
        uint(UInt64(max(0, relationship.maxCount)))
    }
}

/// FNV-1a with 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv), most significant byte first.
private func fowlerNollVo(_ bytes: [UInt8]) -> [UInt8] {
    let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
    return (0..<16).map { UInt8(truncatingIfNeeded: hash >> (120 - 8 * $0)) }
}
