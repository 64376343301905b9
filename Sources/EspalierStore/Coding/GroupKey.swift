// Keys of index trees: the values of a group, then the primary key of the row.
//
// Layout (on disk): the codes of the group's values in order, cut after `valueByteCountMax` bytes | primary key,
//   big-endian, 8 bytes. Value: entity number u16 | flags u8 (bit 0: the codes were cut).
// Invariants
//   1. Every row of the group's family has exactly one entry, even if values are null; if the group has a condition,
//      every row that meets it.
//   2. Entries whose codes were not cut are in the order of their values, then of primary keys.
//   3. Entries with equal bytes before the primary key have equal values, unless they are cut: then the values of the
//      rows decide.

internal import EspalierModel

/// The values of a row, from any source.
enum ValueSource {
    case values([AttributeValue], destinations: [ObjectID?])
    case snapshot(ObjectSnapshot)
    /// A new row, which may name others by temporary IDs.
    case new(RowValues, PermanentIDs)

    func value(of property: Entity.Property) -> AttributeValue {
        switch property {
        case .attribute(let slot): attribute(at: slot)
        case .relationship(let slot): destination(at: slot).map { .objectID($0) } ?? .null
        }
    }

    /// The value of an element of a group, which may be a part of a composite, or that of an expression.
    func value(of element: KeyGroup.Element) -> AttributeValue {
        if let expression = element.expression { return expression.value(on: OwnValues(self, of: expression)) }
        return element.property.map { value(of: $0).part(at: element.path) } ?? .null
    }

    private func attribute(at slot: Int) -> AttributeValue {
        switch self {
        case .values(let values, _): values[slot]
        case .snapshot(let row): row.value(at: slot)
        case .new(let row, _): row.attribute(at: slot)
        }
    }

    private func destination(at slot: Int) -> ObjectID? {
        switch self {
        case .values(_, let destinations): destinations[slot]
        case .snapshot(let row): row.destination(at: slot)
        case .new(let row, let permanentIDs): row.destination(at: slot).map(permanentIDs.permanent)
        }
    }
}

/// A key of an index tree under construction.
struct GroupKey {
    /// The most bytes of codes in a key: longer codes are cut, and compared in the rows.
    static let valueByteCountMax = 512
    static let isCutFlag: UInt8 = 1
    static let entryValueByteCount = 3

    /// The codes of the values, cut if they were too long, and the primary key if `append(key:)` was called.
    private(set) var bytes: [UInt8] = []
    /// Whether the codes were cut.
    private(set) var isCut = false
    /// Whether one of the values is null.
    private(set) var hasNull = false

    init() {}

    /// The key of these values of a group.
    init(_ values: [AttributeValue], _ group: KeyGroup, _ numbering: StoreNumbering) {
        assert(values.count == group.elements.count, "\(values.count) values for \(group.elements.count) properties")
        for (value, element) in zip(values, group.elements) {
            if value.isNull { hasNull = true }
            Self.append(value, element.coding, numbering, to: &bytes)
        }
        isCut = bytes.count > Self.valueByteCountMax
        if isCut { bytes.removeLast(bytes.count - Self.valueByteCountMax) }
        assert(!isCut || bytes.count == Self.valueByteCountMax, "codes are cut to \(bytes.count) bytes")
    }

    /// Replaces the key by the codes of the group's values in `row`.
    mutating func encode(_ group: KeyGroup, _ row: ValueSource, _ numbering: StoreNumbering) {
        bytes.removeAll(keepingCapacity: true)
        (isCut, hasNull) = Self.append(group, row, numbering, to: &bytes)
    }

    /// Appends the codes of the group's values in `row`; returns whether they were cut, and whether one value is null.
    static func append(
        _ group: KeyGroup, _ row: ValueSource, _ numbering: StoreNumbering, to bytes: inout [UInt8]
    ) -> (isCut: Bool, hasNull: Bool) {
        let start = bytes.count
        var hasNull = false
        for position in group.codings.indices {
            let coding = group.codings[position]
            let value =
                coding.wholeProperty.map { row.value(of: $0) } ?? row.value(of: group.elements[position])
            if value.isNull { hasNull = true }
            append(value, coding, numbering, to: &bytes)
        }
        assert(bytes.count - start >= group.elements.count, "one of \(group.elements.count) values has no mark")
        let excess = bytes.count - start - valueByteCountMax
        if excess > 0 { bytes.removeLast(excess) }
        assert(bytes.count - start <= valueByteCountMax, "codes of \(bytes.count - start) bytes")
        return (excess > 0, hasNull)
    }

    mutating func append(key: UInt64) {
        assert(bytes.count <= Self.valueByteCountMax, "codes of \(bytes.count) bytes are before the primary key")
        bytes.append(bigEndian: key)
    }

    /// The value of the entry of a row of this entity.
    static func entryValue(entityNumber: UInt16, isCut: Bool) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: entryValueByteCount)
        writeEntryValue(entityNumber: entityNumber, isCut: isCut, to: &value)
        return value
    }

    /// Writes the value of the entry of a row of this entity over `value`, which has `entryValueByteCount` bytes.
    static func writeEntryValue(entityNumber: UInt16, isCut: Bool, to value: inout [UInt8]) {
        assert(value.count == entryValueByteCount, "the value of an entry has \(value.count) bytes")
        value.write(entityNumber, at: 0)
        value[2] = isCut ? isCutFlag : 0
    }

    /// Appends the code of one value of a group.
    static func append(
        _ value: AttributeValue, _ coding: KeyGroup.Coding, _ numbering: StoreNumbering, to bytes: inout [UInt8]
    ) {
        if case .objectID(let id) = value {
            assert(coding.type == .objectID, "an attribute of type \(coding.type) holds no reference")
            KeyCoding.append(reference: numbering.reference(id), isAscending: coding.isAscending, to: &bytes)
        } else {
            assert(coding.type != .objectID || value.isNull, "a relationship holds neither a reference nor null")
            KeyCoding.append(
                value, as: coding.type, options: coding.folding, isAscending: coding.isAscending, to: &bytes)
        }
    }
}

extension AttributeValue {
    /// The part of a composite at a path; the value itself if the path is empty.
    func part(at path: [String]) -> AttributeValue {
        var part = self
        for name in path {
            guard case .composite(let parts) = part else { return .null }
            part = parts[name, default: .null]
        }
        return part
    }
}

/// A range of keys: from `lower` on, below `upper`.
struct EntryRange: Hashable, Sendable {
    /// The least key.
    var lower: [UInt8]
    /// The first key after the range; `nil` = to the end.
    var upper: [UInt8]?

    /// All keys that begin with `prefix`.
    static func beginning(with prefix: [UInt8]) -> EntryRange { EntryRange(lower: prefix, upper: prefix.successor) }
    /// All keys.
    static let all = EntryRange(lower: [], upper: nil)
}
