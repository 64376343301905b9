// The backup of a migration: it stays beside a store that was migrated and beside no other, and one that a killed
// migration has left does not stop the next one.

import EspalierEngine
import EspalierModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct MigrationBackupTests {
    /// A model that all rows fit, and whose migration writes rows.
    private static func fitting() throws -> ManagedObjectModel {
        try MigrationLibrary.model { $0[3].attributes[1].type = .integer32 }
    }

    /// A model that rows of artists do not fit.
    private static func inexact() throws -> ManagedObjectModel {
        try MigrationLibrary.model { $0[0].attributes[1].type = .integer32 }
    }

    /// The names of the files that belong to a backup of the store.
    private func backupNames(of path: String) throws -> [String] {
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".backup") }
    }

    private func addNote(_ serial: Int64, at path: String) throws {
        let store = try BTreeStore.openWithStoredModel(path: path)
        var graph = GraphInsertion(store.model)
        try graph.add(serial, "Note", ["text": .string("\(serial)")])
        try graph.save(in: store)
        try store.close()
    }

    /// Writes a backup as a migration does that is killed afterwards.
    private func backUp(_ path: String, to backup: String) throws {
        let store = try BTreeStore.openWithStoredModel(path: path)
        try store.database.backUp(to: backup)
        try store.close()
    }

    private func noteCount(at path: String) throws -> Int? {
        let store = try BTreeStore.openWithStoredModel(path: path)
        defer { try? store.close() }
        let report = try store.check()
        #expect(report.isOK)
        return report.rowCounts["Note"]
    }

    @Test func `a migration that is refused or cancelled leaves no backup, and a later one makes it under the path`()
        throws
    {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let (fitting, backup) = (try Self.fitting(), path + ".backup")
            let progress = MigrationProgress()
            progress.cancel()
            let failing = [
                (try Self.inexact(), MigrationOptions(backupPath: backup)),
                (fitting, MigrationOptions(backupPath: backup, progress: progress)),
            ]
            for (model, options) in failing {
                #expect(throws: StoreError.self) {
                    try BTreeStore.open(path: path, model: model, migration: options).close()
                }
                #expect(try backupNames(of: path) == [])
                #expect(throws: StoreError.self) { try BTreeStore.migrate(at: path, to: model, migration: options) }
                #expect(try backupNames(of: path) == [])
            }
            try addNote(45, at: path)

            try BTreeStore.open(path: path, model: fitting, migration: MigrationOptions(backupPath: backup)).close()

            #expect(try noteCount(at: path) == 5 && noteCount(at: backup) == 5)
            let former = try BTreeStore.openWithStoredModel(path: backup)
            #expect(former.model.descriptions == MigrationLibrary.library())
            try former.close()
        }
    }

    @Test func `a backup that was there already is used, and stays after a refusal`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let backup = path + ".backup"
            let options = MigrationOptions(backupPath: backup)
            try backUp(path, to: backup)
            let bytes = try Data(contentsOf: URL(filePath: backup))

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.open(path: path, model: Self.inexact(), migration: options).close()
            }
            guard case .migrationRefused(path, let refusal)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.failures.map(\.subject) == ["Artist.name"])
            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)

            try BTreeStore.open(path: path, model: Self.fitting(), migration: options).close()
            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)
            #expect(try noteCount(at: backup) == 4)
        }
    }

    @Test func `a migration that finds the model changed leaves the backup of the one that changed it`() throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let (fitting, backup) = (try Self.fitting(), path + ".backup")
            let first = try StagedMigration.begin(
                at: path, from: ManagedObjectModel(entities: MigrationLibrary.library()), to: fitting,
                MigrationOptions(backupPath: backup))
            let bytes = try Data(contentsOf: URL(filePath: backup))
            let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let outcome = Mutex<StoreError?>(nil)
            let log = MigrationLog { record in
                if case .began = record { began.signal() }
            }
            Thread.detachNewThread {
                // It has read the older model when its log begins.
                do throws(StoreError) {
                    _ = try BTreeStore.migrate(
                        at: path, to: fitting, migration: MigrationOptions(backupPath: backup, log: log))
                } catch { outcome.withLock { $0 = error } }
                began.signal()
                ended.signal()
            }
            began.wait()
            try first.migrate()
            _ = try first.finish()
            ended.wait()

            let error = outcome.withLock { $0 }
            guard case .modelChanged? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)
        }
    }

    @Test(arguments: [false, true])
    func `a store opens while its commits are copied or looked at, and these can be read beside a reader`(
        isReadOnly: Bool
    ) throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let model = try MigrationLibrary.model { _ in }
            let backup = path + ".backup"
            func look() throws {
                try BTreeStore.checkBackup(ofStoreAt: path, at: backup)
                try BTreeStore.destroy(at: try BTreeStore.makeTrialCopy(ofStoreAt: path))
            }
            if isReadOnly {
                let store = try BTreeStore.open(path: path, model: model, isReadOnly: true)
                try look()
                try store.close()
            } else {
                try BTreeStore.withCommits(ofStoreAt: path) { _ throws(StoreError) in
                    let store = try BTreeStore.open(path: path, model: model)
                    #expect(!store.isReadOnly)
                    try store.close()
                }
                try look()
            }
            #expect(try noteCount(at: path) == 4)
        }
    }

    /// The files that are no backup of the newest commit.
    enum Other: CaseIterable {
        case text, earlierCommit, written, otherStore
    }

    @Test(arguments: Other.allCases)
    func `any other file under the path of the backup refuses the migration, and both stay`(_ other: Other) throws {
        try withStorePath { path in
            try MigrationLibrary.makeStore(at: path)
            let backup = path + ".backup"
            switch other {
            case .text: try Data("a text".utf8).write(to: URL(filePath: backup))
            case .earlierCommit:
                try backUp(path, to: backup)
                try addNote(45, at: path)
            case .written:
                try backUp(path, to: backup)
                try addNote(45, at: backup)
            case .otherStore:
                try MigrationLibrary.makeStore(at: path + ".other")
                try backUp(path + ".other", to: backup)
            }
            let bytes = try Data(contentsOf: URL(filePath: backup))

            for model in [try Self.fitting(), try Self.inexact()] {
                let error = #expect(throws: StoreError.self) {
                    try BTreeStore.open(path: path, model: model, migration: MigrationOptions(backupPath: backup))
                }
                guard case .storage(.maintenance(.destinationExists), path)? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }

            #expect(try Data(contentsOf: URL(filePath: backup)) == bytes)
            let store = try BTreeStore.openWithStoredModel(path: path)
            #expect(store.model.descriptions == MigrationLibrary.library())
            try store.close()
        }
    }
}
