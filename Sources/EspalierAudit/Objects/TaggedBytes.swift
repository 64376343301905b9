// ObjectFormat.md, section 7: values that carry their own type.
//
// Invariants
//   1. Composites nest at most `depthMax` deep; a count that the remaining bytes cannot hold is refused.

/// Checks whether bytes are tagged values; decodes nothing.
struct TaggedBytes {
    private static let depthMax = 16

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    /// Whether the bytes in `range` are exactly one tagged value.
    static func isValue(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        var reader = TaggedBytes(bytes: bytes, position: range.lowerBound, end: range.upperBound)
        return reader.skipValue(depth: 0) && reader.position == reader.end
    }

    private mutating func skip(_ count: Int) -> Bool {
        guard count <= end - position else { return false }
        position += count
        return true
    }

    /// Skips a length and the bytes that it counts, and returns the range of those bytes.
    private mutating func block() -> Range<Int>? {
        let start = position + 4
        guard skip(4), skip(Int(bytes.u32(start - 4))) else { return nil }
        return start..<position
    }

    private mutating func skipText() -> Bool { block().map { Text.isValid(bytes, $0) } ?? false }

    private mutating func skipValue(depth: Int) -> Bool {
        let start = position
        guard depth < Self.depthMax, skip(2) else { return false }
        switch AttributeKind(rawValue: UInt16(bytes.u16(start))) {
        case .undefined: return true
        case .integer64, .double, .date: return skip(8)
        case .float: return skip(4)
        case .boolean: return skip(1) && bytes.u8(start + 2) <= 1
        case .uuid: return skip(16)
        case .decimal: return skip(18) && bytes.u8(start + 3) <= 2
        case .string, .uri: return skipText()
        case .binary, .transformable: return block() != nil
        case .composite: return skipParts(depth: depth)
        case .integer16, .integer32, .objectID, nil: return false
        }
    }

    private mutating func skipParts(depth: Int) -> Bool {
        let start = position
        guard skip(4), Int(bytes.u32(start)) <= (end - position) / 6 else { return false }
        var last: ArraySlice<UInt8>?
        for _ in 0..<bytes.u32(start) {
            guard let name = block(), Text.isValid(bytes, name) else { return false }
            if let last, !last.lexicographicallyPrecedes(bytes[name]) { return false }
            last = bytes[name]
            guard skipValue(depth: depth + 1) else { return false }
        }
        return true
    }

    private init(bytes: [UInt8], position: Int, end: Int) {
        (self.bytes, self.position, self.end) = (bytes, position, end)
    }
}
