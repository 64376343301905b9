// Random models through random versions: every value, reference and list equals the expected plain values.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MigrationWalkTests {
    /// The number of versions of a walk.
    private static let versionCount = 5

    /// The dump with the lists called `names` sorted, because any order of a newly ordered list is right.
    private func loosened(_ dump: GraphDump, _ names: Set<String>) -> GraphDump {
        var dump = dump
        for serial in dump.rows.keys {
            for name in names { dump.rows[serial]?.lists[name]?.sort() }
        }
        return dump
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MIGRATION_WALKS", default: 60)))
    func `a chain of versions keeps what a change of plain values keeps`(number: UInt64) throws {
        let seed = testSeed(default: 17_000) + number
        var walk = MigrationWalk(seed: seed)
        try withStorePath { path in
            for version in 0..<Self.versionCount {
                let model = try ManagedObjectModel(entities: walk.entities)
                let migration = MigrationOptions(allowing: walk.losses)
                let trace = "seed \(seed), version \(version): \(walk.log.joined(separator: ", "))"
                if version > 0 {
                    let plan = try BTreeStore.migrationPlan(
                        at: path, to: model, migration: migration, checkingRows: true)
                    #expect(plan.refusal == nil, "\(trace)")
                    // Without the permission a migration with losses is refused as a whole.
                    let refused = try BTreeStore.migrationPlan(at: path, to: model).refusal
                    #expect((refused == nil) == plan.difference.losses.isEmpty, "\(trace)")
                    if plan.difference.isConstantTime {
                        #expect(plan.outcome?.isConstantTime == true, "\(trace)\n\(plan.difference)")
                    }
                }

                let store = try BTreeStore.open(path: path, model: model, migration: migration, options: .small)

                let found = try store.check()
                #expect(found.isOK && found.dangling.isEmpty, "\(trace): \(found.findings)")
                let dump = loosened(try GraphDump(store), walk.newlyOrdered)
                let expected = loosened(walk.expected, walk.newlyOrdered)
                if dump != expected {
                    Issue.record("\(trace)\n\(dump.differences(from: expected).joined(separator: "\n"))")
                    return
                }
                let graph = try walk.insertion(model)
                try graph.save(in: store)
                let after = try store.check()
                #expect(after.isOK && after.dangling.isEmpty, "\(trace): \(after.findings)")
                #expect(try store.database.check().isOK)
                walk.expected = try GraphDump(store)
                try store.close()
                walk.advance()
            }
        }
    }
}
