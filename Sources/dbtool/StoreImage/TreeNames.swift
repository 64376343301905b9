// The names of trees by number, for verbs that read pages: from the catalog, if the store can still be opened.

import EspalierEngine

/// Looks up tree names.
enum TreeNames {
    /// The text in place of a name for the catalog's own tree.
    static let catalog = "(catalog)"

    /// The names of the trees of the store at `path`; only the catalog's own if it cannot be opened.
    static func read(_ path: String) -> [UInt32: String] {
        var names: [UInt32: String] = [FixedPlace.catalogTreeID: catalog]
        do {
            let database = try openForReading(path)
            for summary in try database.beginRead().trees() { names[summary.tree.id] = summary.tree.name }
            try database.close()
        } catch {
            // A map of a damaged store is still useful: it identifies trees by number.
            return names
        }
        return names
    }
}
