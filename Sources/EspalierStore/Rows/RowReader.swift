// Decodes row bytes: the structure is checked once when a row is read, then every attribute is found in O(1).
//
// Rules
//   1. `check` is for untrusted bytes. It throws the damage; after it, no reading method can trap.
//   2. Content that a structure check cannot see (text that is not UTF-8, a malformed URI) reads repaired or as null;
//      `contentProblem` finds it for the store's integrity check.
//   3. The default row of each layout was checked when the store was opened (StoreCatalog+Load).

internal import EspalierModel
internal import FoundationEssentials

/// Reads rows of one store.
struct RowReader {
    /// The damage of a row's bytes.
    enum Damage: Error, Equatable {
        case tooShort(byteCount: Int)
        case unknownLayout(UInt16)
        case widths(UInt8)
        case variablePart(field: String)
        case length(byteCount: Int, expected: Int)
        case reference(field: String)

        /// The problem, in words.
        var reason: String {
            switch self {
            case .tooShort(let byteCount): "the row has only \(byteCount) bytes, fewer than its layout requires"
            case .unknownLayout(let number): "the row names layout \(number), which is not in the catalog"
            case .widths(let byte): "the row begins with \(byte), which does not encode valid widths of numbers"
            case .variablePart(let field): "the end of \(field) is outside of the row or before its beginning"
            case .length(let byteCount, let expected):
                "the row has \(byteCount) bytes, but its fields end at \(expected)"
            case .reference(let field): "\(field) leads to an impossible entity number or key"
            }
        }
    }

    let numbering: StoreNumbering

    /// Checks the structure of a row and returns its entity's number.
    ///
    /// - Complexity: O(variable-width fields + references).
    @discardableResult
    func check(_ row: RawSpan) throws(Damage) -> UInt16 {
        guard row.byteCount >= 2 else { throw .tooShort(byteCount: row.byteCount) }
        let number = RowOffsets.layoutNumber(row)
        guard let shape = numbering.shapes[number], let entityNumber = shape.entityNumber else {
            throw .unknownLayout(number)
        }
        let widths = RowOffsets.Widths(byte: row.byte(at: 0))
        guard widths.isPossible else { throw .widths(widths.byte) }
        let offsets = RowOffsets(widths, shape.extent)
        if !hasSoundFields(row, shape, offsets) { throw damage(of: row, shape, offsets) }
        return entityNumber
    }

    /// The shape and the offsets of a row of `byteCount` bytes, of which only the beginning is there; `nil` if the row
    /// does not have a sound structure, or if the beginning ends before the variable part.
    func soundBeginning(
        _ row: RawSpan, of byteCount: Int
    ) -> (shape: RowLayout.Shape, offsets: RowOffsets)? {
        assert(byteCount >= row.byteCount, "\(row.byteCount) bytes of a row of \(byteCount)")
        guard row.byteCount >= 2, let shape = numbering.shapes[RowOffsets.layoutNumber(row)],
            shape.entityNumber != nil
        else { return nil }
        let widths = RowOffsets.Widths(byte: row.byte(at: 0))
        guard widths.isPossible else { return nil }
        let offsets = RowOffsets(widths, shape.extent)
        return hasSoundFields(row, of: byteCount, shape, offsets) ? (shape, offsets) : nil
    }

    /// Whether the beginning of a row has the attribute in `slot`, if the row has it at all.
    func isWithin(_ beginning: RawSpan, slot: Int, _ shape: RowLayout.Shape, _ offsets: RowOffsets) -> Bool {
        assert(beginning.byteCount >= offsets.variableOffset, "\(beginning.byteCount) bytes have no ends of fields")
        guard let place = numbering.shapes.place(ofAttribute: slot, shape), place.part == .variable,
            !offsets.isNull(bit: place.bit, beginning)
        else { return true }
        return offsets.end(at: place.position, beginning) <= beginning.byteCount - offsets.variableOffset
    }

    /// Whether the beginning of a row has the attributes in `slots`, as far as the row has them.
    func isWithin(_ beginning: RawSpan, slots: [Int], _ shape: RowLayout.Shape, _ offsets: RowOffsets) -> Bool {
        slots.allSatisfy { isWithin(beginning, slot: $0, shape, offsets) }
    }

    /// Whether the beginning of a checked row has the attributes in `slots`, as far as the row has them.
    func isWithin(_ beginning: RawSpan, slots: [Int]) -> Bool {
        let shape = shape(of: beginning)
        return isWithin(beginning, slots: slots, shape, offsets(of: beginning, shape))
    }

    /// Whether a row is whole of which at least the beginning is there.
    func isWhole(_ row: RawSpan) -> Bool {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        let count = Int(shape.extent.variableCount)
        return row.byteCount == offsets.variableOffset + (count == 0 ? 0 : offsets.end(at: count - 1, row))
    }

    /// The offsets of a row whose layout has this shape; `nil` if `check` throws the damage of the row.
    @inline(__always)
    func soundOffsets(of row: RawSpan, _ shape: RowLayout.Shape) -> RowOffsets? {
        assert(
            numbering.shapes[RowOffsets.layoutNumber(row)]?.entityNumber == shape.entityNumber,
            "the row has another layout")
        let widths = RowOffsets.Widths(byte: row.byte(at: 0))
        guard widths.isPossible else { return nil }
        let offsets = RowOffsets(widths, shape.extent)
        return hasSoundFields(row, shape, offsets) ? offsets : nil
    }

    /// Whether a row of this shape, with these offsets, has a sound structure.
    @inline(__always)
    func hasSoundFields(_ row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets) -> Bool {
        hasSoundFields(row, of: row.byteCount, shape, offsets)
    }

    /// Whether a row of `byteCount` bytes that begins with `row` has a sound structure.
    @inline(__always)
    private func hasSoundFields(
        _ row: RawSpan, of byteCount: Int, _ shape: RowLayout.Shape, _ offsets: RowOffsets
    ) -> Bool {
        guard row.byteCount >= offsets.variableOffset, firstBrokenReference(row, shape, offsets) == nil else {
            return false
        }
        var end = 0
        for position in 0..<Int(shape.extent.variableCount) {
            let next = offsets.end(at: position, row)
            guard next >= end else { return false }
            end = next
        }
        return byteCount == offsets.variableOffset &+ end
    }

    /// The damage of a row whose fields are not sound.
    @inline(never)
    private func damage(of row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets) -> Damage {
        assert(!hasSoundFields(row, shape, offsets), "the row is not damaged")
        guard row.byteCount >= offsets.variableOffset else { return .tooShort(byteCount: row.byteCount) }
        let layout = layout(of: row)
        assert(layout.entityNumber == shape.entityNumber, "the shape of layout \(layout.number)")
        if let broken = firstBrokenReference(row, shape, offsets) {
            return .reference(field: layout.fields[layout.referencePlaces[broken].bit].name)
        }
        var end = 0
        for (position, place) in layout.variablePlaces.enumerated() {
            let next = offsets.end(at: position, row)
            guard next >= end, next <= row.byteCount - offsets.variableOffset else {
                return .variablePart(field: layout.fields[place.bit].name)
            }
            end = next
        }
        return .length(byteCount: row.byteCount, expected: offsets.variableOffset + end)
    }

    /// The position, among the references, of the first one that is not valid.
    @inline(__always)
    private func firstBrokenReference(_ row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets) -> Int? {
        for position in 0..<Int(shape.extent.referenceCount) {
            let (entity, key) = offsets.reference(at: position, row)
            let isNull = offsets.isNull(bit: numbering.shapes.bit(ofReference: position, shape), row)
            if !isNull, key == 0 || !numbering.isKnown(entityNumber: entity) { return position }
        }
        return nil
    }

    /// The layout of a checked row.
    private func layout(of row: RawSpan) -> RowLayout {
        guard let layout = numbering.layout(RowOffsets.layoutNumber(row)) else {
            preconditionFailure("the row was not checked")
        }
        assert(layout.number == RowOffsets.layoutNumber(row), "layout \(layout.number) is at another place")
        return layout
    }

    /// The shape of a checked row.
    @inline(__always)
    func shape(of row: RawSpan) -> RowLayout.Shape {
        guard let shape = numbering.shapes[RowOffsets.layoutNumber(row)] else {
            preconditionFailure("the row was not checked")
        }
        return shape
    }

    /// The offsets of the parts of a checked row of this shape.
    @inline(__always)
    func offsets(of row: RawSpan, _ shape: RowLayout.Shape) -> RowOffsets {
        assert(RowOffsets.Widths(byte: row.byte(at: 0)).isPossible, "the row was not checked")
        return RowOffsets(RowOffsets.Widths(byte: row.byte(at: 0)), shape.extent)
    }

    /// The number of a checked row's entity.
    @inline(__always)
    func entityNumber(of row: RawSpan) -> UInt16 {
        guard let number = shape(of: row).entityNumber else { preconditionFailure("the row was not checked") }
        return number
    }

    /// The version of a checked row.
    @inline(__always)
    static func version(of row: RawSpan) -> UInt64 {
        row.unsigned(at: RowOffsets.versionOffset(row), power: RowOffsets.Widths(byte: row.byte(at: 0)).version)
    }

    /// The value of the attribute in `slot` of a checked row.
    @inline(__always)
    func value(at slot: Int, _ row: RawSpan) -> AttributeValue {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape) else {
            return shape.hasDefaultRow ? defaultValue(at: slot, row) : .null
        }
        return offsets.isNull(bit: place.bit, row) ? .null : value(at: place, offsets, row)
    }

    /// The value of an attribute that the layout of a checked row lacks.
    @inline(never)
    private func defaultValue(at slot: Int, _ row: RawSpan) -> AttributeValue {
        withDefaultRow(of: row) { row, shape, offsets in
            guard let place = numbering.shapes.place(ofAttribute: slot, shape), !offsets.isNull(bit: place.bit, row)
            else { return .null }
            return value(at: place, offsets, row)
        }
    }

    /// Calls `body` with the default row of a checked row whose layout has one.
    func withDefaultRow<Answer>(
        of row: RawSpan, _ body: (RawSpan, RowLayout.Shape, RowOffsets) -> Answer
    ) -> Answer {
        let layout = layout(of: row)
        assert(!layout.defaultRow.isEmpty, "layout \(layout.number) has no default row")
        return layout.defaultRow.withRawSpan { row in
            let shape = shape(of: row)
            return body(row, shape, offsets(of: row, shape))
        }
    }

    /// The text in attribute `slot` of a checked row; `nil` if the row itself has none, or the attribute is of another
    /// type.
    @inline(__always)
    func text(at slot: Int, _ row: RawSpan) -> String? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape), !offsets.isNull(bit: place.bit, row),
            case .attribute(.string) = place.content
        else { return nil }
        return text(offsets.range(at: place.position, row), row)
    }

    /// The integer in attribute `slot` of a checked row; `nil` if the row itself has none, or the attribute is of
    /// another type.
    @inline(__always)
    func integer(at slot: Int, _ row: RawSpan) -> Int64? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape), !offsets.isNull(bit: place.bit, row),
            case .attribute(let type) = place.content
        else { return nil }
        return switch type {
        case .integer64: offsets.integer(at: place.position, row)
        case .integer32: Int64(row.number(at: offsets.fixedOffset + place.position, as: Int32.self))
        case .integer16: Int64(row.number(at: offsets.fixedOffset + place.position, as: Int16.self))
        default: nil
        }
    }

    /// The number in attribute `slot` of a checked row; `nil` if the row itself has none, or the attribute is of
    /// another type.
    @inline(__always)
    func double(at slot: Int, _ row: RawSpan) -> Double? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape), !offsets.isNull(bit: place.bit, row),
            case .attribute(.double) = place.content
        else { return nil }
        return Double(bitPattern: row.number(at: offsets.fixedOffset + place.position))
    }

    /// The destination in relationship `slot` of a checked row.
    @inline(__always)
    func destination(at slot: Int, _ row: RawSpan) -> ObjectID? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofRelationship: slot, shape), !offsets.isNull(bit: place.bit, row)
        else {
            return nil
        }
        return reference(at: place, offsets, row)
    }

    /// The reference in relationship `slot` of a checked row: entity number and primary key.
    @inline(__always)
    func reference(at slot: Int, _ row: RawSpan) -> (entity: UInt16, key: UInt64)? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofRelationship: slot, shape), !offsets.isNull(bit: place.bit, row)
        else {
            return nil
        }
        return offsets.reference(at: place.position, row)
    }

    /// Whether the attribute in `slot` of a checked row has no value.
    @inline(__always)
    func isNull(at slot: Int, _ row: RawSpan) -> Bool {
        let shape = shape(of: row)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape) else {
            return !shape.hasDefaultRow || defaultValue(at: slot, row).isNull
        }
        return offsets(of: row, shape).isNull(bit: place.bit, row)
    }

    /// The range of the text in attribute `slot` of a checked row; `nil` if the row itself has none, or the attribute
    /// is of another type.
    @inline(__always)
    func textRange(at slot: Int, _ row: RawSpan) -> Range<Int>? {
        let shape = shape(of: row)
        let offsets = offsets(of: row, shape)
        guard let place = numbering.shapes.place(ofAttribute: slot, shape), !offsets.isNull(bit: place.bit, row),
            case .attribute(.string) = place.content
        else { return nil }
        return offsets.range(at: place.position, row)
    }

    /// The name of the first field whose bytes read differently from what was written; `nil` if there is none.
    func contentProblem(_ row: RawSpan) -> String? {
        assert((try? check(row)) != nil, "the structure of the row was not checked")
        let layout = layout(of: row)
        let offsets = offsets(of: row, shape(of: row))
        for bit in layout.fields.count..<8 * Int(layout.extent.nullByteCount) where offsets.isNull(bit: bit, row) {
            return "the null bits"
        }
        for place in layout.places {
            if offsets.isNull(bit: place.bit, row) {
                // Nothing reads these bytes, but a later patch of the row relies on their being zero.
                let range = place.part == .variable ? offsets.range(at: place.position, row) : offsets.bytes(of: place)
                let isEmpty = place.part == .variable ? range.isEmpty : row.isZero(in: range)
                if !isEmpty { return layout.fields[place.bit].name }
                continue
            }
            guard case .attribute(let type) = place.content else { continue }
            let isGood: Bool =
                switch type {
                case .string: isText(offsets.range(at: place.position, row), row)
                case .boolean: row.byte(at: offsets.fixedOffset + place.position) < 2
                case .uri, .composite, .decimal: !value(at: place, offsets, row).isNull
                default: true
                }
            if !isGood { return layout.fields[place.bit].name }
        }
        return nil
    }

    @inline(__always)
    private func reference(at place: RowLayout.Place, _ offsets: RowOffsets, _ row: RawSpan) -> ObjectID? {
        assert(place.part == .references, "a destination is not among the references")
        let reference = offsets.reference(at: place.position, row)
        return numbering.id(entityNumber: reference.entity, key: reference.key)
    }

    /// Decodes the types of most attributes without a further call (Decisions, "Reading rows").
    @inline(__always)
    private func value(at place: RowLayout.Place, _ offsets: RowOffsets, _ row: RawSpan) -> AttributeValue {
        guard case .attribute(let type) = place.content else { return .null }
        switch type {
        case .string: return .string(text(offsets.range(at: place.position, row), row))
        case .integer64: return .integer(offsets.integer(at: place.position, row))
        case .double: return .double(Double(bitPattern: row.number(at: offsets.fixedOffset + place.position)))
        default: return rarerValue(of: type, at: place, offsets, row)
        }
    }

    @inline(never)
    private func rarerValue(
        of type: AttributeType, at place: RowLayout.Place, _ offsets: RowOffsets, _ row: RawSpan
    ) -> AttributeValue {
        assert(place.part == .fixed || place.part == .variable, "a value of type \(type) is in another part")
        let offset = offsets.fixedOffset + place.position
        switch type {
        case .integer16: return .integer(Int64(row.number(at: offset, as: Int16.self)))
        case .integer32: return .integer(Int64(row.number(at: offset, as: Int32.self)))
        case .float: return .float(Float(bitPattern: row.number(at: offset)))
        case .boolean: return .boolean(row.byte(at: offset) != 0)
        case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: row.number(at: offset))))
        case .uuid: return .uuid(UUID(bytes: row.copy(offset..<offset + 16)))
        case .decimal:
            return DecimalBytes.decode(row.copy(offset..<offset + DecimalBytes.count)[...]).map { .decimal($0) }
                ?? .null
        case .uri: return URL(string: text(offsets.range(at: place.position, row), row)).map { .uri($0) } ?? .null
        case .binary: return .binary(Data(row.copy(offsets.range(at: place.position, row))))
        case .transformable: return .transformable(Data(row.copy(offsets.range(at: place.position, row))))
        case .composite: return TaggedValue.decode(row.copy(offsets.range(at: place.position, row))) ?? .null
        case .string, .integer64, .double, .undefined, .objectID: return .null
        }
    }

    private func isText(_ range: Range<Int>, _ row: RawSpan) -> Bool {
        assert(range.upperBound <= row.byteCount, "text \(range) of \(row.byteCount) bytes")
        // SAFETY: the buffer does not leave the closure. ASCII is valid UTF-8: most fields need no array and no string.
        let bits = unsafe row.extracting(range).withUnsafeBytes { unsafe $0.reduce(into: 0 as UInt8) { $0 |= $1 } }
        return bits < 0x80 || String(validating: row.copy(range), as: UTF8.self) != nil
    }

    private func text(_ range: Range<Int>, _ row: RawSpan) -> String {
        // SAFETY: the buffer does not leave the closure.
        unsafe row.extracting(range).withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}

extension RawSpan {
    /// Whether all bytes in `range` are zero.
    @inline(__always)
    fileprivate func isZero(in range: Range<Int>) -> Bool {
        // SAFETY: the buffer does not leave the closure.
        unsafe extracting(range).withUnsafeBytes { unsafe $0.allSatisfy { $0 == 0 } }
    }
}
