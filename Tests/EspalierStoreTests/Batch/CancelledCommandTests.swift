// Commands that are cancelled before their first row is written, on stores of each kind: they look at their progress
// while they make rows and while they find them.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct CancelledCommandTests {
    private func error(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `a cancelled insertion asks for some hundred rows at most, and inserts none (BR-02)`(
        kind: CommandStoreKind
    ) throws {
        let store = try kind.make(ShelfModel.make())
        let progress = BatchProgress()
        let row = try store.newRow("Mark", [:])
        var count = 0
        var command = StoreCommand(
            .insert(try store.entity("Mark")) { () throws(StoreError) in
                count += 1
                if count == 300 { progress.cancel() }
                return count <= 5000 ? row : nil
            })
        command.progress = progress

        let error = self.error { _ = try store.execute(command) }

        guard case .commandCancelled? = error else {
            Issue.record("\(String(describing: error)) after \(count) rows")
            return
        }
        #expect(count >= 300 && count < 1000, "\(count) rows")
        #expect(try store.content().isEmpty)
    }

    @Test(arguments: CommandStoreKind.allCases)
    func `a cancelled update or deletion does not search to its end (BR-04, BR-05)`(kind: CommandStoreKind) throws {
        let store = try kind.make(ShelfModel.make())
        let marks = try (0..<2000).map { try store.newRow("Mark", ["text": .string("text \($0)")]) }
        _ = try store.execute(try store.insertion("Mark", marks))
        let before = try store.content()
        let found = try store.rows("Mark", "text CONTAINS 'ex'")
        let ids = try store.fetchIDs(StoreFetch(entity: store.entity("Mark")))
        for change in [
            StoreCommand.Change.update(found, try store.assignments("Mark", ["text": "new"])), .delete(found),
            .delete(.ids(ids)),
        ] {
            var command = StoreCommand(change)
            let progress = BatchProgress()
            command.progress = progress
            progress.cancel()

            var error: StoreError?
            let visited = StepCount.count { error = self.error { _ = try store.execute(command) } }

            guard case .commandCancelled? = error else {
                Issue.record("\(change): \(String(describing: error))")
                continue
            }
            #expect(visited.rows < 1000, "\(change): \(visited.rows) rows")
        }
        #expect(try store.content() == before)
    }
}
