// Saving to a B-tree store.

internal import EspalierEngine
internal import EspalierModel
internal import Synchronization

extension BTreeStore {
    /// Executes the request in one write transaction: everything or nothing.
    ///
    /// - Throws: `.conflict` with all rows that are at another version than expected, `.constraint` with all values
    ///   that other rows have, `.references` with all relationships that would be broken, `.invalidRequest`,
    ///   `.readOnly`, `.closed`, or the error of the engine. An error leaves the store unchanged.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try withPath { () throws(StoreError) in
            if case .migrationTransaction(let migration) = transactionUse {
                try checkOpen()
                return try migration.save(request, catalog)
            }
            let execution = SaveExecution(try beginWrite(), catalog)
            do throws(StoreError) {
                return try execution.run(request, for: self)
            } catch {
                // The commits that refuse the save may wait for their sync. A caller that resolves the refusal must
                // find them in a snapshot; otherwise it would be refused again until the sync has ended.
                if error.isRefusal { try withStoreErrors(try database.waitForCommits()) }
                throw error
            }
        }
    }

    /// The rows with cut unique values that the last save knew; none if it made another commit than this.
    func takeCutKeys(after commit: UInt64) -> CutKeys { knownCutKeys.withLock { $0.take(after: commit) } }

    /// Notes the rows with cut unique values that a save knows after this commit.
    func keepCutKeys(_ keys: CutKeys, after commit: UInt64) {
        knownCutKeys.withLock { $0.keep(keys, after: commit) }
    }
}
