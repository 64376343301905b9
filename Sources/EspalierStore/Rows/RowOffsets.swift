// The widths of the numbers of one row, and the offsets of its parts.
//
// Invariants
//   1. The widths of a row are large enough for all of its numbers. They may be larger: a number that overwrites
//      another one keeps the width.
//   2. Offsets are computed from the layout and the first byte of the row alone: if both are equal, so are the offsets.

internal import EspalierModel

extension RowOffsets {
    /// The widths of a row's numbers, in its first byte.
    ///
    /// Bits 0 and 1: the version, 2 and 3: integer64 fields, 4 and 5: ends of variable fields, each 0 to 3 for 1, 2, 4
    /// or 8 bytes (ends have no 8). Bits 6 and 7: references, 0 to 2 for an entity number of 1 byte with a primary key
    /// of 2, 3 or 4, and 3 for one of 2 bytes with 8.
    struct Widths: Equatable {
        var byte: UInt8 = 0

        // The first bits of the other widths. Not a tuple: it would be initialized at its first use, and each access
        // would be a call.
        private static let integers: UInt8 = 2
        private static let ends: UInt8 = 4
        private static let references: UInt8 = 6

        /// The widths as powers of two.
        @inline(__always) var version: Int { Int(byte & 3) }
        @inline(__always) var integers: Int { Int(byte &>> Self.integers & 3) }
        @inline(__always) var ends: Int { Int(byte &>> Self.ends & 3) }
        /// The code of the references' width, 0 to 3.
        @inline(__always) var references: Int { Int(byte &>> Self.references) }

        /// The byte count of a reference.
        @inline(__always) var referenceByteCount: Int { references == 3 ? 10 : 3 &+ references }

        /// Whether a row can have these widths.
        @inline(__always) var isPossible: Bool { ends < 3 }

        /// Widens the version's width to hold `version`.
        @inline(__always)
        mutating func include(version: UInt64) { widen(to: Self.power(of: version), at: 0) }

        /// Widens the width of 64-bit integers to hold `number`.
        @inline(__always)
        mutating func include(integer number: Int64) {
            widen(to: Self.power(of: number), at: Self.integers)
        }

        /// Widens the width of ends to hold a variable part of `byteCount` bytes.
        @inline(__always)
        mutating func include(end byteCount: Int) {
            widen(to: Self.power(of: UInt64(byteCount)), at: Self.ends)
        }

        /// Widens the width of references to hold this one.
        @inline(__always)
        mutating func include(reference: (entity: UInt16, key: UInt64)) {
            let needed: UInt8 =
                if reference.entity > 0xFF || reference.key > 0xFFFF_FFFF { 3 } else {
                    reference.key <= 0xFFFF ? 0 : reference.key <= 0xFF_FFFF ? 1 : 2
                }
            widen(to: needed, at: Self.references)
        }

        @inline(__always)
        private mutating func widen(to power: UInt8, at bit: UInt8) {
            assert(power <= 3 && bit % 2 == 0 && bit < 8, "width \(power) at bit \(bit)")
            if power > byte >> bit & 3 { byte = byte & ~(3 << bit) | power << bit }
        }

        private static func power(of number: UInt64) -> UInt8 {
            number <= 0xFF ? 0 : number <= 0xFFFF ? 1 : number <= 0xFFFF_FFFF ? 2 : 3
        }

        private static func power(of number: Int64) -> UInt8 {
            Int8(exactly: number) != nil ? 0 : Int16(exactly: number) != nil ? 1 : Int32(exactly: number) != nil ? 2 : 3
        }
    }
}

/// The offsets of the parts of a row.
struct RowOffsets {
    /// The byte before a layout's number that does not fit into a byte.
    static let longNumberMark: UInt8 = 0xFF

    let widths: RowOffsets.Widths
    let nullOffset: Int
    let fixedOffset: Int
    let integerOffset: Int
    let referenceOffset: Int
    let endOffset: Int
    let variableOffset: Int

    @inline(__always)
    init(_ widths: RowOffsets.Widths, _ extent: RowLayout.Extent) {
        // Nothing overflows: a layout has at most 65,535 fields.
        self.widths = widths
        assert(
            extent.numberByteCount == 1 || extent.numberByteCount == 3, "a number of \(extent.numberByteCount) bytes")
        nullOffset = 1 &+ Int(extent.numberByteCount) &+ 1 &<< widths.version
        fixedOffset = nullOffset &+ Int(extent.nullByteCount)
        integerOffset = fixedOffset &+ Int(extent.fixedByteCount)
        referenceOffset = integerOffset &+ Int(extent.integerCount) &<< widths.integers
        endOffset = referenceOffset &+ Int(extent.referenceCount) &* widths.referenceByteCount
        variableOffset = endOffset &+ Int(extent.variableCount) &<< widths.ends
        assert(
            nullOffset <= fixedOffset && fixedOffset <= integerOffset, "the fixed part does not follow the null bits")
        assert(
            integerOffset <= referenceOffset && referenceOffset <= endOffset, "references do not follow the integers")
        assert(endOffset <= variableOffset, "the variable part does not follow the ends")
    }

    /// The offset of the version.
    @inline(__always)
    static func versionOffset(_ row: RawSpan) -> Int { row.byte(at: 1) == longNumberMark ? 4 : 2 }

    /// The number of the row's layout; 0, which no layout has, if the number is not written in its shortest form.
    @inline(__always)
    static func layoutNumber(_ row: RawSpan) -> UInt16 {
        guard row.byteCount >= 2 else { return 0 }
        let short = row.byte(at: 1)
        if short != longNumberMark { return UInt16(short) }
        let number = row.byteCount >= 4 ? row.number(at: 2, as: UInt16.self) : 0
        return number >= UInt16(longNumberMark) ? number : 0
    }

    // MARK: Reading

    @inline(__always)
    func isNull(bit: Int, _ row: RawSpan) -> Bool {
        assert(bit >= 0 && nullOffset + bit >> 3 < fixedOffset, "null bit \(bit) of a row")
        return row.byte(at: nullOffset &+ bit &>> 3) &>> UInt8(truncatingIfNeeded: bit & 7) & 1 != 0
    }

    /// The integer at this position among the row's 64-bit integers.
    @inline(__always)
    func integer(at position: Int, _ row: RawSpan) -> Int64 {
        assert(integerOffset + (position + 1) << widths.integers <= referenceOffset, "integer \(position) of a row")
        return row.signed(at: integerOffset &+ position &<< widths.integers, power: widths.integers)
    }

    /// The reference at this position.
    @inline(__always)
    func reference(at position: Int, _ row: RawSpan) -> (entity: UInt16, key: UInt64) {
        let offset = referenceOffset &+ position &* widths.referenceByteCount
        assert(offset + widths.referenceByteCount <= endOffset, "reference \(position) of a row")
        switch widths.references {
        case 0: return (UInt16(row.byte(at: offset)), UInt64(row.number(at: offset + 1, as: UInt16.self)))
        case 1:
            let both = row.number(at: offset, as: UInt32.self)
            return (UInt16(both & 0xFF), UInt64(both >> 8))
        case 2: return (UInt16(row.byte(at: offset)), UInt64(row.number(at: offset + 1, as: UInt32.self)))
        default: return (row.number(at: offset), row.number(at: offset + 2))
        }
    }

    /// The end of the variable field at this position, counted from the variable part.
    @inline(__always)
    func end(at position: Int, _ row: RawSpan) -> Int {
        assert(endOffset + (position + 1) << widths.ends <= variableOffset, "end \(position) of a row")
        return Int(truncatingIfNeeded: row.unsigned(at: endOffset &+ position &<< widths.ends, power: widths.ends))
    }

    /// The range of the variable field at this position.
    @inline(__always)
    func range(at position: Int, _ row: RawSpan) -> Range<Int> {
        let start = position == 0 ? 0 : end(at: position - 1, row)
        assert(position >= 0 && start <= row.byteCount - variableOffset, "the row of field \(position) was not checked")
        return variableOffset + start..<variableOffset + end(at: position, row)
    }

    // MARK: Writing

    /// Writes the beginning of a row, up to its version, and zeros for all parts before the variable one.
    func begin(_ row: inout MutableRawSpan, _ layout: RowLayout, version: UInt64) {
        assert(layout.number > 0, "a layout has number 0")
        row.clear(0..<variableOffset)
        row.write(widths.byte, at: 0)
        if layout.extent.numberByteCount == 1 {
            row.write(UInt8(truncatingIfNeeded: layout.number), at: 1)
        } else {
            row.write(Self.longNumberMark, at: 1)
            row.write(layout.number, at: 2)
        }
        row.write(version, at: Self.versionOffset(row.bytes), power: widths.version)
        assert(Self.layoutNumber(row.bytes) == layout.number, "the row does not name layout \(layout.number)")
        assert(RowReader.version(of: row.bytes) == version, "the row does not hold version \(version)")
    }

    @inline(__always)
    func write(integer number: Int64, at position: Int, _ row: inout MutableRawSpan) {
        row.write(
            UInt64(bitPattern: number), at: integerOffset &+ position &<< widths.integers, power: widths.integers)
        assert(integer(at: position, row.bytes) == number, "invariant 1: the width does not hold \(number)")
    }

    @inline(__always)
    func write(reference: (entity: UInt16, key: UInt64), at position: Int, _ row: inout MutableRawSpan) {
        let offset = referenceOffset &+ position &* widths.referenceByteCount
        switch widths.references {
        case 0:
            row.write(UInt8(truncatingIfNeeded: reference.entity), at: offset)
            row.write(UInt16(truncatingIfNeeded: reference.key), at: offset + 1)
        case 1:
            row.write(UInt32(truncatingIfNeeded: reference.key) << 8 | UInt32(reference.entity), at: offset)
        case 2:
            row.write(UInt8(truncatingIfNeeded: reference.entity), at: offset)
            row.write(UInt32(truncatingIfNeeded: reference.key), at: offset + 1)
        default:
            row.write(reference.entity, at: offset)
            row.write(reference.key, at: offset + 2)
        }
        assert(
            self.reference(at: position, row.bytes) == reference, "invariant 1: the width does not hold \(reference)")
    }

    @inline(__always)
    func write(end: Int, at position: Int, _ row: inout MutableRawSpan) {
        assert(end >= 0, "a field ends at \(end)")
        row.write(UInt64(end), at: endOffset &+ position &<< widths.ends, power: widths.ends)
        assert(self.end(at: position, row.bytes) == end, "invariant 1: the width does not hold \(end)")
    }

    func setNull(_ place: RowLayout.Place, _ row: inout MutableRawSpan) {
        let offset = nullOffset + place.bit / 8
        assert(place.bit >= 0 && offset < fixedOffset, "null bit \(place.bit) of a row")
        row.write(row.bytes.byte(at: offset) | 1 << UInt8(place.bit % 8), at: offset)
    }

    func clearNull(_ place: RowLayout.Place, _ row: inout MutableRawSpan) {
        let offset = nullOffset + place.bit / 8
        assert(place.bit >= 0 && offset < fixedOffset, "null bit \(place.bit) of a row")
        row.write(row.bytes.byte(at: offset) & ~(1 << UInt8(place.bit % 8)), at: offset)
    }

    /// The bytes of a field outside the variable part; for a field of variable width, those of its end.
    func bytes(of place: RowLayout.Place) -> Range<Int> {
        let (start, count) =
            switch place.part {
            case .fixed: (fixedOffset + place.position, place.width)
            case .integers: (integerOffset + place.position << Int(widths.integers), 1 &<< widths.integers)
            case .references: (referenceOffset + place.position * widths.referenceByteCount, widths.referenceByteCount)
            case .variable: (endOffset + place.position << Int(widths.ends), 1 &<< widths.ends)
            }
        assert(start + count <= variableOffset, "the bytes of field \(place.bit) end at \(start + count)")
        return start..<start + count
    }
}

extension RawSpan {
    /// The signed integer of 1 << `power` bytes at `offset`.
    @inline(__always)
    fileprivate func signed(at offset: Int, power: Int) -> Int64 {
        switch power {
        case 0: Int64(number(at: offset, as: Int8.self))
        case 1: Int64(number(at: offset, as: Int16.self))
        case 2: Int64(number(at: offset, as: Int32.self))
        default: number(at: offset)
        }
    }

    /// The unsigned integer of 1 << `power` bytes at `offset`.
    @inline(__always)
    func unsigned(at offset: Int, power: Int) -> UInt64 {
        switch power {
        case 0: UInt64(number(at: offset, as: UInt8.self))
        case 1: UInt64(number(at: offset, as: UInt16.self))
        case 2: UInt64(number(at: offset, as: UInt32.self))
        default: number(at: offset)
        }
    }
}

extension MutableRawSpan {
    /// Writes the low 1 << `power` bytes of `number`.
    @inline(__always)
    mutating func write(_ number: UInt64, at offset: Int, power: Int) {
        assert(power >= 0 && power <= 3, "a number of 1 << \(power) bytes")
        switch power {
        case 0: write(UInt8(truncatingIfNeeded: number), at: offset)
        case 1: write(UInt16(truncatingIfNeeded: number), at: offset)
        case 2: write(UInt32(truncatingIfNeeded: number), at: offset)
        default: write(number, at: offset)
        }
    }
}
