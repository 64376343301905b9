// Commands of an in-memory store: one save, made from the state that it changes.

internal import EspalierModel

extension InMemoryStore {
    /// Carries the command out at once.
    ///
    /// The closure of an insertion is called before the store is locked.
    ///
    /// - Throws: `.brokenRules`, `.constraint`, `.references`, `.invalidRequest`, `.commandCancelled`, `.closed`.
    /// - Complexity: O(rows of the hierarchy) to find rows, and that of the save.
    public func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        let insertions = try command.insertions(model)
        let result = try change { state throws(StoreError) in
            let snapshot = InMemorySnapshot(self, state, isHeld: true)
            let request = try CommandRequest(command, insertions, model, on: snapshot)
            guard request.count > 0 else { return CommandResult() }
            return request.result(try carryOut(request.save, on: &state), schema)
        }
        try? command.progress?.advance(by: result.count)
        return result
    }
}
