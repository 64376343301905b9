// Normalized keys: values as bytes whose unsigned lexicographic order is the order of the values.
//
// Rules (on disk: never change; another encoding would be another kind of index)
//   1. One value: 00 for null, else 01 and its code. No code is a prefix of another of the same type, so codes follow
//      each other without separators and a compound key orders by its first value, then the second ...
//   2. Whole numbers: big-endian, sign bit flipped, as wide as the type. Boolean: 00 or 01.
//   3. Double, float, date (seconds since 2001): IEEE bits, all inverted if negative, else only the sign bit; -0 is 0,
//      all NaN are the same one after infinity.
//   4. Text: UTF-8 of its canonical composition, folded if the index says so; 00 becomes 00 FF; 00 00 ends it. URI: the
//      same of its text. Binary and transformable: the same of their bytes. Composite: the same of its tagged coding.
//   5. Decimal: 01 negative, 02 zero, 03 positive, 04 NaN; then, if not zero, the exponent of its first digit + 8000h
//      (2 bytes), digit pairs + 1 (a byte each), 00. After 01 all bytes are inverted.
//   6. UUID: its 16 bytes. Reference: entity number (2 bytes), primary key (8 bytes), big-endian.
//   7. Descending: all bytes of the value inverted, the null mark too.
//   8. Number of any type, which the expression of an index has: the code of the greatest double that is not above it,
//      then 00 if it is that double, else 01 and its code as a decimal. Equal numbers of different types have one code.
// Not here: how keys that are too long are cut (GroupKey).

package import EspalierModel
internal import FoundationEssentials

/// The order-preserving encoding of values (engine design 2.5).
package enum KeyCoding {
    package typealias Options = FetchPredicate.Comparison.Options

    /// First byte of null.
    static let nullMark: UInt8 = 0
    /// First byte of every other value.
    static let valueMark: UInt8 = 1

    /// Appends the code of `value`, which `type` accepts; an object ID has to be appended as a reference instead.
    ///
    /// The type `undefined` stands for numbers of all types.
    ///
    /// - Complexity: O(bytes of the value); no allocation besides the growth of `key`, for text in ASCII.
    package static func append(
        _ value: AttributeValue, as type: AttributeType, options: Options = [], isAscending: Bool = true,
        to key: inout [UInt8]
    ) {
        let start = key.count
        if value.isNull {
            key.append(nullMark)
        } else {
            key.append(valueMark)
            appendCode(value, as: type, options: options, to: &key)
        }
        if !isAscending { invert(&key, from: start) }
    }

    /// Appends the code of a reference to a row; `nil` is null.
    package static func append(
        reference: (entity: UInt16, key: UInt64)?, isAscending: Bool = true, to key: inout [UInt8]
    ) {
        let start = key.count
        if let reference {
            key.append(valueMark)
            key.append(bigEndian: reference.entity)
            key.append(bigEndian: reference.key)
        } else {
            key.append(nullMark)
        }
        if !isAscending { invert(&key, from: start) }
    }

    /// Appends the common prefix of the codes of all texts that begin with `prefix`.
    package static func append(
        textPrefix prefix: String, options: Options = [], isAscending: Bool = true, to key: inout [UInt8]
    ) {
        let start = key.count
        key.append(valueMark)
        appendEscaped(TextFolding.folded(prefix, options).utf8, to: &key)
        if !isAscending { invert(&key, from: start) }
    }

    private static func appendCode(
        _ value: AttributeValue, as type: AttributeType, options: Options, to key: inout [UInt8]
    ) {
        if type == .undefined, let below = value.doubleBelow { return append(value, above: below, to: &key) }
        switch value {
        case .integer(let number): append(number, as: type, to: &key)
        case .boolean(let bit): key.append(bit ? 1 : 0)
        case .double(let number): append(number, to: &key)
        case .date(let date): append(date.timeIntervalSinceReferenceDate, to: &key)
        case .float(let number): append(number, to: &key)
        case .string(let text): append(text, options, to: &key)
        case .uri(let uri): append(uri.absoluteString, options, to: &key)
        case .binary(let bytes), .transformable(let bytes):
            appendEscaped(bytes, to: &key)
            key.append(bigEndian: UInt16(0))
        case .decimal(let number): append(number, to: &key)
        case .uuid(let uuid):
            // SAFETY: the buffer of the local copy does not leave the closure.
            unsafe withUnsafeBytes(of: uuid.uuid) { unsafe key.append(contentsOf: $0) }
        case .composite:
            var bytes: [UInt8] = []
            TaggedValue.append(value, to: &bytes)
            appendEscaped(bytes, to: &key)
            key.append(bigEndian: UInt16(0))
        case .objectID, .null:
            preconditionFailure("a reference or null is coded as a value")
        }
    }

    /// Appends the code of a number of any type, of which `below` is the greatest double that is not above it.
    private static func append(
        _ number: AttributeValue, above below: (double: Double, isEqual: Bool), to key: inout [UInt8]
    ) {
        append(below.double, to: &key)
        key.append(below.isEqual ? 0 : 1)
        switch number {
        case .integer(let whole) where !below.isEqual:
            appendDecimal((whole < 0, UInt128(whole.magnitude), 0), to: &key)
        case .decimal(let decimal) where !below.isEqual: append(decimal, to: &key)
        default: assert(below.isEqual, "\(number) is no double, whole number or decimal")
        }
    }

    private static func append(_ number: Int64, as type: AttributeType, to key: inout [UInt8]) {
        assert(type != .integer16 || Int16(exactly: number) != nil, "\(number) has no code of two bytes")
        assert(type != .integer32 || Int32(exactly: number) != nil, "\(number) has no code of four bytes")
        switch type {
        case .integer16: key.append(bigEndian: UInt16(bitPattern: Int16(truncatingIfNeeded: number)) ^ 0x8000)
        case .integer32: key.append(bigEndian: UInt32(bitPattern: Int32(truncatingIfNeeded: number)) ^ 0x8000_0000)
        default: key.append(bigEndian: UInt64(bitPattern: number) ^ (1 << 63))
        }
    }

    private static func append(_ number: Double, to key: inout [UInt8]) {
        let bits = (number.isNaN ? Double.nan : number == 0 ? 0 : number).bitPattern
        assert(bits != (-0.0).bitPattern, "-0 has a code of its own")
        key.append(bigEndian: bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    private static func append(_ number: Float, to key: inout [UInt8]) {
        let bits = (number.isNaN ? Float.nan : number == 0 ? 0 : number).bitPattern
        assert(bits != (-0.0 as Float).bitPattern, "-0 has a code of its own")
        key.append(bigEndian: bits >> 31 == 1 ? ~bits : bits | 1 << 31)
    }

    private static func append(_ text: String, _ options: Options, to key: inout [UInt8]) {
        if !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive, .numeric, .natural])
            || !appendPlain(text, to: &key)
        {
            appendEscaped(TextFolding.folded(text, options).utf8, to: &key)
        }
        key.append(0)
        key.append(0)
    }

    /// Appends text that is plain, as a whole; returns `false` for other text.
    private static func appendPlain(_ text: String, to key: inout [UInt8]) -> Bool {
        // SAFETY: the buffer does not leave the closure.
        unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            guard unsafe TextFolding.isPlain(bytes) else { return false }
            unsafe key.append(contentsOf: bytes)
            return true
        } ?? false
    }

    private static func appendEscaped<Bytes: Sequence<UInt8>>(_ bytes: Bytes, to key: inout [UInt8]) {
        // SAFETY: the buffer does not leave the closure. Most text holds no zero and is copied as a whole.
        let isWhole = bytes.withContiguousStorageIfAvailable { bytes in
            guard unsafe !bytes.contains(0) else { return false }
            unsafe key.append(contentsOf: bytes)
            return true
        }
        guard isWhole != true else { return }
        for byte in bytes {
            key.append(byte)
            if byte == 0 { key.append(0xFF) }
        }
    }

    private static func append(_ number: Decimal, to key: inout [UInt8]) {
        guard let parts = number.parts else { return key.append(4) }
        appendDecimal(parts, to: &key)
    }

    private static func appendDecimal(
        _ parts: (isNegative: Bool, significand: UInt128, exponent: Int), to key: inout [UInt8]
    ) {
        guard parts.significand != 0 else { return key.append(2) }
        var digits = Array(parts.significand.description.utf8).map { $0 - UInt8(ascii: "0") }
        let exponent = parts.exponent + digits.count - 1
        while digits.last == 0 { digits.removeLast() }
        if digits.count % 2 == 1 { digits.append(0) }
        assert(digits.count % 2 == 0 && !digits.isEmpty, "\(digits.count) digits are not pairs")
        key.append(parts.isNegative ? 1 : 3)
        let start = key.count
        assert(exponent >= -0x8000 && exponent < 0x8000, "exponent \(exponent) does not fit into two bytes")
        key.append(bigEndian: UInt16(0x8000 + exponent))
        for index in stride(from: 0, to: digits.count, by: 2) { key.append(digits[index] * 10 + digits[index + 1] + 1) }
        key.append(0)
        if parts.isNegative { invert(&key, from: start) }
    }

    static func invert(_ key: inout [UInt8], from start: Int) {
        assert(start >= 0 && start <= key.count, "a code begins at \(start) of \(key.count) bytes")
        for index in start..<key.count { key[index] = ~key[index] }
    }
}
