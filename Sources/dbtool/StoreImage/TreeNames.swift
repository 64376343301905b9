// The names of trees by number, for tools that read pages: from the catalog, if the store can still be opened.

import EspalierEngine

/// Looks tree names up.
enum TreeNames {
    /// What stands for the name of the catalog's own tree.
    static let catalog = "(catalog)"

    /// The names of the trees of the store at `path`; only the catalog's own if it cannot be opened.
    static func read(_ path: String) -> [UInt32: String] {
        var names: [UInt32: String] = [FixedPlace.catalogTreeID: catalog]
        do {
            let database = try openForReading(path)
            for summary in try database.beginRead().trees() { names[summary.tree.id] = summary.tree.name }
            try database.close()
        } catch {
            // A damaged store is still worth a map: its trees go by their numbers.
            return names
        }
        return names
    }
}
