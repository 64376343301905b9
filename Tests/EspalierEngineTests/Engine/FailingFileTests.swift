// Files that fail, shrink or change under an open store: the call that meets the fault reports it and leaves no trace.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct FailingFileTests {
    private let failure = StorageError.io(IOFailure(operation: .read, file: .store, errno: Platform.ioError))

    /// A cache of 16 frames: nearly every page is read from a file when it is needed.
    private var uncached: DatabaseOptions {
        var options = DatabaseOptions.small
        options.cacheByteCount = 16 * options.pageSize
        options.logByteCountMax = 8 << 20
        return options
    }

    /// An open store of about 100 pages, none of which a checkpoint has written to the store file yet.
    private func open(
        in system: any FileSystem, _ options: DatabaseOptions
    ) throws -> (database: Database, tree: Tree<UInt64>) {
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in UInt64(0)..<80 { try write.put([UInt8](repeating: 1, count: 3000), for: key, in: tree) }
        try write.commit()
        return (database, tree)
    }

    @Test func `a check ends with the first read that fails, and not with findings`() throws {
        let hooked = HookedFileSystem(over: SimulatedFileSystem(seed: 3))
        let (database, _) = try open(in: hooked, uncached)
        try database.checkpoint(.full)
        let count = Shared(Atomic(0))
        var failureCount = 0
        while true {
            count.value.store(0, ordering: .relaxed)
            let last = failureCount
            hooked.arm { [failure] call, role throws(StorageError) in
                guard call == .read, role == .store else { return }
                if count.value.add(1, ordering: .relaxed).oldValue == last { throw failure }
            }
            var report: CheckReport?
            let error = thrown { () throws(StorageError) in report = try database.check() }
            if let report {
                #expect(report.isOK, "\(report.findings)")
                break
            }
            #expect(error == failure)
            failureCount += 1
        }
        #expect(failureCount > 80)
    }

    /// Writes zeros over all segments of the log.
    private func clearLog(_ system: SimulatedFileSystem) throws {
        var log = try #require(system.contents(of: "store-wal"))
        log.replaceSubrange(4096..., with: [UInt8](repeating: 0, count: log.count - 4096))
        system.replaceContents(of: "store-wal", with: log)
    }

    private func rule(_ error: StorageError?) -> CorruptionRule? {
        guard case .corruption(let corruption) = error, corruption.file == .log else { return nil }
        return corruption.rule
    }

    @Test func `a page whose frame is gone is damage, and no checkpoint moves it`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let (database, tree) = try open(in: system, uncached)
        let before = try #require(system.contents(of: "store"))
        try clearLog(system)

        #expect(
            rule(thrown { () throws(StorageError) in _ = try database.beginRead().get(7, from: tree) }) == .logFrame)
        #expect(rule(thrown { () throws(StorageError) in try database.checkpoint(.full) }) == .logFrame)
        #expect(system.contents(of: "store")?.prefix(4096) == before.prefix(4096))
    }

    @Test func `a writer does not go on without a page that it wrote to the log`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let (database, tree) = try open(in: system, uncached)
        var write = try database.beginWrite()
        for key in UInt64(100)..<200 { try write.put([UInt8](repeating: 2, count: 3000), for: key, in: tree) }
        try clearLog(system)
        var failure: StorageError?
        do throws(StorageError) { _ = try write.get(100, from: tree) } catch { failure = error }

        #expect(rule(failure) == .logFrame)
    }

    @Test func `a reader whose frames another process overwrote has an expired snapshot, and no damage`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let (database, tree) = try open(in: system, uncached)
        let machine = try LogImage(system).machine
        try database.close()
        var options = uncached
        options.access = .readOnly
        let reader = try Database.open("store", in: machine, options: options)
        let read = try reader.beginRead()
        try clearLog(machine)
        var failure: StorageError?
        do throws(StorageError) { _ = try read.get(7, from: tree) } catch { failure = error }

        #expect(failure == .transaction(.snapshotExpired))
    }

    @Test func `a transaction that is larger than the log may be is refused, and the next one is not`() throws {
        var options = DatabaseOptions.small
        options.cacheByteCount = 32 << 20
        let (database, tree) = try open(in: SimulatedFileSystem(seed: 3), options)
        let failure = thrown { () throws(StorageError) in
            var write = try database.beginWrite()
            try write.put([UInt8](repeating: 2, count: 3 << 20), for: 1, in: tree)
            try write.commit()
        }
        #expect(failure == .transaction(.logFull))
        var write = try database.beginWrite()
        try write.put([3], for: 1, in: tree)
        try write.commit()
        #expect(try database.beginRead().get(1, from: tree) == [3])
    }

    @Test func `a store that cannot be written when it is made leaves no file behind`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let hooked = HookedFileSystem(over: system)
        let failure = StorageError.io(IOFailure(operation: .write, file: .store, errno: Platform.ioError))
        hooked.arm { call, _ throws(StorageError) in if call == .write { throw failure } }

        #expect(throws: failure) { _ = try Database.open("store", in: hooked, options: DatabaseOptions()) }
        #expect(system.paths == [])
    }

    @Test func `a salvaged store does not take a name that was given away meanwhile`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let (database, _) = try open(in: system, DatabaseOptions())
        try database.close()
        let hooked = HookedFileSystem(over: system)
        hooked.arm { call, _ in if call == .sync { system.replaceContents(of: "new", with: [7]) } }

        #expect(throws: StorageError.io(IOFailure(operation: .rename, file: .store, errno: Platform.exists))) {
            _ = try Database.salvage(from: "store", into: "new", in: hooked, options: SalvageOptions())
        }
        #expect(system.contents(of: "new") == [7])
        #expect(system.paths == ["new", "store"])
    }

    @Test func `an increment that is cut while it is read is damaged, and the copy stays as it was`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let (database, tree) = try open(in: system, DatabaseOptions())
        try database.backUp(to: "copy")
        var write = try database.beginWrite()
        try write.put([UInt8](repeating: 2, count: 20_000), for: 7, in: tree)
        try write.commit()
        try database.backUpChanges(since: try BackupPoint(of: "copy", in: system), to: "increment")
        let (copy, increment) = (system.contents(of: "copy"), try #require(system.contents(of: "increment")))
        let hooked = HookedFileSystem(over: system)
        let reads = Shared(Atomic(0))
        hooked.arm { call, role in
            guard call == .read, role == .copy else { return }
            // The first read is for the header.
            if reads.value.add(1, ordering: .relaxed).oldValue == 1 {
                system.replaceContents(of: "increment", with: Array(increment.dropLast(4096)))
            }
        }

        #expect(throws: StorageError.backup(.damaged)) {
            try Database.bringForward("copy", by: "increment", in: hooked)
        }
        #expect(system.contents(of: "copy") == copy)
    }

    private enum LogDamage: CaseIterable { case noFrame, otherPage, otherCommit, tooManyFrames }

    @Test func `who listens to a log that was damaged meanwhile has lost the changes`() throws {
        for damage in LogDamage.allCases {
            let system = SimulatedFileSystem(seed: 3)
            let database = try Database.open("store", in: system, options: LogImage.options)
            try database.backUp(to: "copy")
            let feed = try database.changes(after: try BackupPoint(of: "copy", in: system))
            var write = try database.beginWrite()
            _ = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit()
            var image = try LogImage(system)
            let frames = try image.frames(at: 0)
            let page = try #require(frames.first { $0.header.type == .page })
            let commit = try #require(frames.first { $0.header.type == .commit })
            switch damage {
            case .noFrame: image.log[page.offset] ^= 0xFF
            case .otherPage: image.log[page.offset + FrameHeaderLayout.byteCount + 40] ^= 1
            case .otherCommit:
                image.log[commit.offset + FrameHeaderLayout.byteCount + CommitRecordLayout.wallClock] ^= 1
            case .tooManyFrames: try image.changeCommit(commit) { $0.frameCount = 1000 }
            }
            system.replaceContents(of: "store-wal", with: image.log)

            #expect(throws: StorageError.maintenance(.changesGone), "\(damage)") { _ = try feed.next() }
        }
    }

    /// A file whose writes write no byte and throw no error.
    private final class StuckFile: StorageFile {
        let role = FileRole.log
        let identity = FileIdentity(device: 0, inode: 0)
        func size() throws(StorageError) -> UInt64 { 0 }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int { 0 }
        func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int { 0 }
        func sync(_ level: SyncLevel) throws(StorageError) {}
        func truncate(to byteCount: UInt64) throws(StorageError) {}
        func allocate(to byteCount: UInt64) throws(StorageError) {}
        func lockForWriting() throws(StorageError) {}
        func close() throws(StorageError) {}
    }

    @Test func `a file that takes no byte is not asked for ever`() throws {
        let bytes = ScratchBytes(byteCount: 16)

        #expect(throws: StorageError.io(IOFailure(operation: .write, file: .log, errno: 0))) {
            try bytes.write(0..<16, to: StuckFile(), at: 0)
        }
    }

    /// Calls `body` while pages 1 to `count` are pinned.
    private func pinning(_ count: PageNumber, in pool: BufferPool, _ body: () throws -> Void) throws {
        guard count > 0 else { return try body() }
        guard let pin = try pool.pin(count, version: 0, load: { _ in true }) else { return }
        try pinning(count - 1, in: pool, body)
        #expect(pin.number == count)
    }

    @Test func `a page that cannot be read while every frame is pinned can be read the next time`() throws {
        let pool = try BufferPool(pageSize: 4096, byteCount: 0)
        try pinning(PageNumber(pool.frameCount), in: pool) {
            let error = thrown { () throws(StorageError) in
                _ = try pool.pin(1000, version: 0) { _ throws(StorageError) in throw failure }
            }
            #expect(error == failure)
            let number = try pool.pin(1000, version: 0) { _ in true }?.number
            #expect(number == 1000)
        }
    }
}
