// Reads binary property lists: a table of objects that refer to each other by number.
//
// Invariants
//   1. Any bytes give a list or an error. References are not followed during reading, so there is no recursion.
//   2. Memory is bounded by the input: the contents of all objects together may not exceed the size of the file, so a
//      file in which many objects share the same bytes is refused.
//
// Layout (version 00): "bplist00", the objects, a table of their offsets, and a trailer of 32 bytes. All numbers are
// big-endian. The trailer has 6 unused bytes, the size of an offset, the size of a reference, and then, in 8 bytes
// each, the number of objects, the number of the top object, and the offset of the table. An object begins with one
// byte: the upper half is its kind, the lower half its size.

/// The bytes are not a binary property list.
package struct BinaryPropertyListError: Error {
    package let byteOffset: Int
    /// A description of the fault at that offset.
    package let message: String
}

/// The objects of a binary property list.
package struct BinaryPropertyList {
    /// One object.
    package enum Value: Equatable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case real(Double)
        /// Seconds since the start of 2001, UTC.
        case date(Double)
        case data([UInt8])
        case string(String)
        /// The number of an object in a keyed archive.
        case reference(Int)
        /// The numbers of the items.
        case array([Int])
        /// The numbers of the keys and values, pairwise.
        case dictionary(keys: [Int], values: [Int])
    }

    /// The maximum number of objects.
    static let objectCountMax = 262_144

    /// All objects, by number.
    package let objects: [Value]
    /// The number of the top object.
    package let top: Int

    /// Reads `bytes`.
    ///
    /// - Complexity: O(bytes).
    package init(_ bytes: [UInt8]) throws(BinaryPropertyListError) {
        var reader = BinaryPropertyListReader(bytes: bytes)
        (objects, top) = try reader.read()
    }
}

private struct BinaryPropertyListReader {
    /// The upper half of the first byte of an object.
    private enum Kind: UInt8 {
        case plain = 0, integer, real, date, data, ascii, utf16
        case reference = 8
        case array = 10
        case set = 12
        case dictionary = 13
    }

    let bytes: [UInt8]
    /// The remaining number of bytes of text, data and references that may be read.
    private var budget: Int
    private var referenceSize = 0

    init(bytes: [UInt8]) { (self.bytes, budget) = (bytes, bytes.count) }

    mutating func read() throws(BinaryPropertyListError) -> ([BinaryPropertyList.Value], top: Int) {
        guard bytes.starts(with: Array("bplist00".utf8)), bytes.count >= 40 else {
            throw error(0, "this is not a binary property list of version 00")
        }
        let trailer = bytes.count - 32
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        let (count, top) = (try number(at: trailer + 8, size: 8), try number(at: trailer + 16, size: 8))
        let table = try number(at: trailer + 24, size: 8)
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw error(trailer, "the sizes of offsets and references are impossible")
        }
        guard (1...BinaryPropertyList.objectCountMax).contains(count), top < count else {
            throw error(trailer, "the number of objects is impossible, or greater than the limit")
        }
        guard table <= trailer, count <= (trailer - table) / offsetSize else {
            throw error(trailer, "the offset table is outside of the file")
        }
        var objects: [BinaryPropertyList.Value] = []
        objects.reserveCapacity(count)
        for index in 0..<count {
            let offset = try number(at: table + index * offsetSize, size: offsetSize)
            guard offset < trailer else { throw error(table, "object \(index) is outside of the file") }
            objects.append(try object(at: offset, count: count))
        }
        return (objects, top)
    }

    private mutating func object(at offset: Int, count: Int) throws(BinaryPropertyListError) -> BinaryPropertyList.Value
    {
        guard let kind = Kind(rawValue: bytes[offset] >> 4) else {
            throw error(offset, "\(bytes[offset]) is not a known kind of object")
        }
        let size = Int(bytes[offset] & 15)
        switch (kind, size) {
        case (.plain, 0): return .null
        case (.plain, 8), (.plain, 9): return .boolean(size == 9)
        case (.integer, ...4): return .integer(try integer(at: offset + 1, size: 1 << size))
        case (.real, 2): return .real(Double(Float(bitPattern: UInt32(try bits(at: offset + 1, size: 4)))))
        case (.real, 3): return .real(Double(bitPattern: try bits(at: offset + 1, size: 8)))
        case (.date, 3): return .date(Double(bitPattern: try bits(at: offset + 1, size: 8)))
        case (.reference, ..<8): return .reference(try number(at: offset + 1, size: size + 1))
        case (.plain, _), (.integer, _), (.real, _), (.date, _), (.reference, _):
            throw error(offset, "\(bytes[offset]) is not a known kind of object")
        case (.data, _), (.ascii, _), (.utf16, _), (.array, _), (.set, _), (.dictionary, _):
            return try collection(kind, size, at: offset, count: count)
        }
    }

    private mutating func collection(
        _ kind: Kind, _ size: Int, at offset: Int, count: Int
    ) throws(BinaryPropertyListError) -> BinaryPropertyList.Value {
        let (length, start) = try length(size, at: offset)
        switch kind {
        case .data: return .data(Array(try content(at: start, length, of: 1)))
        case .ascii: return .string(String(decoding: try content(at: start, length, of: 1), as: UTF8.self))
        case .utf16:
            let content = try content(at: start, length, of: 2)
            let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
                UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
            }
            return .string(String(decoding: units, as: UTF16.self))
        case .dictionary:
            let all = try references(at: start, length, twice: true, count: count)
            return .dictionary(keys: Array(all.prefix(length)), values: Array(all.suffix(length)))
        case .plain, .integer, .real, .date, .reference, .array, .set:
            return .array(try references(at: start, length, twice: false, count: count))
        }
    }

    /// The length of an object and the offset of its content: a size of 15 means that a number follows the first byte.
    private func length(_ size: Int, at offset: Int) throws(BinaryPropertyListError) -> (Int, start: Int) {
        guard size == 15 else { return (size, offset + 1) }
        guard offset + 1 < bytes.count, bytes[offset + 1] >> 4 == 1, bytes[offset + 1] & 15 <= 3 else {
            throw error(offset, "the length of an object is not a number")
        }
        let size = 1 << Int(bytes[offset + 1] & 15)
        return (try number(at: offset + 2, size: size), offset + 2 + size)
    }

    private mutating func references(
        at start: Int, _ length: Int, twice: Bool, count: Int
    ) throws(BinaryPropertyListError) -> [Int] {
        let content = try content(at: start, length, of: twice ? referenceSize * 2 : referenceSize)
        var numbers: [Int] = []
        for position in stride(from: content.startIndex, to: content.endIndex, by: referenceSize) {
            let number = try number(at: position, size: referenceSize)
            guard number < count else { throw error(position, "there is no object \(number)") }
            numbers.append(number)
        }
        return numbers
    }

    private mutating func content(
        at start: Int, _ length: Int, of size: Int
    ) throws(BinaryPropertyListError) -> ArraySlice<UInt8> {
        guard start <= bytes.count, length <= (bytes.count - start) / size else {
            throw error(start, "an object extends beyond the end of the file")
        }
        budget -= length * size
        guard budget >= 0 else { throw error(start, "the objects contain more parts than the file has bytes") }
        return bytes[start..<(start + length * size)]
    }

    /// A number that fits in `Int`; a valid file contains no greater one.
    private func number(at offset: Int, size: Int) throws(BinaryPropertyListError) -> Int {
        guard let number = Int(exactly: try bits(at: offset, size: size)) else {
            throw error(offset, "a number is greater than any file size")
        }
        return number
    }

    /// Reads an integer: 8 bytes are signed, fewer are unsigned; of 16 bytes only the lower 8 are used.
    private func integer(at offset: Int, size: Int) throws(BinaryPropertyListError) -> Int64 {
        Int64(bitPattern: try bits(at: size == 16 ? offset + 8 : offset, size: min(8, size)))
    }

    private func bits(at offset: Int, size: Int) throws(BinaryPropertyListError) -> UInt64 {
        guard offset >= 0, offset <= bytes.count, size <= bytes.count - offset else {
            throw error(offset, "the file ends within a number")
        }
        return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func error(_ offset: Int, _ message: String) -> BinaryPropertyListError {
        BinaryPropertyListError(byteOffset: offset, message: message)
    }
}
