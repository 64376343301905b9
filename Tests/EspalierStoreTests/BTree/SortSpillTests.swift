// Sorts that exceed their memory: the same rows in the same order as a sort in memory, a file that has no name, and a
// typed error for each fault of that file.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct SortSpillTests {
    private static let path = "/folder/store"

    /// Lines without any index, so that every order is made by a sort.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Line",
                attributes: [
                    AttributeDescription("text", .string), AttributeDescription("number", .integer64),
                    AttributeDescription("weight", .double), AttributeDescription("serial", .integer64),
                ],
                relationships: [RelationshipDescription("book", to: "Book", inverse: "lines")]),
            EntityDescription(
                "Book", attributes: [AttributeDescription("title", .string)],
                relationships: [RelationshipDescription("lines", to: "Line", inverse: "book", .toMany)]),
        ])
    }

    private static func open(_ files: any FileSystem, readOnly: Bool = false) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        if readOnly { options.access = .readOnly }
        return try BTreeStore.open(
            try Database.open(path, in: files, options: options), path: nil, model: try model())
    }

    /// Fills a store with lines whose texts share beginnings and whose numbers are often equal.
    private static func fill(_ store: any PersistentStore, _ count: Int, _ random: inout SeededGenerator) throws {
        let line = try #require(store.model.entity(named: "Line"))
        let book = try #require(store.model.entity(named: "Book"))
        var request = SaveRequest()
        let books = ["b", "a", "é", nil].map { title in
            SaveRequest.Insertion(
                id: ObjectID(temporaryFor: book.name), values: [title.map { AttributeValue.string($0) } ?? .null],
                destinations: [nil])
        }
        request.insertions = books
        for serial in 0..<count {
            let prefix = String(repeating: random.pick(["a", "b"]), count: random.pick([0, 1, 20, 200, 1000]))
            let values: [String: AttributeValue] = [
                "text": random.oneIn(9) ? .null : .string(prefix + random.pick(SeededGenerator.names)),
                "number": random.smallNumber(), "weight": random.smallDouble(), "serial": .integer(Int64(serial)),
            ]
            request.insertions.append(
                SaveRequest.Insertion(
                    id: ObjectID(temporaryFor: line.name), values: line.attributes.map { values[$0.name] ?? .null },
                    destinations: [random.oneIn(5) ? nil : random.pick(books).id]))
        }
        _ = try store.save(request)
    }

    private static func request(
        _ store: any PersistentStore, sort: [SortKey], offset: Int = 0, limit: Int? = nil
    ) throws -> StoreFetch {
        let line = try #require(store.model.entity(named: "Line"))
        return StoreFetch(
            entity: line, sort: try sort.map { try ResolvedSortKey($0, for: line, in: store.model) }, offset: offset,
            limit: limit)
    }

    /// The serial numbers of rows, which say which rows they are.
    private static func serials(_ rows: SnapshotList, _ store: any PersistentStore) throws -> [AttributeValue] {
        let slot = try #require(store.model.entity(named: "Line")?.attribute(named: "serial")).slot
        return rows.map { $0.value(at: slot) }
    }

    /// The number of bytes that a fetch writes into a temporary file.
    private static func spilledByteCount(_ store: BTreeStore, _ fetch: StoreFetch) throws -> Int {
        let action = try store.snapshot().analyze(fetch).action
        let parts = action.components(separatedBy: " bytes were sorted in a temporary file")
        guard parts.count > 1 else { return 0 }
        return try #require(parts[0].split(separator: " ").last.flatMap { Int($0) }, "\(action)")
    }

    private static func hasSpilled(_ store: BTreeStore, _ fetch: StoreFetch) throws -> Bool {
        try spilledByteCount(store, fetch) > 0
    }

    /// A store with a line for each text, whose serial numbers count up.
    private static func store(_ texts: [String]) throws -> BTreeStore {
        let store = try BTreeStore.inMemory(model: try model())
        let line = try #require(store.model.entity(named: "Line"))
        var request = SaveRequest()
        for (serial, text) in texts.enumerated() {
            let values: [String: AttributeValue] = ["text": .string(text), "serial": .integer(Int64(serial))]
            request.insertions.append(
                SaveRequest.Insertion(
                    id: ObjectID(temporaryFor: line.name), values: line.attributes.map { values[$0.name] ?? .null },
                    destinations: [nil]))
        }
        _ = try store.save(request)
        return store
    }

    @Test(arguments: [StoreKind.treeInFile, .treeInMemory])
    func `a sort that exceeds its memory gives the rows of one that does not`(_ kind: StoreKind) throws {
        let seed = testSeed(default: 191_100)
        print("ESPALIER_SEED=\(seed)")
        for round in 0..<UInt64(campaignCount("ESPALIER_SORT_ROUNDS", default: 1)) {
            var random = SeededGenerator(seed: seed + round)
            let fixture = try StoreFixture(kind, try Self.model())
            let store = try #require(fixture.store as? BTreeStore)
            try Self.fill(store, 150, &random)
            var spills = 0
            for question in 0..<10 {
                let sort = ["text", "number", "weight", "book.title"].shuffled(using: &random)
                    .prefix(Int(random.next() % 3) + 1)
                    .map { SortKey($0, ascending: random.oneIn(2), options: $0 == "text" ? .caseInsensitive : []) }
                let fetch = try Self.request(
                    store, sort: sort, offset: random.oneIn(2) ? Int(random.next() % 180) : 0,
                    limit: random.oneIn(2) ? Int(random.next() % 160) : nil)
                let place = "seed \(seed + round), question \(question): \(sort), \(fetch.offset), \(fetch.limit ?? -1)"
                store.sortByteCountMax = 64 << 20
                let expected = try Self.serials(store.fetch(fetch), store)
                // Open snapshots follow the setting, and so small a number counts as 4,096.
                let snapshot = try store.snapshot()
                store.sortByteCountMax = random.pick([-1, 0, 4096, 20_000])
                #expect(try Self.serials(snapshot.fetch(fetch), store) == expected, "\(place)")
                #expect(try store.fetchIDs(fetch) == store.fetch(fetch).ids, "\(place)")
                if try Self.hasSpilled(store, fetch) { spills += 1 }
            }
            #expect(spills > 2, "seed \(seed + round): \(spills) of 10 fetches needed a file")
            store.sortByteCountMax = 64 << 20
            #expect(try !Self.hasSpilled(store, Self.request(store, sort: [SortKey("text")])))
        }
    }

    @Test func `the temporary file of a sort has no name when its first byte is written, and is beside the store`()
        throws
    {
        let system = SimulatedFileSystem(seed: 191_200)
        var random = SeededGenerator(seed: 191_200)
        let writer = try Self.open(system)
        try Self.fill(writer, 120, &random)
        let expected = try writer.fetch(Self.request(writer, sort: [SortKey("text")])).ids
        try writer.close()

        for isReadOnly in [false, true] {
            let store = try Self.open(system, readOnly: isReadOnly)
            store.sortByteCountMax = 0
            let fetch = try Self.request(store, sort: [SortKey("text")])
            let atRemoval = Mutex<[String]>([]), atWriting = Mutex<[String]>([])
            system.beforeEachCall { [unowned system] operation, role in
                guard role == .scratch else { return }
                if operation == .remove { atRemoval.withLock { $0 = system.paths } }
                if operation == .write { atWriting.withLock { $0 += system.paths } }
            }
            let ids = try store.fetch(fetch).ids
            system.beforeEachCall(nil)

            #expect(ids == expected)
            let place = isReadOnly ? FileManager.default.temporaryDirectory.path + "/espalier" : Self.path
            let (made, written) = (atRemoval.withLock { $0 }, Set(atWriting.withLock { $0 }))
            #expect(made.contains { $0.hasPrefix(place + ".tmp-") }, "\(made)")
            #expect(written.contains(Self.path) && written.allSatisfy { !$0.contains(".tmp-") }, "\(written)")
            try store.close()
        }
    }

    @Test func `a fault of the temporary file is a typed error, and leaves no bytes and a store that goes on`() throws {
        let system = SimulatedFileSystem(seed: 191_300)
        var random = SeededGenerator(seed: 191_300)
        let store = try Self.open(system)
        try Self.fill(store, 120, &random)
        let fetch = try Self.request(store, sort: [SortKey("text"), SortKey("serial")])
        let expected = try store.fetch(fetch).ids
        store.sortByteCountMax = 0
        var errors: [StorageError] = []

        let calls = Mutex<[Int]>([])
        system.beforeEachCall { [unowned system] _, role in
            if role == .scratch { calls.withLock { $0.append(system.operationCount) } }
        }
        let before = system.operationCount
        _ = try store.fetch(fetch)
        system.beforeEachCall(nil)
        let offsets = calls.withLock { $0 }.map { $0 - before }
        let step = campaignCount("ESPALIER_SORT_STEP", default: 13)
        // Opening the file, removing its name and writing the first rows: then the sort goes on in memory.
        let firstCount = 3
        let chosen = offsets.enumerated().filter { $0.offset <= firstCount || $0.offset % step == 0 }
        for (number, offset) in chosen {
            for kind: SimulatedFault.Kind in [.inputOutput, .noSpace, .short] {
                system.arm(SimulatedFault(operation: system.operationCount + offset, kind: kind))
                do throws(StoreError) {
                    let ids = try store.fetch(fetch).ids
                    #expect(ids == expected, "call \(number), \(kind)")
                    #expect(kind != .inputOutput || number < firstCount, "call \(number), \(kind)")
                } catch {
                    guard number >= firstCount, case .storage(let cause, _) = error else {
                        Issue.record("call \(number), \(kind): \(error)")
                        continue
                    }
                    errors.append(cause)
                }
                system.arm(nil)
                let left = system.paths.filter { $0.contains(".tmp-") }.compactMap { system.contents(of: $0) }
                #expect(left.allSatisfy { $0.isEmpty }, "call \(number), \(kind)")
            }
        }

        #expect(errors.contains(.diskFull))
        for operation in [IOOperation.write, .read] {
            let failure = IOFailure(operation: operation, file: .scratch, errno: Platform.ioError)
            #expect(errors.contains(.io(failure)), "\(operation)")
        }
        #expect(try store.fetch(fetch).ids == expected)
        #expect(try store.check().isOK)
        try store.close()
    }

    @Test func `a sort for which no file can be written goes on in memory, and one that has written rows ends`()
        throws
    {
        let system = SimulatedFileSystem(seed: 191_500)
        var random = SeededGenerator(seed: 191_500)
        let store = try Self.open(system)
        try Self.fill(store, 120, &random)
        let all = try Self.request(store, sort: [SortKey("text"), SortKey("serial")])
        let some = try Self.request(store, sort: [SortKey("text"), SortKey("serial")], offset: 3, limit: 90)
        let expected = try [all, some].map { try store.fetch($0).ids }
        store.sortByteCountMax = 0

        system.limitSpace(to: 0)
        for (fetch, ids) in zip([all, some], expected) {
            #expect(try store.fetch(fetch).ids == ids)
            #expect(try !Self.hasSpilled(store, fetch))
        }
        system.limitSpace(to: 12_000)
        let error = #expect(throws: StoreError.self) { try store.fetch(all) }
        if case .storage(.diskFull, _)? = error {} else { Issue.record("\(String(describing: error))") }
        system.limitSpace(to: nil)

        #expect(try store.fetch(all).ids == expected[0])
        #expect(try Self.hasSpilled(store, all))
        try store.close()
    }

    @Test func `a key takes its own bytes of memory, however long a key before it is`() throws {
        let long = String(repeating: "long ", count: 4000)
        let store = try Self.store([long] + (0..<1000).map { "text \($0 * 7 % 1000)" })
        store.sortByteCountMax = 1 << 20

        let fetch = try Self.request(store, sort: [SortKey("text")])

        #expect(try !Self.hasSpilled(store, fetch))
        #expect(try store.fetch(fetch).count == 1001)
    }

    @Test func `a sort with a limit beyond its memory writes a part of the rows, not all that it reads`() throws {
        let seed = testSeed(default: 191_600)
        var random = SeededGenerator(seed: seed)
        let count = 2000
        let texts = (0..<count).map { "text \(100_000 + $0)" }.shuffled(using: &random)
        let store = try Self.store(texts)
        let sort = [SortKey("text")]
        let expected = try Self.serials(store.fetch(Self.request(store, sort: sort)), store)
        store.sortByteCountMax = 0
        let all = try Self.spilledByteCount(store, Self.request(store, sort: sort))
        for limit in [50, 60, 100] {
            let fetch = try Self.request(store, sort: sort, limit: limit)

            let written = try Self.spilledByteCount(store, fetch)

            // About `limit` rows each time that the number of rows doubles.
            let bound = all / count * limit * (Int(Double(count / limit).squareRoot().rounded(.up)) + 3)
            #expect(written > 0 && written < min(bound, all / 2), "seed \(seed), limit \(limit): \(written) of \(all)")
            #expect(try Self.serials(store.fetch(fetch), store) == Array(expected.prefix(limit)), "seed \(seed)")
        }
    }

    @Test func `a bit of the temporary file that changes is an error, never another row`() throws {
        let files = DamagingFileSystem()
        var random = SeededGenerator(seed: 191_400)
        let store = try Self.open(files)
        try Self.fill(store, 60, &random)
        let fetch = try Self.request(store, sort: [SortKey("text")])
        let expected = try store.fetch(fetch).ids
        store.sortByteCountMax = 0
        #expect(try store.fetch(fetch).ids == expected)

        for bit in [0, 7, 64, 71, 100, 127, 130, 190, 200, 250, 260, 300, 319, 330, 400, 1000, 5000] {
            files.damagedBit.store(bit, ordering: .relaxed)
            let error = #expect(throws: StoreError.self, "bit \(bit)") { try store.fetch(fetch) }
            guard case .storage(.corruption(let corruption), _)? = error else {
                Issue.record("bit \(bit): \(String(describing: error))")
                continue
            }
            #expect(corruption.file == .scratch && "\(corruption)".contains("temporary file"), "bit \(bit)")
        }
        files.damagedBit.store(-1, ordering: .relaxed)
        #expect(try store.fetch(fetch).ids == expected)
    }

    @Test func `the memory of a sort is an option by key`() throws {
        try withTemporaryFolder { folder in
            let opened = try StoreType.open(
                StoreOpening(
                    .btree, model: try Self.model(), path: folder.appending(path: "store").path,
                    options: [.sortByteCountMax: .integer(10_000)]))
            let store = try #require(opened as? BTreeStore)
            #expect(store.sortByteCountMax == 10_000)
            store.sortByteCountMax = 1
            #expect(store.sortByteCountMax == 4096)
            try store.close()
        }
    }
}

/// Files in memory; each write into a temporary file changes one bit of it.
private final class DamagingFileSystem: FileSystem {
    private let files = MemoryFileSystem()
    /// The bit of the first bytes of each write that changes; negative: none.
    let damagedBit = Atomic<Int>(-1)

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try WrappedDirectory.entry(at: path, of: files) { [unowned self] _, file in
            guard file.role == .scratch else { return file }
            return DamagedFile(file, self)
        }
    }

    func now() -> UInt64 { files.now() }
    func random() -> UInt64 { files.random() }
}

private final class DamagedFile: StorageFile {
    private let file: any StorageFile
    private let system: DamagingFileSystem

    init(_ file: any StorageFile, _ system: DamagingFileSystem) { (self.file, self.system) = (file, system) }

    var role: FileRole { file.role }
    var identity: FileIdentity { file.identity }
    func size() throws(StorageError) -> UInt64 { try file.size() }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid for the length of the call.
        unsafe try file.read(into: buffer, at: offset)
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        // SAFETY: the caller's buffer is valid during the call.
        var bytes = unsafe [UInt8](buffer)
        let bit = system.damagedBit.load(ordering: .relaxed)
        if bit >= 0, bit / 8 < bytes.count { bytes[bit / 8] ^= 1 << UInt8(bit % 8) }
        let copy = ScratchBytes(byteCount: bytes.count)
        copy.store(bytes, at: 0)
        try copy.write(0..<bytes.count, to: file, at: offset)
        return bytes.count
    }

    func sync(_ level: SyncLevel) throws(StorageError) { try file.sync(level) }
    func truncate(to byteCount: UInt64) throws(StorageError) { try file.truncate(to: byteCount) }
    func allocate(to byteCount: UInt64) throws(StorageError) { try file.allocate(to: byteCount) }
    func lockForWriting() throws(StorageError) { try file.lockForWriting() }
    func close() throws(StorageError) { try file.close() }
}
