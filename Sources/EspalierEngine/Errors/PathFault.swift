// Why a path, or what it leads to, cannot be the place of a store.

/// What is wrong with a path.
public enum PathFault: UInt8, Sendable {
    /// The path has no character.
    case empty
    /// The path contains a NUL, at which the operating system would cut it.
    case containsNUL
    /// The folder that is to hold the file does not exist.
    case noFolder
    /// Something on the way to the file is no folder.
    case notAFolder
    /// The file has several names (hard links), each of which would have a log of its own; it can only be read.
    case hardLinked
    /// Something that is no regular file has the name of the store's log.
    case logNotAFile
    /// A store that was renamed while it is open still uses the log that has the name of this store's.
    case logInUse
}

extension PathFault: CustomStringConvertible {
    /// A complete sentence: what is wrong, and what would be right.
    public var description: String {
        switch self {
        case .empty: "The path is empty; a store needs a file name."
        case .containsNUL: "The path contains a NUL character, which no file name can have."
        case .noFolder: "The folder that is to hold the file does not exist; create it first."
        case .notAFolder: "The path leads through something that is not a folder."
        case .hardLinked:
            "The file has several names (hard links), and each would have a log of its own; remove the other names, "
                + "copy the store, or open it read-only."
        case .logNotAFile:
            "What has the name of the store's log, the store's name and \"-wal\", is not a regular file; move it away."
        case .logInUse:
            "The log beside this store, its name and \"-wal\", belongs to another store that is open and was renamed; "
                + "close that one first."
        }
    }
}
