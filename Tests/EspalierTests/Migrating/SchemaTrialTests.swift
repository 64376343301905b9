// Plans of versions that are tried: on the real rows, with their work, and without a change of the store.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct SchemaTrialTests {
    private struct Stop: Error {}

    /// The names of the files beside the store, and the bytes of the store.
    private struct Folder: Equatable {
        let names: [String]
        let bytes: Data

        init(of path: String) throws {
            let url = URL(filePath: path)
            names = try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path).sorted()
            bytes = try Data(contentsOf: url)
        }
    }

    @Test func `the trial of a plan tells what its steps will do, beside a store that is in use (SD-30)`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s"])
            let runs = Mutex(0)
            let plan = try TrackVersions.plan(
                .custom(willMigrate: { context in
                    runs.withLock { $0 += 1 }
                    try TrackVersions.correctLengths(context)
                }))

            let tried = try TrackVersions.withContext(at: path, version: 0) { context in
                let tracks = try TrackVersions.tracks(context)
                let before = try Folder(of: path).names
                let tried = try plan.migrationPlan(storeAt: path)
                #expect(try Folder(of: path).names == before)
                #expect(tracks.map { $0[attribute: "length"] } == [.string("5"), .string("7 s")])
                return tried
            }

            #expect(runs.withLock(\.self) == 1)
            #expect(try TrackVersions.lengths(at: path, version: 0) == [.string("5"), .string("7 s")])
            let done = try plan.migrate(storeAt: path)
            #expect(tried.count == 2 && tried.allSatisfy { $0.refusal == nil })
            #expect(tried.map(\.outcome) == done.map(\.outcome) && tried[1].outcome?.rowsWritten == 2)
            #expect(tried.map(\.steps) == done.map(\.steps))
            #expect(try plan.migrationPlan(storeAt: path).isEmpty)
        }
    }

    /// The last steps, all of which a row refuses: one without work, one with work, one by mappings.
    private static let refused: [MigrationStage] = [
        .lightweight(), .custom(willMigrate: { _ in }),
        .mapped(by: MappingModel([EntityMapping("Track", to: "Track")])),
    ]

    @Test(arguments: refused.indices)
    func `rows that a later version forbids are named by the IDs that they have now, and the store stays (SD-30)`(
        number: Int
    ) throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s", "8"])
            let id = try TrackVersions.withContext(at: path, version: 0) { try TrackVersions.tracks($0)[1].objectID }
            let before = try Folder(of: path)

            let tried = try TrackVersions.plan(Self.refused[number]).migrationPlan(storeAt: path)

            #expect(try Folder(of: path) == before)
            #expect(tried.count == 2 && tried.first?.refusal == nil && tried.first?.outcome != nil)
            let refusal = tried.last?.refusal
            #expect(refusal?.failures.map(\.subject) == ["Track.length"] && refusal?.losses == [])
            #expect(refusal?.failures.first?.reason == .inexact(.integer32))
            #expect(refusal?.failures.first?.objects == [id])
            #expect(tried.last?.outcome == nil)
        }
    }

    @Test func `losses and rows are told together, where no work comes between`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7 s"])
            let short = try ManagedObjectModel(entities: [
                EntityDescription("Track", attributes: [AttributeDescription("length", .integer32)])
            ])
            let start = SchemaMigrationPlan(from: try TrackVersions.model(0))

            let mapping = MappingModel([EntityMapping("Track", to: "Track")])
            for stage in [MigrationStage.lightweight(), .mapped(by: mapping)] {
                let tried = try start.then(stage, to: short).migrationPlan(storeAt: path)

                #expect(tried.last?.refusal?.losses == [.removal(of: "Track.name")])
                #expect(tried.last?.refusal?.failures.map(\.rowCount) == [1])
            }
        }
    }

    @Test func `work that throws, a cancellation and a store of no version end a trial, which leaves nothing`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5"])
            let before = try Folder(of: path)
            let plan = try TrackVersions.plan(.custom(didMigrate: { _ in throw Stop() }))
            let cancelled = MigrationProgress()
            cancelled.cancel()

            let stopped = #expect(throws: SchemaMigrationError.self) { try plan.migrationPlan(storeAt: path) }
            let ended = #expect(throws: SchemaMigrationError.self) {
                try plan.migrationPlan(storeAt: path, progress: cancelled)
            }
            let unknown = #expect(throws: SchemaMigrationError.self) {
                try SchemaMigrationPlan(from: TrackVersions.model(1)).migrationPlan(storeAt: path)
            }
            let missing = #expect(throws: SchemaMigrationError.self) { try plan.migrationPlan(storeAt: path + ".none") }

            guard case .stage(path, from: 1, reached: 0, let work)? = stopped,
                case .stage(path, from: 0, reached: 0, StoreError.migrationCancelled)? = ended,
                case .unknownVersion(path, _, _)? = unknown, case .store(let cause)? = missing
            else {
                Issue.record("\([stopped, ended, unknown, missing])")
                return
            }
            #expect(work is Stop && cause.isMissingFile)
            #expect(try Folder(of: path) == before)
        }
    }

    @Test func `a trial has its steps in the log, and a fraction (DB-03)`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5"])
            let lines = Mutex<[String]>([])
            let log = MigrationLog { record in lines.withLock { $0.append(record.description) } }
            let progress = MigrationProgress()

            _ = try TrackVersions.plan(.lightweight()).migrationPlan(storeAt: path, progress: progress, log: log)

            let found = lines.withLock(\.self)
            #expect(
                found.filter { $0.hasPrefix("plan: ") } == [
                    "plan: from version 0 to version 1 of 2", "plan: from version 1 to version 2 of 2",
                ])
            #expect(found.filter { $0.hasPrefix("  done: ") }.count == 2 && progress.fractionCompleted == 1)
        }
    }
}
