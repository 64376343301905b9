// Snapshots of every store: each shows the store at the moment when it was taken, for as long as the test keeps it.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct StoreSnapshotTests {
    @Test(arguments: StoreKind.allCases)
    func `snapshots kept over random saves answer as plain values of their moment say`(kind: StoreKind) throws {
        let seed = testSeed(default: 5_101)
        for round in 0..<UInt64(campaignCount("ESPALIER_SNAPSHOT_WALKS", default: 4)) {
            var walk = try SnapshotWalk(kind, seed: seed &+ round)
            for _ in 0..<120 { try walk.step() }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `each save makes a generation, which it tells, and only the last one is the newest`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let empty = try fixture.store.snapshot()
        #expect(try empty.isNewest && fixture.store.snapshot().generation == empty.generation)

        var request = SaveRequest()
        request.insertions = [try fixture.insertion("Person", ["name": .string("Ada")])]
        let result = try fixture.store.save(request)

        let snapshot = try fixture.store.snapshot()
        #expect(result.generation == empty.generation + 1 && snapshot.generation == result.generation)
        #expect(!empty.isNewest && snapshot.isNewest)
        request.insertions = []
        request.deletions = [.init(id: try #require(result.inserted.first?.id), expectedVersion: 7)]
        #expect(throws: StoreError.self) { try fixture.store.save(request) }
        #expect(snapshot.isNewest)
    }

    @Test(arguments: StoreKind.allCases)
    func `a row deleted meanwhile stays readable, and so do the lists that led to it`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let (ada, bob) = (
            try fixture.insert("Person", ["name": .string("Ada")]),
            try fixture.insert("Person", ["name": .string("Bob")])
        )
        try fixture.link(ada, "friends", add: [bob])
        let friends = try fixture.relationship("friends", of: "Person")
        let snapshot = try fixture.store.snapshot()

        try fixture.delete(bob)

        #expect(try snapshot.snapshots(of: [ada, bob]).allSatisfy { $0 != nil })
        #expect(try snapshot.destinations(of: friends, for: [ada, bob]) == [[bob], [ada]])
        #expect(try snapshot.destinationCount(of: friends, for: ada, limit: .max) == 1)
        #expect(try snapshot.hasDestination(bob, of: friends, for: ada))
        #expect(try fixture.store.snapshots(of: [bob])[0] == nil && fixture.links(ada, "friends").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `closing a store ends its snapshots, and they do not hold it up`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        _ = try fixture.insert("Person", ["name": .string("Ada")])
        let snapshot = try fixture.store.snapshot()
        let fetch = try fixture.request("Person")
        #expect(try snapshot.count(fetch) == 1)

        try fixture.store.close()

        for question in [
            { _ = try snapshot.fetch(fetch) }, { _ = try snapshot.count(fetch) },
            { _ = try fixture.store.snapshot() },
        ] as [() throws -> Void] {
            do {
                try question()
                Issue.record("a closed store answers")
            } catch StoreError.closed {}
        }
        #expect(!snapshot.isNewest)
    }

    @Test(arguments: StoreKind.allCases)
    func `threads read one snapshot beside saves, and closing waits for them`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        for number in 0..<20 { _ = try fixture.insert("Person", ["name": .string("\(number)")]) }
        let (store, snapshot) = (fixture.store, try fixture.store.snapshot())
        let everyone = try fixture.request("Person")
        let row = try fixture.insertion("Note", ["text": .string("x")])
        let wrong = Mutex([String]())

        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            do {
                for turn in 0..<60 {
                    if thread == 0 {
                        var request = SaveRequest()
                        request.insertions = [row]
                        _ = try store.save(request)
                    } else if thread == 5 {
                        if turn == 30 { try Self.close(store) }
                        usleep(500)
                    } else if try snapshot.fetch(everyone).count != 20 {
                        wrong.withLock { $0.append("other rows") }
                    }
                }
            } catch StoreError.closed {
                // Expected after half of the turns, when a thread closes the store.
            } catch {
                wrong.withLock { $0.append("\(error)") }
            }
        }
        #expect(wrong.withLock(\.self).isEmpty)
    }

    /// Closes a store as soon as no save runs in it: with an open save `close` throws.
    private static func close(_ store: any PersistentStore) throws {
        while true {
            do throws(StoreError) {
                return try store.close()
            } catch {
                guard case .storage(.database(.transactionsOpen), _) = error else { throw error }
                usleep(100)
            }
        }
    }

    @Test func `a snapshot that the log has no room for any more says so, and the next one can be read`() throws {
        let model = try MediaModel.make()
        let store = try BTreeStore.inMemory(model: model, options: .small)
        let note = try #require(model.entity(named: "Note"))
        let snapshot = try store.snapshot()
        #expect(try snapshot.count(StoreFetch(entity: note)) == 0)

        var saveCount = 0
        var failure: StoreError?
        while failure == nil, saveCount < 1000 {
            var request = SaveRequest()
            request.insertions = [
                SaveRequest.Insertion(
                    id: ObjectID(temporaryFor: "Note"), values: [.string(String(repeating: "x", count: 20_000))],
                    destinations: [])
            ]
            _ = try store.save(request)
            saveCount += 1
            do throws(StoreError) { _ = try snapshot.count(StoreFetch(entity: note)) } catch { failure = error }
        }

        #expect(failure?.isSnapshotExpired == true && !snapshot.isNewest)
        #expect(try store.snapshot().count(StoreFetch(entity: note)) == saveCount)
        try store.close()
    }
}

/// Random saves to one store, and snapshots of it with the content that they must show.
private struct SnapshotWalk {
    private struct Person: Equatable {
        var name: String
        var born: Int64
        var friends: Set<ObjectID> = []
        var favourites: [ObjectID] = []
    }
    private let fixture: StoreFixture
    private let seed: UInt64
    private var random: SeededGenerator
    private var people: [ObjectID: Person] = [:]
    private var songs: [ObjectID] = []
    private var kept: [(snapshot: any StoreSnapshot, people: [ObjectID: Person])] = []
    private var stepCount = 0

    init(_ kind: StoreKind, seed: UInt64) throws {
        fixture = try StoreFixture(kind)
        self.seed = seed
        random = SeededGenerator(seed: seed)
        for _ in 0..<4 { songs.append(try fixture.insert("Song", ["title": .string("s")])) }
    }

    mutating func step() throws {
        stepCount += 1
        let known = people.keys.sorted { $0.key < $1.key }
        let one = known.randomElement(using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2:
            let person = Person(name: "\(stepCount)", born: Int64.random(in: 0..<5, using: &random))
            people[try fixture.insert("Person", ["name": .string(person.name), "born": .integer(person.born)])] = person
        case 3:
            guard let one else { return }
            try fixture.delete(one)
            people[one] = nil
            for id in known { people[id]?.friends.remove(one) }
        case 4, 5:
            guard let one else { return }
            people[one]?.born += 1
            try fixture.change(one, ["born": .integer(people[one]?.born ?? 0)])
        case 6, 7:
            guard let one, let other = known.randomElement(using: &random), one != other else { return }
            if people[one]?.friends.contains(other) == true {
                try fixture.link(one, "friends", remove: [other])
                people[one]?.friends.remove(other)
                people[other]?.friends.remove(one)
            } else {
                try fixture.link(one, "friends", add: [other])
                people[one]?.friends.insert(other)
                people[other]?.friends.insert(one)
            }
        case 8:
            guard let one else { return }
            let order = Array(songs.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random)))
            try fixture.link(one, "favourites", order: order)
            people[one]?.favourites = order
        default:
            kept.append((try fixture.store.snapshot(), people))
            if kept.count > 8 { kept.remove(at: Int.random(in: 0..<8, using: &random)) }
        }
        if let (snapshot, expected) = kept.randomElement(using: &random) { try compare(snapshot, expected) }
    }

    private func compare(_ snapshot: any StoreSnapshot, _ expected: [ObjectID: Person]) throws {
        let place: Comment = "seed \(seed), step \(stepCount)"
        let ids = expected.keys.sorted { $0.key < $1.key }
        let entity = try fixture.entity("Person")
        let slots = try ["name", "born"].map { try #require(entity.attribute(named: $0)).slot }
        let (friends, favourites) = (
            try fixture.relationship("friends", of: "Person"), try fixture.relationship("favourites", of: "Person")
        )
        let fetch = try fixture.request("Person")
        #expect(try snapshot.fetchIDs(fetch) == ids && snapshot.count(fetch) == ids.count, place)
        let rows = try snapshot.fetch(fetch)
        #expect(
            rows.map { $0.value(at: slots[0]) } == ids.map { .string(expected[$0]?.name ?? "") }
                && rows.map { $0.value(at: slots[1]) } == ids.map { .integer(expected[$0]?.born ?? 0) }, place)
        let gone = people.keys.filter { expected[$0] == nil }
        #expect(try snapshot.snapshots(of: ids + gone).map { $0?.id } == ids + gone.map { _ in nil }, place)
        let lists = try snapshot.destinations(of: friends, for: ids)
        #expect(lists.map(Set.init) == ids.map { expected[$0]?.friends ?? [] }, place)
        #expect(
            try snapshot.destinations(of: favourites, for: ids) == ids.map { expected[$0]?.favourites ?? [] }, place)
        for (id, list) in zip(ids, lists).prefix(3) {
            #expect(try snapshot.destinationCount(of: friends, for: id, limit: .max) == list.count, place)
            for other in ids.prefix(3) {
                #expect(try snapshot.hasDestination(other, of: friends, for: id) == list.contains(other), place)
            }
        }
        let adults = try fixture.request("Person", FetchPredicate(format: "born >= 2"), sort: [SortKey("born")])
        #expect(try snapshot.count(adults) == expected.values.count { $0.born >= 2 }, place)
        var (rest, batched): (StoreFetch?, [ObjectID]) = (fetch, [])
        while let next = rest {
            let batch = try snapshot.fetchBatch(next, of: 3)
            batched += batch.rows.ids
            rest = batch.rest
        }
        #expect(batched == ids, place)
    }
}
