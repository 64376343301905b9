// A copy of a store on which a migration of several steps is tried: each of its steps commits.
//
// Not here: trials of one step, which are transactions that roll back (BTreeStore+Migration, MappedMigration).

internal import EspalierEngine
internal import FoundationEssentials

extension BTreeStore {
    /// Copies the store at `path`, which may be in use, to a new file beside it.
    ///
    /// The copy has the UUID of the store, so that its rows have the same IDs. The caller destroys it after the trial,
    /// and uses it for nothing else.
    ///
    /// - Returns: the path of the copy.
    /// - Throws: `.storage` for all errors of the engine.
    /// - Complexity: O(pages); space for both files.
    package static func makeTrialCopy(ofStoreAt path: String) throws(StoreError) -> String {
        let copy = "\(path).trial-\(UUID().uuidString)"
        assert(copy != path, "a store is copied to itself")
        try withCommits(ofStoreAt: path) { database throws(StoreError) in
            try withStoreErrors(try database.copyForTrial(to: copy))
        }
        return copy
    }
}
