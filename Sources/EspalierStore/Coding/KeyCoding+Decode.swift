// Reading normalized keys back, for checks, tools, and questions that the entries of an index answer without rows.
//
// Invariants
//   1. The value that is read compares as equal to the one that was encoded, unless the index has folded a text.
//   2. If `isFaithful` is true, no other value has the same code, so that it is the encoded one. It is true for null,
//      whole numbers, booleans, UUIDs and bytes, and for every double, float and date but 0 (which has the code of -0)
//      and NaN; for a text or URI, if it is in ASCII without three characters (`TextFolding.hasOneForm`); never for a
//      decimal, whose code drops zeros at the end of its digits, and for numbers of all types, which share codes.
//   3. A text that is no URI reads as null, as it does in a row, and is not faithful: the row has the last word.

package import EspalierModel
internal import FoundationEssentials

/// Reads the values of a normalized key, one after another.
package struct KeyReader {
    private let bytes: [UInt8]
    /// The offset of the next value.
    package private(set) var offset = 0
    /// Whether the value that was read last is the only one with its code (invariant 2).
    package private(set) var isFaithful = true

    /// Reads `bytes` from their beginning.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next value; `nil` if the bytes are not the code of a value of `type` (damaged, cut, or of a reference).
    ///
    /// The type `undefined` stands for numbers of all types.
    package mutating func next(as type: AttributeType, isAscending: Bool = true) -> AttributeValue? {
        let mask: UInt8 = isAscending ? 0 : 0xFF
        isFaithful = true
        guard let mark = byte(mask) else { return nil }
        guard mark == KeyCoding.valueMark else { return mark == KeyCoding.nullMark ? .null : nil }
        switch type {
        case .integer16: return number(UInt16.self, mask).map { .integer(Int64(Int16(bitPattern: $0 ^ 0x8000))) }
        case .integer32: return number(UInt32.self, mask).map { .integer(Int64(Int32(bitPattern: $0 ^ 1 << 31))) }
        case .integer64: return number(UInt64.self, mask).map { .integer(Int64(bitPattern: $0 ^ 1 << 63)) }
        case .boolean: return byte(mask).flatMap { $0 > 1 ? nil : .boolean($0 == 1) }
        case .double: return double(mask).map { .double($0) }
        case .date: return double(mask).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .float: return float(mask).map { .float($0) }
        case .string: return text(mask).map { .string($0) }
        case .uri:
            guard let text = text(mask) else { return nil }
            return uri(text)
        case .binary: return escaped(mask).map { .binary(Data($0)) }
        case .transformable: return escaped(mask).map { .transformable(Data($0)) }
        case .composite: return escaped(mask).flatMap { TaggedValue.decode($0) }
        case .decimal: return decimal(mask).map { .decimal($0) }
        case .uuid: return take(16, mask).map { .uuid(UUID(bytes: $0)) }
        case .undefined: return number(mask)
        case .objectID: return nil
        }
    }

    /// The next value as a reference: `.some(nil)` is null, `nil` means that the bytes are no reference.
    package mutating func nextReference(isAscending: Bool = true) -> (entity: UInt16, key: UInt64)?? {
        let mask: UInt8 = isAscending ? 0 : 0xFF
        isFaithful = true
        guard let mark = byte(mask) else { return nil }
        if mark == KeyCoding.nullMark { return .some(nil) }
        guard mark == KeyCoding.valueMark, let entity = number(UInt16.self, mask), let key = number(UInt64.self, mask)
        else { return nil }
        return (entity, key)
    }

    private mutating func take(_ count: Int, _ mask: UInt8) -> [UInt8]? {
        assert(count >= 0 && offset <= bytes.count, "\(count) bytes at \(offset) of \(bytes.count)")
        guard bytes.count - offset >= count else { return nil }
        defer { offset += count }
        return bytes[offset..<offset + count].map { $0 ^ mask }
    }

    private mutating func byte(_ mask: UInt8) -> UInt8? {
        assert(offset <= bytes.count, "byte \(offset) of \(bytes.count)")
        guard offset < bytes.count else { return nil }
        defer { offset += 1 }
        return bytes[offset] ^ mask
    }

    private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type, _ mask: UInt8) -> Number? {
        assert(offset <= bytes.count, "a number at byte \(offset) of \(bytes.count)")
        let end = offset + MemoryLayout<Number>.size
        guard end <= bytes.count else { return nil }
        var bits: Number = 0
        for index in offset..<end { bits = bits << 8 | Number(truncatingIfNeeded: bytes[index] ^ mask) }
        offset = end
        return bits
    }

    private mutating func double(_ mask: UInt8) -> Double? {
        guard let bits = number(UInt64.self, mask) else { return nil }
        return noted(Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits))
    }

    private mutating func float(_ mask: UInt8) -> Float? {
        guard let bits = number(UInt32.self, mask) else { return nil }
        return noted(Float(bitPattern: bits >> 31 == 1 ? bits & ~(1 << 31) : ~bits))
    }

    /// The number, after noting whether another one has its code: 0 and -0 share one, and so do all NaN.
    private mutating func noted<Number: BinaryFloatingPoint>(_ number: Number) -> Number {
        isFaithful = number != 0 && !number.isNaN
        return number
    }

    /// A number of any type, of which the code has the value alone.
    private mutating func number(_ mask: UInt8) -> AttributeValue? {
        guard let below = double(mask), let mark = byte(mask), mark <= 1 else { return nil }
        isFaithful = false
        return mark == 0 ? .double(below) : decimal(mask).map { .decimal($0) }
    }

    private mutating func text(_ mask: UInt8) -> String? {
        guard let utf8 = escaped(mask), let text = String(validating: utf8, as: UTF8.self) else { return nil }
        isFaithful = TextFolding.hasOneForm(utf8)
        return text
    }

    private mutating func uri(_ text: String) -> AttributeValue {
        if let uri = URL(string: text) { return .uri(uri) }
        isFaithful = false
        return .null
    }

    private mutating func escaped(_ mask: UInt8) -> [UInt8]? {
        var plain: [UInt8] = []
        while let next = byte(mask) {
            guard next == 0 else {
                plain.append(next)
                continue
            }
            guard let mark = byte(mask), mark == 0 || mark == 0xFF else { return nil }
            if mark == 0 { return plain }
            plain.append(0)
        }
        return nil
    }

    private mutating func decimal(_ mask: UInt8) -> Decimal? {
        isFaithful = false
        guard let kind = byte(mask) else { return nil }
        switch kind {
        case 2: return 0
        case 4: return Decimal.nan
        case 1, 3: break
        default: return nil
        }
        let mask = kind == 1 ? ~mask : mask
        guard let biased = number(UInt16.self, mask) else { return nil }
        var (significand, digitCount): (UInt128, Int) = (0, 0)
        while true {
            guard let pair = byte(mask), pair <= 100 else { return nil }
            guard pair != 0 else { break }
            // The last of 39 digits is followed by a zero that fills its pair and may not fit any more.
            for digit in [(pair - 1) / 10, (pair - 1) % 10] where digit != 0 || digitCount < 39 {
                let (shifted, overflow) = significand.multipliedReportingOverflow(by: 10)
                let (next, carry) = shifted.addingReportingOverflow(UInt128(digit))
                guard !overflow, !carry else { return nil }
                (significand, digitCount) = (next, digitCount + 1)
            }
        }
        var exponent = Int(biased) - 0x8000 + 1 - digitCount
        while significand != 0, exponent < 127, significand % 10 == 0 {
            significand /= 10
            exponent += 1
        }
        while exponent > 127, significand <= UInt128.max / 10 {
            significand *= 10
            exponent -= 1
        }
        return Decimal(isNegative: kind == 1, significand: significand, exponent: exponent)
    }
}

extension UUID {
    /// The UUID with these 16 bytes.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has \(bytes.count) bytes")
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        // SAFETY: both sides have 16 bytes.
        unsafe withUnsafeMutableBytes(of: &uuid) { unsafe $0.copyBytes(from: bytes) }
        self.init(uuid: uuid)
    }

    /// The 16 bytes.
    var bytes: [UInt8] {
        // SAFETY: the buffer of the local copy does not leave the closure.
        unsafe withUnsafeBytes(of: uuid) { unsafe [UInt8]($0) }
    }
}
