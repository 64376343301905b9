// Savepoints: places in a write transaction to which it can be rolled back, nested to any depth.
//
// Invariants
//   1. Savepoints form a stack. Rolling back to one keeps it and forgets those behind it; releasing one forgets it and
//      those behind it, and keeps the changes; a commit or rollback of the transaction forgets all.
//   2. An error about a savepoint changes nothing.

/// A place in a write transaction to which it can be rolled back.
///
/// Made by `WriteTransaction.savepoint()`, and known to that transaction only.
public struct Savepoint: Sendable, Hashable {
    let number: UInt64
}

extension WriteTransaction {
    /// Opens a savepoint: the transaction can be rolled back to how it is now.
    ///
    /// While a savepoint is open, the first change of each page keeps the older version, in memory or (when there are
    /// more than fit) in the log; reading costs nothing more.
    ///
    /// - Throws: `transaction(.failed)`, `transaction(.ended)`.
    /// - Complexity: O(trees that the transaction has used).
    public mutating func savepoint() throws(StorageError) -> Savepoint {
        try pages.checkUsable()
        if pages.writes.hasFailed { throw .transaction(.failed) }
        return Savepoint(number: pages.openSavepoint())
    }

    /// Undoes all changes since `savepoint`, which stays open; savepoints that were opened after it are forgotten.
    ///
    /// Trees that were made since do not exist any more, dropped ones exist again. Cursors stay at their keys; those
    /// over trees that do not exist any more throw `noSuchTree`. After `transaction(.failed)` this makes the
    /// transaction usable again.
    ///
    /// - Throws: `noSuchSavepoint` if it was released or forgotten, or is another transaction's; `transaction(.ended)`.
    /// - Complexity: O(pages changed since); reads and writes no file.
    public mutating func rollback(to savepoint: Savepoint) throws(StorageError) {
        pages.goBack(toSavepoint: try pages.place(ofSavepoint: savepoint.number))
    }

    /// Forgets `savepoint` and those opened after it; the changes stay.
    ///
    /// - Throws: `noSuchSavepoint` if it was released or forgotten, or is another transaction's; `transaction(.ended)`.
    /// - Complexity: O(pages changed since).
    public mutating func release(_ savepoint: Savepoint) throws(StorageError) {
        pages.releaseSavepoints(from: try pages.place(ofSavepoint: savepoint.number))
    }

    /// Calls `body` with this transaction, and undoes what it changed if it throws.
    ///
    /// A transaction in the transaction, to any depth. An error that leaves changes half done (`diskFull`, `logFull`,
    /// `io`) is undone with the rest: who catches it outside goes on with the transaction as it was before.
    ///
    /// ```swift
    /// for file in files {
    ///     do {
    ///         try transaction.nested { transaction in try importRows(of: file, into: &transaction) }
    ///     } catch {
    ///         skipped.append(file)
    ///     }
    /// }
    /// try transaction.commit()
    /// ```
    ///
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    public mutating func nested<R, E: Error>(
        _ body: (inout WriteTransaction) throws(E) -> R
    ) throws(E) -> R {
        // In a transaction that failed or ended there is nothing to go back to, and every change says why.
        let number = pages.isEnded || pages.writes.hasFailed ? nil : pages.openSavepoint()
        do throws(E) {
            let result = try body(&self)
            if let place = openPlace(of: number) { pages.releaseSavepoints(from: place) }
            return result
        } catch {
            if let place = openPlace(of: number) { pages.goBack(toSavepoint: place) }
            if let place = openPlace(of: number) { pages.releaseSavepoints(from: place) }
            throw error
        }
    }

    /// Where a savepoint of `nested` is, unless `body` itself went back behind it.
    private func openPlace(of number: UInt64?) -> Int? {
        guard !pages.isEnded else { return nil }
        return pages.writes.savepoints.lastIndex { $0.number == number }
    }
}
