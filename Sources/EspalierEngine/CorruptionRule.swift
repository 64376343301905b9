// The rules of the file format that a damaged file can break, as the format document numbers them.

/// A rule of the file format.
public enum CorruptionRule: UInt8, Sendable, CaseIterable {
    // Any page.
    case pageChecksum = 1
    case pageNumber
    case pageType
    case pageBeyondEnd
    // The superblock and its slots.
    case superblockChecksum
    case superblockField
    case noValidSlot
    // Log.
    case logHeader
    case logSegment
    case logFrame
    case logForeign
    // Cross-page rules (integrity check L3).
    case pageReachedTwice
    case pageReachedButFree
    case pageLost
    case freeCountWrong
    case pageCountWrong
}

extension CorruptionRule: CustomStringConvertible {
    /// What is wrong, as the end of a sentence.
    public var description: String {
        switch self {
        case .pageChecksum: "its content does not match its checksum"
        case .pageNumber: "it states another page number"
        case .pageType: "its type is not one that may stand here"
        case .pageBeyondEnd: "it lies beyond the end of the store"
        case .superblockChecksum: "the superblock does not match its checksum"
        case .superblockField: "a field of the superblock has an impossible value"
        case .noValidSlot: "neither checkpoint slot is valid"
        case .logHeader: "the log's header is not valid"
        case .logSegment: "a segment header of the log is not valid"
        case .logFrame: "a frame of the log is not valid"
        case .logForeign: "the log belongs to another store"
        case .pageReachedTwice: "two places refer to it"
        case .pageReachedButFree: "a tree uses it, but it is marked free"
        case .pageLost: "it is marked used, but nothing refers to it"
        case .freeCountWrong: "the count of free pages does not match the bitmap"
        case .pageCountWrong: "the count of pages does not match the file"
        }
    }
}
