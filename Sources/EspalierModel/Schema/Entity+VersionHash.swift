// What tells versions of a model apart: a hash for each entity of what decides how its objects are stored (MD-05).
//
// Invariants
//   1. In the hash, inherited properties included: the names of entity and superentity; of each attribute name, type,
//      optional, transient and elements; of each relationship name, destination, inverse, cardinality, optional,
//      minCount and maxCount; the uniqueness constraints (MD-12); modifiers of the hash, where there are any.
//   2. Not in the hash: defaults, delete rules, value transformers, renaming identifiers, indexes, whether the entity
//      is abstract, and the order in which anything was written down.
//   3. The hash is FNV-1a with 128 bits over the canonical encoding below, most significant byte first. It stands in
//      files: changing either is a change of format.

extension Entity {
    /// The hash of what decides how objects of this entity are stored: 16 bytes.
    ///
    /// Equal for entities of two models exactly (but for a chance of 2^-128) if stored objects of one are stored
    /// objects of the other.
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
        // Without any modifier nothing is written: such hashes are those of models before there were modifiers.
        let modifiers = versionHashModifiers
        if !modifiers.isEmpty {
            writer.list(modifiers) { writer, modifier in
                writer.text(modifier.property)
                writer.text(modifier.text)
            }
        }
        return fowlerNollVo(writer.bytes)
    }

    /// The modifiers of the entity, under an empty name, and of its properties, by name.
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

    /// One hash of all entities' version hashes, as 32 hexadecimal digits.
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
