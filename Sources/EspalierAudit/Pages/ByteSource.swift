// The source of the bytes under audit: a file, or an array in a test.

/// Bytes that can be read at any offset.
package protocol ByteSource {
    /// The current number of bytes.
    func byteCount() throws(AuditFailure) -> UInt64
    /// Reads up to `count` bytes from `offset`; returns fewer only at the end of the source.
    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8]
}

extension [UInt8]: ByteSource {
    package func byteCount() throws(AuditFailure) -> UInt64 { UInt64(count) }

    package func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        guard offset < UInt64(self.count) else { return [] }
        return Array(self[Int(offset)..<Swift.min(self.count, Int(offset) + count)])
    }
}

/// The reason why an audit is not possible.
package enum AuditFailure: Error, Equatable, CustomStringConvertible {
    /// The bytes are not a store.
    case notAStore
    /// The store has a version or a feature that the format document does not describe.
    case unsupported(String)
    /// The bytes could not be read.
    case unreadable(String)

    package var description: String {
        switch self {
        case .notAStore:
            "The file is not a store: neither its superblock nor the copy of the superblock has the magic bytes."
        case .unsupported(let what): "The store has \(what), which the format document does not describe."
        case .unreadable(let reason): reason
        }
    }
}
