// A rewrite of a whole tree: its entries get other values in one walk, without a search for each of them.
//
// Invariants
//   1. A rewrite that does not reach its end leaves the transaction failed: parts of the tree are in pages to which
//      nothing refers yet. A rollback, as a whole or to a savepoint, brings the tree back as it was.

extension WriteTransaction {
    /// Calls `body` with each entry of `tree` in ascending order, and keeps, removes or replaces the entry as it says.
    ///
    /// All pages of the tree are written anew, full and in order, at the places of the old ones. So this is for changes
    /// of most entries; `put` is for changes of some. `body` must not use the transaction, which the compiler ensures.
    ///
    /// - Parameter body: gets the value in place, or a copy of a value in overflow pages, and an array for the new
    ///   value, which it lengthens if needed and which keeps its length from call to call.
    /// - Throws: the error of `body`; `noSuchTree`, `valueTooLarge`, any error of reading or writing. After an error
    ///   the transaction can only be rolled back, as a whole or to a savepoint.
    /// - Complexity: O(entries). The memory does not depend on their number: pages that do not fit into the cache are
    ///   spilled to the log, once each.
    @inlinable
    package mutating func rewrite<Failure: StorageFailure>(
        _ tree: Tree<UInt64>,
        _ body: (_ key: UInt64, _ value: RawSpan, _ new: inout [UInt8]) throws(Failure) -> RewrittenEntry
    ) throws(Failure) {
        try withCallerErrors { (thrown: inout ThrownError<Failure>?) throws(StorageError) in
            try rewriteEntries(of: tree) { key, value, new in
                do throws(Failure) { return try body(key, value, &new) } catch { thrown = ThrownError(error) }
                return nil
            }
        }
    }

    /// `rewrite` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    mutating func rewriteEntries(
        of tree: Tree<UInt64>, _ body: (UInt64, RawSpan, inout [UInt8]) -> RewrittenEntry?
    ) throws(StorageError) {
        try change(tree) { operations, record throws(StorageError) in
            // Until the end is reached (invariant 1); also for errors about arguments, which change nothing elsewhere.
            operations.source.writes.hasFailed = true
            guard try operations.rewrite(&record, name: tree.name, body) else { return }
            operations.source.writes.hasFailed = false
        }
    }
}
