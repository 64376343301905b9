// The error of SQLite files: the file, the page, the rule of the file format that is broken, and what
// would be right.
//
// Invariants
//   1. All code that reads SQLite files throws only this error; no input makes it trap.

/// The reason why a SQLite file cannot be read.
public struct SQLiteFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rules of the file format, and the limits of this reader.
    public enum Rule: String, Hashable, Sendable, CaseIterable {
        /// The file exists, and the operating system reads it.
        case readable
        /// The file begins with the 16 bytes that mark a SQLite 3 file, and has a complete header.
        case header
        /// The page size is a power of two from 512 to 65,536, and at least 480 bytes of each page are usable.
        case pageSize
        /// Text is in UTF-8 or UTF-16.
        case textEncoding
        /// Pages that are referred to are in the file, and are no pages for other purposes.
        case pageNumber
        /// A page of a tree has the kind that its place in the tree requires.
        case pageKind
        /// The cells of a page are within the page, and do not overlap.
        case cell
        /// The keys of a tree ascend.
        case keyOrder
        /// A tree has at most 20 levels, and no page twice.
        case treeShape
        /// A chain of overflow pages has exactly the pages that its value needs.
        case overflowChain
        /// The header of a record describes its body.
        case record
        /// The schema describes tables and indexes, at most 65,536 of them.
        case schema
        /// The definition of a table is one whose columns this reader finds.
        case tableDefinition
        /// The rows of a table have row IDs.
        case rowIDs
        /// The file is not in the middle of a transaction: a journal beside it has not to be rolled back first.
        case noHotJournal
        /// The file is the one that belongs to its log: both have the same page size.
        case log
        /// The file, with its log, has all pages that its header or the log's last commit counts.
        case complete

        /// A sentence that says what would be right.
        public var remedy: String {
            switch self {
            case .readable: "name a file that exists and that you may read"
            case .header: "name the SQLite file that Core Data has written, decrypted if the application encrypts it"
            case .pageSize, .textEncoding, .pageNumber, .pageKind, .cell, .keyOrder, .treeShape, .overflowChain,
                .record, .schema:
                "the file is damaged: use another copy or a backup of it, or a file to which the tools of SQLite have "
                    + "recovered its rows"
            case .tableDefinition, .rowIDs: "name a file whose tables Core Data itself has made"
            case .noHotJournal: "open the file once with the program that wrote it"
            case .log: "copy the file and its -wal again, both while no program has the file open"
            case .complete:
                "copy the whole file again, with its -wal if there is one, while no program has it open; a download "
                    + "may have ended too early"
            }
        }
    }

    /// The path of the file.
    public let path: String
    /// The page; `nil` if the error is not about one page.
    public let page: UInt32?
    /// The broken rule.
    public let rule: Rule
    /// A description of the fault.
    public let message: String

    init(path: String, page: UInt32? = nil, _ rule: Rule, _ message: String) {
        (self.path, self.page, self.rule, self.message) = (path, page, rule, message)
    }

    /// The path, the page, the fault, and what would be right.
    public var description: String {
        "\(path): " + (page.map { "page \($0): " } ?? "") + "\(message); \(rule.remedy)"
    }
}
