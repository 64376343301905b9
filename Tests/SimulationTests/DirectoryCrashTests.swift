// Power losses around the calls of backups, increments, restorations, shrinks, compactions and recoveries. Changes of
// names since the last sync of the directory survive in any subset and order: acknowledged content is there, a store
// is the old one or the new one, and a copy is whole or does not exist.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// The contents that each file may have at this moment, and an examiner of the files that a power loss leaves.
private final class DirectoryRecorder: Sendable {
    struct Expectation: Sendable {
        /// The contents that a store of this name may have.
        var contents: [StoreContent]
        /// Whether the file must exist.
        var isAcknowledged: Bool
    }

    struct State: Sendable {
        var expected: [String: Expectation] = [:]
        var images = 0
        var nested = 0
        var problems: [String] = []
    }

    let options: DatabaseOptions
    let state = Mutex(State())

    init(options: DatabaseOptions) { self.options = options }

    /// Records that `name` may be a store of `content` from now on.
    func mayBecome(_ content: StoreContent, _ name: String) {
        state.withLock {
            $0.expected[name, default: Expectation(contents: [], isAcknowledged: false)].contents.append(content)
        }
    }

    /// Records that `name` is a store of `content` from now on, also after a power loss.
    func isNow(_ content: StoreContent, _ name: String) {
        state.withLock { $0.expected[name] = Expectation(contents: [content], isAcknowledged: true) }
    }

    /// Examines every store of an image, and images of the disk during the recoveries that opening them runs.
    func examine(_ image: SimulatedFileSystem, seed: UInt64, depth: Int, label: String) {
        let expected = state.withLock { state in
            state.images += 1
            return state.expected
        }
        if depth < 2 {
            let chance = Mutex(SeededGenerator(seed: seed))
            image.beforeEachChange { [self] operation in
                guard let next = chance.withLock({ $0.next() % 10 == 0 ? $0.next() : nil }) else { return }
                state.withLock { $0.nested += 1 }
                let again = image.afterPowerLoss(seed: next)
                examine(again, seed: next, depth: depth + 1, label: "\(label) > \(operation)")
            }
        }
        var problems: [String] = []
        for (name, expectation) in expected.sorted(by: { $0.key < $1.key }) {
            guard image.contents(of: name) != nil else {
                if expectation.isAcknowledged { problems.append("\(label): \(name) is gone") }
                continue
            }
            if let problem = problem(of: name, expectation, in: image) { problems.append("\(label): \(problem)") }
        }
        image.beforeEachChange(nil)
        state.withLock { $0.problems += problems }
    }

    private func problem(of name: String, _ expectation: Expectation, in image: SimulatedFileSystem) -> String? {
        do throws(StorageError) {
            let database: Database
            do throws(StorageError) {
                database = try Database.open(name, in: image, options: options)
            } catch .backup(.unfinished) {
                // A copy whose update was interrupted reports it, and the increment can finish it.
                guard expectation.contents.count > 1 else { return "\(name) is unfinished" }
                try Database.bringForward(name, by: "increment", in: image)
                database = try Database.open(name, in: image, options: options)
            }
            let content = try Workload.content(of: database).content
            let findings = try database.check().findings
            try database.close()
            guard expectation.contents.contains(content) else { return "\(name) has the content of no moment" }
            return findings.isEmpty ? nil : "\(name): \(findings)"
        } catch {
            return "\(name): \(error)"
        }
    }
}

/// One run: makes every kind of copy of one store.
private struct DirectoryRun {
    static let store = "store"

    let system: SimulatedFileSystem
    let options: DatabaseOptions
    let recorder: DirectoryRecorder
    var chance: SeededGenerator
    var content: StoreContent = [:]

    init(seed: UInt64) {
        system = SimulatedFileSystem(seed: seed)
        chance = SeededGenerator(seed: seed)
        options = Workload.options(seed: seed)
        recorder = DirectoryRecorder(options: options)
    }

    mutating func run() throws(StorageError) {
        recorder.mayBecome([:], Self.store)
        var database = try Database.open(Self.store, in: system, options: options)
        recorder.isNow([:], Self.store)
        for _ in 0..<3 { try commit(database) }
        try acknowledged("copy") { () throws(StorageError) in try database.backUp(to: "copy") }
        for _ in 0..<2 { try commit(database) }
        try database.backUpChanges(since: try BackupPoint(of: "copy", in: system), to: "increment")
        try acknowledged("restored") { () throws(StorageError) in
            try Database.restore("copy", increments: ["increment"], to: "restored", in: system)
        }
        recorder.mayBecome(content, "copy")
        try Database.bringForward("copy", by: "increment", in: system)
        recorder.isNow(content, "copy")

        try commit(database, removing: true)
        var write = try database.beginWrite()
        try write.shrink()
        try write.commit(.durable)
        try database.checkpoint(.truncate)
        try commit(database)
        try database.close()
        try Database.compact(at: Self.store, in: system, options: options)
        database = try Database.open(Self.store, in: system, options: options)
        try commit(database)
        try acknowledged("compact") { () throws(StorageError) in try database.compact(to: "compact") }
        try commit(database)
        // The process is killed, and the next process recovers the store.
        database = try recovered()
        try commit(database)
        try database.close()
    }

    private func acknowledged(_ name: String, _ work: () throws(StorageError) -> CopyReceipt) throws(StorageError) {
        recorder.mayBecome(content, name)
        _ = try work()
        recorder.isNow(content, name)
    }

    /// The store, opened in the file system that a kill leaves: a second handle in this one would share the engine and
    /// recover nothing.
    private mutating func recovered() throws(StorageError) -> Database {
        let next = system.afterKill()
        DirectoryCrashTests.record(next, recorder)
        var run = self
        run = DirectoryRun(continuing: self, in: next)
        self = run
        return try Database.open(Self.store, in: next, options: options)
    }

    private init(continuing run: DirectoryRun, in system: SimulatedFileSystem) {
        (self.system, options, recorder, chance, content) = (system, run.options, run.recorder, run.chance, run.content)
    }

    /// Commits a durable transaction that writes or removes some entries.
    private mutating func commit(_ database: Database, removing: Bool = false) throws(StorageError) {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        var entries = content["t"] ?? [:]
        if removing {
            try write.removeAll(UInt64(2)..<100, from: tree)
            entries = entries.filter { $0.key.last.map { $0 < 2 } ?? true }
        } else {
            for _ in 0..<6 {
                let key = UInt64.random(in: 0..<12, using: &chance)
                let byteCount = [10, 900, 9000].randomElement(using: &chance) ?? 10
                let value = [UInt8](repeating: .random(in: 0...255, using: &chance), count: byteCount)
                try write.put(value, for: key, in: tree)
                entries[Workload.bytes(of: key)] = value
            }
        }
        content["t"] = entries
        recorder.mayBecome(content, Self.store)
        try write.commit(.durable)
        recorder.isNow(content, Self.store)
    }
}

@Suite struct DirectoryCrashTests {
    private static let seeds = 0..<UInt64(campaignCount("ESPALIER_DIRECTORY_SEEDS", default: 1))
    /// A power loss hits one change in this many.
    private static let points = UInt64(max(campaignCount("ESPALIER_DIRECTORY_POINTS", default: 4), 1))

    /// Examines the images that power losses before changes of `system` leave: before every change while the directory
    /// has unsynced names, else before one change in `points`.
    fileprivate static func record(_ system: SimulatedFileSystem, _ recorder: DirectoryRecorder) {
        system.beforeEachChange { [weak system] operation in
            var drawn = SeededGenerator(seed: UInt64(operation))
            guard let system, drawn.next() % points == 0 || system.hasUnsyncedNames else { return }
            for number in 0..<UInt64(system.hasUnsyncedNames ? 3 : 1) {
                let seed = UInt64(operation) &* 1009 &+ number
                recorder.examine(
                    system.afterPowerLoss(seed: seed), seed: seed, depth: 0,
                    label: "change \(operation), image \(number)")
            }
        }
    }

    @Test(arguments: seeds)
    func `names in any order after a power loss leave every store old or new, and what was acknowledged`(
        number: UInt64
    ) throws {
        let seed = testSeed(default: 4000) + number
        var run = DirectoryRun(seed: seed)
        Self.record(run.system, run.recorder)
        try run.run()

        let state = run.recorder.state.withLock { $0 }
        #expect(state.problems.prefix(3).joined(separator: "\n") == "", "seed \(seed)")
        #expect(state.images > 50 && state.nested > 5, "\(state.images) images, \(state.nested) of recoveries")
        #expect(run.system.violations == [])
        for last in UInt64(0)..<5 {
            run.recorder.examine(run.system.afterPowerLoss(seed: last), seed: last, depth: 2, label: "the end")
        }
        #expect(run.recorder.state.withLock { $0.problems }.prefix(3).joined(separator: "\n") == "", "seed \(seed)")
    }

    @Test func `a store that lost power within a rename has one name again, for good, once it is opened to write`()
        throws
    {
        let system = SimulatedFileSystem(seed: testSeed(default: 4050))
        let options = DatabaseOptions()
        try Database.open("store", in: system, options: options).close()
        let images = Mutex<[SimulatedFileSystem]>([])
        system.beforeEachChange { [weak system] operation in
            guard let system, system.hasUnsyncedNames else { return }
            for seed in 0..<UInt64(100) {
                let image = system.afterPowerLoss(seed: UInt64(operation) &* 1009 &+ seed)
                images.withLock { $0.append(image) }
            }
        }
        try Database.compact(at: "store", in: system, options: options)
        system.beforeEachChange(nil)
        let halves = try images.withLock { $0 }.filter { image in
            let identities = try image.paths.map { try image.identity(of: $0, role: .store) }
            return identities.count == 2 && identities[0] == identities[1]
        }
        #expect(!halves.isEmpty)

        for half in halves {
            let (both, calls) = (half.paths, half.operationCount)
            var reading = options
            reading.access = .readOnly
            try Database.open("store", in: half, options: reading).close()
            #expect(half.paths == both && half.operationCount > calls)
            try Database.open("store", in: half, options: options).close()

            #expect(half.paths == ["store"])
            for seed in 0..<UInt64(20) { #expect(half.afterPowerLoss(seed: seed).paths == ["store"]) }
        }
    }

    @Test func `a power loss while a store is removed leaves the whole store or none, and its name is free`() throws {
        let seed = testSeed(default: 4060)
        let system = SimulatedFileSystem(seed: seed)
        let options = DatabaseOptions()
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([1, 2, 3], for: 7, in: tree)
        try write.commit(.durable)
        // The store was not closed: its log has the only copy of the commit.
        let killed = system.afterKill()
        let images = Mutex<[SimulatedFileSystem]>([])
        killed.beforeEachChange { [weak killed] operation in
            guard let killed else { return }
            for number in 0..<UInt64(50) {
                let image = killed.afterPowerLoss(seed: UInt64(operation) &* 1009 &+ number)
                images.withLock { $0.append(image) }
            }
        }
        try Database.remove(at: "store", in: killed)
        killed.beforeEachChange(nil)
        #expect(killed.paths.isEmpty)
        images.withLock { $0.append(killed) }

        var outcomes: [Bool: Int] = [:]
        for image in images.withLock(\.self) {
            let isThere = image.paths.contains("store")
            outcomes[isThere, default: 0] += 1
            let again = try Database.open("store", in: image, options: options)
            let content = try Workload.content(of: again).content
            let value = content["t"]?[Workload.bytes(of: 7)]
            #expect(value == (isThere ? [1, 2, 3] : nil), "seed \(seed): \(image.paths)")
            try again.close()
        }
        #expect(outcomes[true] ?? 0 > 10 && outcomes[false] ?? 0 > 10, "\(outcomes)")
    }

    @Test func `a power loss while a store is replaced leaves the former store or the copy, whole (PS-03)`() throws {
        let seed = testSeed(default: 4070)
        let system = SimulatedFileSystem(seed: seed)
        let options = DatabaseOptions()
        var databases: [Database] = []
        for (name, value) in [("store", 1), ("source", 2)] as [(String, UInt8)] {
            let database = try Database.open(name, in: system, options: options)
            databases.append(database)
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([value], for: 7, in: tree)
            try write.commit(.durable)
        }
        // Neither store was closed: their logs have the only copies of the commits.
        let killed = system.afterKill()
        withExtendedLifetime(databases) {}
        let images = Mutex<[SimulatedFileSystem]>([])
        killed.beforeEachChange { [weak killed] operation in
            guard let killed else { return }
            for number in 0..<UInt64(killed.hasUnsyncedNames ? 20 : 3) {
                let image = killed.afterPowerLoss(seed: UInt64(operation) &* 1009 &+ number)
                images.withLock { $0.append(image) }
            }
        }
        try Database.replace(at: "store", withStoreAt: "source", in: killed, options: options)
        killed.beforeEachChange(nil)
        #expect(!killed.paths.contains("store-wal") && killed.contents(of: "source-wal") != nil)
        images.withLock { $0.append(killed) }

        var outcomes: [[UInt8]: Int] = [:]
        for image in images.withLock(\.self) {
            for (name, values) in [("store", [[1], [2]]), ("source", [[2]])] as [(String, [[UInt8]])] {
                let again = try Database.open(name, in: image, options: options)
                let value = try Workload.content(of: again).content["t"]?[Workload.bytes(of: 7)] ?? []
                #expect(values.contains(value), "seed \(seed): \(name) has \(value) in \(image.paths)")
                #expect(try again.check().findings.isEmpty)
                if name == "store" { outcomes[value, default: 0] += 1 }
                try again.close()
            }
        }
        #expect(outcomes[[1]] ?? 0 > 10 && outcomes[[2]] ?? 0 > 5, "\(outcomes)")
    }

    @Test func `names that no sync covers survive a power loss in every part and order`() throws {
        let system = SimulatedFileSystem(seed: 1)
        for name in ["a", "b"] { _ = try system.open(name, role: .store, mode: .createExclusively) }
        try system.sync()
        let identities = (try system.identity(of: "a", role: .store), try system.identity(of: "b", role: .store))
        try system.rename("a", to: "b", role: .store)
        _ = try system.open("c", role: .store, mode: .createExclusively)
        _ = try system.renameExclusively("c", to: "d", role: .store)

        var seen: Set<[String]> = []
        for seed in UInt64(0)..<400 { seen.insert(system.afterPowerLoss(seed: seed).paths) }

        #expect(identities.0 != nil && identities.1 != nil)
        // Each image has "b", as one file or the other; "a", "c" and "d" exist in any combination.
        for paths in [["a", "b"], ["b"], ["b", "d"], ["b", "c"], ["a", "b", "d"], ["b", "c", "d"]] {
            #expect(seen.contains(paths), "\(paths)")
        }
        #expect(seen.allSatisfy { $0.contains("b") })
        try system.sync()
        for seed in UInt64(0)..<50 { #expect(system.afterPowerLoss(seed: seed).paths == ["b", "d"]) }
    }
}
