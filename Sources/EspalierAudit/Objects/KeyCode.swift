// ObjectFormat.md, section 8: the codes of values in the keys of groups.

// The standard library exposes its NFC normalization only under this SPI name.
@_spi(_Unicode) import Swift

/// Checks and normalizes text that is stored as bytes.
enum Text {
    /// Whether the bytes are valid UTF-8; ASCII is checked eight bytes at a time.
    static func isValid(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        isASCII(bytes, range) || String(validating: bytes[range], as: UTF8.self) != nil
    }

    private static func isASCII(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound {
            guard bytes.u64(offset) & 0x8080_8080_8080_8080 == 0 else { return false }
            offset += 8
        }
        while offset < range.upperBound {
            guard bytes.u8(offset) < 0x80 else { return false }
            offset += 1
        }
        return true
    }

    /// Appends the UTF-8 of the text in NFC.
    ///
    /// The bytes must be valid UTF-8.
    static func appendComposed(_ bytes: [UInt8], _ range: Range<Int>, to code: inout [UInt8]) {
        guard !isASCII(bytes, range) else { return KeyCode.appendEscaped(bytes[range], to: &code) }
        var composed = String.UnicodeScalarView()
        for scalar in String(decoding: bytes[range], as: UTF8.self)._nfc { composed.append(scalar) }
        KeyCode.appendEscaped(ArraySlice(Array(String(composed).utf8)), to: &code)
    }
}

/// Builds and reads codes.
enum KeyCode {
    /// The most bytes of codes that a key holds; longer codes are cut.
    static let byteCountMax = 512

    /// Appends the code of a field.
    ///
    /// - Parameter field: `nil` if the layout lacks the field; the code is then that of null.
    /// - Returns: whether the value is null.
    static func append(_ field: Int?, of row: RowBytes, isAscending: Bool, to code: inout [UInt8]) -> Bool {
        let start = code.count
        let isNull = field.map(row.isNull) ?? true
        if let field, !isNull {
            code.append(1)
            appendContent(field, of: row, to: &code)
        } else {
            code.append(0)
        }
        if !isAscending { for index in start..<code.count { code[index] = ~code[index] } }
        return isNull
    }

    static func appendEscaped(_ bytes: ArraySlice<UInt8>, to code: inout [UInt8]) {
        guard bytes.contains(0) else { return code.append(contentsOf: bytes) }
        for byte in bytes {
            code.append(byte)
            if byte == 0 { code.append(0xFF) }
        }
    }

    /// Appends the `byteCount` low bytes of a number, big-endian.
    static func append(_ number: UInt64, byteCount: Int = 8, to code: inout [UInt8]) {
        for index in 0..<byteCount {
            code.append(UInt8(truncatingIfNeeded: number &>> UInt64(8 * (byteCount - 1 - index))))
        }
    }

    private static func appendContent(_ field: Int, of row: RowBytes, to code: inout [UInt8]) {
        let (bytes, range) = (row.bytes, row.range(field))
        switch row.plan.fields[field].kind {
        case nil:
            let reference = row.reference(field)
            append(UInt64(reference.entityNumber), byteCount: 2, to: &code)
            append(reference.key, to: &code)
        case .integer16: append(UInt64(bitPattern: row.integer(field)) ^ 1 << 15, byteCount: 2, to: &code)
        case .integer32: append(UInt64(bitPattern: row.integer(field)) ^ 1 << 31, byteCount: 4, to: &code)
        case .integer64: append(UInt64(bitPattern: row.integer(field)) ^ 1 << 63, to: &code)
        case .boolean, .uuid: code.append(contentsOf: bytes[range])
        case .double, .date: appendDouble(bytes.u64(range.lowerBound), to: &code)
        case .float: appendFloat(bytes.u32(range.lowerBound), to: &code)
        case .string, .uri:
            Text.appendComposed(bytes, range, to: &code)
            code.append(contentsOf: [0, 0])
        case .decimal: appendDecimal(bytes, range.lowerBound, to: &code)
        case .binary, .transformable, .composite, .undefined, .objectID:
            appendEscaped(bytes[range], to: &code)
            code.append(contentsOf: [0, 0])
        }
    }

    private static func appendDouble(_ stored: UInt64, to code: inout [UInt8]) {
        let number = Double(bitPattern: stored)
        let bits: UInt64 = number.isNaN ? 0x7FF8_0000_0000_0000 : number == 0 ? 0 : stored
        append(bits >> 63 == 1 ? ~bits : bits | 1 << 63, to: &code)
    }

    private static func appendFloat(_ stored: UInt32, to code: inout [UInt8]) {
        let number = Float(bitPattern: stored)
        let bits: UInt32 = number.isNaN ? 0x7FC0_0000 : number == 0 ? 0 : stored
        append(UInt64(bits >> 31 == 1 ? ~bits : bits | 1 << 31), byteCount: 4, to: &code)
    }

    private static func appendDecimal(_ bytes: [UInt8], _ offset: Int, to code: inout [UInt8]) {
        let (exponent, sign) = (Int(Int8(bitPattern: bytes.u8(offset))), bytes.u8(offset + 1))
        var rest = UInt128(bytes.u64(offset + 10)) << 64 | UInt128(bytes.u64(offset + 2))
        guard sign != 2 else { return code.append(4) }
        guard rest != 0 else { return code.append(2) }
        // The last digit comes first.
        var digits: [UInt8] = []
        while rest != 0 {
            digits.append(UInt8(rest % 10))
            rest /= 10
        }
        let first = exponent + digits.count - 1
        var significant = Array(digits.drop { $0 == 0 }.reversed())
        if significant.count % 2 == 1 { significant.append(0) }
        code.append(sign == 1 ? 1 : 3)
        let start = code.count
        append(UInt64(0x8000 + first), byteCount: 2, to: &code)
        for index in stride(from: 0, to: significant.count, by: 2) {
            code.append(significant[index] * 10 + significant[index + 1] + 1)
        }
        code.append(0)
        if sign == 1 { for index in start..<code.count { code[index] = ~code[index] } }
    }

    // MARK: Reading

    /// Whether one of the coded values is null; `nil` if the bytes are not codes of the group.
    ///
    /// - Parameter codes: codes that were not cut.
    static func hasNull(_ codes: ArraySlice<UInt8>, _ group: KeyGroup) -> Bool? {
        var rest = codes
        var hasNull = false
        for element in group.elements {
            let mask: UInt8 = element.isAscending ? 0 : 0xFF
            guard let mark = rest.popFirst() else { return nil }
            switch mark ^ mask {
            case 0: hasNull = true
            case 1: guard skip(element.kind, mask, &rest) else { return nil }
            default: return nil
            }
        }
        return rest.isEmpty ? hasNull : nil
    }

    private static func skip(_ kind: AttributeKind?, _ mask: UInt8, _ rest: inout ArraySlice<UInt8>) -> Bool {
        let count: Int
        switch kind {
        case nil: count = 10
        case .integer16: count = 2
        case .integer32, .float: count = 4
        case .integer64, .double, .date: count = 8
        case .boolean: count = 1
        case .uuid: count = 16
        case .decimal:
            guard let sign = rest.popFirst() else { return false }
            guard sign ^ mask == 1 || sign ^ mask == 3 else { return true }
            let end: UInt8 = sign ^ mask == 1 ? ~mask : mask
            guard rest.count > 2, let last = rest.dropFirst(2).firstIndex(of: end) else { return false }
            rest = rest[(last + 1)...]
            return true
        case .string, .uri, .binary, .transformable, .composite, .undefined, .objectID:
            while let byte = rest.popFirst() {
                guard byte == mask else { continue }
                guard let next = rest.popFirst() else { return false }
                if next == mask { return true }
            }
            return false
        }
        guard rest.count >= count else { return false }
        rest = rest.dropFirst(count)
        return true
    }
}
