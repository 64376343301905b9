// The name under which a store knows a row: a number, a text or a UUID.
//
// Invariants
//   1. Two texts are the same reference exactly if they have the same UTF-8 bytes. Swift's `==` holds two spellings of
//      "é" for one; a file system, or a server, may have a row under each.
//   2. The text of a reference in a URI is ASCII without a slash, and there is one such text for each reference.

public import FoundationEssentials

/// The name of a row in its store (PS-15).
///
/// References are unique among the rows of a hierarchy of entities, and stay the same as long as the row exists.
public enum RowReference: Sendable {
    /// A number: the primary key of a built-in store, or the number that a store of an application uses.
    case number(UInt64)
    /// A text, such as the name of a file.
    case text(String)
    /// A UUID.
    case uuid(UUID)
}

extension RowReference: Hashable {
    /// Whether both are the same number, the same UUID, or texts with the same bytes.
    public static func == (left: RowReference, right: RowReference) -> Bool {
        switch (left, right) {
        case (.number(let left), .number(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.uuid(let left), .uuid(let right)): left == right
        default: false
        }
    }

    /// Hashes the number, the bytes of the text, or the UUID.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .number(let number): hasher.combine(number)
        case .text(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .uuid(let uuid): hasher.combine(uuid)
        }
    }
}

extension RowReference: CustomStringConvertible {
    /// The number, the text or the UUID.
    public var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .text(let text): text
        case .uuid(let uuid): uuid.uuidString
        }
    }
}

extension RowReference {
    /// The last part of the URI of an object: `p102`, `sa%20name`, or `u` and a UUID.
    package var uriComponent: String {
        switch self {
        case .number(let number): "p\(number)"
        case .text(let text): "s" + text.utf8.map(Self.escaped).joined()
        case .uuid(let uuid): "u" + uuid.uuidString
        }
    }

    /// The reference that the last part of a URI names; `nil` if the part is not exactly what `uriComponent` writes.
    package init?(uriComponent component: Substring) {
        let rest = component.dropFirst()
        switch component.first {
        case "p":
            guard let number = UInt64(rest) else { return nil }
            self = .number(number)
        case "s":
            guard let text = Self.unescaped(rest) else { return nil }
            self = .text(text)
        case "u":
            guard let uuid = UUID(uuidString: String(rest)) else { return nil }
            self = .uuid(uuid)
        default: return nil
        }
        guard uriComponent == component else { return nil }
    }

    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            String(UnicodeScalar(byte))
        default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }

    private static func unescaped(_ text: Substring) -> String? {
        var (bytes, rest) = ([UInt8](), text.utf8)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16)
            else { return nil }
            bytes.append(value)
            rest.removeFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
