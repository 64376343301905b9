// Reading ahead: the calls that a walk takes, the pages that it reads in vain, and that nothing else changes by it.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct ReadAheadTests {
    private static let rowCount = 20_000

    private static func options(frameCount: Int, pageSize: Int = 4096) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.pageSize = pageSize
        options.cacheByteCount = frameCount * pageSize
        return options
    }

    private static func value(_ key: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(key % 251), count: 100) }

    /// Makes a closed store whose leaves follow each other in the file.
    private func makeStore(in files: any FileSystem, pageSize: Int = 4096, rowCount: Int = Self.rowCount) throws {
        let database = try Database.open(
            "store", in: files, options: Self.options(frameCount: 64, pageSize: pageSize))
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.load((0..<UInt64(rowCount)).map { ($0, Self.value($0)) }, into: tree)
        try write.commit()
        try database.close()
    }

    private func open(_ files: any FileSystem, frameCount: Int = 512) throws -> (Database, Tree<UInt64>) {
        let database = try Database.open("store", in: files, options: Self.options(frameCount: frameCount))
        return (database, try #require(try database.beginRead().tree(named: "t", keys: UInt64.self)))
    }

    /// The pages of the store's leaves, each with its first key, in the order of keys.
    private func leaves(in files: any FileSystem, pageSize: Int = 4096) throws -> [(key: UInt64, page: PageNumber)] {
        let file = try files.open("store", role: .store, mode: .readOnly)
        let bytes = ScratchBytes(byteCount: Int(try file.size()))
        _ = try bytes.read(0..<bytes.byteCount, from: file, at: 0)
        var leaves: [(key: UInt64, page: PageNumber)] = []
        for page in 1..<bytes.byteCount / pageSize {
            let view = bytes.view(at: page * pageSize, byteCount: pageSize)
            guard view.typeByte == PageType.leafInteger.rawValue, view.cellCount > 0 else { continue }
            leaves.append((view.integerKey(0), PageNumber(page)))
        }
        return leaves.sorted { $0.key < $1.key }
    }

    /// The keys that a walk gives until it ends or throws.
    private func walk(
        _ database: Database, _ tree: Tree<UInt64>, forward: Bool = true
    ) throws -> (keys: [UInt64], error: StorageError?) {
        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        var keys: [UInt64] = []
        do throws(StorageError) {
            var isOnEntry = forward ? try cursor.first() : try cursor.last()
            while isOnEntry {
                keys.append(try cursor.key)
                isOnEntry = forward ? try cursor.next() : try cursor.previous()
            }
            return (keys, nil)
        } catch {
            return (keys, error)
        }
    }

    // MARK: Calls

    @Test(arguments: [4096, 16_384, 65_536], [true, false])
    func `a walk takes several neighboring leaves with each call`(pageSize: Int, forward: Bool) throws {
        let files = HookedFileSystem()
        try makeStore(in: files, pageSize: pageSize)
        let leafCount = try leaves(in: files, pageSize: pageSize).count
        let database = try Database.open("store", in: files, options: Self.options(frameCount: 128, pageSize: pageSize))
        let tree = try #require(try database.beginRead().tree(named: "t", keys: UInt64.self))
        let calls = Atomic(0)
        files.arm { call, role in if call == .read, role == .store { calls.add(1, ordering: .relaxed) } }

        let found = try walk(database, tree, forward: forward)

        #expect(found.error == nil && found.keys.count == Self.rowCount)
        // The window doubles up to 16 pages in a cache of 128, or to 128 KiB.
        let window = min(16, max((128 << 10) / pageSize, 4))
        #expect(calls.load(ordering: .relaxed) <= leafCount / window + 12, "\(leafCount) leaves")
        #expect(leafCount > 30)
    }

    @Test func `a check takes several neighboring leaves, and pages of a long value, with each call`() throws {
        let files = HookedFileSystem()
        try makeStore(in: files)
        do {
            let (database, tree) = try open(files)
            var write = try database.beginWrite()
            for key in 0..<UInt64(4) { try write.put([UInt8](repeating: 7, count: 400_000), for: key, in: tree) }
            try write.commit()
            try database.close()
        }
        let (database, tree) = try open(files, frameCount: 256)
        let pageCount = Int(database.statistics.pageCount)
        let calls = Atomic(0)
        files.arm { call, role in if call == .read, role == .store { calls.add(1, ordering: .relaxed) } }

        #expect(try database.check().isOK)
        #expect(calls.exchange(0, ordering: .relaxed) < pageCount / 16)
        #expect(try database.beginRead().get(3, from: tree) == [UInt8](repeating: 7, count: 400_000))
        #expect(calls.load(ordering: .relaxed) < 100 / 8)
        #expect(pageCount > 800)
    }

    @Test func `a walk of n leaves reads at most n leaves in vain`() throws {
        let files = MemoryFileSystem()
        try makeStore(in: files)
        let firstKeys = try leaves(in: files).map(\.key)
        var generator = SeededGenerator(seed: testSeed(default: 31))
        for length in [1, 2, 3, 5, 20] {
            let (database, tree) = try open(files)
            let start = Int.random(in: 0..<firstKeys.count - length, using: &generator)
            let read = try database.beginRead()
            var cursor = try read.cursor(over: tree)
            let before = database.statistics.cacheMisses
            _ = try cursor.seek(firstKeys[start])
            while try cursor.key < firstKeys[start + length - 1] { _ = try cursor.next() }
            // The leaves of the walk, one for each that it crossed to, and the two levels above.
            #expect(database.statistics.cacheMisses - before <= UInt64(length + (length - 1) + 2), "from leaf \(start)")
        }
    }

    // MARK: Errors

    @Test(arguments: [true, false])
    func `the error of a page that was read ahead is thrown when the walk comes to it`(forward: Bool) throws {
        let files = MemoryFileSystem()
        try makeStore(in: files)
        let leaves = try leaves(in: files)
        let damaged = leaves[leaves.count / 2]
        let file = try files.open("store", role: .store, mode: .readWrite)
        let byte = ScratchBytes(byteCount: 1)
        byte.store([0xA5], at: 0)
        try byte.write(0..<1, to: file, at: UInt64(damaged.page) * 4096 + 2000)
        let (database, tree) = try open(files)

        let found = try walk(database, tree, forward: forward)

        let next = leaves[leaves.count / 2 + 1].key
        #expect(
            found.keys
                == (forward ? Array(0..<damaged.key) : (next..<UInt64(Self.rowCount)).reversed()))
        guard case .corruption(let corruption) = found.error else {
            Issue.record("\(String(describing: found.error))")
            return
        }
        #expect(corruption.page == damaged.page && corruption.rule == .pageChecksum)
    }

    @Test func `a file that was cut gives all that is left of it`() throws {
        let files = MemoryFileSystem()
        // One page above the leaves, and it lies before them.
        try makeStore(in: files, rowCount: 9000)
        let (database, tree) = try open(files)
        let cut = try leaves(in: files).first { $0.page == 100 }
        let firstLost = try #require(cut).key
        try files.open("store", role: .store, mode: .readWrite).truncate(to: 100 * 4096 + 100)

        let found = try walk(database, tree)

        #expect(found.keys == Array(0..<firstLost))
        #expect(found.error == .corrupt(.pageBeyondEnd, page: 100))
    }

    @Test func `a failed call is an error only if the wanted page cannot be read alone`() throws {
        let files = HookedFileSystem()
        try makeStore(in: files)
        for isSticky in [false, true] {
            let (database, tree) = try open(files)
            let calls = Atomic(0)
            files.arm { call, role throws(StorageError) in
                guard call == .read, role == .store else { return }
                let number = calls.add(1, ordering: .relaxed).newValue
                guard number == 10 || isSticky && number > 10 else { return }
                throw .io(IOFailure(operation: .read, file: role, errno: Platform.ioError))
            }
            let found = try walk(database, tree)
            files.arm(nil)

            #expect(found.keys == Array(0..<UInt64(found.keys.count)))
            #expect((found.error == nil) == !isSticky)
            #expect((found.keys.count == Self.rowCount) == !isSticky)
            #expect(try walk(database, tree).keys.count == Self.rowCount)
            try database.close()
        }
    }

    // MARK: Versions

    /// A snapshot and what it must show.
    private final class Held {
        let read: ReadTransaction
        let rows: [UInt64: [UInt8]]

        init(_ database: Database, _ rows: [UInt64: [UInt8]]) throws {
            read = try database.beginRead()
            self.rows = rows
        }

        func compare(_ tree: Tree<UInt64>, forward: Bool) throws -> Bool {
            var cursor = try read.cursor(over: tree)
            var found: [UInt64: [UInt8]] = [:]
            var isOnEntry = forward ? try cursor.first() : try cursor.last()
            while isOnEntry {
                found[try cursor.key] = try cursor.value()
                isOnEntry = forward ? try cursor.next() : try cursor.previous()
            }
            return found == rows
        }
    }

    @Test func `walks of old and new snapshots see their versions, while commits and checkpoints go on`() throws {
        let seed = testSeed(default: 4100)
        var generator = SeededGenerator(seed: seed)
        let database = try Database.open("store", in: MemoryFileSystem(), options: Self.options(frameCount: 64))
        var rows: [UInt64: [UInt8]] = [:]
        var first = try database.beginWrite()
        let tree = try first.createTree(named: "t", keys: UInt64.self)
        for key in 0..<UInt64(3000) { rows[key] = Self.value(key) }
        try first.load(rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, into: tree)
        try first.commit()
        var held: [Held] = []
        for round in 0..<80 {
            var write = try database.beginWrite()
            for _ in 0..<Int.random(in: 1...60, using: &generator) {
                let key = UInt64.random(in: 0..<3000, using: &generator)
                rows[key] = [UInt8](repeating: UInt8(round), count: Int.random(in: 20...300, using: &generator))
                try write.put(rows[key] ?? [], for: key, in: tree)
            }
            var cursor = try write.cursor(over: tree)
            var count = 0
            while try cursor.next() { count += try cursor.value() == rows[cursor.key] ? 1 : 0 }
            #expect(count == rows.count, "seed \(seed), round \(round), the writer")
            try write.commit()
            if Bool.random(using: &generator) { try database.checkpoint(.passive) }
            held.append(try Held(database, rows))
            if held.count > 3 { held.remove(at: Int.random(in: 0..<3, using: &generator)) }
            for snapshot in held {
                let forward = Bool.random(using: &generator)
                #expect(try snapshot.compare(tree, forward: forward), "seed \(seed), round \(round)")
            }
        }
        held = []
        #expect(try database.check().isOK)
    }

    // MARK: The cache

    @Test func `pages in memory and frames in use are left alone`() throws {
        let pool = try BufferPool(pageSize: 4096, byteCount: 16 * 4096)
        var pins = PinList()
        try pins.add(pool, Array(1...14))
        var asked: [[PageNumber]] = []
        func load(_ pages: [PageNumber]) {
            pool.loadAhead(pages) { targets in
                asked.append(targets.map(\.number))
                for target in targets { target.target.clear(0..<4096) }
                return targets.map { $0.number != 21 }
            }
        }
        load([2, 20, 14, 21, 22, 23])
        // Two frames are free; page 21 is not sound and leaves none.
        #expect(asked == [[20, 21]])
        #expect(pool.isPresent(20, version: 0) && !pool.isPresent(21, version: 0))
        load([20])
        #expect(asked.count == 1)
        try pins.add(pool, [30, 31])
        load([40, 41])
        #expect(asked.count == 1 && !pool.isPresent(40, version: 0))
        #expect(pool.aheadCountMax == 2 && pool.missCount == 18)
    }

    @Test func `a walk that ends early leaves the pages in use in the cache`() throws {
        let files = MemoryFileSystem()
        try makeStore(in: files)
        let firstKeys = try leaves(in: files).map(\.key)
        let (database, tree) = try open(files, frameCount: 128)
        let read = try database.beginRead()
        for round in 0..<40 {
            // Half of the cache is in use.
            for leaf in 0..<60 { _ = try read.get(firstKeys[leaf], from: tree) }
            let before = database.statistics.cacheMisses
            var cursor = try read.cursor(over: tree)
            _ = try cursor.seek(firstKeys[100 + round * 8])
            for _ in 0..<100 { _ = try cursor.next() }
            for leaf in 0..<60 { _ = try read.get(firstKeys[leaf], from: tree) }
            // The walk crosses to three leaves, and reads one or two more.
            #expect(database.statistics.cacheMisses - before <= 16, "round \(round)")
        }
    }
}

/// Pinned pages.
private struct PinList: ~Copyable {
    private final class Box {
        let pin: PagePin
        init(_ pin: consuming PagePin) { self.pin = pin }
    }

    private var boxes: [Box] = []

    mutating func add(_ pool: BufferPool, _ pages: [PageNumber]) throws(StorageError) {
        for page in pages {
            if let pin = try pool.pin(page, version: 0, load: { _ in true }) { boxes.append(Box(pin)) }
        }
    }
}
