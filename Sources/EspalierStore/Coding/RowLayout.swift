// Where each property of a row lies: computed from a list of fields, which the store's catalog keeps under a number.
//
// Row (little-endian, on disk):
//   0 u16 layout number | 2 u16 entity number | 4 u64 version | 12 null bits, one a field, first field lowest bit |
//   fixed-width fields in order | for each variable-width field in order: u32 end offset, counted from the variable
//   part | variable part.
// Widths: integer16 2, integer32 4, integer64 8, double 8, float 4, boolean 1, date 8, uuid 16, decimal 18,
//   reference (entity number u16, primary key u64) 10; string, uri, binary, transformable, composite: variable.
// Invariants
//   1. Every attribute of a row is found in O(1): bit, offset and width follow from the layout.
//   2. A null field has zero bytes in the fixed part and no bytes in the variable part.
//   3. A layout never changes; a changed entity gets a new layout, and older rows keep theirs until they are saved.

internal import EspalierModel

/// The places of one entity's properties in rows of one generation.
final class RowLayout: Sendable {
    /// What a field holds.
    enum Content: Hashable, Sendable {
        /// A value of an attribute.
        case attribute(AttributeType)
        /// The destination of a to-one relationship.
        case reference

        /// The number in a layout record: that of the attribute type, or FFFFh.
        var number: UInt16 {
            switch self {
            case .attribute(let type): type.rawValue
            case .reference: 0xFFFF
            }
        }

        init?(number: UInt16) {
            if number == 0xFFFF {
                self = .reference
            } else if let type = AttributeType(rawValue: number), type != .undefined, type != .objectID {
                self = .attribute(type)
            } else {
                return nil
            }
        }

        /// Bytes in the fixed part; `nil` = variable.
        var width: Int? {
            switch self {
            case .reference: 10
            case .attribute(let type):
                switch type {
                case .boolean: 1
                case .integer16: 2
                case .integer32, .float: 4
                case .integer64, .double, .date: 8
                case .uuid: 16
                case .decimal: DecimalBytes.count
                default: nil
                }
            }
        }
    }

    /// A property by name.
    struct Field: Hashable, Sendable {
        let name: String
        let content: Content
    }

    /// Where a field lies.
    struct Place: Sendable {
        let content: Content
        /// The field's position: its null bit.
        let bit: Int
        /// Fixed width: the offset in the row; variable: the position among the variable fields.
        let position: Int
        /// Bytes in the fixed part; 0 = variable.
        let width: Int
    }

    /// Where the version stands.
    static let versionOffset = 4
    /// Bytes before the null bits.
    static let headerByteCount = 12

    /// The number rows name the layout by.
    let number: UInt16
    /// The number of the entity.
    let entityNumber: UInt16
    /// The fields, in the order of the row.
    let fields: [Field]
    /// All places, in the order of the fields.
    let places: [Place]
    /// For each attribute slot of the entity in the open model; `nil` = reads as null.
    let attributes: [Place?]
    /// For each relationship slot of the entity in the open model.
    let references: [Place?]
    /// The attributes of fixed width, the others, and the to-one relationships: slot and place, in slot order.
    let fixedAttributes: [(slot: Int, place: Place)]
    let variableAttributes: [(slot: Int, place: Place)]
    let toOnes: [(slot: Int, place: Place)]
    /// The places that hold references.
    let referencePlaces: [Place]
    /// The places of variable width, in the order of the offset table.
    let variablePlaces: [Place]
    /// Offset of the offset table: the length of everything before it.
    let tableOffset: Int
    /// Offset of the variable part.
    let variableOffset: Int
    /// What every row begins with, its version and fields zero: the bytes before the variable part.
    let blankRow: [UInt8]

    /// Computes the places of `fields`, for rows of `entity`.
    init(number: UInt16, entityNumber: UInt16, fields: [Field], entity: Entity) {
        self.number = number
        self.entityNumber = entityNumber
        self.fields = fields
        var offset = Self.headerByteCount + (fields.count + 7) / 8
        var variables = 0
        var places: [Place] = []
        var byName: [String: Place] = [:]
        for (bit, field) in fields.enumerated() {
            let place = Place(
                content: field.content, bit: bit, position: field.content.width == nil ? variables : offset,
                width: field.content.width ?? 0)
            if let width = field.content.width { offset += width } else { variables += 1 }
            places.append(place)
            byName[field.name] = place
        }
        self.places = places
        (tableOffset, variableOffset) = (offset, offset + 4 * variables)
        var blankRow = [UInt8](repeating: 0, count: variableOffset)
        blankRow.write(number, at: 0)
        blankRow.write(entityNumber, at: 2)
        self.blankRow = blankRow
        referencePlaces = places.filter { $0.content == .reference }
        variablePlaces = places.filter { $0.width == 0 }
        attributes = entity.attributes.map { attribute in
            byName[attribute.name].flatMap { $0.content == .attribute(attribute.type) ? $0 : nil }
        }
        references = entity.relationships.map { relationship in
            byName[relationship.name].flatMap { $0.content == .reference && !relationship.isToMany ? $0 : nil }
        }
        func slotted(_ places: [Place?], where isWanted: (Place) -> Bool) -> [(slot: Int, place: Place)] {
            places.enumerated().compactMap { slot, place in place.flatMap { isWanted($0) ? (slot, $0) : nil } }
        }
        fixedAttributes = slotted(attributes) { $0.width > 0 }
        variableAttributes = slotted(attributes) { $0.width == 0 }
        toOnes = slotted(references) { _ in true }
    }

    /// The fields a row of `entity` has today: stored attributes, then to-one relationships, in slot order.
    static func fields(of entity: Entity) -> [Field] {
        entity.attributes.filter { !$0.isTransient && $0.type != .undefined && $0.type != .objectID }
            .map { Field(name: $0.name, content: .attribute($0.type)) }
            + entity.relationships.filter { !$0.isToMany }.map { Field(name: $0.name, content: .reference) }
    }
}

extension RowLayout {
    /// The layout as the catalog keeps it: entity number u16, field count u16, then for each field its content number
    /// u16, length of its name u16, and the name.
    var record: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: entityNumber)
        bytes.append(littleEndian: UInt16(fields.count))
        for field in fields {
            bytes.append(littleEndian: field.content.number)
            bytes.append(littleEndian: UInt16(field.name.utf8.count))
            bytes.append(contentsOf: field.name.utf8)
        }
        return bytes
    }

    /// Reads a record; `nil` if the bytes are not one.
    static func decode(record bytes: [UInt8]) -> (entityNumber: UInt16, fields: [Field])? {
        guard bytes.count >= 4 else { return nil }
        var offset = 4
        var fields: [Field] = []
        for _ in 0..<bytes.number(at: 2, as: UInt16.self) {
            guard bytes.count - offset >= 4, let content = Content(number: bytes.number(at: offset)) else { return nil }
            let end = offset + 4 + Int(bytes.number(at: offset + 2, as: UInt16.self))
            guard end <= bytes.count, let name = String(validating: bytes[(offset + 4)..<end], as: UTF8.self)
            else { return nil }
            fields.append(Field(name: name, content: content))
            offset = end
        }
        guard offset == bytes.count, Set(fields.map(\.name)).count == fields.count else { return nil }
        return (bytes.number(at: 0), fields)
    }
}
