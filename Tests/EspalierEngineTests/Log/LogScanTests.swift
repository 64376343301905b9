// Every condition that a frame, a commit record or a segment header must meet to count, each broken alone.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct LogScanTests {
    /// A change of the second of four transactions.
    enum Change: CaseIterable {
        case chain, salt, position, length, pageBytes, commitBytes, commitPosition, frameCount, transaction
    }

    @Test func `the first commit frame is found wherever it stands, and nothing that resembles one`() {
        let seed = testSeed(default: 0x10F7A3)
        var chance = SeededGenerator(seed: seed)
        let frameByteCount = FrameHeaderLayout.byteCount + CommitRecordLayout.byteCount
        let commit = ScratchPage(byteCount: FrameHeaderLayout.byteCount)
        var header = FrameHeader(
            type: .commit, page: 0, payloadByteCount: CommitRecordLayout.byteCount, lsn: 77, salt: 5, payloadChecksum: 9
        )
        header.encode(to: commit.view, previousChain: 3)
        let frame = commit.view.bytes(0, FrameHeaderLayout.byteCount).array

        for round in 0..<500 {
            // Bytes of which the fixed fields of the header consist, so that beginnings of it occur by chance.
            var bytes = (0..<Int.random(in: 0...1000, using: &chance)).map { _ in
                Bool.random(using: &chance) ? 0 : frame[Int.random(in: 0..<16, using: &chance)]
            }
            for _ in 0..<Int.random(in: 0...2, using: &chance) where bytes.count >= frame.count {
                let place = Int.random(in: 0...bytes.count - frame.count, using: &chance)
                bytes.replaceSubrange(place..<place + frame.count, with: frame)
                if Bool.random(using: &chance) { bytes[place + Int.random(in: 0..<16, using: &chance)] ^= 1 }
            }
            // SAFETY: the span does not outlive the bytes.
            let span = unsafe bytes.span.bytes
            let expected = (0..<max(bytes.count - frameByteCount + 1, 0)).first { offset in
                FrameHeader(decoding: span.extracting(offset..<bytes.count), pageSize: 4096)?.type == .commit
            }
            #expect(FrameHeader.firstCommit(in: span) == expected, "seed \(seed), round \(round)")
        }
    }

    @Test func `an unchanged log is walked to its newest commit`() throws {
        #expect(try LogImage(commits: 4).scan().transactionID == 4)
        #expect(try LogImage(commits: 4, byteCount: 60_000).scan().transactionID == 4)
    }

    @Test(arguments: Change.allCases)
    func `a frame that breaks one rule is where the log is damaged`(_ change: Change) throws {
        var image = try LogImage(commits: 4)
        let frames = try image.frames(at: 0)
        let commits = frames.filter { $0.header.type == .commit }
        let first = try #require(frames.first { $0.offset > commits[0].offset })
        var broken = commits[1]
        switch change {
        case .chain:
            broken = first
            try image.change(first, breaksChain: true) { _ in }
        case .salt:
            broken = first
            try image.change(first) { $0.salt ^= 1 }
        case .position:
            broken = first
            try image.change(first) {
                $0 = FrameHeader(
                    type: .segmentStart, page: 0, payloadByteCount: 0, lsn: $0.lsn + 8, salt: $0.salt,
                    payloadChecksum: 0)
            }
        case .length:
            broken = first
            try image.change(first) {
                $0 = FrameHeader(
                    type: .padding, page: 0, payloadByteCount: LogImage.segmentByteCount, lsn: $0.lsn, salt: $0.salt,
                    payloadChecksum: 0)
            }
        case .pageBytes:
            broken = first
            image.log[first.offset + first.header.frameByteCount - 1] ^= 1
        case .commitBytes: image.log[broken.offset + FrameHeaderLayout.byteCount + CommitRecordLayout.wallClock] ^= 1
        case .commitPosition: try image.changeCommit(broken) { $0.commitLSN += 1 }
        case .frameCount: try image.changeCommit(broken) { $0.frameCount = 1000 }
        case .transaction: try image.changeCommit(broken) { $0.transactionID = 1 }
        }

        // Later commits record that this position was durable.
        #expect(throws: StorageError.opening(.logCorrupt(lsn: broken.header.lsn))) { try image.scan() }
    }

    @Test func `page frames that a commit does not count are none of its versions`() throws {
        var image = try LogImage(commits: 2)
        let frames = try image.frames(at: 0)
        let whole = try image.scan().versionCount
        let commit = try #require(frames.last { $0.header.type == .commit })

        try image.changeCommit(commit) { $0.frameCount -= 1 }
        #expect(try image.scan().transactionID == 2)
        #expect(try image.scan().versionCount == whole - 1)
    }

    @Test func `a torn commit is where the log ends, if no later one says that it was synced`() throws {
        let system = SimulatedFileSystem(seed: 6)
        let database = try Database.open("store", in: system, options: LogImage.options)
        for (key, durability) in [Durability.durable, .ordered, .ordered, .durable].enumerated() {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([1], for: UInt64(key), in: tree)
            try write.commit(durability)
        }
        var image = try LogImage(system)
        let whole = try image.scan()
        #expect(whole.transactionID == 4)
        #expect(whole.certainID == 1)

        let commits = try image.frames(at: 0).filter { $0.header.type == .commit }
        image.log[commits[1].offset + FrameHeaderLayout.byteCount + CommitRecordLayout.wallClock] ^= 1
        #expect(try image.scan().transactionID == 1)
    }

    @Test func `a segment of many small commits after the break is read once`() throws {
        let system = SimulatedFileSystem(seed: 8)
        let database = try Database.open("store", in: system, options: LogImage.options)
        for key in UInt64(0)..<30 {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([1], for: key, in: tree)
            try write.commit(key == 0 ? .durable : .ordered)
        }
        var image = try LogImage(system)
        let commits = try image.frames(at: 0).filter { $0.header.type == .commit }
        image.log[commits[1].offset + FrameHeaderLayout.byteCount + CommitRecordLayout.wallClock] ^= 1
        let files = HookedFileSystem(over: image.machine)
        let reads = Atomic(0)
        files.arm { call, role in if call == .read, role == .log { reads.add(1, ordering: .relaxed) } }

        #expect(try image.scan(in: files).transactionID == 1)
        #expect(commits.count > 20)
        // The header of each segment is read, too.
        let segmentCount = try image.segments.count
        #expect(reads.load(ordering: .relaxed) < segmentCount + 12)
    }

    /// A field of a commit with a value that no commit has.
    enum Impossibility: CaseIterable {
        case page, position, future, transaction, nextTree
    }

    @Test(arguments: Impossibility.allCases)
    func `a commit that cannot be says nothing of what was durable`(_ impossibility: Impossibility) throws {
        var image = try LogImage(commits: 4)
        let commits = try image.frames(at: 0).filter { $0.header.type == .commit }
        image.log[commits[1].offset + FrameHeaderLayout.byteCount + CommitRecordLayout.wallClock] ^= 1
        #expect(throws: StorageError.opening(.logCorrupt(lsn: commits[1].header.lsn))) { try image.scan() }

        for commit in commits[2...].reversed() {
            switch impossibility {
            case .page: try image.change(commit) { $0.page = 1 }
            case .position: try image.changeCommit(commit) { $0.commitLSN += 1 }
            case .future: try image.changeCommit(commit) { $0.durableLSN = commit.header.lsn + 1 }
            case .transaction: try image.changeCommit(commit) { $0.transactionID = 1 << 62 }
            case .nextTree: try image.changeCommit(commit) { $0.nextTreeID = 0 }
            }
        }
        #expect(try image.scan().transactionID == 1)
    }

    /// A change of the header of the log's second segment.
    enum SegmentChange: CaseIterable {
        case store, place, chain, start, sequence
    }

    @Test(arguments: SegmentChange.allCases)
    func `a segment that does not continue the log is not entered`(_ change: SegmentChange) throws {
        var image = try LogImage(commits: 4, byteCount: 60_000)
        let slot = try image.slot
        let second = try #require(try image.segments.firstIndex { $0?.sequence == slot.logStartSegment + 1 })
        try image.changeSegment(second) {
            switch change {
            case .store: $0.seedEcho ^= 1
            case .place: $0.index += 1
            case .chain: $0.previousChain ^= 1
            case .start: $0.startLSN += 8
            case .sequence: $0.sequence += 100
            }
        }
        var failure: StorageError?
        do { _ = try image.scan() } catch { failure = error as? StorageError }

        guard case .opening(.logCorrupt(let lsn)) = failure else {
            Issue.record("\(change) gave \(String(describing: failure))")
            return
        }
        #expect(lsn <= (slot.logStartSegment + 1) * UInt64(LogImage.segmentByteCount))
    }

    @Test func `what a transaction that was given up left in the log counts for nothing`() throws {
        let system = SimulatedFileSystem(seed: 3)
        var options = LogImage.options
        options.cacheByteCount = 0
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in UInt64(0)..<200 { try write.put([UInt8](repeating: 1, count: 400), for: key, in: tree) }
        try write.commit()
        var given = try database.beginWrite()
        for key in UInt64(0)..<200 { try given.put([UInt8](repeating: 2, count: 400), for: key, in: tree) }
        given.rollback()
        var next = try database.beginWrite()
        try next.put([3], for: 1000, in: tree)
        try next.commit()
        let image = try LogImage(system)

        let reopened = try Database.open("store", in: image.machine, options: options)
        let read = try reopened.beginRead()
        #expect(try read.count(of: tree) == 201)
        for key in UInt64(0)..<200 { #expect(try read.get(key, from: tree) == [UInt8](repeating: 1, count: 400)) }
        #expect(try reopened.check().isOK)
    }

    @Test func `a log that is left beside a clean slot is not used again`() throws {
        let system = SimulatedFileSystem(seed: 4)
        var options = LogImage.options
        options.cacheByteCount = 0
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        // Its frames fill several segments, and no checkpoint ever reaches them.
        var given = try database.beginWrite()
        for key in UInt64(0)..<2000 { try given.put([UInt8](repeating: 2, count: 400), for: key, in: tree) }
        given.rollback()
        let old = try LogImage(system)
        try database.close()
        system.replaceContents(of: "store-wal", with: old.log)

        let again = try Database.open("store", in: system, options: options)
        var second = try again.beginWrite()
        try second.put([2], for: 2, in: tree)
        try second.commit()

        let new = try LogImage(system)
        #expect(try new.slot.logIdentifier != old.slot.logIdentifier)
        #expect(new.log.count < old.log.count)
        #expect(try old.segments.compactMap { $0?.sequence }.count > 3)
    }

    @Test func `the log of another store is refused`() throws {
        let other = try LogImage(commits: 2)
        let system = SimulatedFileSystem(seed: 77)
        let database = try Database.open("store", in: system, options: LogImage.options)
        var write = try database.beginWrite()
        _ = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        var image = try LogImage(system)
        image.log = other.log

        for access in [DatabaseOptions.Access.readWrite, .readOnly] {
            var options = LogImage.options
            options.access = access
            #expect(throws: StorageError.corrupt(.logForeign, page: 0, file: .log), "\(access)") {
                _ = try Database.open("store", in: image.machine, options: options)
            }
        }
    }
}
