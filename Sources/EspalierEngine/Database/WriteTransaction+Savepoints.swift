// Savepoints: points in a write transaction to which it can be rolled back, nested to any depth.
//
// Invariants
//   1. Savepoints form a stack. A rollback to a savepoint keeps it and discards the later ones. The release of a
//      savepoint discards it and the later ones, and keeps the changes. The end of the transaction discards all.
//   2. An error about a savepoint changes nothing.

/// A point in a write transaction to which it can be rolled back.
///
/// Made by `WriteTransaction.savepoint()`, and known to that transaction only.
public struct Savepoint: Sendable, Hashable {
    let number: UInt64
}

extension WriteTransaction {
    /// Opens a savepoint, so that the transaction can be rolled back to its current state.
    ///
    /// While a savepoint is open, the first change of each page keeps the older version in memory or, if there are more
    /// than fit, in the log. Reading costs nothing more.
    ///
    /// - Throws: `transaction(.failed)`, `transaction(.ended)`.
    /// - Complexity: O(trees that the transaction has used).
    public mutating func savepoint() throws(StorageError) -> Savepoint {
        try pages.checkUsable()
        if pages.writes.hasFailed { throw .transaction(.failed) }
        let number = pages.openSavepoint()
        assert(pages.writes.savepoints.last?.number == number, "savepoint \(number) is not the innermost")
        return Savepoint(number: number)
    }

    /// Undoes all changes since `savepoint`, which stays open; savepoints that were opened after it are discarded.
    ///
    /// Trees that were created since no longer exist, and dropped ones exist again. Cursors stay at their keys; those
    /// over trees that no longer exist throw `noSuchTree`. After `transaction(.failed)` the rollback makes the
    /// transaction usable again.
    ///
    /// - Throws: `noSuchSavepoint` if it was released or discarded, or belongs to another transaction;
    ///   `transaction(.ended)`.
    /// - Complexity: O(pages changed since); reads and writes no file.
    public mutating func rollback(to savepoint: Savepoint) throws(StorageError) {
        let place = try pages.place(ofSavepoint: savepoint.number)
        pages.goBack(toSavepoint: place)
        assert(
            pages.writes.savepoints.count == place + 1,
            "savepoint \(savepoint.number) is gone, or an inner one is left")
    }

    /// Discards `savepoint` and those opened after it, and keeps the changes.
    ///
    /// - Throws: `noSuchSavepoint` if it was released or discarded, or belongs to another transaction;
    ///   `transaction(.ended)`.
    /// - Complexity: O(pages changed since).
    public mutating func release(_ savepoint: Savepoint) throws(StorageError) {
        let place = try pages.place(ofSavepoint: savepoint.number)
        pages.releaseSavepoints(from: place)
        assert(pages.writes.savepoints.count == place, "savepoint \(savepoint.number) or an inner one is left")
    }

    /// Calls `body` with this transaction, and undoes what it changed if it throws.
    ///
    /// This is a transaction within the transaction; calls nest to any depth. An error that leaves changes half done
    /// (`diskFull`, `logFull`, `io`) is undone with the rest: a caller that catches it continues with the transaction
    /// as it was before.
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
        // A transaction that failed or ended gets no savepoint; every change in it throws the reason.
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

    /// The index of a savepoint that `nested` opened; `nil` if `body` itself has discarded it.
    private func openPlace(of number: UInt64?) -> Int? {
        guard !pages.isEnded else { return nil }
        return pages.writes.savepoints.lastIndex { $0.number == number }
    }
}
