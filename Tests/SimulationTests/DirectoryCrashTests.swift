// The power goes off around every call of backups, increments, restorations, shrinks, compactions and recoveries, and
// what happened to names since the directory was synced survives in any part and order: what was acknowledged is
// there, a store is the old one or the new one, and a copy is whole or not there.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// What each file may hold at this moment, and an examiner of what a power loss leaves of it.
private final class DirectoryRecorder: Sendable {
    struct Expectation: Sendable {
        /// The contents that a store of this name may have.
        var contents: [StoreContent]
        /// Whether it must be there.
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

    /// From now on `name` may become a store of `content`.
    func mayBecome(_ content: StoreContent, _ name: String) {
        state.withLock {
            $0.expected[name, default: Expectation(contents: [], isAcknowledged: false)].contents.append(content)
        }
    }

    /// From now on `name` is a store of `content`, whatever happens.
    func isNow(_ content: StoreContent, _ name: String) {
        state.withLock { $0.expected[name] = Expectation(contents: [content], isAcknowledged: true) }
    }

    /// Examines every store of an image, and images of the recoveries that this takes.
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
                // A copy that is being brought forward says so, and can be finished.
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

/// One run: all kinds of copies of one store.
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
        // The process is killed, and the next one recovers.
        database = try recovered()
        try commit(database)
        try database.close()
    }

    private func acknowledged(_ name: String, _ work: () throws(StorageError) -> CopyReceipt) throws(StorageError) {
        recorder.mayBecome(content, name)
        _ = try work()
        recorder.isNow(content, name)
    }

    /// A second handle would be the same engine, so the store is opened in what a kill leaves.
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

    /// A durable transaction of some entries.
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
    /// One of so many changes is followed by a power loss.
    private static let points = UInt64(max(campaignCount("ESPALIER_DIRECTORY_POINTS", default: 4), 1))

    /// Examines what a power loss before changes of `system` leaves.
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
        // "b" is one file or the other in all of them; "c" and "d" are there in any combination.
        for paths in [["a", "b"], ["b"], ["b", "d"], ["b", "c"], ["a", "b", "d"], ["b", "c", "d"]] {
            #expect(seen.contains(paths), "\(paths)")
        }
        #expect(seen.allSatisfy { $0.contains("b") })
        try system.sync()
        for seed in UInt64(0)..<50 { #expect(system.afterPowerLoss(seed: seed).paths == ["b", "d"]) }
    }
}
