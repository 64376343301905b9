// The memory of faults, counted in allocations; `bench --only "objects memory"` measures it with everything around.

import EspalierModel
import Testing

@testable import Espalier

@Suite struct FaultMemoryTests {
    @Test func `a fault that was found by its ID is one allocation`() throws {
        let stack = try Stack.ofPapers(1000)
        let ids = try stack.newContext().fetchIDs(FetchRequest<Paper>())
        let context = stack.newContext()
        let faults = try ids.map { try context.object(with: $0) }

        #expect(faults.count == 1000 && faults.allSatisfy(\.isFault))
        #expect(faults.allSatisfy { $0.changes == nil && $0.newValues == nil && !$0.hasRow && $0.cohort == nil })
    }

    @Test func `faults of one fetch share the rows and what they have in common`() throws {
        let stack = try Stack.ofPapers(1000)
        let context = stack.newContext()
        let faults = try context.fetch(FetchRequest<Paper>())

        #expect(faults.count == 1000 && faults.allSatisfy(\.isFault))
        #expect(Set(faults.compactMap { $0.cohort.map { ObjectIdentifier($0) } }).count == 1)
        let contents = Set(faults.compactMap { $0.withRow { content, _ in ObjectIdentifier(content) } })
        #expect(contents.count < 20, "\(contents.count) storages of rows")
        #expect(faults.allSatisfy { $0.changes == nil && $0.newValues == nil })
    }
}
