// Questions that an index answers alone while another store of the process, or another process, writes the file: each
// has the answer of reading rows in the same commit, and each commit keeps the sum and the number of all accounts.
//
// `ESPALIER_COVERING_COMMITS` makes more commits.

import Dispatch
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct CoveringFollowTests {
    fileprivate static let accountCount = 64
    fileprivate static let commitCount = campaignCount("ESPALIER_COVERING_COMMITS", default: 30)
    private static let alone = "read entries alone, and rows only for values that entries do not have exactly"

    fileprivate static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Account",
                attributes: [
                    AttributeDescription("number", .integer32), AttributeDescription("amount", .integer64),
                    AttributeDescription("note", .string),
                ], indexes: [.init("byNumber", on: [.init("number"), .init("amount", isAscending: false)])])
        ])
    }

    private static func insertion(
        _ account: Entity, _ number: Int64, _ amount: AttributeValue
    ) -> SaveRequest.Insertion {
        let values: [String: AttributeValue] = [
            "number": .integer(number), "amount": amount, "note": .string("note \(number)"),
        ]
        return SaveRequest.Insertion(
            id: ObjectID(temporaryFor: account), values: account.attributes.map { values[$0.name] ?? .null },
            destinations: [])
    }

    fileprivate static func fill(_ store: BTreeStore) throws {
        let account = try #require(store.model.entity(named: "Account"))
        var request = SaveRequest()
        request.insertions = (0..<accountCount).map { insertion(account, Int64($0 % 8), .integer(100)) }
        _ = try store.save(request)
    }

    /// Moves amounts between accounts, gives accounts other numbers, and replaces some by new ones.
    fileprivate static func write(_ store: BTreeStore, _ commitCount: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let account = try #require(store.model.entity(named: "Account"))
        let number = try #require(account.attribute(named: "number")).slot
        let amount = try #require(account.attribute(named: "amount")).slot
        for commit in 0..<commitCount {
            let rows = Array(try store.fetch(StoreFetch(entity: account))).shuffled(using: &random)
            guard case .integer(let giver) = rows[0].value(at: amount),
                case .integer(let taker) = rows[1].value(at: amount)
            else { continue }
            let sum = Int64(random.next() % 40)
            var request = SaveRequest()
            request.updates = [
                .init(id: rows[0].id, expectedVersion: rows[0].version, values: [(amount, .integer(giver - sum))]),
                .init(
                    id: rows[1].id, expectedVersion: rows[1].version,
                    values: [(number, .integer(Int64(random.next() % 8))), (amount, .integer(taker + sum))]),
            ]
            if commit % 3 == 0 {
                request.deletions = [.init(id: rows[2].id, expectedVersion: rows[2].version)]
                request.insertions = [insertion(account, Int64(random.next() % 8), rows[2].value(at: amount))]
            }
            _ = try store.save(request)
        }
    }

    private static func rows(
        _ columns: [FetchColumn], by groups: [FetchColumn] = [], sort: [SortKey] = [], _ snapshot: any StoreSnapshot,
        _ model: ManagedObjectModel
    ) throws -> (rows: [[AttributeValue]], isAlone: Bool) {
        let account = try #require(model.entity(named: "Account"))
        var request = ValueRequest(entityName: "Account", columns: columns)
        (request.propertiesToGroupBy, request.sortKeys) = (groups, sort)
        let fetch = StoreValueFetch(try ResolvedValues(request, for: account, in: model))
        return (try snapshot.values(fetch).rows().map(\.values), try snapshot.explain(fetch).contains(alone))
    }

    /// Compares the answers of one commit; returns what is wrong with them, and the number of the commit.
    private static func look(_ store: BTreeStore) throws -> (problems: [String], commit: UInt64) {
        let snapshot = try store.snapshot()
        let sort = [SortKey("number"), SortKey("amount", ascending: false)]
        let found = try rows(["number", "amount"], sort: sort, snapshot, store.model)
        let read = try rows(["number", "amount", "note"], sort: sort, snapshot, store.model)
        let sums = try rows(["number", .sum("amount", as: "sum"), .count()], by: ["number"], snapshot, store.model)
        let all = try rows([.sum("amount"), .count()], snapshot, store.model)
        var problems: [String] = []
        func require(_ isRight: Bool, _ problem: @autoclosure () -> String) {
            if !isRight { problems.append("commit \(snapshot.generation): \(problem())") }
        }
        require(found.isAlone && sums.isAlone && !read.isAlone, "the index does not answer alone")
        require(found.rows == read.rows.map { Array($0.prefix(2)) }, "\(found.rows) instead of \(read.rows)")
        let total: [AttributeValue] = [.integer(Int64(accountCount) * 100), .integer(Int64(accountCount))]
        require(all.rows == [total], "\(all.rows) in all")
        var (sum, count): (Int64, Int64) = (0, 0)
        for row in sums.rows {
            if case .integer(let part) = row[1] { sum += part }
            if case .integer(let part) = row[2] { count += part }
        }
        require([.integer(sum), .integer(count)] == total, "\(sums.rows) by number")
        return (problems, snapshot.generation)
    }

    /// The commits that a reader has seen, and the problems that it has found in them.
    private struct Sightings: Sendable {
        var problems: [String] = []
        var commits: Set<UInt64> = []

        /// Looks at the newest commit; it may expire meanwhile, if the writer needs the room.
        mutating func look(_ store: BTreeStore) throws {
            do {
                let seen = try CoveringFollowTests.look(store)
                problems += seen.problems
                commits.insert(seen.commit)
            } catch let error as StoreError where error.isSnapshotExpired {}
        }
    }

    @Test func `an index answers alone while another store of the process writes the file`() throws {
        let seed = testSeed(default: 131_700)
        print("ESPALIER_SEED=\(seed)")
        try withStorePath { path in
            let writer = try BTreeStore.open(path: path, model: try Self.model())
            try Self.fill(writer)
            let reader = try BTreeStore.open(path: path, model: try Self.model())
            let flag = Flag()
            let outcome = Mutex(Sightings())
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                do {
                    if thread == 0 {
                        defer { flag.isSet.store(true, ordering: .releasing) }
                        try Self.write(writer, Self.commitCount, seed: seed)
                    } else {
                        var seen = Sightings()
                        while !flag.isSet.load(ordering: .acquiring) {
                            try seen.look(reader)
                            Thread.sleep(forTimeInterval: 0.01)
                        }
                        try seen.look(reader)
                        let found = seen
                        outcome.withLock { $0 = found }
                    }
                } catch {
                    outcome.withLock { $0.problems.append("\(error)") }
                }
            }

            let found = outcome.withLock { $0 }
            #expect(found.problems.isEmpty, "seed \(seed): \(found.problems)")
            let newest = try writer.snapshot().generation
            #expect(found.commits.contains(newest), "seed \(seed): \(found.commits), but not \(newest)")
            try reader.close()
            #expect(try writer.check().isOK)
            try writer.close()
        }
    }

    @Test func `an index answers alone in a reader while another process writes the file`() async throws {
        let seed = testSeed(default: 131_800)
        print("ESPALIER_SEED=\(seed)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store").path
        let first = try BTreeStore.open(path: path, model: try Self.model())
        try Self.fill(first)
        try first.close()
        let reader = try BTreeStore.open(path: path, model: try Self.model(), isReadOnly: true)
        let before = try reader.snapshot().generation
        let flag = Flag()
        let following = Task.detached {
            var seen = Sightings()
            while !flag.isSet.load(ordering: .acquiring) {
                try seen.look(reader)
                try await Task.sleep(for: .milliseconds(10))
            }
            try seen.look(reader)
            return seen
        }
        let commitCount = Self.commitCount

        await #expect(processExitsWith: .success) {
            [path = path as String, seed = seed as UInt64, commitCount = commitCount as Int] in
            let store = try BTreeStore.open(path: path, model: try CoveringFollowTests.model())
            try CoveringFollowTests.write(store, commitCount, seed: seed)
            try store.close()
        }
        flag.isSet.store(true, ordering: .releasing)

        let found = try await following.value
        #expect(found.problems.isEmpty, "seed \(seed): \(found.problems)")
        let newest = try #require(found.commits.max())
        #expect(newest >= before + UInt64(commitCount), "seed \(seed): \(before) to \(newest)")
        try reader.close()
    }
}

/// Whether the writer is done.
private final class Flag: Sendable {
    let isSet = Atomic(false)
}
