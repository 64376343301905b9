// The error of SQLite files: the file, the page, and the rule of the file format that is broken.
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
        /// The cells of a page are within the page.
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

    /// The path, the page and the fault.
    public var description: String { "\(path): " + (page.map { "page \($0): " } ?? "") + message }
}
