// FileFormat.md, section 2: the superblock in page 0, its copy, and the choice between the two.

/// The fixed properties of a store.
struct Superblock {
    static let byteCount = 512
    static let copyOffset = 2048
    /// The bytes of page 0 that have a meaning; the rest is reserved.
    static let usedByteCount = 2560
    static let magic: [UInt8] = [
        0x45, 0x53, 0x50, 0x41, 0x4C, 0x49, 0x45, 0x52, 0x0D, 0x0A, 0x1A, 0x0A, 0xFF, 0x00, 0xA9, 0x01,
    ]

    let pageSize: Int
    let storeIdentifier: [UInt8]
    let seed: UInt64
    /// The number of the application that owns the content of the store.
    let application: UInt32

    /// Reads the superblock from the first bytes of a file, or its copy if it is damaged.
    init(_ bytes: [UInt8], _ findings: inout AuditFindings) throws(AuditFailure) {
        guard bytes.count >= Self.byteCount else { throw .notAStore }
        let primary = bytes.bytes(0..<Self.byteCount)
        let copy = bytes.bytes(Self.copyOffset..<Self.copyOffset + Self.byteCount)
        var chosen = primary
        if !Self.isSealed(primary) {
            guard primary.starts(with: Self.magic) || copy.starts(with: Self.magic) else { throw .notAStore }
            findings.add(10, .page(0, offset: 504), "the superblock does not match its hash")
            chosen = Self.isSealed(copy) ? copy : primary
        } else if !primary.starts(with: Self.magic) {
            throw .notAStore
        } else if copy != primary {
            let offset = zip(primary, copy).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? copy.count
            findings.add(13, .page(0, offset: Self.copyOffset + offset), "the copy differs from the superblock")
        }
        (pageSize, seed, application) = (Int(chosen.u32(20)), chosen.u64(64), chosen.u32(112))
        storeIdentifier = chosen.bytes(48..<64)
        try checkFeatures(of: chosen)
        checkFields(of: chosen, &findings)
    }

    private static func isSealed(_ block: [UInt8]) -> Bool {
        block.count == byteCount && XXH3.hash(block, to: 504) == block.u64(504)
    }

    /// Whether the page size is one that the format allows.
    var hasValidPageSize: Bool { Self.isPageSize(pageSize) }

    static func isPageSize(_ size: Int) -> Bool { [4096, 8192, 16_384, 32_768, 65_536].contains(size) }

    private func checkFeatures(of block: [UInt8]) throws(AuditFailure) {
        guard Self.isSealed(block) else { return }
        if block.u16(16) != 1 {
            throw .unsupported("version \(block.u16(16)).\(block.u16(18))")
        }
        if block.u64(24) != 0 { throw .unsupported("incompatible features 0x\(String(block.u64(24), radix: 16))") }
    }

    private func checkFields(of block: [UInt8], _ findings: inout AuditFindings) {
        if !hasValidPageSize { findings.add(11, .page(0, offset: 20), "\(pageSize) is not a page size") }
        if let stray = block.firstNonzero(in: 120..<504) {
            findings.add(11, .page(0, offset: stray), "a reserved byte of the superblock is not zero")
        }
    }
}
