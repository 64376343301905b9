// Random models through random versions, and back where nothing is lost: every value, reference and list equals the
// expected plain values.

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

    /// Goes back to the former version if that is not refused, and expects the rows that it had; a value that the newer
    /// version requires stays.
    private func goBack(
        _ path: String, to former: (model: ManagedObjectModel, dump: GraphDump), _ names: Set<String>, _ trace: String
    ) throws {
        let plan = try BTreeStore.migrationPlan(at: path, to: former.model, checkingRows: true)
        guard plan.refusal == nil else { return }
        let store = try BTreeStore.open(path: path, model: former.model, options: .small)
        let found = try store.check()
        #expect(found.isOK && found.dangling.isEmpty, "back, \(trace): \(found.findings)")
        var dump = loosened(try GraphDump(store), names)
        let expected = loosened(former.dump, names)
        for (serial, row) in expected.rows {
            for (name, value) in row.values where value.isNull && dump.rows[serial]?.values[name] != nil {
                dump.rows[serial]?.values[name] = value
            }
        }
        if dump != expected {
            Issue.record("back, \(trace)\n\(dump.differences(from: expected).joined(separator: "\n"))")
        }
        try store.close()
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MIGRATION_WALKS", default: 28)))
    func `a chain of versions keeps what a change of plain values keeps`(number: UInt64) throws {
        let seed = testSeed(default: 17_000) + number
        var walk = MigrationWalk(seed: seed)
        try withStorePath { path in
            var former: (model: ManagedObjectModel, dump: GraphDump)?
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

                var store = try BTreeStore.open(path: path, model: model, migration: migration, options: .small)

                let found = try store.check()
                #expect(found.isOK && found.dangling.isEmpty, "\(trace): \(found.findings)")
                let dump = loosened(try GraphDump(store), walk.newlyOrdered)
                let expected = loosened(walk.expected, walk.newlyOrdered)
                if dump != expected {
                    Issue.record("\(trace)\n\(dump.differences(from: expected).joined(separator: "\n"))")
                    return
                }
                if let former, walk.losses.isEmpty, !walk.fillsElements, walk.chance(2) {
                    try store.close()
                    try goBack(path, to: former, walk.newlyOrdered, trace)
                    store = try BTreeStore.open(path: path, model: model, options: .small)
                    let again = loosened(try GraphDump(store), walk.newlyOrdered)
                    #expect(again == expected, "forward again, \(trace)\n\(again.differences(from: expected))")
                }
                let graph = try walk.insertion(model)
                try graph.save(in: store)
                let after = try store.check()
                #expect(after.isOK && after.dangling.isEmpty, "\(trace): \(after.findings)")
                #expect(try store.database.check().isOK)
                walk.expected = try GraphDump(store)
                former = (model, walk.expected)
                try store.close()
                walk.advance()
            }
        }
    }
}
