// The reasons why a store cannot be opened.

/// A fault of the file, of its log, or of the options for opening it.
public enum OpeningFault: Hashable, Sendable {
    /// There is no file at the path, and the options do not create one.
    case noSuchStore
    /// The file is not a store at all.
    case notAStore(NotAStoreReason)
    /// The superblock is damaged, but its copy is intact: the store can be read, and repaired.
    case superblockDamaged
    /// The store's format version is not one this engine reads (0x00MMmmmm: major and minor).
    case unsupportedFormat(found: UInt32, supported: UInt32)
    /// The store uses incompatible features that this engine does not know; the payload is their bits.
    case unsupportedFeatures(UInt64)
    /// A process, perhaps this one, has the store open; `pid` is 0 if it is unknown.
    case storeBusy(pid: Int32)
    /// Commits in the log that were durable, and may have been acknowledged, are damaged from this logical position on.
    case logCorrupt(lsn: UInt64)
    /// The store was not closed cleanly, and there is no log beside it.
    case logMissing
    /// `immutable` was asked for, but the store was not closed cleanly: its log holds commits.
    case notClean
    /// An option has a value the engine cannot work with.
    case invalidOption(OptionName)
}

/// The reason why a file is not a store.
public enum NotAStoreReason: UInt8, Sendable {
    case empty, tooShort, directory, notAFile, wrongMagic, textMangled, damagedSuperblock
}

/// An option of `DatabaseOptions`.
public enum OptionName: UInt8, Sendable {
    case pageSize, cacheByteCount, logSegmentByteCount, logSoftCap, logByteCountMax, checkpointThreshold
}

extension OpeningFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .noSuchStore: "No file exists at this path."
        case .notAStore(let reason): "The file is not an Espalier store: \(reason.description)."
        case .superblockDamaged:
            "The superblock is damaged, but its copy is intact; repair the store, or open it read-only."
        case .unsupportedFormat(let found, let supported):
            "The store has format version \(found >> 16).\(found & 0xFFFF); this engine reads only major version "
                + "\(supported >> 16)."
        case .unsupportedFeatures(let bits):
            "The store uses features that this engine does not know (bits 0x\(String(bits, radix: 16))); "
                + "open it with the newer version that wrote it."
        case .storeBusy(let pid):
            switch pid {
            case 0: "Another process has the store open for writing; close it there first."
            case Platform.processID: "This process has the store open already; close it first."
            default: "Process \(pid) has the store open for writing; close it there first."
            }
        case .logCorrupt(let lsn):
            "The log is damaged at position \(lsn), before acknowledged commits; "
                + "salvage the store, or restore a backup."
        case .logMissing:
            "The store was not closed cleanly, and its log is missing: the folder has no file with the store's name "
                + "and "
                + "\"-wal\" at its end; if the store was moved or renamed, do the same with the log."
        case .notClean:
            "The store was not closed cleanly, so it cannot be opened as immutable; open it with access .readOnly."
        case .invalidOption(let option): option.description
        }
    }
}

extension NotAStoreReason: CustomStringConvertible {
    /// The reason, as the end of a sentence.
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooShort: "it is shorter than a superblock"
        case .directory: "it is a directory"
        case .notAFile: "it is not a regular file"
        case .wrongMagic: "it does not begin with the store's magic bytes"
        case .textMangled:
            "a transfer in text mode changed its line ends; copy the original again in binary mode"
        case .damagedSuperblock: "its superblock and the copy of the superblock are damaged"
        }
    }
}

extension OptionName: CustomStringConvertible {
    /// A complete sentence that names the option and its valid range.
    public var description: String {
        switch self {
        case .pageSize: "The page size must be a power of two from 4,096 to 65,536."
        case .cacheByteCount:
            "The cache size must be from 0 bytes to the memory of the machine, and the system must have that much left."
        case .logSegmentByteCount: "The size of a log segment must be a multiple of 4,096 bytes, from 64 KiB to 64 MiB."
        case .logSoftCap: "The log's soft cap must be at least two segments."
        case .logByteCountMax:
            "The log's hard cap must be at least its soft cap, and at least two segments and the log's header."
        case .checkpointThreshold: "The checkpoint threshold must be greater than zero."
        }
    }
}
