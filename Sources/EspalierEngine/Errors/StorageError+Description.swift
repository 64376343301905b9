// The text of storage errors: one complete sentence each, made in one place.

extension StorageError: CustomStringConvertible {
    /// A complete sentence: what was wrong, where, and what would be right.
    public var description: String {
        switch self {
        case .io(let failure): failure.description
        case .corruption(let corruption): corruption.description
        case .notAStore(let reason): "The file is not an Espalier store: \(reason.description)."
        case .superblockDamaged:
            "The superblock is damaged, but its copy is intact; open the store read-only, or repair it first."
        case .unsupportedFormat(let found, let supported):
            "The store has format version \(found >> 16).\(found & 0xFFFF); this engine reads version "
                + "\(supported >> 16).\(supported & 0xFFFF) and older."
        case .unsupportedFeatures(let bits):
            "The store uses features this engine does not know (bits 0x\(String(bits, radix: 16))); "
                + "open it with the newer version that wrote it."
        case .noSuchStore: "There is no file at this path."
        case .path(let fault): fault.description
        case .storeBusy(let pid):
            switch pid {
            case 0: "Another process has the store open; close it there first."
            case Platform.processID: "This process has the store open; close it first."
            default: "Process \(pid) has the store open; close it there first."
            }
        case .readOnly: "The store was opened for reading only; open it with access .readWrite to change it."
        case .closed: "The database was closed; open it again to use it."
        case .transactionsOpen(let count):
            "The database cannot close while \(count) transaction(s) are open; end them first."
        case .alreadyWriting:
            "This thread began a write transaction of this store that is still open; "
                + "end it before the next one, or before a full checkpoint."
        case .transactionEnded: "The transaction has ended; begin a new one."
        case .transactionFailed:
            "An earlier operation of this write transaction failed half-way; roll it back, whole or to a savepoint."
        case .poisoned(let errno):
            "A sync to disk failed earlier (errno \(errno)); close the database and open it again, "
                + "which recovers what was committed."
        case .commitOutcomeUnknown:
            "The sync of this commit failed: once the store is opened again the commit is there whole or not at all."
        case .snapshotExpired:
            "The snapshot is gone: the log reached its cap, or another process wrote over what was being read; "
                + "begin a new read transaction."
        case .diskFull: "The disk is full; the store can still be read, and written once there is room."
        case .logFull:
            "The log is full: an open snapshot keeps it from being emptied, or the transaction is larger than its cap; "
                + "end older read transactions, or raise logByteCountMax."
        case .logCorrupt(let lsn):
            "The log is damaged at position \(lsn), before commits that were acknowledged; "
                + "open the store read-only or salvage it."
        case .logMissing:
            "The store was not closed cleanly, and its log is missing: there is no file with the store's name and "
                + "\"-wal\" at its end beside it; if the store was moved or renamed, do the same with the log."
        case .notClean: "The store was not closed cleanly, so it cannot be opened as immutable; open it .readOnly."
        case .keyTooLong(let byteCount, let maximum):
            "The key has \(byteCount) bytes; a key of this store has at most \(maximum)."
        case .valueTooLarge(let byteCount):
            "The value has \(byteCount) bytes; a value has at most \(UInt32.max)."
        case .wrongKeyKind(let tree):
            "Tree \(tree) has keys of the other kind; use UInt64 keys on integer trees and bytes on bytes trees."
        case .noSuchTree(let tree): "Tree \(tree) does not exist in this snapshot."
        case .treeOfAnotherStore(let tree):
            "The handle of tree \(tree) is another store's; look the tree up by its name in this one."
        case .emptyName: "A tree needs a name of at least one byte."
        case .treeExists(let tree): "A tree of that name exists already (id \(tree))."
        case .noSuchSavepoint:
            "The savepoint is not open in this transaction: it was released, or an earlier one was gone back to."
        case .treeNotEmpty(let tree): "Tree \(tree) has entries; only an empty tree can be loaded."
        case .keysNotAscending: "The keys of the entries do not ascend; sort them, and leave doubles out."
        case .noEntry: "The cursor stands on no entry; move it to one first."
        case .invalidOption(let option): option.description
        case .destinationExists: "There is a file at the destination already; remove it or choose another name."
        case .cancelled: "The work was cancelled before its end; nothing was changed."
        case .backup(let fault): fault.description
        case .changesGone:
            "The log no longer holds all commits after this position; bring the copy forward by an increment first."
        case .storeReplaced:
            "The file that was opened no longer has the store's name: it was renamed or removed, or another one took "
                + "its place; open the store again."
        case .removed(.log):
            "The store's log was removed while the store was open; close the database, which moves all commits into "
                + "the store file."
        case .removed:
            "The store file was removed while the store was open; back it up to keep what is in it, and open that copy."
        case .forked(let pid):
            "The database was opened by process \(pid), and this one is a fork of it; open the store anew here, after "
                + "that process has closed it."
        }
    }
}

extension IOFailure: CustomStringConvertible {
    /// A complete sentence that names the call, the file and the error number.
    public var description: String {
        let name =
            switch file {
            case .store: "the store file"
            case .log: "the log file"
            case .directory: "the store's directory"
            case .copy: "the copy"
            }
        guard errno != 0 else { return "The \(operation) of \(name) did less than was asked." }
        return "The \(operation) of \(name) failed: \(Platform.message(of: errno)) (errno \(errno))."
    }
}

extension Corruption: CustomStringConvertible {
    /// A complete sentence that names the file, the place and the broken rule.
    public var description: String {
        let tree = treeID == 0 ? "" : " of tree \(treeID)"
        let place =
            switch file {
            case .store: "Page \(page)\(tree) is damaged at byte \(byteOffset)"
            case .log where rule == .logForeign: "The log beside the store cannot be used"
            case .log:
                page == 0
                    ? "The log is damaged at byte \(byteOffset)"
                    : "Page \(page)\(tree) is damaged in the log at byte \(byteOffset)"
            case .directory: "The directory is damaged"
            case .copy: "Page \(page)\(tree) of the copy is damaged at byte \(byteOffset)"
            }
        return "\(place): \(rule)."
    }
}

extension NotAStoreReason: CustomStringConvertible {
    /// What the file is, as the end of a sentence.
    public var description: String {
        switch self {
        case .empty: "it is empty"
        case .tooShort: "it is shorter than a superblock"
        case .directory: "it is a directory"
        case .notAFile: "it is not a regular file"
        case .wrongMagic: "it does not begin with the store's magic bytes"
        case .textMangled:
            "it was one once, but a text-mode transfer changed its line ends; copy it again in binary mode"
        case .damagedSuperblock: "its superblock is damaged"
        }
    }
}

extension OptionName: CustomStringConvertible {
    /// A complete sentence: which option, and its valid range.
    public var description: String {
        switch self {
        case .pageSize: "The page size must be a power of two from 4,096 to 65,536."
        case .cacheByteCount: "The cache must have from 0 bytes to the memory of the machine."
        case .logSegmentByteCount: "A log segment must be a multiple of 4,096 bytes from 64 KiB to 64 MiB."
        case .logSoftCap: "The log's soft cap must be at least two segments."
        case .logByteCountMax: "The log's hard cap must be at least its soft cap."
        case .checkpointThreshold: "The checkpoint threshold must be greater than zero."
        }
    }
}
