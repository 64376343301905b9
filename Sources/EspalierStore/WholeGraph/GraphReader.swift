// Reads the parts of a graph in a binary file, and brings them to another order of properties.
//
// Invariants
//   1. No offset leaves the bytes, and no count is believed that is greater than the number of bytes left.

internal import EspalierModel
internal import FoundationEssentials

/// A position in the bytes of a file.
struct GraphReader {
    let bytes: [UInt8]
    var offset: Int

    func malformed(_ reason: String) -> StoreError {
        .malformedFile(path: nil, place: "byte \(offset)", reason: reason)
    }

    // MARK: Parts

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type) throws(StoreError) -> Number
    {
        let start = offset
        _ = try take(MemoryLayout<Number>.size)
        return bytes.number(at: start)
    }

    private mutating func take(_ count: Int) throws(StoreError) -> ArraySlice<UInt8> {
        assert(count >= 0 && offset <= bytes.count, "\(count) bytes from byte \(offset) of \(bytes.count)")
        guard count <= bytes.count - offset else { throw malformed("the file ends in the middle") }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    private mutating func uint() throws(StoreError) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let byte = try number(UInt8.self)
            guard shift < 63 || byte <= 1 else { throw malformed("a number has more than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    /// A number of things of which each has at least one byte.
    private mutating func count() throws(StoreError) -> Int {
        let count = try uint()
        guard count <= UInt64(bytes.count - offset) else {
            throw malformed("a count of \(count) is greater than the number of bytes that are left")
        }
        return Int(count)
    }

    private mutating func block() throws(StoreError) -> ArraySlice<UInt8> {
        let count = try count()
        return try take(count)
    }

    private mutating func text() throws(StoreError) -> String {
        guard let text = String(validating: try block(), as: UTF8.self) else { throw malformed("a name is not UTF-8") }
        return text
    }

    private mutating func value() throws(StoreError) -> AttributeValue {
        guard let value = TaggedValue.decode(Array(try block())) else { throw malformed("the bytes are no value") }
        return value
    }

    // MARK: The graph

    /// The entities of a file, and those of the model under the same names.
    private struct Names {
        let file: ManagedObjectModel
        let model: ManagedObjectModel
        let identifier: UUID
    }

    mutating func graph(_ model: ManagedObjectModel) throws(StoreError) -> StoredGraph {
        let file = try fileModel(model)
        let names = Names(file: file, model: model, identifier: UUID(bytes: Array(try take(16))))
        var graph = StoredGraph(identifier: names.identifier)
        guard let metadata = NamedValues.decode(Array(try block())) else {
            throw malformed("the metadata are no values by name")
        }
        graph.metadata = metadata
        for _ in 0..<(try count()) {
            let name = try text()
            let lastKey = try uint()
            guard lastKey < 1 << 63 else { throw malformed("keys are less than 2^63") }
            let counters = StoredGraph.Counters(lastKey: lastKey, goneVersion: try uint())
            guard counters.goneVersion < .max else { throw malformed("a version is too great") }
            graph.counters[name] = counters
        }
        for _ in 0..<(try count()) { graph.rows.append(try row(names)) }
        for _ in 0..<(try count()) { graph.lists.append(try list(names)) }
        guard offset == bytes.count else { throw malformed("\(bytes.count - offset) bytes follow the last list") }
        return graph
    }

    /// The metadata of the file, whose rows are not read.
    mutating func metadata() throws(StoreError) -> StoreMetadata {
        let model = try storedModel()
        let identifier = UUID(bytes: Array(try take(16)))
        guard let values = NamedValues.decode(Array(try block())) else {
            throw malformed("the metadata are no values by name")
        }
        return StoreMetadata(identifier: identifier, model: model, values: values)
    }

    private mutating func fileModel(_ model: ManagedObjectModel) throws(StoreError) -> ManagedObjectModel {
        let file = try storedModel()
        let differences = ModelComparison.differences(stored: file, given: model)
        guard differences.isEmpty else {
            throw .incompatibleModel(
                path: nil,
                reason: "the model differs: \(differences.joined(separator: "; ")); open it for writing with options "
                    + "that allow its migration, or use the model that it has")
        }
        return file
    }

    /// The model that the file states.
    mutating func storedModel() throws(StoreError) -> ManagedObjectModel {
        let start = offset
        do {
            let encoded = try EncodedModel(bytes: Array(try block()))
            return try ManagedObjectModel(
                entities: encoded.entities, versionIdentifiers: encoded.versionIdentifiers, classes: [:],
                judgesKeeping: false)
        } catch let error as StoreError { throw error } catch {
            throw .malformedFile(path: nil, place: "byte \(start)", reason: "\(error)")
        }
    }

    private mutating func id(_ names: Names) throws(StoreError) -> (id: ObjectID, file: Entity)? {
        let index = try uint()
        guard index > 0 else { return nil }
        guard index <= UInt64(names.file.entities.count) else { throw malformed("the model has no entity \(index)") }
        let file = names.file.entities[Int(index) - 1]
        let key = try uint()
        guard key > 0, key < 1 << 63, let entity = names.model.entity(named: file.name) else {
            throw malformed("\(key) is no key of \(file.name)")
        }
        return (ObjectID(.number(key), of: entity, inStore: names.identifier), file)
    }

    private mutating func row(_ names: Names) throws(StoreError) -> ObjectSnapshot {
        guard let (id, file) = try id(names) else { throw malformed("a row has no ID") }
        let version = try uint()
        var (values, destinations) = ([String: AttributeValue](), [String: ObjectID]())
        for attribute in file.attributes where !attribute.isTransient { values[attribute.name] = try value() }
        for relationship in file.relationships where !relationship.isToMany {
            destinations[relationship.name] = try self.id(names)?.id
        }
        guard let entity = names.model.entity(named: file.name) else { throw malformed("an entity is unknown") }
        return try ObjectSnapshot(id: id, version: version, of: entity, values: values, destinations: destinations)
    }

    private mutating func list(_ names: Names) throws(StoreError) -> StoredGraph.List {
        guard let (owner, file) = try id(names) else { throw malformed("a list has no owner") }
        let slot = try uint()
        guard slot < UInt64(file.relationships.count),
            let relationship = names.model.entity(named: file.name)?.relationship(
                named: file.relationships[Int(slot)].name)
        else { throw malformed("\(file.name) has no relationship \(slot)") }
        var destinations: [ObjectID] = []
        for _ in 0..<(try count()) {
            guard let (id, _) = try id(names) else { throw malformed("a destination is missing") }
            destinations.append(id)
        }
        return StoredGraph.List(owner, relationship, destinations)
    }
}
