// Commands of stores that do not carry them out themselves: a fetch and a save.

internal import EspalierModel

extension PersistentStore {
    /// Fetches the rows and saves the change as one `SaveRequest`; if another writer has changed one of the rows in
    /// between, fetches and saves again.
    ///
    /// - Throws: `.brokenRules`, `.constraint`, `.references`, `.invalidRequest`, `.commandCancelled`; `.conflict` if
    ///   other writers come between a thousand times, or a row is in conflict ten times without being newer; the errors
    ///   of `fetch` and `save`.
    /// - Complexity: that of the fetch and the save, with all changed rows in memory.
    public func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        try executeBySaving(command)
    }

    func executeBySaving(_ command: StoreCommand) throws(StoreError) -> CommandResult {
        var limit = AttemptLimit()
        let insertions = try command.insertions(model)
        let checks = ContractChecks(of: self, model: model)
        while true {
            let present = try snapshot()
            let request = try CommandRequest(command, insertions, model, on: checks?.checked(present) ?? present)
            guard request.count > 0 else { return CommandResult() }
            do throws(StoreError) {
                let saved = try checkedSave(request.save, checks)
                try? command.progress?.advance(by: request.count)
                return request.result(saved, StoreSchema(model: model))
            } catch {
                guard case .conflict(let conflicts) = error, limit.allowsAnother(after: conflicts) else { throw error }
            }
        }
    }

    private func checkedSave(
        _ request: SaveRequest, _ checks: ContractChecks?
    ) throws(StoreError) -> SaveResult {
        guard let checks else { return try save(request) }
        return try checks.save(request, to: self)
    }
}
