// The power goes off, and calls fail, while a file takes a model of other indexes and constraints: it has the old model
// with all its trees, or the new one with all of its own; never one of each.

import EspalierEngine
import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct ModelAdoptionCrashTests {
    private static let path = "store"
    /// Every how many calls one fails; 1 = each of them.
    private static let step = campaignCount("ESPALIER_ADOPTION_STEP", default: 15)

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string, isOptional: !isNew, isIndexed: isNew),
                    AttributeDescription("number", .integer32, isIndexed: !isNew),
                ], uniquenessConstraints: isNew ? [["number"]] : [],
                indexes: [.init("both", on: [.init("number", isAscending: isNew), .init("title")])])
        ])
    }

    /// A closed store of the old model, with more index entries than its cache has room for.
    private func makeStore(seed: UInt64) throws -> SimulatedFileSystem {
        let system = SimulatedFileSystem(seed: seed)
        let store = try open(system, isNew: false)
        var request = SaveRequest()
        for number in 0..<400 {
            let title = "Album \(number * 7919 % 401) of a title that is long enough to need some pages"
            request.insertions.append(
                .init(
                    id: ObjectID(temporaryFor: "Album"), values: [.string(title), .integer(Int64(number))],
                    destinations: []))
        }
        _ = try store.save(request)
        try store.close()
        return system
    }

    private func open(_ system: SimulatedFileSystem, isNew: Bool?) throws -> BTreeStore {
        var options = DatabaseOptions.small
        options.applicationID = BTreeStore.applicationID
        return try BTreeStore.open(
            try Database.open(Self.path, in: system, options: options), path: nil,
            model: try isNew.map { try Self.model(isNew: $0) })
    }

    /// Whether the file has the new model; `nil` if it has neither with all that belongs to it.
    private func isNew(_ image: SimulatedFileSystem) throws -> Bool? {
        let store = try open(image, isNew: nil)
        let (pages, report) = (try store.database.check(), try store.check())
        let names = Set(try store.database.beginRead().trees().map(\.tree.name))
        let isNew = store.model.descriptions == (try Self.model(isNew: true).descriptions)
        try store.close()
        guard pages.isOK, report.isOK, report.rowCounts["Album"] == 400 else { return nil }
        let own: Set = ["index:Album.both", isNew ? "unique:Album.number" : "index:Album.number"]
        guard names.isSuperset(of: own), names.contains("index:Album.title") == isNew else { return nil }
        return isNew
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_ADOPTION_SEEDS", default: 2)))
    func `a power loss while indexes are built leaves the old model or the new one, whole`(seed: UInt64) throws {
        let system = try makeStore(seed: testSeed(default: 4100) + seed)
        let images = Mutex<[SimulatedFileSystem]>([])
        system.beforeEachChange { operation in
            let image = system.afterPowerLoss(seed: seed &* 1000 &+ UInt64(operation))
            images.withLock { $0.append(image) }
        }
        try open(system, isNew: true).close()
        system.beforeEachChange(nil)

        var outcomes: [Bool?] = []
        for image in images.withLock({ $0 }) { outcomes.append(try isNew(image)) }

        #expect(outcomes.count > 5 && !outcomes.contains(nil))
        #expect(outcomes.contains(false))
        #expect(try isNew(system.afterPowerLoss(seed: seed)) == true)
    }

    @Test func `a call that fails while indexes are built costs the work and nothing else`() throws {
        let original = try makeStore(seed: testSeed(default: 4200))
        for kind in [SimulatedFault.Kind.inputOutput, .noSpace, .short, .syncForgets] {
            var (distance, isBeyond) = (1, false)
            while !isBeyond {
                let system = original.afterKill()
                let start = system.operationCount
                system.arm(SimulatedFault(operation: start + distance, kind: kind))

                let store = try? open(system, isNew: true)

                isBeyond = system.operationCount < start + distance
                system.arm(nil)
                let outcome = try isNew(system.afterKill())
                #expect(outcome != nil, "\(kind) at call \(distance)")
                if store != nil { #expect(outcome == true, "\(kind) at call \(distance)") }
                distance += Self.step
            }
            #expect(distance > 2 * Self.step)
        }
    }
}
