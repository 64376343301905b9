// The place of each property in a row: computed from a list of fields, which the store's catalog keeps under a number.
//
// Row (little-endian, on disk):
//   u8 widths (RowOffsets) | u8 layout number, or FFh and the number as u16 | version | null bits, one a field, first
//   field lowest bit | fields of fixed width in order | integer64 fields in order | references in order | for each
//   field of variable width in order: its end, counted from the variable part | variable part.
// Widths: integer16 2, integer32 4, double 8, float 4, boolean 1, date 8, uuid 16, decimal 18; version, integer64,
//   references and ends as wide as the row says; string, uri, binary, transformable, composite: variable.
// Invariants
//   1. Every attribute of a row is found in O(1): its part and place follow from the layout, and the beginning of the
//      part from the layout and the row's widths (RowOffsets).
//   2. A null field has zero bytes in its place, if it has one, and no bytes in the variable part.
//   3. A layout never changes; a changed entity gets a new layout, and older rows keep theirs until they are saved.
//   4. The attributes that a layout lacks have, in its rows, the values of its default row, which is a row of a newer
//      layout of the entity: an attribute that is added with a default value costs the same for any number of rows.
// Most versions, numbers and keys are small: with 8 bytes for each of them, a row of three numbers took twice the room,
// and rows that do not fit in a page have to be read, checked and cached with another one.

internal import EspalierModel

/// The places of one entity's properties in rows of one generation.
final class RowLayout: Sendable {
    /// The content of a field.
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

        /// The part of the row that holds the field, and its width there in bytes: 0 if that is not the same in every
        /// row.
        var home: (part: Part, width: Int) {
            switch self {
            case .reference: (.references, 0)
            case .attribute(let type):
                switch type {
                case .boolean: (.fixed, 1)
                case .integer16: (.fixed, 2)
                case .integer32, .float: (.fixed, 4)
                case .double, .date: (.fixed, 8)
                case .uuid: (.fixed, 16)
                case .decimal: (.fixed, DecimalBytes.count)
                case .integer64: (.integers, 0)
                default: (.variable, 0)
                }
            }
        }
    }

    /// The parts of a row that hold fields, in their order.
    enum Part: UInt8, CaseIterable {
        case fixed, integers, references, variable
    }

    /// A property by name.
    struct Field: Hashable, Sendable {
        let name: String
        let content: Content
    }

    /// The place of a field.
    struct Place: Sendable {
        let content: Content
        /// The position of the field, which is that of its null bit.
        let bit: Int
        let part: Part
        /// In the fixed part, the offset from its beginning; in another, the position among its fields.
        let position: Int
        /// The width in the fixed part, in bytes.
        let width: Int
    }

    /// The number by which rows name the layout.
    let number: UInt16
    /// The number of the entity.
    let entityNumber: UInt16
    /// The fields, in the order of the row.
    let fields: [Field]
    /// The row with the values of the attributes that this layout lacks; empty if all of them read as null.
    let defaultRow: [UInt8]
    /// All places, in the order of the fields.
    let places: [Place]
    /// For each attribute slot of the entity in the open model; `nil` = reads as in the default row.
    let attributes: [Place?]
    /// For each relationship slot of the entity in the open model.
    let references: [Place?]
    /// The attributes of each part, and the to-one relationships: slot and place, in slot order.
    let fixedAttributes: [(slot: Int, place: Place)]
    let integerAttributes: [(slot: Int, place: Place)]
    let variableAttributes: [(slot: Int, place: Place)]
    let toOnes: [(slot: Int, place: Place)]
    /// The places that hold references.
    let referencePlaces: [Place]
    /// The places of variable width, in the order of their ends.
    let variablePlaces: [Place]
    /// The size of each part.
    let extent: Extent

    /// The sizes of the parts in the rows of a layout.
    struct Extent: Sendable {
        /// The byte count of the layout's number, with the mark before it.
        let numberByteCount: UInt32
        let nullByteCount: UInt32
        let fixedByteCount: UInt32
        let integerCount: UInt32
        let referenceCount: UInt32
        let variableCount: UInt32

        /// The extent of no layout.
        static let none = Extent(
            numberByteCount: 1, nullByteCount: 0, fixedByteCount: 0, integerCount: 0, referenceCount: 0,
            variableCount: 0)
    }

    /// Computes the places of `fields`, for rows of `entity`.
    init(number: UInt16, entityNumber: UInt16, fields: [Field], defaultRow: [UInt8] = [], entity: Entity) {
        self.number = number
        self.entityNumber = entityNumber
        self.fields = fields
        self.defaultRow = defaultRow
        var sizes = [Int](repeating: 0, count: Part.allCases.count)
        var places: [Place] = []
        var byName: [String: Place] = [:]
        for (bit, field) in fields.enumerated() {
            let (part, width) = field.content.home
            let position = sizes[Int(part.rawValue)]
            sizes[Int(part.rawValue)] += part == .fixed ? width : 1
            let place = Place(content: field.content, bit: bit, part: part, position: position, width: width)
            places.append(place)
            byName[field.name] = place
        }
        self.places = places
        func size(_ part: Part) -> UInt32 { UInt32(truncatingIfNeeded: sizes[Int(part.rawValue)]) }
        extent = Extent(
            numberByteCount: number < UInt16(RowOffsets.longNumberMark) ? 1 : 3,
            nullByteCount: UInt32(truncatingIfNeeded: fields.count + 7) / 8, fixedByteCount: size(.fixed),
            integerCount: size(.integers), referenceCount: size(.references), variableCount: size(.variable))
        referencePlaces = places.filter { $0.part == .references }
        variablePlaces = places.filter { $0.part == .variable }
        attributes = entity.attributes.map { attribute in
            byName[attribute.name].flatMap { $0.content == .attribute(attribute.type) ? $0 : nil }
        }
        references = entity.relationships.map { relationship in
            byName[relationship.name].flatMap { $0.content == .reference && !relationship.isToMany ? $0 : nil }
        }
        func slotted(_ places: [Place?], in part: Part) -> [(slot: Int, place: Place)] {
            places.enumerated().compactMap { slot, place in place.flatMap { $0.part == part ? (slot, $0) : nil } }
        }
        fixedAttributes = slotted(attributes, in: .fixed)
        integerAttributes = slotted(attributes, in: .integers)
        variableAttributes = slotted(attributes, in: .variable)
        toOnes = slotted(references, in: .references)
        assert(checkInvariants())
    }

    /// The fields of a new row of `entity`: stored attributes, then to-one relationships, in slot order.
    static func fields(of entity: Entity) -> [Field] {
        entity.attributes.filter { !$0.isTransient && $0.type != .undefined && $0.type != .objectID }
            .map { Field(name: $0.name, content: .attribute($0.type)) }
            + entity.relationships.filter { !$0.isToMany }.map { Field(name: $0.name, content: .reference) }
    }

    /// Asserts that fields of a part follow one another without gaps, and that the extent has their sums; to be called
    /// in `assert`.
    private func checkInvariants() -> Bool {
        assert(places.count == fields.count, "\(places.count) places for \(fields.count) fields")
        assert(Int(extent.nullByteCount) * 8 >= fields.count, "\(extent.nullByteCount) bytes for the null bits")
        var next = [Int](repeating: 0, count: Part.allCases.count)
        for (bit, place) in places.enumerated() {
            assert(place.bit == bit, "field \(bit) has null bit \(place.bit)")
            assert(place.position == next[Int(place.part.rawValue)], "field \(bit) has position \(place.position)")
            assert((place.part == .fixed) == (place.width > 0), "field \(bit) has a width of \(place.width) bytes")
            next[Int(place.part.rawValue)] += max(1, place.width)
        }
        let sizes = [extent.fixedByteCount, extent.integerCount, extent.referenceCount, extent.variableCount]
        assert(next == sizes.map { Int($0) }, "the parts have sizes of \(next), the extent \(sizes)")
        assert(referencePlaces.count == Int(extent.referenceCount), "\(referencePlaces.count) references")
        assert(toOnes.count <= referencePlaces.count, "\(toOnes.count) relationships have a place")
        return true
    }
}

extension RowLayout {
    /// The layout as the catalog keeps it: entity number u16, field count u16, then for each field its content number
    /// u16, length of its name u16, and the name; then the default row, if there is one.
    var record: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: entityNumber)
        assert(fields.count <= Int(UInt16.max), "the catalog counts \(fields.count) fields in two bytes")
        bytes.append(littleEndian: UInt16(fields.count))
        for field in fields {
            bytes.append(littleEndian: field.content.number)
            bytes.append(littleEndian: UInt16(field.name.utf8.count))
            bytes.append(contentsOf: field.name.utf8)
        }
        bytes += defaultRow
        assert(
            Self.decode(record: bytes).map { $0.fields == fields && $0.defaultRow == defaultRow } == true,
            "a record is not read as it was written")
        return bytes
    }

    /// Reads a record, without a check of the default row; `nil` if the bytes are not one.
    static func decode(record bytes: [UInt8]) -> (entityNumber: UInt16, fields: [Field], defaultRow: [UInt8])? {
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
        guard Set(fields.map(\.name)).count == fields.count else { return nil }
        return (bytes.number(at: 0), fields, Array(bytes[offset...]))
    }
}
