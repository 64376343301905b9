// The texts of errors about names and places: each names the file and the remedy.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct PlaceTextTests {
    @Test func `a store without its log is told so, with the name that was looked for`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.append(1)
            try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")

            #expect(throws: StorageError.opening(.logMissing)) { _ = try Database.open(path + ".copy") }
            let text = StorageError.opening(.logMissing).description
            #expect(text.contains("-wal") && text.contains("missing") && !text.contains("damaged"), "\(text)")
        }
    }

    @Test func `the store, the log, a copy and the folder are told apart`() {
        for (role, word) in [
            (FileRole.store, "store file"), (.log, "log file"), (.copy, "copy"), (.directory, "directory"),
            (.scratch, "temporary file"),
        ] {
            for operation in [IOOperation.rename, .remove, .open] {
                let text = StorageError.io(IOFailure(operation: operation, file: role, errno: 13)).description
                #expect(text.contains(word), "\(text)")
                #expect(role == .directory || !text.contains("directory"), "\(text)")
            }
        }
    }

    @Test func `a log that cannot be removed is called the log`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let database = try Database.open("store", in: system, options: .init())
        try database.append(1)
        let counted = system.operationCount
        try database.close()
        var errors: [StorageError] = []
        for number in counted + 1...system.operationCount {
            let machine = SimulatedFileSystem(seed: 3)
            let store = try Database.open("store", in: machine, options: .init())
            try store.append(1)
            machine.arm(SimulatedFault(operation: number, kind: .inputOutput))
            do throws(StorageError) { try store.close() } catch { errors.append(error) }
        }

        #expect(
            errors.contains(.io(IOFailure(operation: .remove, file: .log, errno: Platform.ioError))), "\(errors)")
    }

    @Test func `one's own open store is not said to be another process's`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.append(1)
            let busy = StorageError.opening(.storeBusy(pid: getpid()))

            #expect(throws: busy) { try Database.compact(at: path) }
            #expect(throws: busy) { _ = try Database.repair(path) }
            #expect(busy.description.hasPrefix("This process has the store open"))
            #expect(StorageError.opening(.storeBusy(pid: getpid() + 1)).description.hasPrefix("Process "))
            try database.close()
            try Database.compact(at: path)

            // The lock itself gives the same error to a second descriptor of this process.
            let first = try PosixFileSystem.shared.open(path, role: .store, mode: .readWrite)
            let second = try PosixFileSystem.shared.open(path, role: .store, mode: .readWrite)
            try first.lockForWriting()
            #expect(throws: busy) { try second.lockForWriting() }
        }
    }

    @Test func `a backup that was not closed cleanly is called that, and not told to be opened otherwise`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.append(1)

            #expect(throws: StorageError.backup(.notClosed)) { try Database.restore(path, to: path + ".new") }
            #expect(!StorageError.backup(.notClosed).description.contains("immutable"))
        }
    }

    @Test func `every fault of a path has a sentence of its own`() {
        let faults: [PathFault] = [
            .empty, .containsNUL, .noFolder, .notAFolder, .hardLinked, .logNotAFile, .logInUse,
        ]
        let others: [StorageError] = [
            .opening(.noSuchStore), .database(.removed(.store)), .database(.removed(.log)), .database(.storeReplaced),
            .database(.forked(from: 12)), .opening(.logMissing),
        ]
        let texts = faults.map { StorageError.path($0).description } + others.map(\.description)

        #expect(Set(texts).count == faults.count + others.count)
        for text in texts { #expect(text.hasSuffix(".") && text.count > 20, "\(text)") }
        #expect(StorageError.database(.forked(from: 12)).description.contains("12"))
    }
}
