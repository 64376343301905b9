// Containers with a plan that are opened at a URL, and beside other work.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct PlanOpeningTests {
    /// The ways in which a container with a plan is opened beside other work.
    enum Way: CaseIterable, Sendable { case path, url, stores }

    /// The lengths of the tracks in an open container.
    private static func lengths(_ container: PersistentContainer) throws -> [AttributeValue] {
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        return try TrackVersions.tracks(context).map { $0[attribute: "length"] }
    }

    @Test func `a plan migrates and opens the store at a URL as at a path, with its backup and progress`() throws {
        try withStorePath { path in
            try TrackVersions.makeStore(at: path, ["5", "7"])
            let progress = MigrationProgress()

            let container = try PersistentContainer(
                TrackVersions.plan(.lightweight()), at: URL(filePath: path), backupPath: path + ".backup",
                progress: progress)

            #expect(try Self.lengths(container) == [.integer(5), .integer(7)] && progress.fractionCompleted == 1)
            try container.close()
            #expect(try TrackVersions.lengths(at: path + ".backup", version: 0) == [.string("5"), .string("7")])
        }
    }

    @Test(arguments: Way.allCases)
    func `a plan migrates and opens stores beside other work, or has the error of its step`(way: Way) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "tracks.espalier")
        try TrackVersions.makeStore(at: url.path, ["5", "7 s"])

        let error = await #expect(throws: SchemaMigrationError.self) {
            try await Self.opened(TrackVersions.plan(.lightweight()), at: url, way)
        }
        guard case .stage(_, from: 1, reached: 1, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let plan = try TrackVersions.plan(.custom(willMigrate: TrackVersions.correctLengths))
        let container = try await Self.opened(plan, at: url, way)

        #expect(try Self.lengths(container) == [.integer(5), .integer(7)])
        try container.close()
    }

    private static func opened(
        _ plan: SchemaMigrationPlan, at url: URL, _ way: Way
    ) async throws -> PersistentContainer {
        switch way {
        case .path: return try await PersistentContainer.open(plan, at: url.path)
        case .url: return try await PersistentContainer.open(plan, at: url)
        case .stores:
            return try await PersistentContainer.open(plan, stores: [PersistentStoreDescription(path: url.path)])
        }
    }
}
