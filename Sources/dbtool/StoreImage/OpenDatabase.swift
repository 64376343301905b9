// Opens the engine's database of a file that a verb reads.

import EspalierEngine

/// Opens the store at `path` read-only.
func openForReading(_ path: String) throws(ToolError) -> Database {
    var options = DatabaseOptions()
    options.access = .readOnly
    options.createIfMissing = false
    return try withPath(path) { () throws(StorageError) in try Database.open(path, options: options) }
}
