// Saving to a B-tree store.

internal import EspalierEngine
internal import EspalierModel

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
                return try execution.run(request)
            } catch {
                // The commits that refuse the save may wait for their sync. A caller that resolves the refusal must
                // find them in a snapshot; otherwise it would be refused again until the sync has ended.
                if error.isRefusal { try withStoreErrors(try database.waitForCommits()) }
                throw error
            }
        }
    }
}
