// The rules of the file format that a damaged file can break, numbered as the format document numbers them.
//
// Invariants (tools print the numbers: never renumber)
//   1. Each rule of the format document that bytes can break is one case, with the document's number.

/// A rule of the file format; "it" and "its" in the cases refer to the page that breaks the rule.
public enum CorruptionRule: UInt8, Sendable, CaseIterable {
    // Any page (format document, section 3).
    /// Rule 1, broken when its content does not match its checksum.
    case pageChecksum = 1
    /// Rule 2, broken when it states another page number.
    case pageNumber = 2
    /// Rule 3, broken when its type is not one that may be at this place.
    case pageType = 3
    /// Rule 4, broken when it is beyond the end of the store.
    case pageBeyondEnd = 4
    /// Rule 5, broken when a reserved byte is not zero.
    case pageReserved = 5
    /// Rule 6, broken when the gap between its slots and its cells is not zero.
    case pageGap = 6
    /// Rule 7, broken when its log position is not before the commit that is being read.
    case pageLSN = 7
    // The superblock and its slots (section 2).
    /// Rule 10, broken when the superblock does not match its checksum.
    case superblockChecksum = 10
    /// Rule 11, broken when a field of the superblock has an impossible value.
    case superblockField = 11
    /// Rule 12, broken when no checkpoint slot is valid.
    case noValidSlot = 12
    /// Rule 13, broken when the copy of the superblock differs from it.
    case superblockMirror = 13
    // A tree page on its own (section 4).
    /// Rule 20, broken when its level does not fit its type.
    case levelOfType = 20
    /// Rule 21, broken when its slots reach into its cells.
    case slotsOverCells = 21
    /// Rule 22, broken when its fences are too long or do not fit its key kind.
    case fenceLength = 22
    /// Rule 23, broken when its low fence is not below its high fence.
    case fenceOrder = 23
    /// Rule 24, broken when its prefix length is not that of the prefix which its fences share.
    case prefixLength = 24
    /// Rule 25, broken when a cell does not begin in the cell area.
    case cellOffset = 25
    /// Rule 26, broken when a cell reaches beyond the cell area or is longer than a cell may be.
    case cellLength = 26
    /// Rule 27, broken when cells and fragments do not add up to the cell area.
    case cellAccounting = 27
    /// Rule 28, broken when two cells overlap.
    case cellOverlap = 28
    /// Rule 29, broken when its keys do not ascend.
    case keyOrder = 29
    /// Rule 30, broken when a slot's head is not the beginning of its key.
    case keyHead = 30
    /// Rule 31, broken when a key is outside its fences.
    case keyOutsideFences = 31
    /// Rule 32, broken when a child is not a page number that a child can have.
    case childNumber = 32
    /// Rule 33, broken when a reference to overflow pages has an impossible page or length.
    case overflowReference = 33
    // Overflow pages (section 5).
    /// Rule 40, broken when a field of an overflow page has an impossible value.
    case overflowHeader = 40
    /// Rule 41, broken when its run length or successor contradict each other.
    case overflowRun = 41
    /// Rule 42, broken when bytes after the end of its value are not zero.
    case overflowTail = 42
    /// Rule 43, broken when the chain of overflow pages is shorter or longer than the value.
    case overflowLength = 43
    // Bitmap pages (section 6).
    /// Rule 50, broken when a bitmap page is where none belongs, or another page where one does.
    case bitmapPlace = 50
    /// Rule 51, broken when its count of free pages is not its number of set bits.
    case bitmapCount = 51
    /// Rule 52, broken when a page below its hint is free.
    case bitmapHint = 52
    /// Rule 53, broken when it calls a page free that can never be free.
    case bitmapReserved = 53
    // The log (section 8).
    /// Rule 60, broken when the log's header is not valid.
    case logHeader = 60
    /// Rule 61, broken when a segment header of the log is not valid.
    case logSegment = 61
    /// Rule 62, broken when a frame of the log is not valid.
    case logFrame = 62
    /// Rule 63, broken when a commit record of the log is not valid.
    case logCommit = 63
    /// Rule 64, broken when the log belongs to another store.
    case logForeign = 64
    // Pages of one tree together (section 7).
    /// Rule 70, broken when it belongs to another tree than the one that refers to it.
    case treeOfPage = 70
    /// Rule 71, broken when its level is not one below its parent's.
    case levelOfChild = 71
    /// Rule 72, broken when it has the other kind of keys than its tree.
    case keyKindOfPage = 72
    /// Rule 73, broken when its fences are not the separators around it.
    case fencesOfChild = 73
    /// Rule 74, broken when its level is higher than a tree can be.
    case treeTooDeep = 74
    /// Rule 75, broken when its root flag is set though it is no root, or the other way round.
    case rootFlag = 75
    /// Rule 76, broken when the catalog's count of the tree's entries is wrong.
    case entryCount = 76
    /// Rule 77, broken when the catalog's count of the tree's leaf pages is wrong.
    case leafCount = 77
    /// Rule 78, broken when the catalog's height of the tree is wrong.
    case treeHeight = 78
    /// Rule 79, broken when a record of the catalog is not valid.
    case catalogRecord = 79
    /// Rule 80, broken when its root does not carry the hash of the tree's name.
    case rootTag = 80
    // All pages together (section 9).
    /// Rule 90, broken when two places refer to it.
    case pageReachedTwice = 90
    /// Rule 91, broken when a tree uses it, but it is marked free.
    case pageReachedButFree = 91
    /// Rule 92, broken when it is marked used, but nothing refers to it.
    case pageLost = 92
    /// Rule 93, broken when the count of free pages does not match the bitmap.
    case freeCountWrong = 93
    /// Rule 94, broken when the count of pages does not match the file.
    case pageCountWrong = 94
}

extension CorruptionRule: CustomStringConvertible {
    /// The broken rule, as the end of a sentence.
    public var description: String {
        switch self {
        case .pageChecksum: "its content does not match its checksum"
        case .pageNumber: "it states another page number"
        case .pageType: "its type is not one that may be at this place"
        case .pageBeyondEnd: "it is beyond the end of the store"
        case .pageLSN: "it is newer than the commit that is being read"
        case .pageReserved: "a reserved byte is not zero"
        case .pageGap: "the gap between its slots and its cells is not zero"
        case .superblockChecksum: "the superblock does not match its checksum"
        case .superblockField: "a field of the superblock has an impossible value"
        case .noValidSlot: "no checkpoint slot is valid, or one is damaged that no interrupted write explains"
        case .superblockMirror: "the copy of the superblock differs from it"
        case .levelOfType: "its level does not fit its type"
        case .slotsOverCells: "its slots reach into its cells"
        case .fenceLength: "its fences are too long or do not fit its key kind"
        case .fenceOrder: "its low fence is not below its high fence"
        case .prefixLength: "its prefix length is not the length of the prefix that its fences share"
        case .cellOffset: "a cell does not begin in the cell area"
        case .cellLength: "a cell reaches beyond the cell area or is longer than a cell may be"
        case .cellAccounting: "cells and fragments do not add up to the cell area"
        case .cellOverlap: "two cells overlap"
        case .keyOrder: "its keys do not ascend"
        case .keyHead: "a slot's head is not the beginning of its key"
        case .keyOutsideFences: "a key is outside its fences"
        case .childNumber: "a child has a page number that no child can have"
        case .overflowReference: "a reference to overflow pages has an impossible page or length"
        case .overflowHeader: "a field of an overflow page has an impossible value"
        case .overflowRun: "its run length and its successor contradict each other"
        case .overflowTail: "bytes after the end of its value are not zero"
        case .overflowLength: "the chain of overflow pages is shorter or longer than the value"
        case .bitmapPlace: "a bitmap page is where none belongs, or another page is where one belongs"
        case .bitmapCount: "its count of free pages differs from its number of set bits"
        case .bitmapHint: "a page below its hint is free"
        case .bitmapReserved: "it marks a page as free that can never be free"
        case .logHeader: "the log's header is not valid"
        case .logSegment: "a segment header of the log is not valid"
        case .logFrame: "a frame of the log is not valid"
        case .logCommit: "a commit record of the log is not valid"
        case .logForeign: "the log belongs to another store"
        case .treeOfPage: "it belongs to another tree than the one that refers to it"
        case .levelOfChild: "its level is not one below its parent's"
        case .keyKindOfPage: "it has the other kind of keys than its tree"
        case .fencesOfChild: "its fences are not the separators around it"
        case .treeTooDeep: "its level is higher than a tree can be"
        case .rootFlag: "its root flag is set and it is not a root, or the other way round"
        case .entryCount: "the catalog's count of the tree's entries is wrong"
        case .leafCount: "the catalog's count of the tree's leaf pages is wrong"
        case .treeHeight: "the catalog's height of the tree is wrong"
        case .catalogRecord: "a record of the catalog is not valid"
        case .rootTag: "its root does not carry the hash of the tree's name"
        case .pageReachedTwice: "two places refer to it"
        case .pageReachedButFree: "a tree uses it, but it is marked free"
        case .pageLost: "it is marked used, but nothing refers to it"
        case .freeCountWrong: "the count of free pages does not match the bitmap"
        case .pageCountWrong: "the count of pages does not match the file"
        }
    }
}
