// Calls by key path for a class without a table of key paths, such as one that belongs to an actor or is written by
// hand.

import Espalier
import Testing

@Suite struct KeyPathTableTests {
    @Test func `a class without a table of key paths is an error of calls by key path that says so`() throws {
        let stack = try Stack(.inMemory)
        let track = Track(context: stack.context)
        track.name = "first"
        try stack.context.save()
        var name = "second"
        let calls: [() throws -> Void] = [
            { _ = try track.committedValue(of: \.name) }, { _ = try track.committedValue(of: \.album) },
            { _ = try track.isChanged(\.name) }, { try track.validateValue(&name, for: \.name) },
        ]
        for call in calls {
            let error = #expect(throws: ContextError.self) { try call() }
            guard case .classWithoutKeyPaths("Track")? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.code == 134060 && error?.description.contains("@Entity") == true)
        }

        #expect(name == "second" && !stack.context.hasChanges)
        let committed = try track.committedValues(forKeys: ["name"])
        #expect(committed.count == 1)
    }
}
