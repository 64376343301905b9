// ObjectFormat.md, section 6: one row, rules 114 to 116; section 10 for rows of format 1.
//
// Invariants
//   1. The bytes of a value of this type break none of these rules, so fields are read without further checks.

/// The value of a to-one relationship: a row by entity number and primary key.
struct RowReference: Hashable {
    let entityNumber: UInt16
    let key: UInt64
}

/// A row whose structure has been verified.
struct RowBytes {
    static let longNumberMark: UInt8 = 0xFF

    let plan: RowPlan
    let bytes: [UInt8]
    /// The widths of whole numbers, references and field ends, in bytes.
    private let integerWidth: Int
    private let endWidth: Int
    private let referenceWidth: Int
    // The offsets at which the parts of the row begin.
    private let nulls: Int
    private let fixed: Int
    private let integers: Int
    private let references: Int
    private let ends: Int
    private let variable: Int
    private let isFirstFormat: Bool

    /// The layout number that a row names; `nil` if the number is not encoded as the format requires.
    static func layoutNumber(_ bytes: [UInt8], format: UInt16) -> UInt16? {
        if format == 1 { return bytes.count >= 4 ? UInt16(bytes.u16(0)) : nil }
        guard bytes.count >= 2 else { return nil }
        if bytes.u8(1) != longNumberMark { return UInt16(bytes.u8(1)) }
        let number = UInt16(bytes.u16(2))
        return bytes.count >= 4 && number >= UInt16(longNumberMark) ? number : nil
    }

    /// Verifies a row against the layout of `plan`.
    init(_ bytes: [UInt8], _ plan: RowPlan, format: UInt16) throws(Breach) {
        (self.bytes, self.plan, isFirstFormat) = (bytes, plan, format == 1)
        if isFirstFormat {
            guard UInt16(bytes.u16(2)) == plan.entityNumber else {
                throw Breach(
                    113, 2, "the row has entity number \(bytes.u16(2)), but its layout has \(plan.entityNumber)")
            }
            (integerWidth, endWidth, referenceWidth) = (8, 4, 10)
            nulls = 12
            fixed = nulls + plan.nullByteCount
            (integers, references) = (fixed, fixed)
            ends = fixed + plan.firstFormatByteCount
        } else {
            let widths = Int(bytes.u8(0))
            guard widths >> 4 & 3 < 3 else { throw Breach(114, 0, "the widths \(widths) are impossible") }
            (integerWidth, endWidth) = (1 << (widths >> 2 & 3), 1 << (widths >> 4 & 3))
            referenceWidth = widths >> 6 == 3 ? 10 : 3 + widths >> 6
            nulls = (plan.number < UInt16(Self.longNumberMark) ? 2 : 4) + 1 << (widths & 3)
            fixed = nulls + plan.nullByteCount
            integers = fixed + plan.fixedByteCount
            references = integers + plan.integerCount * integerWidth
            ends = references + plan.referenceCount * referenceWidth
        }
        variable = ends + plan.variableCount * endWidth
        try checkLength()
        try checkNulls()
        for index in plan.fields.indices where !isNull(index) { try checkValue(index) }
    }

    // MARK: Reading

    func isNull(_ field: Int) -> Bool { bytes.u8(nulls + field / 8) & 1 << UInt8(field % 8) != 0 }

    /// The range of the bytes of a field.
    func range(_ index: Int) -> Range<Int> {
        let field = plan.fields[index]
        let (start, count): (Int, Int)
        switch field.part {
        case .variable:
            let first = field.position == 0 ? 0 : end(field.position - 1)
            return variable + first..<variable + end(field.position)
        case .fixed: (start, count) = (fixed + field.position, field.width)
        case .integer: (start, count) = (integers + field.position * integerWidth, integerWidth)
        case .reference: (start, count) = (references + field.position * referenceWidth, referenceWidth)
        }
        return isFirstFormat
            ? fixed + field.firstFormatOffset..<fixed + field.firstFormatOffset + count : start..<start + count
    }

    /// The value of a field of whole numbers of any width.
    func integer(_ index: Int) -> Int64 {
        let range = range(index)
        switch range.count {
        case 1: return Int64(Int8(bitPattern: bytes.u8(range.lowerBound)))
        case 2: return Int64(Int16(truncatingIfNeeded: bytes.u16(range.lowerBound)))
        case 4: return Int64(Int32(bitPattern: bytes.u32(range.lowerBound)))
        default: return Int64(bitPattern: bytes.u64(range.lowerBound))
        }
    }

    /// The destination of a to-one relationship.
    ///
    /// The field must not be null.
    func reference(_ index: Int) -> RowReference {
        let range = range(index)
        guard range.count < 10 else {
            return RowReference(
                entityNumber: UInt16(bytes.u16(range.lowerBound)), key: bytes.u64(range.lowerBound + 2))
        }
        var key: UInt64 = 0
        for offset in (range.lowerBound + 1..<range.upperBound).reversed() { key = key << 8 | UInt64(bytes.u8(offset)) }
        return RowReference(entityNumber: UInt16(bytes.u8(range.lowerBound)), key: key)
    }

    /// The end of a variable field, in bytes from the start of the variable part.
    private func end(_ position: Int) -> Int {
        let offset = ends + position * endWidth
        switch endWidth {
        case 1: return Int(bytes.u8(offset))
        case 2: return bytes.u16(offset)
        default: return Int(bytes.u32(offset))
        }
    }

    // MARK: Rules

    private func checkLength() throws(Breach) {
        guard bytes.count >= variable else {
            throw Breach(114, 0, "the row has \(bytes.count) bytes, but its variable fields begin at \(variable)")
        }
        var last = 0
        for position in 0..<plan.variableCount {
            let next = end(position)
            guard next >= last else {
                throw Breach(114, ends + position * endWidth, "a field ends before the previous one")
            }
            last = next
        }
        guard bytes.count == variable + last else {
            throw Breach(114, ends, "the row has \(bytes.count) bytes, but its last field ends at \(variable + last)")
        }
    }

    private func checkNulls() throws(Breach) {
        let count = plan.fields.count
        if count % 8 != 0, bytes.u8(nulls + count / 8) >> UInt8(count % 8) != 0 {
            throw Breach(115, nulls + count / 8, "a null bit is set that belongs to no field")
        }
        for index in 0..<count where isNull(index) {
            let range = range(index)
            let isEmpty =
                plan.fields[index].part == .variable ? range.isEmpty : bytes.firstNonzero(in: range) == nil
            guard isEmpty else {
                throw Breach(115, range.lowerBound, "\(plan.fields[index].name) is null, but has a value")
            }
        }
    }

    private func checkValue(_ index: Int) throws(Breach) {
        let range = range(index)
        let isPossible =
            switch plan.fields[index].kind {
            case .boolean: bytes.u8(range.lowerBound) <= 1
            case .decimal: bytes.u8(range.lowerBound + 1) <= 2
            case .string, .uri: Text.isValid(bytes, range)
            case .composite:
                bytes.u16(range.lowerBound) == Int(AttributeKind.composite.rawValue)
                    && TaggedBytes.isValue(bytes, range)
            case nil, .integer16, .integer32, .integer64, .double, .float, .date, .binary, .uuid, .transformable,
                .undefined, .objectID:
                true
            }
        guard isPossible else {
            throw Breach(116, range.lowerBound, "the bytes of \(plan.fields[index].name) are not a value of its type")
        }
    }
}
