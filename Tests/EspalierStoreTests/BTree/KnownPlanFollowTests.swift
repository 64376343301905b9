// The plans of repeated fetches in a store of which another one, of this process or of another one, writes the file:
// now few rows have a value and now most of them. Each fetch finds what the same fetch finds when it is planned anew,
// and what the rows of its commit say.
//
// `ESPALIER_PLAN_COMMITS` is the number of commits.

import EspalierModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct KnownPlanFollowTests {
    private static let commitCount = campaignCount("ESPALIER_PLAN_COMMITS", default: 24)

    // MARK: Writing

    private static func insertion(_ song: Entity, _ random: inout SeededGenerator) -> SaveRequest.Insertion {
        let number = Int64(random.next() % 400)
        let values: [String: AttributeValue] = [
            "bitrate": .integer(number), "title": .string(number % 3 == 0 ? "ballad \(number)" : "song \(number)"),
            "rating": .double(Double(random.next() % 7)),
        ]
        return SaveRequest.Insertion(
            id: ObjectID(temporaryFor: song), values: song.attributes.map { values[$0.name] ?? .null },
            destinations: song.relationships.map { _ in nil })
    }

    /// One commit: many songs more, one bitrate for all of them, another one for each, or half of them less.
    fileprivate static func change(_ store: BTreeStore, _ random: inout SeededGenerator) throws {
        let song = try #require(store.model.entity(named: "Song"))
        let bitrate = try #require(song.attribute(named: "bitrate")).slot
        var request = SaveRequest()
        let rows = Array(try store.fetch(StoreFetch(entity: song)))
        let kind = rows.count < 40 ? 0 : rows.count > 400 ? 3 : random.next() % 4
        switch kind {
        case 0:
            for _ in 0..<(20 + random.next() % 60) { request.insertions.append(insertion(song, &random)) }
        case 1, 2:
            let value = Int64(random.next() % 8)
            for (position, row) in rows.enumerated() {
                let new = kind == 1 ? value : Int64(position)
                request.updates.append(
                    .init(id: row.id, expectedVersion: row.version, values: [(bitrate, .integer(new))]))
            }
        default:
            for row in rows.shuffled(using: &random).prefix(rows.count / 2) {
                request.deletions.append(.init(id: row.id, expectedVersion: row.version))
            }
        }
        _ = try store.save(request)
    }

    fileprivate static func write(to path: String, _ count: Int, seed: UInt64) throws {
        let store = try BTreeStore.open(path: path, model: try MediaModel.make())
        var random = SeededGenerator(seed: seed)
        for _ in 0..<count { try change(store, &random) }
        try store.close()
    }

    // MARK: Reading

    /// A fetch that is repeated, and the bitrates of the songs that it finds; `nil` if a limit cuts its answer.
    private struct Question: Sendable {
        let fetch: StoreFetch
        let passes: (@Sendable (Int64) -> Bool)?

        init(
            _ store: BTreeStore, _ format: String, sort: [SortKey] = [], limit: Int? = nil,
            _ passes: (@Sendable (Int64) -> Bool)? = nil
        ) throws {
            let song = try #require(store.model.entity(named: "Song"))
            let predicate = try ResolvedPredicate(FetchPredicate(format: format), for: song, in: store.model)
            let keys = try sort.map { try ResolvedSortKey($0, for: song, in: store.model) }
            var fetch = StoreFetch(entity: song, predicate: predicate, sort: keys, limit: limit)
            fetch.isRepeated = true
            (self.fetch, self.passes) = (fetch, passes)
        }

        /// The plan that the store has kept.
        func plan(_ store: BTreeStore) -> KnownPlan? {
            let plan = store.knownPlans.plan(at: KnownPlans.place(of: fetch, wantsRows: true))
            return plan.flatMap { $0.isOf(fetch, wantsRows: true) ? $0 : nil }
        }
    }

    private static func questions(_ store: BTreeStore) throws -> [Question] {
        [
            try Question(store, "bitrate IN {3} AND length == nil") { $0 == 3 },
            try Question(store, "bitrate >= 2 AND bitrate < 6") { (2..<6).contains($0) },
            try Question(store, "bitrate == 1 OR bitrate == 5 OR bitrate > 390") { [1, 5].contains($0) || $0 > 390 },
            try Question(store, "title BEGINSWITH 'ballad 1' AND rating > 2", sort: [SortKey("title")], limit: 5),
            try Question(store, "bitrate != 4", sort: [SortKey("rating", ascending: false)], limit: 10),
        ]
    }

    /// The commits that a reader has seen, and the wrong answers that it has got.
    private struct Sightings: Sendable {
        var problems: [String] = []
        var commits: Set<UInt64> = []

        /// Asks the newest commit; it may expire meanwhile, if the writer needs the room.
        mutating func look(_ store: BTreeStore, _ questions: [Question]) throws {
            do {
                try compare(try store.snapshot(), questions)
            } catch let error as StoreError where error.isSnapshotExpired {}
        }

        mutating func compare(_ snapshot: any StoreSnapshot, _ questions: [Question]) throws {
            guard let first = questions.first else { return }
            let slot = try #require(first.fetch.entity.attribute(named: "bitrate")).slot
            let rows = try snapshot.fetch(StoreFetch(entity: first.fetch.entity))
            for (number, question) in questions.enumerated() {
                var single = question.fetch
                single.isRepeated = false
                let (found, expected) = (try snapshot.fetch(question.fetch).ids, try snapshot.fetch(single).ids)
                let counts = (try snapshot.count(question.fetch), try snapshot.count(single))
                var isRight = found == expected && counts.0 == counts.1
                if let passes = question.passes {
                    let plain = rows.filter { row in
                        if case .integer(let bitrate) = row.value(at: slot) { passes(bitrate) } else { false }
                    }
                    isRight = isRight && Set(found) == Set(plain.map(\.id)) && counts.0 == plain.count
                }
                if !isRight {
                    problems.append("question \(number) at \(snapshot.generation): \(found.count) of \(expected.count)")
                }
            }
            commits.insert(snapshot.generation)
        }
    }

    // MARK: Tests

    @Test func `two stores of one file repeat fetches beside the saves of each other`() throws {
        let seed = testSeed(default: 131_760)
        print("ESPALIER_SEED=\(seed)")
        try withStorePath { path in
            var random = SeededGenerator(seed: seed)
            let stores = try (0..<2).map { _ in try BTreeStore.open(path: path, model: try MediaModel.make()) }
            let questions = try stores.map(Self.questions)
            var sightings = Sightings()
            var kept: [(snapshot: any StoreSnapshot, store: Int)] = []
            var plans = Set<ObjectIdentifier>()
            var alive: [KnownPlan] = []
            for _ in 0..<Self.commitCount {
                try Self.change(stores[Int(random.next() % 2)], &random)
                for number in [0, 1].shuffled(using: &random) {
                    try sightings.look(stores[number], questions[number])
                    for plan in questions[number].compactMap({ $0.plan(stores[number]) })
                    where plans.insert(ObjectIdentifier(plan)).inserted { alive.append(plan) }
                }
                if random.next() % 3 == 0 { kept.append((try stores[0].snapshot(), 0)) }
                if let old = kept.randomElement(using: &random) {
                    try sightings.compare(old.snapshot, questions[old.store])
                }
            }

            #expect(sightings.problems.isEmpty, "seed \(seed): \(sightings.problems)")
            #expect(Set(alive.map(\.statistics.rowCounts)).count > 1, "seed \(seed): no plan was made anew")
            for store in stores { try store.close() }
        }
    }

    @Test func `a reader repeats fetches while another process writes the file`() async throws {
        let seed = testSeed(default: 131_770)
        print("ESPALIER_SEED=\(seed)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store").path
        try Self.write(to: path, 1, seed: seed)
        let reader = try BTreeStore.open(path: path, model: try MediaModel.make(), isReadOnly: true)
        let questions = try Self.questions(reader)
        var first = Sightings()
        try first.look(reader, questions)
        let plans = questions.map { $0.plan(reader) }
        // Two plans may share a place.
        #expect(first.problems.isEmpty && plans.contains { $0 != nil }, "seed \(seed): \(first.problems)")
        let (count, before) = (Self.commitCount, try reader.snapshot().generation)
        let flag = Flag()
        let following = Task.detached {
            var seen = Sightings()
            while !flag.isSet.load(ordering: .acquiring) {
                try seen.look(reader, questions)
                try await Task.sleep(for: .milliseconds(10))
            }
            try seen.look(reader, questions)
            return seen
        }

        await #expect(processExitsWith: .success) {
            [path = path as String, seed = seed as UInt64, count = count as Int] in
            try KnownPlanFollowTests.write(to: path, count, seed: seed &+ 1)
        }
        flag.isSet.store(true, ordering: .releasing)

        let found = try await following.value
        #expect(found.problems.isEmpty, "seed \(seed): \(found.problems)")
        #expect(found.commits.max() ?? 0 >= before + UInt64(count), "seed \(seed): \(before) to \(found.commits)")
        let isAnew = zip(plans, questions).contains { former, question in former !== question.plan(reader) }
        #expect(isAnew, "seed \(seed): no plan was made anew or found to hold")
        try reader.close()
    }
}

/// Whether the writer is done.
private final class Flag: Sendable {
    let isSet = Atomic(false)
}
