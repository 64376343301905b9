// Decodes an encoded model from untrusted bytes; ModelCoding describes the layout.
//
// Invariants
//   1. Nothing is read beyond the end; a count that the remaining bytes cannot hold is refused.

struct ModelReader {
    private let bytes: [UInt8]
    private(set) var position = 0
    /// The version of the layout.
    var version: UInt8 = 1

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    func error(_ reason: ModelCodingError.Reason, at offset: Int? = nil) -> ModelCodingError {
        ModelCodingError(byteOffset: offset ?? position, reason: reason)
    }

    mutating func byte() throws(ModelCodingError) -> UInt8 {
        guard position < bytes.count else { throw error(.truncated) }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func uint() throws(ModelCodingError) -> UInt64 {
        let start = position
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            let part = UInt64(byte & 0x7F)
            guard shift < 63 || part <= 1 else { throw error(.malformedNumber, at: start) }
            value |= part << shift
            if byte < 0x80 { return value }
        }
        throw error(.malformedNumber, at: start)
    }

    /// A count of items that have at least one byte each.
    mutating func count() throws(ModelCodingError) -> Int {
        let start = position
        let count = try uint()
        guard count <= UInt64(bytes.count - position) else { throw error(.countBeyondInput(count), at: start) }
        return Int(count)
    }

    mutating func blob() throws(ModelCodingError) -> ArraySlice<UInt8> { try fixed(try count()) }

    mutating func fixed(_ count: Int) throws(ModelCodingError) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw error(.truncated) }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func text() throws(ModelCodingError) -> String {
        let start = position
        guard let text = String(validating: try blob(), as: UTF8.self) else { throw error(.malformedText, at: start) }
        return text
    }

    mutating func optionalText() throws(ModelCodingError) -> String? {
        try flag("an optional text") ? text() : nil
    }

    mutating func flag(_ what: String) throws(ModelCodingError) -> Bool { try flags(1, what) == 1 }

    /// A byte in which only the lowest `count` bits may be set.
    mutating func flags(_ count: UInt8, _ what: String) throws(ModelCodingError) -> UInt8 {
        let start = position
        let flags = try byte()
        guard flags < 1 << count else { throw error(.unknownCode("flags of \(what)", UInt64(flags)), at: start) }
        return flags
    }

    mutating func list<Item>(
        _ read: (inout ModelReader) throws(ModelCodingError) -> Item
    ) throws(ModelCodingError) -> [Item] {
        var items: [Item] = []
        for _ in 0..<(try count()) { items.append(try read(&self)) }
        return items
    }

    mutating func entity() throws(ModelCodingError) -> EntityDescription {
        let name = try text()
        let superentity = try optionalText()
        let isAbstract = try flag("an entity")
        return EntityDescription(
            name, superentity: superentity, isAbstract: isAbstract,
            attributes: try list { (reader) throws(ModelCodingError) in try reader.attribute(depth: 0) },
            relationships: try list { (reader) throws(ModelCodingError) in try reader.relationship() },
            uniquenessConstraints: try list { (reader) throws(ModelCodingError) in
                try reader.list { (reader) throws(ModelCodingError) in try reader.text() }
            },
            indexes: try list { (reader) throws(ModelCodingError) in try reader.index() },
            renamingIdentifier: try optionalText())
    }

    private mutating func attribute(depth: Int) throws(ModelCodingError) -> AttributeDescription {
        guard depth <= ModelChecker.compositeDepthMax else { throw error(.tooDeep(ModelChecker.compositeDepthMax)) }
        let name = try text()
        let typeOffset = position
        let code = try uint()
        guard let type = UInt16(exactly: code).flatMap(AttributeType.init) else {
            throw error(.unknownCode("an attribute type", code), at: typeOffset)
        }
        let flags = try flags(version > 1 ? 4 : 3, "an attribute")
        let defaultValue = try value(depth: 0)
        let elements = try list { (reader) throws(ModelCodingError) in try reader.attribute(depth: depth + 1) }
        return AttributeDescription(
            name, type, isOptional: flags & 1 != 0, isTransient: flags & 2 != 0, defaultValue: defaultValue,
            isIndexed: flags & 4 != 0, elements: elements, valueTransformerName: try optionalText(),
            renamingIdentifier: try optionalText(), derivation: flags & 8 != 0 ? try derivation() : nil)
    }

    private mutating func derivation() throws(ModelCodingError) -> Derivation {
        let start = position
        guard let derivation = try? Derivation(expression: try text(), judgesKeeping: false) else {
            throw error(.malformedValue("derivation"), at: start)
        }
        return derivation
    }

    private mutating func relationship() throws(ModelCodingError) -> RelationshipDescription {
        let (name, destination, inverse) = (try text(), try text(), try optionalText())
        let codeOffset = position
        let (cardinalityCode, ruleCode) = (try byte(), try byte())
        guard let cardinality = RelationshipDescription.Cardinality(rawValue: cardinalityCode) else {
            throw error(.unknownCode("a cardinality", UInt64(cardinalityCode)), at: codeOffset)
        }
        guard let deleteRule = DeleteRule(rawValue: ruleCode) else {
            throw error(.unknownCode("a delete rule", UInt64(ruleCode)), at: codeOffset + 1)
        }
        let isOptional = try flag("a relationship")
        let (minCount, maxCount) = (try limit(), try limit())
        return RelationshipDescription(
            name, to: destination, inverse: inverse, cardinality, deleteRule: deleteRule, isOptional: isOptional,
            minCount: minCount, maxCount: maxCount, renamingIdentifier: try optionalText())
    }

    private mutating func limit() throws(ModelCodingError) -> Int {
        let start = position
        guard let limit = Int(exactly: try uint()) else { throw error(.malformedNumber, at: start) }
        return limit
    }

    private mutating func index() throws(ModelCodingError) -> EntityDescription.Index {
        let name = try text()
        let elements = try list { (reader) throws(ModelCodingError) in
            let name = try reader.text()
            let flagCount: UInt8 = reader.version > 2 ? 4 : reader.version > 1 ? 3 : 1
            let flags = try reader.flags(flagCount, "an index element")
            var folding: ComparisonOptions = []
            if flags & 2 != 0 { folding.insert(.caseInsensitive) }
            if flags & 4 != 0 { folding.insert(.diacriticInsensitive) }
            let isAscending = flags & 1 != 0
            return flags & 8 != 0
                ? EntityDescription.Index.Element(expression: name, isAscending: isAscending, folding: folding)
                : EntityDescription.Index.Element(name, isAscending: isAscending, folding: folding)
        }
        return EntityDescription.Index(
            name, on: elements, predicateFormat: version > 1 ? try optionalText() : nil)
    }
}
