// Row bytes into values: the structure is checked once when a row is read, then every attribute is found in O(1).
//
// Rules
//   1. `check` is for untrusted bytes. It throws what is wrong; afterwards no reading function can trap.
//   2. Content that a structure check cannot see (text that is not UTF-8, a URI that is none) reads repaired or as
//      null; `contentProblem` finds it for the store's integrity check.

internal import EspalierModel
internal import FoundationEssentials

/// Reads rows of one store.
struct RowReader {
    /// What is wrong with the bytes of a row.
    enum Damage: Error, Equatable {
        case tooShort(byteCount: Int)
        case unknownLayout(UInt16)
        case wrongEntity(UInt16, layout: UInt16)
        case variablePart(field: String)
        case length(byteCount: Int, expected: Int)
        case reference(field: String)

        /// What is wrong and what would be right.
        var reason: String {
            switch self {
            case .tooShort(let byteCount): "the row has only \(byteCount) bytes, fewer than its layout needs"
            case .unknownLayout(let number): "the row names layout \(number), which the catalog does not have"
            case .wrongEntity(let number, let layout):
                "the row names entity number \(number), which is not that of its layout \(layout)"
            case .variablePart(let field): "the end of \(field) lies outside the row or before its beginning"
            case .length(let byteCount, let expected): "the row has \(byteCount) bytes, its fields end at \(expected)"
            case .reference(let field): "\(field) leads to an entity number or key that cannot be"
            }
        }
    }

    let context: RowContext

    /// Checks the structure of a row and returns its entity's number.
    ///
    /// - Complexity: O(variable-width fields + references).
    @discardableResult
    func check(_ row: RawSpan) throws(Damage) -> UInt16 {
        guard row.byteCount >= RowLayout.headerByteCount else { throw .tooShort(byteCount: row.byteCount) }
        let number = row.number(at: 0, as: UInt16.self)
        guard let shape = context.shapes[number] else { throw .unknownLayout(number) }
        let entityNumber = row.number(at: 2, as: UInt16.self)
        guard entityNumber == shape.entityNumber else { throw .wrongEntity(entityNumber, layout: number) }
        if !hasSoundFields(row, shape) { throw damage(of: row, shape) }
        return entityNumber
    }

    /// Whether what lies behind the header of a row of this shape has the structure that the shape asks for.
    @inline(__always)
    func hasSoundFields(_ row: RawSpan, _ shape: RowShape) -> Bool {
        guard row.byteCount >= shape.variableOffset, firstBrokenReference(row, shape) == nil else { return false }
        var (entry, end) = (shape.tableOffset, 0)
        while entry < shape.variableOffset {
            let next = Int(row.number(at: entry, as: UInt32.self))
            guard next >= end else { return false }
            (entry, end) = (entry + 4, next)
        }
        return row.byteCount == shape.variableOffset + end
    }

    /// What is wrong with a row whose fields are not sound.
    @inline(never)
    private func damage(of row: RawSpan, _ shape: RowShape) -> Damage {
        guard row.byteCount >= shape.variableOffset else { return .tooShort(byteCount: row.byteCount) }
        let layout = layout(of: row)
        if let broken = firstBrokenReference(row, shape) { return .reference(field: layout.fields[broken.bit].name) }
        var end = 0
        for (position, place) in layout.variablePlaces.enumerated() {
            let next = Int(row.number(at: shape.tableOffset + 4 * position, as: UInt32.self))
            guard next >= end, next <= row.byteCount - shape.variableOffset else {
                return .variablePart(field: layout.fields[place.bit].name)
            }
            end = next
        }
        return .length(byteCount: row.byteCount, expected: shape.variableOffset + end)
    }

    @inline(__always)
    private func firstBrokenReference(_ row: RawSpan, _ shape: RowShape) -> RowLayout.Place? {
        context.shapes.firstReference(of: shape) { !isNull($0, row) && reference(at: $0, row) == nil }
    }

    /// The layout of a checked row.
    private func layout(of row: RawSpan) -> RowLayout {
        guard let layout = context.layout(row.number(at: 0)) else { preconditionFailure("the row was not checked") }
        return layout
    }

    /// The shape of a checked row.
    @inline(__always)
    func shape(of row: RawSpan) -> RowShape {
        guard let shape = context.shapes[row.number(at: 0)] else { preconditionFailure("the row was not checked") }
        return shape
    }

    /// The number of the row's entity.
    @inline(__always)
    static func entityNumber(of row: RawSpan) -> UInt16 { row.number(at: 2) }

    /// The row's version.
    @inline(__always)
    static func version(of row: RawSpan) -> UInt64 { row.number(at: RowLayout.versionOffset) }

    /// The value of the attribute in `slot` of a checked row.
    @inline(__always)
    func value(at slot: Int, _ row: RawSpan) -> AttributeValue {
        let shape = shape(of: row)
        guard let place = context.shapes.place(ofAttribute: slot, shape), !isNull(place, row) else { return .null }
        return value(at: place, shape, row)
    }

    /// The text in attribute `slot` of a checked row; `nil` if there is none, or the attribute is of another type.
    @inline(__always)
    func text(at slot: Int, _ row: RawSpan) -> String? {
        let shape = shape(of: row)
        guard let place = context.shapes.place(ofAttribute: slot, shape), !isNull(place, row),
            case .attribute(.string) = place.content
        else { return nil }
        return text(range(of: place, shape, row), row)
    }

    /// The integer in attribute `slot` of a checked row; `nil` if there is none, or the attribute is of another type.
    @inline(__always)
    func integer(at slot: Int, _ row: RawSpan) -> Int64? {
        guard let place = context.shapes.place(ofAttribute: slot, shape(of: row)), !isNull(place, row),
            case .attribute(let type) = place.content
        else { return nil }
        return switch type {
        case .integer64: row.number(at: place.position)
        case .integer32: Int64(row.number(at: place.position, as: Int32.self))
        case .integer16: Int64(row.number(at: place.position, as: Int16.self))
        default: nil
        }
    }

    /// The number in attribute `slot` of a checked row; `nil` if there is none, or the attribute is of another type.
    @inline(__always)
    func double(at slot: Int, _ row: RawSpan) -> Double? {
        guard let place = context.shapes.place(ofAttribute: slot, shape(of: row)), !isNull(place, row),
            case .attribute(.double) = place.content
        else { return nil }
        return Double(bitPattern: row.number(at: place.position))
    }

    /// The destination in relationship `slot` of a checked row.
    func destination(at slot: Int, _ row: RawSpan) -> ObjectID? {
        let shape = shape(of: row)
        guard let place = context.shapes.place(ofRelationship: slot, shape), !isNull(place, row) else { return nil }
        return reference(at: place, row)
    }

    /// Whether the bytes say something that reads otherwise than it was written: the name of the first such field.
    func contentProblem(_ row: RawSpan) -> String? {
        let (layout, shape) = (layout(of: row), shape(of: row))
        for place in layout.places {
            guard case .attribute(let type) = place.content, !isNull(place, row) else { continue }
            let isGood: Bool =
                switch type {
                case .string: String(validating: row.copy(range(of: place, shape, row)), as: UTF8.self) != nil
                case .boolean: row.byte(at: place.position) < 2
                case .uri, .composite, .decimal: !value(at: place, shape, row).isNull
                default: true
                }
            if !isGood { return layout.fields[place.bit].name }
        }
        return nil
    }

    @inline(__always)
    private func isNull(_ place: RowLayout.Place, _ row: RawSpan) -> Bool {
        row.byte(at: RowLayout.headerByteCount + place.bit &>> 3) & 1 &<< UInt8(truncatingIfNeeded: place.bit & 7) != 0
    }

    private func reference(at place: RowLayout.Place, _ row: RawSpan) -> ObjectID? {
        context.id(entityNumber: row.number(at: place.position), key: row.number(at: place.position + 2))
    }

    @inline(__always)
    private func range(of place: RowLayout.Place, _ shape: RowShape, _ row: RawSpan) -> Range<Int> {
        let entry = shape.tableOffset + 4 * place.position
        let start = place.position == 0 ? 0 : Int(row.number(at: entry - 4, as: UInt32.self))
        let end = Int(row.number(at: entry, as: UInt32.self))
        return shape.variableOffset + start..<shape.variableOffset + end
    }

    /// What most attributes hold without a further call: the way to the value took longer than reading it.
    @inline(__always)
    private func value(at place: RowLayout.Place, _ shape: RowShape, _ row: RawSpan) -> AttributeValue {
        guard case .attribute(let type) = place.content else { return .null }
        switch type {
        case .string: return .string(text(range(of: place, shape, row), row))
        case .integer64: return .integer(row.number(at: place.position))
        case .double: return .double(Double(bitPattern: row.number(at: place.position)))
        default: return rarerValue(of: type, at: place, shape, row)
        }
    }

    @inline(never)
    private func rarerValue(
        of type: AttributeType, at place: RowLayout.Place, _ shape: RowShape, _ row: RawSpan
    ) -> AttributeValue {
        let offset = place.position
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
        case .uri: return URL(string: text(range(of: place, shape, row), row)).map { .uri($0) } ?? .null
        case .binary: return .binary(Data(row.copy(range(of: place, shape, row))))
        case .transformable: return .transformable(Data(row.copy(range(of: place, shape, row))))
        case .composite: return TaggedValue.decode(row.copy(range(of: place, shape, row))) ?? .null
        case .string, .integer64, .double, .undefined, .objectID: return .null
        }
    }

    private func text(_ range: Range<Int>, _ row: RawSpan) -> String {
        // SAFETY: the buffer does not leave the closure.
        unsafe row.extracting(range).withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
