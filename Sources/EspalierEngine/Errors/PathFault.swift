// The reasons why a path, or the file it leads to, cannot hold a store.

/// A fault of a path.
public enum PathFault: UInt8, Sendable {
    /// The path has no characters.
    case empty
    /// The path contains a NUL, at which the operating system would cut it.
    case containsNUL
    /// The folder that is to hold the file does not exist.
    case noFolder
    /// The path leads through an entry that is not a folder.
    case notAFolder
    /// The file has several names (hard links), each of which would have a log of its own; it can only be read.
    case hardLinked
    /// The entry with the name of the store's log is not a regular file.
    case logNotAFile
    /// Another store, which was renamed while it was open, still uses the log with the name of this store's log.
    case logInUse
}

extension PathFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .empty: "The path is empty; a store needs a file name."
        case .containsNUL: "The path contains a NUL character, which no file name can have."
        case .noFolder: "The folder of the file does not exist; create it first."
        case .notAFolder: "A part of the path before the file name is not a folder; correct the path."
        case .hardLinked:
            "The file has several names (hard links), and each would have its own log; remove the other names, "
                + "copy the store, or open it read-only."
        case .logNotAFile:
            "The name of the store's log (the store's name and \"-wal\") belongs to an entry that is not a regular "
                + "file; "
                + "move that entry away."
        case .logInUse:
            "The log beside this store (its name and \"-wal\") belongs to another store, which was renamed and is "
                + "open; "
                + "close that store first."
        }
    }
}
