// Saving to a B-tree store.

internal import EspalierModel

extension BTreeStore {
    /// Checks versions and constraints, then writes everything in one transaction.
    ///
    /// - Throws: `.conflict` with all rows that are at another version, `.constraint` with all values that are taken,
    ///   `.invalidRequest`, `.readOnly`, `.closed`, or what the engine reports; the store is as before.
    public func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try naming { () throws(StoreError) in
            let execution = SaveExecution(try beginWrite(), store: self)
            return try execution.run(request)
        }
    }
}
