// Commands of a B-tree store.

internal import EspalierModel

extension BTreeStore {
    /// Carries the command out in one write transaction, whose changes are in the log and not in memory.
    ///
    /// The closure of an insertion is called while the transaction is open: a save to the same file on this thread is
    /// refused, and one on another thread waits for the end of the command.
    ///
    /// - Throws: `.brokenRules`, `.constraint`, `.references`, `.invalidRequest`, `.commandCancelled`, `.readOnly`,
    ///   `.closed`, or the error of the engine. An error leaves the store unchanged.
    /// - Complexity: O(changed rows and entries × log n), and that of finding the rows. Memory, beside the rows of one
    ///   chunk: a bit for each row of the command and each row that its rules reach, if their keys are near each other,
    ///   and one for each row in each uniqueness constraint where an update changes its values; 16 bytes for each row
    ///   that a condition finds, while they are found; 16 bytes for each row if the result has their IDs; about 200
    ///   bytes for each page that changes. A deletion also keeps until its end: the former rows of entities from which
    ///   derived attributes are computed, and a check for each row whose relationship may deny the deletion, or is
    ///   required and becomes empty.
    public func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        let result: CommandResult
        if case .migrationTransaction = transactionUse {
            // A migration owns the transaction: the command becomes a save in it.
            result = try executeBySaving(command)
        } else {
            result = try withPath { () throws(StoreError) in
                let execution = try CommandExecution(command, self)
                return try execution.run()
            }
        }
        forgetSamples(before: result.generation)
        return result
    }
}
