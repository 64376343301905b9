// Power losses while increments are made and applied: the chain never breaks, and a copy has the content before or
// after an increment, or reports that it is unfinished and can be finished.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct IncrementCrashTests {
    private static let seeds = 0..<UInt64(campaignCount("ESPALIER_COPY_SEEDS", default: 3))

    /// The content of the copy; an unfinished copy is finished first.
    private func finishedContent(
        in image: SimulatedFileSystem, _ options: DatabaseOptions, finish: () throws(StorageError) -> Void
    ) throws(StorageError) -> (content: StoreContent, wasUnfinished: Bool) {
        var wasUnfinished = false
        let database: Database
        do throws(StorageError) {
            database = try Database.open("copy", in: image, options: options)
        } catch .backup(.unfinished) {
            wasUnfinished = true
            try finish()
            database = try Database.open("copy", in: image, options: options)
        }
        let content = try Workload.content(of: database).content
        if let finding = try database.check().findings.first { throw .corruption(finding.corruption) }
        try database.close()
        return (content, wasUnfinished)
    }

    @Test(arguments: seeds)
    func `a copy is brought forward whole or says that it is unfinished`(seed: UInt64) throws {
        let seed = testSeed(default: 3300) + seed
        let system = SimulatedFileSystem(seed: seed)
        let options = Workload.options(seed: seed)
        var workload = Workload(seed: seed)
        try workload.run(6, in: system)
        let database = try Database.open(Workload.path, in: system, options: options)
        try workload.transaction(database, commits: true)
        try database.backUp(to: "copy")
        let before = workload.content
        let point = try BackupPoint(of: "copy", in: system)
        let feed = try database.changes(after: point)
        for _ in 0..<3 { try workload.transaction(database, commits: true) }
        try database.backUpChanges(since: point, to: "increment")
        // Empty if more was written than the log keeps for a feed: then only the increment can finish a copy.
        let changes = (try? feed.next()) ?? []
        let after = workload.content
        let found = Mutex((images: 0, unfinished: 0, problems: [String]()))

        system.beforeEachChange { operation in
            let image = system.afterPowerLoss(seed: seed &+ UInt64(operation))
            do throws(StorageError) {
                let result = try finishedContent(in: image, options) { () throws(StorageError) in
                    if operation % 2 == 0, !changes.isEmpty {
                        try Database.bringForward("copy", by: changes, in: image)
                    } else {
                        try Database.bringForward("copy", by: "increment", in: image)
                    }
                }
                let isRight = result.content == after || result.content == before && !result.wasUnfinished
                found.withLock { found in
                    found.images += 1
                    if result.wasUnfinished { found.unfinished += 1 }
                    if !isRight { found.problems.append("change \(operation): content of another moment") }
                }
            } catch {
                found.withLock { $0.problems.append("change \(operation): \(error)") }
            }
        }
        try Database.bringForward("copy", by: "increment", in: system)
        system.beforeEachChange(nil)

        let counts = found.withLock { $0 }
        #expect(counts.problems.prefix(3).joined(separator: "\n") == "")
        #expect(counts.images > 3 && counts.unfinished > 0)
        let later = system.afterPowerLoss(seed: seed)
        #expect(try finishedContent(in: later, options) { () throws(StorageError) in }.content == after)
        try database.close()
    }

    @Test(arguments: LargeValues.seeds)
    func `increments of large values bring a copy to the original, which shrank meanwhile`(seed: UInt64) throws {
        let seed = testSeed(default: 3390) + seed
        let system = SimulatedFileSystem(seed: seed)
        var workload = Workload(seed: seed, profile: .large)
        let options = workload.options
        let database = try Database.open(Workload.path, in: system, options: options)
        try workload.transaction(database, commits: true)
        let before = workload.content
        try database.backUp(to: "copy")
        try workload.moveLargeValue(database)
        try database.backUpChanges(since: try BackupPoint(of: "copy", in: system), to: "increment")
        let after = workload.content
        let content = { (image: SimulatedFileSystem) throws(StorageError) -> StoreContent in
            try finishedContent(in: image, options) { () throws(StorageError) in
                try Database.bringForward("copy", by: "increment", in: image)
            }.content
        }
        let images = Mutex<[SimulatedFileSystem]>([])
        // Each image is as large as the copy.
        let imageCountMax = campaignCount("ESPALIER_CRASH_IMAGES", default: 1) * 3
        system.beforeEachChange { operation in
            guard operation % 3 == 0 else { return }
            images.withLock { images in
                if images.count < imageCountMax { images.append(system.afterPowerLoss(seed: UInt64(operation))) }
            }
        }
        try Database.bringForward("copy", by: "increment", in: system)
        system.beforeEachChange(nil)

        #expect(try content(system) == after)
        for image in images.withLock({ $0 }) {
            let found = try content(image)
            #expect(found == after || found == before)
            if found == before { try Database.bringForward("copy", by: "increment", in: image) }
            #expect(try content(image) == after)
        }
        try database.close()
    }

    @Test func `a copy whose update was interrupted is not finished by a shorter one`() throws {
        let system = SimulatedFileSystem(seed: testSeed(default: 3380))
        let options = Workload.options(seed: 1)
        let database = try Database.open(Workload.path, in: system, options: options)
        var chance = SeededGenerator(seed: 5)
        try scribble(database, &chance)
        try database.backUp(to: "copy")
        let point = try BackupPoint(of: "copy", in: system)
        for name in ["short", "long"] {
            for _ in 0..<3 { try scribble(database, &chance) }
            try database.backUpChanges(since: point, to: name)
        }
        let content = try Workload.content(of: database).content
        let images = Mutex<[SimulatedFileSystem]>([])
        system.beforeEachChange { _ in images.withLock { $0.append(system.afterKill()) } }
        try Database.bringForward("copy", by: "long", in: system)
        system.beforeEachChange(nil)
        // The unfinished copies, from the one without a written page to the one with all pages written.
        let unfinished = images.withLock { $0 }.filter {
            do throws(StorageError) { try Database.open("copy", in: $0, options: options).close() } catch {
                return error == .backup(.unfinished)
            }
            return false
        }
        try #require(unfinished.count > 2)
        for image in unfinished {
            #expect(throws: StorageError.backup(.unfinished)) {
                try Database.bringForward("copy", by: "short", in: image)
            }
            try Database.bringForward("copy", by: "long", in: image)
            #expect(
                try finishedContent(in: image, options) { () throws(StorageError) in }.content == content)
        }
        try database.close()
    }

    @Test(arguments: seeds)
    func `a chain of increments goes on over power losses of the original`(seed: UInt64) throws {
        var chance = SeededGenerator(seed: testSeed(default: 3400) + seed)
        let options = Workload.options(seed: seed)
        var system = SimulatedFileSystem(seed: chance.next())
        var increments: [String] = []
        for round in 0..<6 {
            let database = try Database.open(Workload.path, in: system, options: options)
            if round == 0 { try database.backUp(to: "base") }
            for _ in 0..<Int.random(in: 1..<6, using: &chance) { try scribble(database, &chance) }
            let point = try BackupPoint(of: increments.last ?? "base", in: system)
            increments.append("increment \(round)")
            try database.backUpChanges(since: point, to: increments[round])
            let content = try Workload.content(of: database).content
            try Database.restore("base", increments: increments, to: "restored \(round)", in: system)
            let restored = try Database.open("restored \(round)", in: system, options: options)
            #expect(try Workload.content(of: restored).content == content)
            #expect(try restored.check().isOK)
            try restored.close()
            // A power loss may drop these commits, which no increment has.
            for _ in 0..<Int.random(in: 0..<3, using: &chance) { try scribble(database, &chance) }
            let image = system.afterPowerLoss(seed: chance.next())
            try database.close()
            system = image
        }
    }

    private func scribble(_ database: Database, _ chance: inout SeededGenerator) throws(StorageError) {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        for _ in 0..<Int.random(in: 1..<30, using: &chance) {
            let key = UInt64.random(in: 0..<100, using: &chance)
            let size = [5, 100, 900, 6000].randomElement(using: &chance) ?? 0
            if key % 3 == 0 { try write.remove(key, from: tree) }
            try write.put([UInt8](repeating: UInt8(truncatingIfNeeded: chance.next()), count: size), for: key, in: tree)
        }
        try write.commit(Bool.random(using: &chance) ? .ordered : .durable)
    }
}
