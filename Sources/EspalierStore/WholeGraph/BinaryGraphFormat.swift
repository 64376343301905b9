// A whole store in a binary file (PS-17), which contains its model.
//
// Layout. uint = LEB128, at most 10 bytes; block = uint count, bytes; numbers are little-endian.
//   file      "ESPGRAPH", u32 version 1, u32 zero, u64 XXH3-64 of the payload, u64 byte count of the payload, payload
//   payload   block: the model (ModelCoding); 16 bytes: the UUID; block: the metadata (NamedValues);
//             uint count of counters: block name of the topmost entity, uint last key, uint gone version;
//             uint count of rows: row; uint count of lists: list
//   row       id, uint version, for each stored attribute by slot: block (TaggedValue), for each to-one relationship by
//             slot: optional id
//   list      id of the owner, uint slot of the relationship, uint count, ids
//   id        uint 1 more than the index of the entity in the model, uint key; optional id: the same, or uint 0
//
// Invariants
//   1. The same graph always gives the same bytes.
//   2. Any bytes give a graph or an error with the offset of the fault; memory is bounded by the number of bytes.

internal import EspalierEngine
public import EspalierModel
internal import FoundationEssentials

/// The format of binary files that hold a whole store.
public struct BinaryGraphFormat: GraphFormat {
    static let magic = Array("ESPGRAPH".utf8)
    static let version: UInt32 = 1
    static let headerByteCount = 32

    /// The format.
    public init() {}

    // MARK: Writing

    /// The bytes of a file.
    ///
    /// - Throws: `StoreError.damagedContent` for a row, a list or a destination that is not of the model.
    /// - Complexity: O(bytes).
    public func bytes(of graph: StoredGraph, _ model: ManagedObjectModel) throws(StoreError) -> [UInt8] {
        var writer = GraphWriter(model: model)
        writer.block(EncodedModel(model).bytes)
        writer.bytes.append(contentsOf: graph.identifier.bytes)
        writer.block(NamedValues.bytes(of: graph.metadata))
        let counters = graph.counters.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        writer.uint(UInt64(counters.count))
        for (name, counter) in counters {
            writer.block(name.utf8)
            writer.uint(counter.lastKey)
            writer.uint(counter.goneVersion)
        }
        writer.uint(UInt64(graph.rows.count))
        for row in graph.rows { try writer.row(row) }
        writer.uint(UInt64(graph.lists.count))
        for list in graph.lists { try writer.list(list) }
        var file = Self.magic
        file.append(littleEndian: Self.version)
        file.append(littleEndian: UInt32(0))
        file.append(littleEndian: writer.bytes.checksum)
        file.append(littleEndian: UInt64(writer.bytes.count))
        assert(file.count == Self.headerByteCount, "a header of \(file.count) bytes, not of \(Self.headerByteCount)")
        return file + writer.bytes
    }

    // MARK: Reading

    /// The store in a file.
    ///
    /// - Throws: `StoreError.malformedFile` with the offset; `.incompatibleModel` if the file has another model than
    ///   one that differs in the order of properties, in indexes, or in what is optional.
    /// - Complexity: O(bytes).
    public func graph(in bytes: [UInt8], _ model: ManagedObjectModel) throws -> StoredGraph {
        var reader = try content(of: bytes)
        return try reader.graph(model)
    }

    /// The model that a file states, for tools that have no other one.
    ///
    /// - Throws: `StoreError.malformedFile` with the offset.
    /// - Complexity: O(bytes), because the checksum is compared.
    public func model(in bytes: [UInt8]) throws(StoreError) -> ManagedObjectModel {
        var reader = try content(of: bytes)
        return try reader.storedModel()
    }

    /// The metadata of a file (PS-05).
    ///
    /// - Throws: `StoreError.malformedFile` with the offset.
    /// - Complexity: O(bytes), because the checksum is compared.
    package func metadata(in bytes: [UInt8]) throws(StoreError) -> StoreMetadata {
        var reader = try content(of: bytes)
        return try reader.metadata()
    }

    /// Whether bytes begin as a file of this format does.
    public static func isBeginning(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

    /// A reader of what follows the header, which it compares with the bytes.
    func content(of bytes: [UInt8]) throws(StoreError) -> GraphReader {
        var reader = GraphReader(bytes: bytes, offset: 0)
        guard bytes.count >= Self.headerByteCount, Self.isBeginning(bytes) else {
            throw StoreError.malformedFile(
                path: nil, place: "byte 0", reason: "it does not begin as a binary store does, with ESPGRAPH")
        }
        reader.offset = Self.magic.count
        let version = try reader.number(UInt32.self)
        guard version == Self.version, try reader.number(UInt32.self) == 0 else {
            throw reader.malformed("the layout is version \(version), but this library reads version \(Self.version)")
        }
        let checksum = try reader.number(UInt64.self)
        let count = try reader.number(UInt64.self)
        guard count == UInt64(bytes.count - Self.headerByteCount) else {
            throw reader.malformed(
                "\(bytes.count - Self.headerByteCount) bytes follow the header, which says \(count): the file was cut")
        }
        guard Array(bytes[Self.headerByteCount...]).checksum == checksum else {
            throw reader.malformed("the checksum is wrong: bytes have changed since they were written")
        }
        assert(reader.offset == Self.headerByteCount, "the content begins at byte \(reader.offset)")
        return reader
    }
}

extension [UInt8] {
    /// The XXH3-64.
    fileprivate var checksum: UInt64 {
        // SAFETY: the array is not changed during the call.
        unsafe withUnsafeBytes { unsafe Checksum.of($0) }
    }
}

/// Writes the parts of a graph.
private struct GraphWriter {
    let model: ManagedObjectModel
    var bytes: [UInt8] = []

    mutating func uint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func block(_ content: some Collection<UInt8>) {
        uint(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    mutating func value(_ value: AttributeValue) {
        var content: [UInt8] = []
        TaggedValue.append(value, to: &content)
        block(content)
    }

    mutating func id(_ id: ObjectID?) throws(StoreError) {
        guard let id else { return uint(0) }
        let entity = try entity(of: id)
        uint(UInt64(entity.index) + 1)
        uint(id.key)
    }

    mutating func row(_ row: ObjectSnapshot) throws(StoreError) {
        let entity = try entity(of: row.id)
        if let counts = row.slotCounts, counts != (entity.attributes.count, entity.relationships.count) {
            throw damaged(row.id, "the row has other numbers of values than its entity")
        }
        try id(row.id)
        uint(row.version)
        for attribute in entity.attributes where !attribute.isTransient { value(row.value(at: attribute.slot)) }
        for relationship in entity.relationships where !relationship.isToMany {
            try id(row.destination(at: relationship.slot))
        }
    }

    mutating func list(_ list: StoredGraph.List) throws(StoreError) {
        let relationships = try entity(of: list.owner).relationships
        let slot = list.relationship.slot
        guard relationships.indices.contains(slot), relationships[slot].name == list.relationship.name else {
            throw damaged(list.owner, "\(list.relationship.name) is no relationship of the entity")
        }
        try id(list.owner)
        uint(UInt64(slot))
        uint(UInt64(list.destinations.count))
        for destination in list.destinations { try id(destination) }
    }

    /// The entity of an ID that can be written: a reader refuses another one, and all rows with it.
    private func entity(of id: ObjectID) throws(StoreError) -> Entity {
        assert(!bytes.isEmpty, "\(id) is written before the model")
        guard let entity = model.entity(named: id.entityName) else {
            throw damaged(id, "the model has no such entity")
        }
        guard MemoryState.keys.contains(id.key) else { throw damaged(id, "keys are from 1 to 2^63 - 1") }
        return entity
    }

    private func damaged(_ id: ObjectID, _ reason: String) -> StoreError {
        .damaged(entity: id.entityName, key: id.key, reason: reason)
    }
}
