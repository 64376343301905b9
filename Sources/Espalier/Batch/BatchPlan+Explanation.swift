// How the stores would find the rows of a batch request.

import EspalierModel
import EspalierStore

extension BatchPlan {
    /// The steps in which the stores would find the rows, one line for each.
    func explanation() throws(ContextError) -> [String] {
        do throws(StoreError) {
            var lines: [String] = []
            for (part, command) in steps {
                switch command.change {
                case .insert(let entity, _): lines.append("insert rows of \(entity.name)")
                case .update(let rows, let assignments):
                    lines += try explanation(of: rows, in: part)
                    lines.append("set \(assignments.count) propert\(assignments.count == 1 ? "y" : "ies") of each row")
                case .delete(let rows):
                    lines += try explanation(of: rows, in: part)
                    lines.append("delete each row, by the rules of its relationships")
                }
            }
            return lines
        } catch {
            throw ContextError(error)
        }
    }

    private func explanation(of rows: StoreCommand.Rows, in part: SourcePart) throws(StoreError) -> [String] {
        switch rows {
        case .matching(let fetch): try coordinator.snapshot(of: part).explain(fetch, as: .ids)
        case .ids(let ids): ["\(ids.count) primary key\(ids.count == 1 ? "" : "s")"]
        }
    }
}

extension PersistentStoreCoordinator {
    /// The steps in which the stores would find the rows of a request, and what would happen to these; nothing changes.
    ///
    /// - Throws: as `execute(_:)`, for a request that does not fit the model or the stores.
    public func explain(_ request: BatchUpdateRequest) throws(ContextError) -> [String] {
        try BatchPlan(request, self).explanation()
    }

    /// The steps in which the stores would find the rows of a request, and what would happen to these; nothing changes.
    ///
    /// - Throws: as `execute(_:)`, for a request that does not fit the model or the stores.
    public func explain(_ request: BatchDeleteRequest) throws(ContextError) -> [String] {
        try BatchPlan(request, self).explanation()
    }
}
