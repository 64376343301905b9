// Saves that wait for a receiver that does not come: each entry of a queue says what the saves have done for which it
// stands, however many and however large they are; and a context that comes late has the last state of each object.
//
// `ESPALIER_QUEUE_WALKS` is the number of walks.

import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import Espalier

@Suite struct SavedChangesWalkTests {
    @Test func `each entry says what the saves have done for which it stands, beyond 32,768 of them too`() throws {
        let seed = testSeed(default: 131_780)
        print("ESPALIER_SEED=\(seed)")
        for number in 0..<campaignCount("ESPALIER_QUEUE_WALKS", default: 1) {
            var walk = QueueWalk(seed: seed &+ UInt64(number))
            walk.run()
            #expect(walk.problems.isEmpty, "seed \(walk.seed): \(walk.problems.prefix(5))")
            #expect(walk.largestRun > 32_768, "seed \(walk.seed): \(walk.largestRun) saves became one")
        }
    }

    @Test func `a context that comes after 33,000 saves has the last state of each object`() throws {
        let seed = testSeed(default: 131_790)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(.inMemory)
        let receiver = ManagedObjectContext(coordinator)
        receiver.automaticallyMergesChangesFromParent = true
        let artists = (0..<40).map { number in
            let artist = Artist(context: receiver)
            artist.name = "artist \(number)"
            return artist
        }
        try receiver.save()
        let writer = ManagedObjectContext(coordinator)
        var twins: [Artist?] = try artists.map { try writer.existingObject(with: $0.objectID) as? Artist }
        // The save that outweighs all others is of rows that the receiver does not have.
        let other = ObjectID(entityName: "Artist", storeIdentifier: UUID(), key: 1)
        let many = (UInt64(1)...150_000).map {
            ObjectID(storeTag: other.storeTag, entityTag: other.entityTag, key: $0)
        }
        coordinator.tell(SavedChanges(updated: many), except: nil)

        for round in 0..<60 {
            let place = Int(random.next() % 40)
            if round % 4 == 0, let twin = twins[place] {
                try writer.delete(twin)
                twins[place] = nil
            } else {
                twins[place]?.name = "round \(round)"
            }
            try writer.save()
            for _ in 0..<560 {
                let id = artists[Int(random.next() % 40)].objectID
                coordinator.tell(SavedChanges(updated: [id]), except: nil)
            }
        }
        receiver.processPendingChanges()

        for (artist, twin) in zip(artists, twins) {
            #expect(artist.isDeleted == (twin == nil), "seed \(seed): \(artist.objectID)")
            if let twin { #expect(artist.name == twin.name, "seed \(seed): \(artist.objectID)") }
        }
        withExtendedLifetime((receiver, writer)) {}
    }
}

/// Saves of few objects and of many, and a receiver that takes entries now and then.
private struct QueueWalk {
    let seed: UInt64
    private(set) var problems: [String] = []
    /// The most saves that became one entry.
    private(set) var largestRun = 0
    private var random: SeededGenerator
    private var queue = SavedChangesQueue()
    /// The saves that wait, oldest first, each with an object that no other one has.
    private var waiting: [SavedChanges] = []
    private var saveCount: UInt64 = 0
    /// The objects that exist after the last save, and after the saves that were taken.
    private var (live, known) = (Set<ObjectID>(), Set<ObjectID>())
    private var name: String?

    init(seed: UInt64) { (self.seed, random) = (seed, SeededGenerator(seed: seed)) }

    /// The `number`-th of some objects: those of kind 1 come and go, those of kind 2 are the marks of saves, and those
    /// of kind 3 exist all the time.
    private static func id(_ kind: UInt32, _ number: UInt64) -> ObjectID {
        ObjectID(storeTag: 1, entityTag: kind, key: number + 1)
    }

    mutating func run() {
        // Many small saves behind a large one, which they do not outweigh.
        save(manyCount: 150_000)
        for _ in 0..<33_000 { save() }
        takeAll()
        for _ in 0..<1500 {
            switch random.next() % 200 {
            case 0: save(manyCount: Int(random.next() % 60_000))
            case 1: for _ in 0..<(random.next() % 1000) { save() }
            case 2..<5: takeAll()
            case 5..<30: takeFirst()
            case 30..<34: name = ["a", "b", nil].randomElement(using: &random) ?? nil
            default: save()
            }
        }
        takeAll()
    }

    private mutating func save(manyCount: Int = 0) {
        var saved = SavedChanges(inserted: [Self.id(2, saveCount)], contextName: name)
        saveCount += 1
        var changed = Set<ObjectID>()
        for _ in 0..<(random.next() % 3) {
            let id = Self.id(1, random.next() % 64)
            guard changed.insert(id).inserted else { continue }
            if !live.contains(id) {
                saved.inserted.append(id)
                live.insert(id)
            } else if random.next() % 3 == 0 {
                saved.deleted.append(id)
                live.remove(id)
            } else {
                saved.updated.append(id)
            }
        }
        for number in 0..<manyCount { saved.updated.append(Self.id(3, UInt64(number))) }
        queue.append(saved)
        waiting.append(saved)
        if queue.count > 32_768 || queue.count > 1 && queue.idCount > SavedChangesQueue.idCountMax {
            problems.append("\(queue.count) entries have \(queue.idCount) IDs")
        }
    }

    private mutating func takeFirst() { if let entry = queue.takeFirst() { compare(entry) } }

    private mutating func takeAll() {
        for entry in queue.takeAll() { compare(entry) }
        if !waiting.isEmpty { problems.append("\(waiting.count) saves are missing") }
        if !queue.isEmpty || queue.idCount != 0 { problems.append("\(queue.count) entries are left") }
    }

    /// Compares an entry with the saves for which it stands: their marks are in it.
    private mutating func compare(_ entry: SavedChanges) {
        let markCount = entry.inserted.count { $0.entityTag == 2 }
        let run = Array(waiting.prefix(entry.isEverything ? waiting.count : markCount))
        waiting.removeFirst(run.count)
        largestRun = max(largestRun, run.count)
        let names = Set(run.map(\.contextName))
        func require(_ isRight: Bool, _ problem: @autoclosure () -> String) {
            if !isRight { problems.append("\(problem()), of \(run.count) saves before number \(saveCount)") }
        }
        require(entry.contextName == (names.count == 1 ? run[0].contextName : nil), "the name of \(names.count)")
        var touched = Set<ObjectID>()
        let before = known
        for saved in run {
            touched.formUnion(saved.inserted + saved.updated + saved.deleted)
            known.formUnion(saved.inserted.filter { $0.entityTag == 1 })
            known.subtract(saved.deleted)
        }
        let idCount = run.reduce(0) { $0 + $1.inserted.count + $1.updated.count + $1.deleted.count }
        require(run.count == 1 || run.count > 256 || idCount > SavedChangesQueue.idCountMax, "an early union")
        let (inserted, updated, deleted) = (Set(entry.inserted), Set(entry.updated), Set(entry.deleted))
        let all = inserted.union(updated).union(deleted)
        guard !entry.isEverything else {
            return require(
                touched.count > SavedChangesQueue.idCountMax && all.isEmpty, "\(touched.count) IDs are everything")
        }
        require(all == touched, "\(all.count) IDs instead of \(touched.count)")
        require(entry.inserted.count + entry.updated.count + entry.deleted.count == all.count, "an ID twice")
        for id in touched {
            let exists = id.entityTag != 1 || known.contains(id)
            let existed = id.entityTag == 3 || before.contains(id)
            require(deleted.contains(id) == !exists, "\(id.entityTag)/\(id.key) is in the wrong list")
            if exists, existed { require(updated.contains(id), "\(id.entityTag)/\(id.key) existed before") }
        }
    }
}
