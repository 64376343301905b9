// Encodes a model as the bytes that a store keeps in its catalog, so that a file describes itself (Behaviour MD-05).
//
// Invariants
//   1. The same descriptions always give the same bytes, and decoding the bytes gives equal descriptions.
//   2. Bytes are untrusted: any input gives a model description or a located `ModelCodingError`. Memory is bounded by
//      the size of the input, depth by `ModelChecker.compositeDepthMax`.
//   3. The numbers below are on disk: never renumber. A change of the layout requires a new version number.
//
// A model is written in the oldest version that can express it: version 2 only if an attribute is derived, or an index
// folds text or has a condition; version 3 only if an index has an expression.
//
// Layout of version 1. uint = LEB128; text = uint byte count, UTF-8; optional = 00 or 01 and the thing; list = uint
// count, items; value = code byte and content (ModelCoding+Value).
//   model        45 53 50 4D ("ESPM"), version byte 01, list of text (version identifiers), list of entity
//   entity       text name, optional text superentity, flags (1 abstract), list of attribute, list of relationship,
//                list of list of text (constraints), list of index, optional text renaming identifier
//   attribute    text name, uint type, flags (1 optional, 2 transient, 4 indexed), value default, list of attribute
//                (elements), optional text transformer, optional text renaming identifier
//   relationship text name, text destination, optional text inverse, byte cardinality, byte delete rule, flags
//                (1 optional), uint minCount, uint maxCount, optional text renaming identifier
//   index        text name, list of (text property, flags (1 ascending))
// Changes of version 2 (version byte 02):
//   attribute    flags 8 derived; a derived attribute ends with text expression, in Core Data's spelling
//   index        flags of a property 2 without case, 4 without diacritics; ends with optional text condition
// Change of version 3 (version byte 03): flag 8 of a property in an index; the text is then an expression.

/// The encoded part of a model: its entity descriptions and version identifiers.
package struct EncodedModel: Sendable, Hashable {
    /// The entities, as the developer described them.
    package var entities: [EntityDescription]
    /// The version identifiers of the model.
    package var versionIdentifiers: [String]

    /// Makes an encoded model of descriptions.
    package init(entities: [EntityDescription], versionIdentifiers: [String] = []) {
        (self.entities, self.versionIdentifiers) = (entities, versionIdentifiers)
    }

    /// Makes an encoded model of the stored descriptions of `model`.
    package init(_ model: ManagedObjectModel) {
        self.init(entities: model.storedDescriptions, versionIdentifiers: model.versionIdentifiers)
    }

    static let magic: [UInt8] = [0x45, 0x53, 0x50, 0x4D]
    /// The newest version of the layout.
    static let version: UInt8 = 3

    /// The bytes, in the layout above.
    package var bytes: [UInt8] {
        var writer = ModelWriter()
        writer.version = neededVersion
        writer.bytes = EncodedModel.magic + [writer.version]
        writer.list(versionIdentifiers) { $0.text($1) }
        writer.list(entities) { $0.entity($1) }
        return writer.bytes
    }

    /// The oldest version of the layout that can express the descriptions.
    private var neededVersion: UInt8 {
        let indexes = entities.flatMap(\.indexes)
        if indexes.contains(where: { $0.elements.contains { $0.expressionFormat != nil } }) { return 3 }
        let isSecond =
            entities.contains { $0.attributes.contains { $0.derivation != nil } }
            || indexes.contains { $0.predicateFormat != nil || $0.elements.contains { !$0.folding.isEmpty } }
        return isSecond ? 2 : 1
    }

    /// Decodes descriptions.
    ///
    /// Whether they make a valid model is checked by `ManagedObjectModel`.
    ///
    /// - Throws: `ModelCodingError` with the offset and the error there.
    /// - Complexity: O(bytes).
    package init(bytes: [UInt8]) throws(ModelCodingError) {
        var reader = ModelReader(bytes)
        for expected in EncodedModel.magic where try reader.byte() != expected {
            throw ModelCodingError(byteOffset: 0, reason: .notAModel)
        }
        let version = try reader.byte()
        guard version >= 1, version <= EncodedModel.version else {
            throw ModelCodingError(byteOffset: EncodedModel.magic.count, reason: .unsupportedVersion(version))
        }
        reader.version = version
        versionIdentifiers = try reader.list { (reader) throws(ModelCodingError) in try reader.text() }
        entities = try reader.list { (reader) throws(ModelCodingError) in try reader.entity() }
        guard reader.isAtEnd else {
            throw ModelCodingError(byteOffset: reader.position, reason: .trailingBytes(bytes.count - reader.position))
        }
    }
}

/// The reason why bytes are not an encoded model.
package struct ModelCodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    package enum Reason: Equatable, Sendable {
        case notAModel
        case unsupportedVersion(UInt8)
        case truncated
        case malformedNumber
        case malformedText
        case countBeyondInput(UInt64)
        case unknownCode(String, UInt64)
        case malformedValue(String)
        case tooDeep(Int)
        case trailingBytes(Int)
    }

    /// The offset of the error.
    package let byteOffset: Int
    /// The kind of the error.
    package let reason: Reason

    package init(byteOffset: Int, reason: Reason) { (self.byteOffset, self.reason) = (byteOffset, reason) }

    /// The error with its offset and remedy.
    package var description: String {
        let text =
            switch reason {
            case .notAModel: "does not begin with \"ESPM\""
            case .unsupportedVersion(let version):
                "is of layout version \(version); this program reads versions 1 to \(EncodedModel.version)"
            case .truncated: "ends in the middle"
            case .malformedNumber: "a number does not end within 64 bits"
            case .malformedText: "text is not UTF-8"
            case .countBeyondInput(let count): "a count of \(count) is greater than the number of remaining bytes"
            case .unknownCode(let what, let code): "\(code) is not a code of \(what)"
            case .malformedValue(let what): "the bytes are not a valid \(what)"
            case .tooDeep(let limit): "composites are nested more than \(limit) deep"
            case .trailingBytes(let count): "\(count) bytes follow the end of the model"
            }
        return "encoded model, byte \(byteOffset): \(text)"
    }
}

/// Writes the parts of an encoded model.
struct ModelWriter {
    var bytes: [UInt8] = []
    /// The version of the layout.
    var version: UInt8 = 1

    mutating func uint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func text(_ text: String) { blob(text.utf8) }

    mutating func blob(_ content: some Collection<UInt8>) {
        uint(UInt64(content.count))
        bytes += content
    }

    mutating func optional(_ text: String?) {
        bytes.append(text == nil ? 0 : 1)
        if let text { self.text(text) }
    }

    mutating func flags(_ flags: Bool...) {
        bytes.append(flags.enumerated().reduce(0) { $1.element ? $0 | 1 << $1.offset : $0 })
    }

    mutating func list<Item>(_ items: [Item], _ write: (inout ModelWriter, Item) -> Void) {
        uint(UInt64(items.count))
        for item in items { write(&self, item) }
    }

    mutating func entity(_ entity: EntityDescription) {
        text(entity.name)
        optional(entity.superentity)
        flags(entity.isAbstract)
        list(entity.attributes) { $0.attribute($1) }
        list(entity.relationships) { $0.relationship($1) }
        list(entity.uniquenessConstraints) { $0.list($1) { $0.text($1) } }
        list(entity.indexes) { writer, index in
            writer.text(index.name)
            writer.list(index.elements) { writer, element in
                writer.text(element.name)
                writer.flags(
                    element.isAscending, element.folding.contains(.caseInsensitive),
                    element.folding.contains(.diacriticInsensitive), element.expressionFormat != nil)
            }
            if writer.version > 1 { writer.optional(index.predicateFormat) }
        }
        optional(entity.renamingIdentifier)
    }

    private mutating func attribute(_ attribute: AttributeDescription) {
        text(attribute.name)
        uint(UInt64(attribute.type.rawValue))
        flags(attribute.isOptional, attribute.isTransient, attribute.isIndexed, attribute.derivation != nil)
        value(attribute.defaultValue)
        list(attribute.elements) { $0.attribute($1) }
        optional(attribute.valueTransformerName)
        optional(attribute.renamingIdentifier)
        if let derivation = attribute.derivation { text(derivation.expression) }
    }

    private mutating func relationship(_ relationship: RelationshipDescription) {
        text(relationship.name)
        text(relationship.destination)
        optional(relationship.inverse)
        bytes += [relationship.cardinality.rawValue, relationship.deleteRule.rawValue]
        flags(relationship.isOptional)
        uint(UInt64(max(0, relationship.minCount)))
        uint(UInt64(max(0, relationship.maxCount)))
        optional(relationship.renamingIdentifier)
    }
}
