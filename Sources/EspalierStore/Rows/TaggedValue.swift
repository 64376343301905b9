// A value encoded with its type: for metadata and the parts of composites.
//
// Layout (little-endian, on disk): type number u16 (0 = null), then the value:
//   integer 8 bytes | double, date 8 | float 4 | boolean 1 | uuid 16 | decimal 18 (DecimalBytes) |
//   string, uri, binary, transformable: length u32, bytes | composite: count u32, then name (length u32, bytes) and
//   tagged value of each part, in ascending order of the names' UTF-8.
// Rules: the bytes are untrusted; nesting is at most `depthMax`; integers of all widths are of type 300.

package import EspalierModel
internal import FoundationEssentials

/// The self-describing encoding of one value.
package enum TaggedValue {
    /// The deepest nesting of composites.
    static let depthMax = 16

    /// Appends `value`.
    ///
    /// Object IDs mean nothing in a file and are written as null.
    package static func append(_ value: AttributeValue, to bytes: inout [UInt8]) {
        func tag(_ type: AttributeType) { bytes.append(littleEndian: type.rawValue) }
        func block<Bytes: Collection<UInt8>>(_ content: Bytes) {
            bytes.append(littleEndian: UInt32(content.count))
            bytes.append(contentsOf: content)
        }
        switch value {
        case .null, .objectID: tag(.undefined)
        case .integer(let number):
            tag(.integer64)
            bytes.append(littleEndian: number)
        case .decimal(let number):
            tag(.decimal)
            DecimalBytes.append(number, to: &bytes)
        case .double(let number):
            tag(.double)
            bytes.append(littleEndian: number.bitPattern)
        case .float(let number):
            tag(.float)
            bytes.append(littleEndian: number.bitPattern)
        case .date(let date):
            tag(.date)
            bytes.append(littleEndian: date.timeIntervalSinceReferenceDate.bitPattern)
        case .boolean(let bit):
            tag(.boolean)
            bytes.append(bit ? 1 : 0)
        case .uuid(let uuid):
            tag(.uuid)
            bytes.append(contentsOf: uuid.bytes)
        case .string(let text):
            tag(.string)
            block(text.utf8)
        case .uri(let uri):
            tag(.uri)
            block(uri.absoluteString.utf8)
        case .binary(let content):
            tag(.binary)
            block(content)
        case .transformable(let content):
            tag(.transformable)
            block(content)
        case .composite(let parts):
            tag(.composite)
            bytes.append(littleEndian: UInt32(parts.count))
            for (name, part) in parts.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                block(name.utf8)
                append(part, to: &bytes)
            }
        }
    }

    /// Whether `decode` can read a value: composites nest less than `depthMax` deep.
    static func isReadable(_ value: AttributeValue, depth: Int = 0) -> Bool {
        guard depth < depthMax else { return false }
        guard case .composite(let parts) = value else { return true }
        return parts.values.allSatisfy { isReadable($0, depth: depth + 1) }
    }

    /// The value that `bytes` encode as a whole; `nil` if they are not a tagged value.
    package static func decode(_ bytes: [UInt8]) -> AttributeValue? {
        var reader = Reader(bytes: bytes)
        guard let value = reader.value(depth: 0), reader.offset == bytes.count else { return nil }
        assert(isReadable(value), "\(bytes.count) bytes were decoded to a value that nests more than \(depthMax) deep")
        return value
    }

    private struct Reader {
        let bytes: [UInt8]
        var offset = 0

        mutating func value(depth: Int) -> AttributeValue? {
            guard depth < TaggedValue.depthMax, let tag = number(UInt16.self), let type = AttributeType(rawValue: tag)
            else { return nil }
            switch type {
            case .undefined: return .null
            case .integer64: return number(Int64.self).map { .integer($0) }
            case .decimal: return take(DecimalBytes.count).flatMap { DecimalBytes.decode($0) }.map { .decimal($0) }
            case .double: return number(UInt64.self).map { .double(Double(bitPattern: $0)) }
            case .float: return number(UInt32.self).map { .float(Float(bitPattern: $0)) }
            case .date:
                return number(UInt64.self).map {
                    .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0)))
                }
            case .boolean: return number(UInt8.self).flatMap { $0 > 1 ? nil : .boolean($0 == 1) }
            case .uuid: return take(16).map { .uuid(UUID(bytes: Array($0))) }
            case .string: return text().map { .string($0) }
            case .uri: return text().flatMap { URL(string: $0) }.map { .uri($0) }
            case .binary: return block().map { .binary(Data($0)) }
            case .transformable: return block().map { .transformable(Data($0)) }
            case .composite: return composite(depth: depth)
            case .integer16, .integer32, .objectID: return nil
            }
        }

        private mutating func composite(depth: Int) -> AttributeValue? {
            // Each part has at least six bytes, which bounds the number of parts that a damaged count can ask for.
            guard let count = number(UInt32.self), Int(count) <= (bytes.count - offset) / 6 else { return nil }
            var parts: [String: AttributeValue] = [:]
            for _ in 0..<count {
                guard let name = text(), let part = value(depth: depth + 1) else { return nil }
                parts[name] = part
            }
            return .composite(parts)
        }

        private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            assert(count >= 0 && offset <= bytes.count, "\(count) bytes at \(offset) of \(bytes.count)")
            guard bytes.count - offset >= count else { return nil }
            defer { offset += count }
            return bytes[offset..<offset + count]
        }

        private mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type) -> Number? {
            let start = offset
            guard take(MemoryLayout<Number>.size) != nil else { return nil }
            return bytes.number(at: start)
        }

        private mutating func block() -> ArraySlice<UInt8>? {
            number(UInt32.self).flatMap { take(Int($0)) }
        }

        private mutating func text() -> String? { block().flatMap { String(validating: $0, as: UTF8.self) } }
    }
}

/// A decimal in 18 bytes: exponent i8, sign u8 (0 positive, 1 negative, 2 NaN), significand u128, little-endian.
enum DecimalBytes {
    static let count = 18

    static func append(_ number: Decimal, to bytes: inout [UInt8]) {
        let start = bytes.count
        let parts = number.parts
        bytes.append(UInt8(bitPattern: Int8(parts?.exponent ?? 0)))
        bytes.append(parts.map { $0.isNegative ? 1 : 0 } ?? 2)
        bytes.append(littleEndian: parts?.significand ?? 0)
        assert(bytes.count - start == count, "a decimal of \(bytes.count - start) bytes")
    }

    static func decode(_ bytes: ArraySlice<UInt8>) -> Decimal? {
        guard bytes.count == count else { return nil }
        let start = bytes.startIndex
        if bytes[start + 1] == 2 { return Decimal.nan }
        let significand = bytes[(start + 2)...].reversed().reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        return Decimal(
            isNegative: bytes[start + 1] == 1, significand: significand,
            exponent: Int(Int8(bitPattern: bytes[start])))
    }
}
