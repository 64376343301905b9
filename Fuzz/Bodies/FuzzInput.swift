// Decisions read from a fuzzer's bytes: every byte string is a valid sequence of decisions, and small changes of the
// bytes are small changes of the decisions.

/// The bytes that have not been used yet.
struct FuzzInput {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all bytes have been used.
    var isAtEnd: Bool { position >= bytes.count }

    /// The next byte; 0 at the end.
    mutating func byte() -> UInt8 {
        guard position < bytes.count else { return 0 }
        defer { position += 1 }
        return bytes[position]
    }

    /// A number less than `limit`, which is at most 256.
    mutating func number(below limit: Int) -> Int { Int(byte()) % limit }

    /// A number of 16 bits.
    mutating func word() -> Int { Int(byte()) | Int(byte()) << 8 }
}
