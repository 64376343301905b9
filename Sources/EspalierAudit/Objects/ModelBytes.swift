// ObjectFormat.md, section 3: the stored model, read from untrusted bytes. Rule 102.
//
// Invariants
//   1. Nothing is read beyond the end; a count that the remaining bytes cannot hold is refused.
//   2. Nesting deeper than `depthMax` is refused.

/// The type of a stored attribute.
enum AttributeKind: UInt16 {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binary = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    case objectID = 2000
    case composite = 2100

    /// Whether rows store values of this type.
    var isStored: Bool { self != .undefined && self != .objectID }
    /// Whether a group can contain values of this type.
    var isOrdered: Bool { isStored && self != .transformable && self != .composite }
}

/// An entity with its own properties only, as the model describes it.
struct ModelEntity {
    struct Attribute {
        let name: String
        let kind: AttributeKind
        let isTransient: Bool
        let isIndexed: Bool
    }
    enum Cardinality: UInt8 {
        case toOne = 0
        case toMany = 1
        case ordered = 2
    }
    struct Relationship {
        let name: String
        let destination: String
        let inverse: String?
        let cardinality: Cardinality
    }
    struct Index {
        let name: String
        let elements: [(property: String, isAscending: Bool)]
        /// Whether entries have the values of properties unchanged, and every row has one; no element is an
        /// expression then.
        let isPlain: Bool
    }

    let name: String
    let superentity: String?
    let isAbstract: Bool
    let attributes: [Attribute]
    let relationships: [Relationship]
    let constraints: [[String]]
    let indexes: [Index]
}

/// Reads the record `model`.
struct ModelBytes {
    private static let magic: [UInt8] = [0x45, 0x53, 0x50, 0x4D]
    private static let depthMax = 8

    private let bytes: [UInt8]
    private var position = 0
    private var version: UInt8 = 1

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The entities of the model that `bytes` encode.
    static func entities(_ bytes: [UInt8]) throws(Breach) -> [ModelEntity] {
        var reader = ModelBytes(bytes)
        for expected in magic where try reader.byte() != expected {
            throw Breach(102, 0, "the model does not begin with its magic bytes")
        }
        reader.version = try reader.byte()
        guard (1...3).contains(reader.version) else {
            throw Breach(102, 4, "version \(reader.version) of the model's layout is not known")
        }
        _ = try reader.list { (reader) throws(Breach) in try reader.text() }
        let entities = try reader.list { (reader) throws(Breach) in try reader.entity() }
        guard reader.position == bytes.count else { throw reader.breach("bytes follow the end of the model") }
        return entities
    }

    private func breach(_ text: String) -> Breach { Breach(102, position, text) }

    // MARK: Numbers and text

    private mutating func byte() throws(Breach) -> UInt8 {
        guard position < bytes.count else { throw breach("the model ends too early") }
        position += 1
        return bytes[position - 1]
    }

    private mutating func uint() throws(Breach) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            guard shift < 63 || byte <= 1 else { throw breach("a number has more than 64 bits") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw breach("a number has more than 64 bits")
    }

    private mutating func skip(_ count: UInt64) throws(Breach) {
        guard count <= UInt64(bytes.count - position) else {
            throw breach("a length of \(count) bytes exceeds the model")
        }
        position += Int(count)
    }

    private mutating func text() throws(Breach) -> String {
        let count = try uint()
        let start = position
        try skip(count)
        guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
            throw breach("a text is not UTF-8")
        }
        return text
    }

    private mutating func flags(_ count: UInt8) throws(Breach) -> UInt8 {
        let flags = try byte()
        guard flags < 1 << count else { throw breach("unknown flags \(flags)") }
        return flags
    }

    private mutating func optionalText() throws(Breach) -> String? { try flags(1) == 1 ? text() : nil }

    private mutating func list<Item>(_ item: (inout ModelBytes) throws(Breach) -> Item) throws(Breach) -> [Item] {
        let count = try uint()
        guard count <= UInt64(bytes.count - position) else { throw breach("a count of \(count) exceeds the model") }
        var items: [Item] = []
        for _ in 0..<count { items.append(try item(&self)) }
        return items
    }

    // MARK: Parts of a model

    private mutating func entity() throws(Breach) -> ModelEntity {
        let (name, superentity, flags) = (try text(), try optionalText(), try flags(1))
        let attributes = try list { (reader) throws(Breach) in try reader.attribute(depth: 0) }
        let relationships = try list { (reader) throws(Breach) in try reader.relationship() }
        let constraints = try list { (reader) throws(Breach) in
            try reader.list { (reader) throws(Breach) in try reader.text() }
        }
        let indexes = try list { (reader) throws(Breach) in try reader.index() }
        _ = try optionalText()
        return ModelEntity(
            name: name, superentity: superentity, isAbstract: flags == 1, attributes: attributes,
            relationships: relationships, constraints: constraints, indexes: indexes)
    }

    private mutating func attribute(depth: Int) throws(Breach) -> ModelEntity.Attribute {
        guard depth <= Self.depthMax else { throw breach("composites are nested more than \(Self.depthMax) deep") }
        let (name, type) = (try text(), try uint())
        guard let kind = UInt16(exactly: type).flatMap(AttributeKind.init) else {
            throw breach("\(type) is not the type of an attribute")
        }
        let flags = try flags(version > 1 ? 4 : 3)
        try skipValue(depth: 0)
        _ = try list { (reader) throws(Breach) in try reader.attribute(depth: depth + 1) }
        _ = (try optionalText(), try optionalText())
        if flags & 8 != 0 { _ = try text() }
        return ModelEntity.Attribute(
            name: name, kind: kind, isTransient: flags & 2 != 0, isIndexed: flags & 4 != 0)
    }

    private mutating func relationship() throws(Breach) -> ModelEntity.Relationship {
        let (name, destination, inverse) = (try text(), try text(), try optionalText())
        let (code, rule) = (try byte(), try byte())
        guard let cardinality = ModelEntity.Cardinality(rawValue: code), rule <= 3 else {
            throw breach("\(code) is not a cardinality, or \(rule) is not a delete rule")
        }
        _ = (try flags(1), try uint(), try uint(), try optionalText())
        return ModelEntity.Relationship(
            name: name, destination: destination, inverse: inverse, cardinality: cardinality)
    }

    private mutating func index() throws(Breach) -> ModelEntity.Index {
        let name = try text()
        var isPlain = true
        let elements = try list { (reader) throws(Breach) in
            let flagCount: UInt8 = reader.version > 2 ? 4 : reader.version > 1 ? 3 : 1
            let (property, flags) = (try reader.text(), try reader.flags(flagCount))
            if flags > 1 || property.utf8.contains(UInt8(ascii: ".")) { isPlain = false }
            return (property: property, isAscending: flags & 1 == 1)
        }
        if version > 1, try optionalText() != nil { isPlain = false }
        return ModelEntity.Index(name: name, elements: elements, isPlain: isPlain)
    }

    /// Skips a default value: the check of rows does not use it, but it must be valid.
    private mutating func skipValue(depth: Int) throws(Breach) {
        guard depth <= Self.depthMax else { throw breach("values are nested more than \(Self.depthMax) deep") }
        switch try byte() {
        case 0x00, 0x06, 0x07, 0x0E: break
        case 0x01: _ = try uint()
        case 0x02:
            guard try byte() <= 1 else { throw breach("the sign of a decimal is neither 0 nor 1") }
            try skip(17)
        case 0x03, 0x08: try skip(8)
        case 0x04: try skip(4)
        case 0x05, 0x0B: _ = try text()
        case 0x09, 0x0C: try skip(try uint())
        case 0x0A: try skip(16)
        case 0x0D:
            _ = try list { (reader) throws(Breach) in
                _ = try reader.text()
                try reader.skipValue(depth: depth + 1)
            }
        case let code: throw breach("\(code) is not the code of a value")
        }
    }
}
