// Half-written pages that a reader meets: their writer is slow, is stuck, or has ended.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct TornReadTests {
    /// A store file whose pages from 2 on are torn, and the bytes that it should have.
    private struct TornStore {
        let path: String
        private let whole: Data

        init(in folder: URL) throws {
            path = folder.appending(path: "torn.espalier").path
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<UInt64(100) { try write.put([UInt8](repeating: 7, count: 100), for: key, in: tree) }
            try write.commit()
            try database.close()
            whole = try Data(contentsOf: URL(filePath: path))
            var torn = whole
            for page in 2..<whole.count / 4096 { torn.resetBytes(in: page * 4096 + 3000..<(page + 1) * 4096) }
            try Self.write(torn, to: path)
        }

        /// Completes the torn pages, as the writer does when it continues.
        func finish() throws { try Self.write(whole, to: path) }

        /// Writes into the existing file, because a lock belongs to a file.
        private static func write(_ bytes: Data, to path: String) throws {
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.write(contentsOf: bytes)
            try file.close()
        }

        func read() throws -> [UInt8]? {
            var options = DatabaseOptions()
            options.access = .readOnly
            let database = try Database.open(path, options: options)
            let read = try database.beginRead()
            return try read.tree(named: "t", keys: UInt64.self).flatMap { try read.get(50, from: $0) }
        }

        /// The time until a read reports the damage.
        func timeToDamage() -> Duration {
            ContinuousClock().measure {
                #expect {
                    _ = try read()
                } throws: { error in
                    if case StorageError.corruption = error { true } else { false }
                }
            }
        }

        /// Acquires the lock of a writing process.
        func lock() throws -> any StorageFile {
            let file = try PosixFileSystem.shared.open(path, role: .store, mode: .readWrite)
            try file.lockForWriting()
            return file
        }
    }

    @Test func `a page that a writing process is slow to write is read when it is whole`() throws {
        try withTemporaryFolder { folder in
            let store = try TornStore(in: folder)
            let lock = try store.lock()
            Thread.detachNewThread {
                // The read gives up after half a second, of which a busy machine leaves the thread little.
                Thread.sleep(forTimeInterval: 0.03)
                try? store.finish()
            }

            #expect(try store.read() == [UInt8](repeating: 7, count: 100))
            try lock.close()
        }
    }

    @Test func `half a page is damage in the end if its writer is stuck, and at once if there is none`() throws {
        try withTemporaryFolder { folder in
            let store = try TornStore(in: folder)
            let lock = try store.lock()
            let stuck = store.timeToDamage()
            #expect(stuck > .milliseconds(400) && stuck < .seconds(30))
            try lock.close()

            let times = (0..<5).map { _ in store.timeToDamage() }
            #expect(try #require(times.min()) < .milliseconds(400))
        }
    }

    @Test func `a write that ends between a look and the question for the lock is no damage`() throws {
        let machine = SimulatedFileSystem(seed: 4)
        let made = try Database.open("store", in: machine, options: DatabaseOptions())
        var write = try made.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([7], for: 1, in: tree)
        try write.commit()
        let root = Int(try #require(try made.beginRead().trees().first).root)
        try made.close()
        let whole = try #require(machine.contents(of: "store"))
        machine.replaceContents(of: "store", with: whole.enumerated().map { $0 / 4096 == root ? 0 : $1 })
        let hooked = HookedFileSystem(over: machine)
        var options = DatabaseOptions()
        options.access = .readOnly
        let reader = try Database.open("store", in: hooked, options: options)
        let questions = Shared(Atomic(0))
        hooked.answerLock {
            let number = questions.value.add(1, ordering: .relaxed).newValue
            // After the second look the writer completes the page, and ends before the reader asks for the lock.
            if number == 2 { machine.replaceContents(of: "store", with: whole) }
            return number < 2
        }

        #expect(try reader.beginRead().get(1, from: tree) == [7])
        #expect(questions.value.load(ordering: .relaxed) == 2)
    }

    @Test(arguments: [false, true])
    func `a reader that is outrun by checkpoints begins anew, and calls nothing damage`(isOpen: Bool) throws {
        // The files before each of six checkpoints, each time with a commit in the log.
        let images = try imagesBeforeCheckpoints(6) { write, number in
            try write.put(
                [UInt8](repeating: number, count: 20_000), for: 1, in: write.tree(named: "t", orCreate: UInt64.self))
        }
        let machine = images[0].machine
        let hooked = HookedFileSystem(over: machine)
        var options = LogImage.options
        options.access = .readOnly
        // Checkpoints outrun the reader while it opens the store, or when it begins a snapshot of the open store.
        let opened = isOpen ? try Database.open("store", in: hooked, options: options) : nil
        let next = Shared(Atomic(0))
        hooked.arm { call, role in
            guard call == .read, role == .log else { return }
            // No process holds the lock: each of these writers has ended.
            let number = next.value.add(1, ordering: .relaxed).newValue
            guard number < images.count else { return }
            machine.replaceContents(of: "store", with: images[number].store)
            machine.replaceContents(of: "store-wal", with: images[number].log)
        }
        let reader = try opened ?? Database.open("store", in: hooked, options: options)
        let read = try reader.beginRead()

        #expect(next.value.load(ordering: .relaxed) >= images.count)
        let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
        #expect(try read.get(1, from: tree) == [UInt8](repeating: 5, count: 20_000))
    }

    /// The files of a store before each of `count` checkpoints; the log has the change since the checkpoint before.
    private func imagesBeforeCheckpoints(
        _ count: UInt8, _ change: (inout WriteTransaction, _ number: UInt8) throws -> Void
    ) throws -> [LogImage] {
        let system = SimulatedFileSystem(seed: 3)
        let database = try Database.open("store", in: system, options: LogImage.options)
        return try (0..<count).map { number in
            var write = try database.beginWrite()
            try change(&write, number)
            try write.commit()
            let image = try LogImage(system)
            try database.checkpoint()
            return image
        }
    }

    /// A follower of a store, and a count of its walks through the log; a checkpoint outruns each of the first `limit`.
    private func outrunReader(limit: Int) throws -> (reader: Database, walkCount: () -> Int) {
        // The files of two checkpoints in turn simulate a writer that makes one checkpoint after another.
        let images = try imagesBeforeCheckpoints(2) { write, _ in
            _ = try write.tree(named: "t", orCreate: UInt64.self)
        }
        let machine = images[0].machine
        let hooked = HookedFileSystem(over: machine)
        var options = LogImage.options
        options.access = .readOnly
        let reader = try Database.open("store", in: hooked, options: options)
        let (walks, isInWalk) = (Shared(Atomic(0)), Shared(Atomic(false)))
        hooked.arm { call, role in
            // A walk first reads the newest slot, then the log.
            guard call == .read else { return }
            guard role == .log else { return isInWalk.value.store(false, ordering: .relaxed) }
            guard !isInWalk.value.exchange(true, ordering: .relaxed) else { return }
            let number = walks.value.add(1, ordering: .relaxed).newValue
            guard number <= limit else { return }
            machine.replaceContents(of: "store", with: images[number % 2].store)
            // Before the last checkpoint the walk meets an empty log, which makes it quick.
            machine.replaceContents(of: "store-wal", with: number < limit ? [] : images[number % 2].log)
        }
        return (reader, { walks.value.load(ordering: .relaxed) })
    }

    @Test func `a reader outrun a thousand times has an expired snapshot, one outrun less often a whole one`() throws {
        let patient = try outrunReader(limit: 999)
        _ = try patient.reader.beginRead().transactionID
        #expect(patient.walkCount() == 1000)

        let outrun = try outrunReader(limit: 1000)
        #expect(throws: StorageError.transaction(.snapshotExpired)) { _ = try outrun.reader.beginRead().transactionID }
        #expect(outrun.walkCount() == 1000)
        // The writer has stopped, so the next snapshot is whole.
        #expect(try outrun.reader.beginRead().tree(named: "t", keys: UInt64.self) != nil)
    }
}
