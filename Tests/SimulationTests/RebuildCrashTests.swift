// Power losses and failing calls at every write and sync of a rebuild of derived trees: the store is unchanged or
// rebuilt, never in between.

import EspalierEngine
import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct RebuildCrashTests {
    private static let path = "store"
    /// One call in this many fails; 1: each call, which takes minutes.
    private static let step = campaignCount("ESPALIER_REBUILD_STEP", default: 15)

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string, isIndexed: true), AttributeDescription("number", .integer32),
                ],
                relationships: [
                    RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                    RelationshipDescription("labels", to: "Label", inverse: "albums", .toMany),
                ], uniquenessConstraints: [["number"]]),
            EntityDescription(
                "Artist", relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered)]),
            EntityDescription(
                "Label", relationships: [RelationshipDescription("albums", to: "Album", inverse: "labels", .toMany)]),
        ])
    }

    /// Removes index entries, unique entries, links and counters.
    private func dropDerived(_ write: inout WriteTransaction) throws {
        for name in ["index:Album.title", "unique:Album.number", "links:Artist.albums", "links:Label.albums"] {
            let tree = try #require(try write.tree(named: name))
            try write.removeAll(from: tree)
        }
        let counters = try #require(try write.tree(named: "counters", keys: UInt64.self))
        try write.removeAll(from: counters)
    }

    /// Lists every album of an artist a second time, at the end.
    private func repeatAlbums(_ write: inout WriteTransaction) throws {
        let tree = try #require(try write.tree(named: "links:Artist.albums", keys: [UInt8].self))
        var entries: [(key: [UInt8], value: [UInt8])] = []
        var cursor = try write.cursor(over: tree)
        while try cursor.next() { entries.append((try cursor.key, try cursor.value())) }
        for (key, value) in entries {
            // Keep the owner, with a position after all others.
            try write.put(value, for: Array(key[..<8] + [1] + key[9...]), in: tree)
        }
    }

    /// A store with more damaged entries in its derived trees than its cache has room for.
    private func makeDamaged(
        seed: UInt64, _ damage: (inout WriteTransaction) throws -> Void
    ) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let model = try Self.model()
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        let store = try BTreeStore.open(
            try Database.open(Self.path, in: system, options: options), path: nil, model: model)
        func ids(_ entity: String, _ count: Int) throws -> [ObjectID] {
            try store.reserveIDs(for: try #require(model.entity(named: entity)), count: count)
        }
        let (albums, artists, labels) = (try ids("Album", 300), try ids("Artist", 5), try ids("Label", 3))
        var request = SaveRequest()
        for id in artists + labels { request.insertions.append(.init(id: id, values: [], destinations: [nil])) }
        for (number, id) in albums.enumerated() {
            let title = "Album \(number * 7919 % 307) of a title that is long enough to need some pages"
            request.insertions.append(
                .init(
                    id: id, values: [.string(title), .integer(Int64(number))],
                    destinations: [artists[number % 5], nil]))
            request.links.append(.init(owner: id, slot: 1, added: [labels[number % 3]]))
        }
        _ = try store.save(request)
        var write = try store.database.beginWrite()
        try damage(&write)
        try write.commit()
        try store.close()
        return system
    }

    private func rebuild(_ system: SimulatedFileSystem) throws -> RebuildReport {
        try BTreeStore.rebuildDerivedTrees(
            of: try Database.open(Self.path, in: system, options: .small), path: nil)
    }

    /// Whether the store is rebuilt; `nil` if it is neither rebuilt nor unchanged.
    private func isRebuilt(_ image: SimulatedFileSystem, before: Int) throws -> Bool? {
        let database = try Database.open(Self.path, in: image, options: .small)
        let pages = try database.check()
        let store = try BTreeStore.open(database, path: nil, model: nil)
        let report = try store.check()
        let entryCount = report.indexEntryCount + report.linkCount
        try store.close()
        guard pages.isOK else { return nil }
        if report.isOK && report.dangling.isEmpty { return true }
        return entryCount == before ? false : nil
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_REBUILD_SEEDS", default: 2)))
    func `a power loss during a rebuild leaves the store as it was, or rebuilt`(seed: UInt64) throws {
        let system = try makeDamaged(seed: testSeed(default: 3700) + seed, dropDerived)
        let damaged = try BTreeStore.open(
            try Database.open(Self.path, in: system.afterKill(), options: .small), path: nil, model: nil
        ).check()
        let before = damaged.indexEntryCount + damaged.linkCount
        let images = Mutex<[SimulatedFileSystem]>([])
        system.beforeEachChange { operation in
            let image = system.afterPowerLoss(seed: seed &* 1000 &+ UInt64(operation))
            images.withLock { $0.append(image) }
        }
        let report = try rebuild(system)
        system.beforeEachChange(nil)

        var outcomes: [Bool?] = []
        for image in images.withLock({ $0 }) { outcomes.append(try isRebuilt(image, before: before)) }

        #expect(report.hasChanges && report.after?.isOK == true)
        #expect(outcomes.count > 5 && !outcomes.contains(nil))
        #expect(outcomes.contains(false))
        #expect(try isRebuilt(system.afterPowerLoss(seed: seed), before: before) == true)
    }

    @Test func `a rebuild removes repeated links by the same changes each time`() throws {
        let system = try makeDamaged(seed: testSeed(default: 3750), repeatAlbums)

        var hashes: Set<UInt64> = []
        for _ in 0..<8 {
            let copy = system.afterKill()
            let report = try rebuild(copy)
            #expect(report.hasChanges)
            hashes.insert(copy.changeHash)
        }

        #expect(hashes.count == 1)
    }

    @Test func `a rebuild of an open store is durable when it returns`() throws {
        let system = try makeDamaged(seed: testSeed(default: 3760), dropDerived)
        _ = try rebuild(system)
        let store = try BTreeStore.open(
            try Database.open(Self.path, in: system, options: .small), path: nil, model: nil)
        // Change so little that no checkpoint follows, which would make it durable.
        var write = try store.database.beginWrite()
        let tree = try #require(try write.tree(named: "index:Album.title", keys: [UInt8].self))
        var cursor = try write.cursor(over: tree)
        #expect(try cursor.next())
        try write.remove(try cursor.key, from: tree)
        try write.commit(.durable)

        let report = try store.rebuildDerivedTrees()
        let images = (0..<20).map { system.afterPowerLoss(seed: $0) }

        #expect(report.trees.map(\.added).reduce(0, +) == 1 && report.after?.isOK == true)
        for image in images { #expect(try isRebuilt(image, before: 0) == true) }
        try store.close()
    }

    @Test func `a call that fails during a rebuild costs the work and nothing else`() throws {
        let original = try makeDamaged(seed: testSeed(default: 3800), dropDerived)
        let damaged = try BTreeStore.open(
            try Database.open(Self.path, in: original.afterKill(), options: .small), path: nil, model: nil
        ).check()
        for kind in [SimulatedFault.Kind.inputOutput, .noSpace, .short, .syncForgets] {
            var (distance, isBeyond) = (1, false)
            while !isBeyond {
                let system = original.afterKill()
                let start = system.operationCount
                system.arm(SimulatedFault(operation: start + distance, kind: kind))

                let report = try? rebuild(system)

                isBeyond = system.operationCount < start + distance
                system.arm(nil)
                let outcome = try isRebuilt(
                    system.afterKill(), before: damaged.indexEntryCount + damaged.linkCount)
                #expect(outcome != nil, "\(kind) at call \(distance)")
                if report != nil { #expect(outcome == true, "\(kind) at call \(distance)") }
                distance += Self.step
            }
            #expect(distance > 2 * Self.step)
        }
    }
}
