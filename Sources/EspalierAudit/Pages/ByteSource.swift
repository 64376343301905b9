// Where the bytes under audit come from: a file, or an array in a test.

/// Bytes at offsets.
package protocol ByteSource {
    /// How many bytes there are now.
    func byteCount() throws(AuditFailure) -> UInt64
    /// Up to `count` bytes from `offset` on; fewer only where the bytes end.
    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8]
}

extension [UInt8]: ByteSource {
    package func byteCount() throws(AuditFailure) -> UInt64 { UInt64(count) }

    package func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        guard offset < UInt64(self.count) else { return [] }
        return Array(self[Int(offset)..<Swift.min(self.count, Int(offset) + count)])
    }
}

/// Why there is no audit.
package enum AuditFailure: Error, Equatable, CustomStringConvertible {
    /// The bytes are no store.
    case notAStore
    /// A store, of a version or with features that the format document does not describe.
    case unsupported(String)
    /// The bytes could not be read.
    case unreadable(String)

    package var description: String {
        switch self {
        case .notAStore: "The file is no store: neither its beginning nor the copy of it has the magic bytes."
        case .unsupported(let what): "The store has \(what), which the format document does not describe."
        case .unreadable(let reason): reason
        }
    }
}
