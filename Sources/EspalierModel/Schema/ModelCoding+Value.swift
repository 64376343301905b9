// Encodes default values inside an encoded model: a code byte, followed by the content.
//
//   00 null   01 integer: uint, zigzag   02 decimal: byte sign, byte exponent + 128, 16 bytes significand
//   03 double: 8 bytes   04 float: 4 bytes   05 string: text   06 false   07 true
//   08 date: 8 bytes, seconds since 2001
//   09 binary: uint byte count, bytes   0A UUID: 16 bytes   0B URI: text   0C transformable: like binary
//   0D composite: list of (text name, value), sorted by name   0E decimal that is not a number
// Fixed-width numbers are little-endian. An object ID is not valid as a default; it is written as null.

import FoundationEssentials

extension ModelWriter {
    mutating func value(_ value: AttributeValue) {
        switch value {
        case .null, .objectID: bytes.append(0x00)
        case .integer(let integer):
            bytes.append(0x01)
            uint(UInt64(bitPattern: (integer << 1) ^ (integer >> 63)))
        case .decimal(let decimal):
            guard let parts = decimal.parts else { return bytes.append(0x0E) }
            bytes += [0x02, parts.isNegative ? 1 : 0, UInt8(truncatingIfNeeded: parts.exponent + 128)]
            fixed(parts.significand)
        case .double(let double):
            bytes.append(0x03)
            fixed(double.bitPattern)
        case .float(let float):
            bytes.append(0x04)
            fixed(float.bitPattern)
        case .string(let string):
            bytes.append(0x05)
            text(string)
        case .boolean(let boolean): bytes.append(boolean ? 0x07 : 0x06)
        case .date(let date):
            bytes.append(0x08)
            fixed(date.timeIntervalSinceReferenceDate.bitPattern)
        case .binary(let data):
            bytes.append(0x09)
            blob(data)
        case .uuid(let uuid):
            bytes.append(0x0A)
            let id = uuid.uuid
            bytes += [id.0, id.1, id.2, id.3, id.4, id.5, id.6, id.7]
            bytes += [id.8, id.9, id.10, id.11, id.12, id.13, id.14, id.15]
        case .uri(let uri):
            bytes.append(0x0B)
            text(uri.absoluteString)
        case .transformable(let data):
            bytes.append(0x0C)
            blob(data)
        case .composite(let parts):
            bytes.append(0x0D)
            list(parts.sorted { $0.key < $1.key }) { writer, part in
                writer.text(part.key)
                writer.value(part.value)
            }
        }
    }

    private mutating func fixed<Number: FixedWidthInteger>(_ number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension ModelReader {
    mutating func value(depth: Int) throws(ModelCodingError) -> AttributeValue {
        guard depth <= ModelChecker.compositeDepthMax else { throw error(.tooDeep(ModelChecker.compositeDepthMax)) }
        let start = position
        let code = try byte()
        switch code {
        case 0x00: return .null
        case 0x01:
            let zigzag = try uint()
            return .integer(Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1))
        case 0x02: return try decimal(from: start)
        case 0x03: return .double(Double(bitPattern: try number()))
        case 0x04: return .float(Float(bitPattern: try number()))
        case 0x05: return .string(try text())
        case 0x06: return .boolean(false)
        case 0x07: return .boolean(true)
        case 0x08: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try number())))
        case 0x09: return .binary(Data(try blob()))
        case 0x0A: return .uuid(try uuid())
        case 0x0B:
            guard let uri = URL(string: try text()) else { throw error(.malformedValue("URI"), at: start) }
            return .uri(uri)
        case 0x0C: return .transformable(Data(try blob()))
        case 0x0D:
            var parts: [String: AttributeValue] = [:]
            for _ in 0..<(try count()) {
                let nameOffset = position
                let name = try text()
                guard parts.updateValue(try value(depth: depth + 1), forKey: name) == nil else {
                    throw error(.malformedValue("composite: it has an element twice"), at: nameOffset)
                }
            }
            return .composite(parts)
        case 0x0E: return .decimal(.nan)
        default: throw error(.unknownCode("a value", UInt64(code)), at: start)
        }
    }

    private mutating func decimal(from start: Int) throws(ModelCodingError) -> AttributeValue {
        let isNegative = try flag("a decimal")
        let exponent = Int(try byte()) - 128
        let significand: UInt128 = try number()
        guard let decimal = Decimal(isNegative: isNegative, significand: significand, exponent: exponent) else {
            throw error(.malformedValue("decimal"), at: start)
        }
        return .decimal(decimal)
    }

    private mutating func number<Number: FixedWidthInteger>() throws(ModelCodingError) -> Number {
        var number: Number = 0
        for byte in try fixed(Number.bitWidth / 8).reversed() { number = number << 8 | Number(byte) }
        return number
    }

    private mutating func uuid() throws(ModelCodingError) -> UUID {
        let id = Array(try fixed(16))
        return UUID(
            uuid: (
                id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13],
                id[14], id[15]
            ))
    }
}
