// Values by name as bytes: the metadata of a store in a file that is saved as a whole.
//
// Layout: for each value, by ascending name: u32 byte count and the name as a tagged value, u32 byte count and the
// value. A composite would have the same content; but its parts nest one level deeper, which the deepest values cannot.

package import EspalierModel

/// The bytes of values by name.
package enum NamedValues {
    /// The bytes of some values.
    package static func bytes(of values: [String: AttributeValue]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in values.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            for part in [AttributeValue.string(name), value] {
                var content: [UInt8] = []
                TaggedValue.append(part, to: &content)
                bytes.append(littleEndian: UInt32(content.count))
                bytes.append(contentsOf: content)
            }
        }
        return bytes
    }

    /// The values in the bytes; `nil` if these are malformed.
    package static func decode(_ bytes: [UInt8]) -> [String: AttributeValue]? {
        var values: [String: AttributeValue] = [:]
        var name: String?
        var offset = 0
        while offset < bytes.count {
            guard bytes.count - offset >= 4 else { return nil }
            let count: UInt32 = bytes.number(at: offset)
            offset += 4
            guard Int(count) <= bytes.count - offset,
                let part = TaggedValue.decode(Array(bytes[offset..<offset + Int(count)]))
            else { return nil }
            offset += Int(count)
            if let key = name {
                values[key] = part
                name = nil
            } else {
                guard case .string(let text) = part else { return nil }
                name = text
            }
        }
        assert(offset == bytes.count, "byte \(offset) of \(bytes.count) was read last")
        return name == nil ? values : nil
    }
}
