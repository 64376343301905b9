// The superblock: the identity of the store and how to read it. Written when the store is created, and never logged.
//
// Invariants (on disk: never renumber)
//   1. Page 0 of a store = superblock (512 bytes), three checkpoint slots (512 each), and at 2,048 a copy of the
//      superblock, for salvage. All other bytes of page 0 are zero.
//   2. Unknown bits in `incompatible` forbid opening, unknown bits in `readOnlyCompatible` forbid writing.

/// Offsets of the superblock's fields.
package enum SuperblockLayout {
    package static let magic = 0  // 16 bytes
    package static let major = 16  // u16
    package static let minor = 18  // u16
    package static let pageSize = 20  // u32
    package static let incompatible = 24  // u64
    package static let readOnlyCompatible = 32  // u64
    package static let compatible = 40  // u64
    package static let storeIdentifier = 48  // 16 bytes
    package static let hashSeed = 64  // u64
    package static let creationTime = 72  // u64, nanoseconds since 1970
    package static let creator = 80  // 32 bytes, UTF-8, zero-filled
    package static let applicationID = 112  // u32
    package static let applicationVersion = 116  // u32
    package static let reserved = 120
    package static let checksum = 504  // u64
    package static let byteCount = 512
    /// The byte offsets of the checkpoint slots in page 0.
    package static let slots = [512, 1024, 1536]
    /// The byte offset of the copy of the superblock in page 0.
    package static let mirror = 2048
    /// The number of used bytes of page 0.
    package static let usedByteCount = 2560
}

/// The versions and features of the format that this engine knows.
package enum FormatVersion {
    package static let major: UInt16 = 1
    package static let minor: UInt16 = 0
    /// Incompatible feature bits that this engine can read.
    ///
    /// Bit 0 (delta frames) and bit 1 (checksum map) are reserved.
    package static let knownIncompatible: UInt64 = 0
    /// Feature bits that this engine can write.
    package static let knownReadOnlyCompatible: UInt64 = 0
    /// `ESPALIER`, then line ends that a text-mode copy mangles, then a byte that means a store.
    package static let storeMagic: [UInt8] = magic(ending: 1)
    /// The same with a byte that means a log.
    package static let logMagic: [UInt8] = magic(ending: 2)
    /// The same with a byte that means an increment.
    package static let incrementMagic: [UInt8] = magic(ending: 3)

    private static func magic(ending last: UInt8) -> [UInt8] {
        [UInt8]("ESPALIER".utf8) + [0x0D, 0x0A, 0x1A, 0x0A, 0xFF, 0x00, 0xA9, last]
    }
}

/// The superblock's content.
package struct Superblock: Hashable, Sendable {
    package var major = FormatVersion.major
    package var minor = FormatVersion.minor
    /// Bytes per page.
    package var pageSize: Int
    package var incompatible: UInt64 = 0
    package var readOnlyCompatible: UInt64 = 0
    package var compatible: UInt64 = 0
    /// 16 bytes that no other store has.
    package var storeIdentifier: [UInt8]
    /// Mixed into every page checksum of this store.
    package var hashSeed: UInt64
    /// Nanoseconds since 1970.
    package var creationTime: UInt64
    /// The program that created the store: at most 32 bytes of UTF-8.
    package var creator: [UInt8]
    /// The application's own mark, and the version of its content.
    package var applicationID: UInt32
    package var applicationVersion: UInt32

    /// The superblock of a new store; `storeIdentifier` has 16 bytes, `creator` at most 32.
    package init(
        pageSize: Int, storeIdentifier: [UInt8], hashSeed: UInt64, creationTime: UInt64,
        creator: [UInt8] = [UInt8]("espalier 1".utf8), applicationID: UInt32 = 0, applicationVersion: UInt32 = 0
    ) {
        precondition(storeIdentifier.count == 16 && creator.count <= 32)
        self.pageSize = pageSize
        self.storeIdentifier = storeIdentifier
        self.hashSeed = hashSeed
        self.creationTime = creationTime
        self.creator = creator
        self.applicationID = applicationID
        self.applicationVersion = applicationVersion
    }

    /// Whether the store has a feature with which this engine can only read it.
    package var isReadOnlyForUs: Bool { readOnlyCompatible & ~FormatVersion.knownReadOnlyCompatible != 0 }

    /// The 512 bytes of the superblock.
    package func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: SuperblockLayout.byteCount)
        record.store(FormatVersion.storeMagic, at: SuperblockLayout.magic)
        record.store(major, at: SuperblockLayout.major)
        record.store(minor, at: SuperblockLayout.minor)
        record.store(UInt32(pageSize), at: SuperblockLayout.pageSize)
        record.store(incompatible, at: SuperblockLayout.incompatible)
        record.store(readOnlyCompatible, at: SuperblockLayout.readOnlyCompatible)
        record.store(compatible, at: SuperblockLayout.compatible)
        record.store(storeIdentifier, at: SuperblockLayout.storeIdentifier)
        record.store(hashSeed, at: SuperblockLayout.hashSeed)
        record.store(creationTime, at: SuperblockLayout.creationTime)
        record.store(creator, at: SuperblockLayout.creator)
        record.store(applicationID, at: SuperblockLayout.applicationID)
        record.store(applicationVersion, at: SuperblockLayout.applicationVersion)
        record.seal(at: SuperblockLayout.checksum)
        return record.bytes
    }

    /// Decodes the first 512 bytes of `bytes`.
    ///
    /// - Throws: `notAStore` (too short, wrong or mangled magic, checksum), `unsupportedFormat`, `unsupportedFeatures`,
    ///   `corruption(.superblockField)`.
    package init(decoding bytes: RawSpan) throws(StorageError) {
        guard bytes.byteCount > 0 else { throw .opening(.notAStore(.empty)) }
        guard bytes.byteCount >= SuperblockLayout.byteCount else { throw .opening(.notAStore(.tooShort)) }
        try Self.checkMagic(bytes)
        guard bytes.loadUInt64(at: SuperblockLayout.checksum) == bytes.checksum(of: 0..<SuperblockLayout.checksum)
        else { throw .opening(.notAStore(.damagedSuperblock)) }
        major = bytes.loadUInt16(at: SuperblockLayout.major)
        minor = bytes.loadUInt16(at: SuperblockLayout.minor)
        guard major == FormatVersion.major else {
            throw .opening(
                .unsupportedFormat(
                    found: UInt32(major) << 16 | UInt32(minor),
                    supported: UInt32(FormatVersion.major) << 16 | UInt32(FormatVersion.minor)))
        }
        incompatible = bytes.loadUInt64(at: SuperblockLayout.incompatible)
        let unknown = incompatible & ~FormatVersion.knownIncompatible
        guard unknown == 0 else { throw .opening(.unsupportedFeatures(unknown)) }
        readOnlyCompatible = bytes.loadUInt64(at: SuperblockLayout.readOnlyCompatible)
        compatible = bytes.loadUInt64(at: SuperblockLayout.compatible)
        pageSize = Int(bytes.loadUInt32(at: SuperblockLayout.pageSize))
        guard StoreGeometry.isValid(pageSize: pageSize) else {
            throw .corrupt(.superblockField, page: 0, byteOffset: SuperblockLayout.pageSize)
        }
        let reserved = SuperblockLayout.reserved..<SuperblockLayout.checksum
        guard bytes.isZero(in: reserved) else {
            throw .corrupt(.superblockField, page: 0, byteOffset: SuperblockLayout.reserved)
        }
        storeIdentifier = bytes.loadBytes(at: SuperblockLayout.storeIdentifier, count: 16)
        hashSeed = bytes.loadUInt64(at: SuperblockLayout.hashSeed)
        creationTime = bytes.loadUInt64(at: SuperblockLayout.creationTime)
        let creatorBytes = bytes.loadBytes(at: SuperblockLayout.creator, count: 32)
        creator = [UInt8](creatorBytes.prefix { $0 != 0 })
        applicationID = bytes.loadUInt32(at: SuperblockLayout.applicationID)
        applicationVersion = bytes.loadUInt32(at: SuperblockLayout.applicationVersion)
    }

    /// Decodes the copy of the superblock in the bytes of page 0.
    ///
    /// - Throws: as `init(decoding:)`.
    package init(decodingCopyIn page: RawSpan) throws(StorageError) {
        guard page.byteCount >= SuperblockLayout.usedByteCount else { throw .opening(.notAStore(.tooShort)) }
        try self.init(decoding: page.extracting(SuperblockLayout.mirror..<SuperblockLayout.usedByteCount))
    }

    private static func checkMagic(_ bytes: RawSpan) throws(StorageError) {
        let found = bytes.loadBytes(at: SuperblockLayout.magic, count: 16)
        guard found != FormatVersion.storeMagic else { return }
        // The name matches, but not the line ends after it: a copy in text mode changed them.
        throw .opening(.notAStore(found.starts(with: FormatVersion.storeMagic.prefix(8)) ? .textMangled : .wrongMagic))
    }
}
