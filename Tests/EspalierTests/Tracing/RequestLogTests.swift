// The log of requests: what each level has, who asks for it, and what failures leave in it.

import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@testable import Espalier

@Suite struct RequestLogTests {
    /// The records of a log.
    private final class Records: Sendable {
        private let list = Mutex([StoreRequestRecord]())
        var all: [StoreRequestRecord] { list.withLock { $0 } }

        func log(_ level: RequestLog.Level) -> RequestLog {
            RequestLog(level) { record in self.list.withLock { $0.append(record) } }
        }

        /// Removes and returns all records.
        func take() -> [StoreRequestRecord] {
            list.withLock { list in
                defer { list = [] }
                return list
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a log has each request with its rows and time (DB-01)`(_ kind: StoreKind, isChild: Bool) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let boss = Member(context: stack.context)
        for number in 0..<3 {
            let member = Member(context: stack.context)
            (member.number, member.boss) = (number, boss)
        }
        try stack.context.save()
        let context = isChild ? ManagedObjectContext(parent: stack.newContext()) : stack.newContext()
        let records = Records()
        #expect(context.requestLog == nil)
        (context.requestLog, context.name) = (records.log(.requests), "list")

        let found = try context[boss.ref]
        _ = try context.fetchIDs(Member.fetchRequest())
        _ = try context.count(for: Member.fetchRequest())
        _ = (found.reports.count, found.skills.count, Array(found.reports))
        _ = try context.fetch(Member.fetchRequest())
        found.number = 9
        try context.save()

        let kinds = records.all.map(\.kind)
        #expect(
            kinds == [.rows, .fetchIDs, .count, .destinationCount, .destinationCount, .destinations, .fetch, .save])
        #expect(records.all.map(\.rowCount) == [1, 4, 4, 3, 0, 3, 4, 1])
        #expect(records.all.allSatisfy { $0.contextName == "list" && $0.isOfParent == isChild && $0.failure == nil })
        #expect(records.all.allSatisfy { $0.duration > .zero && $0.plan.isEmpty && $0.values == nil })
        #expect(records.all.dropLast().allSatisfy { $0.entityName == "Member" })
        #expect(try #require(records.all.first).description.hasPrefix("rows Member in list"))
    }

    @Test func `the second level has plans, and the third conditions and IDs (DB-01)`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 3, tracks: 1)
        let context = stack.newContext()
        let records = Records()
        var request = Artist.fetchRequest(try FetchPredicate(format: "founded > %@", 1950))
        request.fetchLimit = 5

        context.requestLog = records.log(.plans)
        let artists = try context.fetch(request)
        #expect(records.all.count == 1 && records.take().allSatisfy { !$0.plan.isEmpty && $0.values == nil })

        context.requestLog = records.log(.values)
        _ = try context.fetch(request)
        _ = try context.fetch(Artist.fetchRequest())
        _ = artists.map(\.albums)
        artists.first?.name = "Bea"
        try context.save()
        let values = records.take()
        #expect(values[0].values == "founded > 1950, limit 5" && values[1].values == "all objects")
        #expect(values[2].values?.contains("\(artists[0].objectID)") == true && values[2].kind == .destinations)
        #expect(values.last?.values?.contains("updates of \(artists[0].objectID)") == true)
        #expect(values[0].description.contains("\n  plan: ") && values[0].description.contains("\n  values: founded"))
        _ = try context.explain(request)
        #expect(records.take().map(\.kind) == [.explain])
        context.requestLog = nil
        _ = try context.fetch(request)
        #expect(records.all.isEmpty)
    }

    @Test func `a request that fails is in the log with its error (DB-01)`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 1)
        let records = Records()
        let artist = try #require(try stack.context.fetch(Artist.fetchRequest()).first)
        let other = stack.newContext()
        try other[artist.ref].name = "Theirs"
        try other.save()
        stack.context.requestLog = records.log(.requests)
        artist.name = "Mine"

        #expect(contextError { try stack.context.save() }?.code == 133020)
        #expect(records.all.contains { $0.kind == .save && $0.failure != nil })
        _ = records.take()
        for store in stack.coordinator.persistentStores { try store.close() }
        #expect(contextError { _ = try stack.context.fetch(Album.fetchRequest()) } != nil)
        #expect(records.all.last?.failure != nil && records.all.last?.description.contains("failed") == true)
    }

    @Test func `batch requests are in the log, with those that fail (DB-01)`() throws {
        let stack = try Stack(.btree)
        let records = Records()
        let context = ManagedObjectContext(parent: stack.context)
        context.requestLog = records.log(.values)
        let rows: [[String: any PredicateArgument]] = (0..<3).map { ["name": "Track \($0)", "seconds": $0] }

        try context.execute(BatchInsertRequest(entityName: "Track", objects: rows))
        let late = try FetchPredicate(format: "seconds > 0")
        try context.execute(
            BatchUpdateRequest(entityName: "Track", predicate: late, propertiesToUpdate: ["seconds": 9]))
        try context.execute(BatchDeleteRequest(Track.fetchRequest(try FetchPredicate(format: "seconds == 0"))))
        let writes = records.take().filter { $0.kind.rawValue.hasPrefix("batch") }
        #expect(writes.map(\.kind) == [.batchInsert, .batchUpdate, .batchDelete])
        #expect(writes.map(\.rowCount) == [3, 2, 1] && writes.map(\.values) == [nil, "seconds > 0", "seconds == 0"])
        #expect(writes.allSatisfy { $0.entityName == "Track" && !$0.isOfParent && $0.failure == nil })
        #expect(writes.allSatisfy { $0.duration > .zero })

        #expect(
            contextError { try context.execute(BatchInsertRequest(entityName: "Track", objects: [["seconds": 1]])) }
                != nil)
        let failed = try #require(records.take().last)
        #expect(failed.kind == .batchInsert && failed.rowCount == 0 && failed.failure != nil)
        #expect(failed.description.hasPrefix("batch insert Track: 0 rows, "))
    }

    @Test func `an asynchronous fetch is in the log with its count, and one that is cancelled (DB-01)`() async throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 3, tracks: 1)
        let records = Records()
        let context = stack.newContext()
        context.requestLog = records.log(.values)
        let request = Artist.fetchRequest(try FetchPredicate(format: "founded > 1950"))

        let found = try await context.fetch(request, progress: FetchProgress())
        let told = records.take()
        #expect(found.count == 2 && told.map(\.kind) == [.count, .fetch] && told.map(\.rowCount) == [2, 2])
        #expect(told.allSatisfy { $0.entityName == "Artist" && $0.values == "founded > 1950" && $0.failure == nil })
        #expect(told.allSatisfy { $0.duration > .zero && !$0.plan.isEmpty })

        var error: ContextError?
        do throws(ContextError) {
            _ = try await context.fetch(request, progress: FetchProgress { $0.cancel() })
        } catch let thrown {
            error = thrown
        }
        #expect(error?.code == 3072)
        let cancelled = try #require(records.take().last)
        #expect(cancelled.kind == .fetch && cancelled.failure?.contains("cancelled") == true)
    }

    @Test func `a request that finds nothing is in the log by its kind (DB-01)`() async throws {
        let stack = try Stack(.btree)
        let records = Records()
        stack.context.requestLog = records.log(.plans)
        let request = Track.fetchRequest()

        let found = try stack.context.fetchIDs(request)
        let aside = try await stack.context.fetchIDs(request, progress: FetchProgress())
        let tracks = try stack.context.fetch(request)

        #expect(found.isEmpty && aside.isEmpty && tracks.isEmpty)
        #expect(records.all.map(\.kind) == [.fetchIDs, .fetchIDs, .fetch])
        #expect(records.all.allSatisfy { $0.rowCount == 0 && $0.entityName == "Track" && !$0.plan.isEmpty })
    }

    @Test func `an enumeration of values is in the log with the rows of each batch (DB-01)`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 5, tracks: 1)
        let records = Records()
        let context = stack.newContext()
        context.requestLog = records.log(.requests)
        var names: [AttributeValue?] = []

        try context.enumerate(ValueRequest(entityName: "Artist", columns: ["name"]), batchSize: 2) { row in
            names.append(row["name"])
        }

        #expect(names.count == 5)
        #expect(records.all.map(\.rowCount) == [2, 2, 1])
        #expect(records.all.allSatisfy { $0.entityName == "Artist" && $0.kind == .fetch })
    }

    @Test func `a request that gets no answer is in the log by its kind (DB-01)`() async throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 1)
        let records = Records()
        let context = stack.newContext()
        let request = Track.fetchRequest()
        // The context has a snapshot as long as it has objects: the store is asked, and fails.
        let tracks = try context.fetch(request)
        context.requestLog = records.log(.requests)

        let progress = FetchProgress()
        progress.cancel()
        var error: ContextError?
        do throws(ContextError) {
            _ = try await context.fetchIDs(request, progress: progress)
        } catch let thrown {
            error = thrown
        }
        #expect(error?.code == 3072)
        for store in stack.coordinator.persistentStores { try store.close() }
        #expect(contextError { _ = try context.fetchIDs(request) } != nil)
        #expect(contextError { _ = try context.count(for: request) } != nil)
        #expect(contextError { _ = try context.fetch(request) } != nil)

        #expect(records.all.map(\.kind) == [.fetchIDs, .fetchIDs, .count, .fetch])
        #expect(records.all.allSatisfy { $0.rowCount == 0 && $0.entityName == "Track" && $0.failure != nil })
        withExtendedLifetime(tracks) {}
    }

    @Test func `reservations of IDs are in the log, with those that fail (DB-01)`() throws {
        let stack = try Stack(.btree)
        let records = Records()
        stack.context.requestLog = records.log(.values)
        let artists = (0..<3).map { _ in Artist(context: stack.context) }
        let store = stack.coordinator.persistentStores[0]

        try stack.context.assign(artists[0], to: store)
        try stack.context.obtainPermanentIDs(for: artists)
        let told = records.take()
        #expect(told.map(\.kind) == [.reserveIDs, .reserveIDs] && told.map(\.rowCount) == [1, 2])
        #expect(told.allSatisfy { $0.entityName == "Artist" && $0.duration > .zero && $0.failure == nil })
        #expect(told[0].values == "\(artists[0].objectID)")

        // The parent reserves the IDs with which a child's new objects arrive.
        let child = ManagedObjectContext(parent: stack.context)
        Artist(context: child).name = "Nina"
        try child.save()
        #expect(records.take().last { $0.kind == .reserveIDs }?.rowCount == 1)

        let late = Artist(context: stack.context)
        for store in stack.coordinator.persistentStores { try store.close() }
        #expect(contextError { try stack.context.obtainPermanentIDs(for: [late]) } != nil)
        #expect(records.take().last?.failure != nil)
    }

    @Test(
        arguments: [
            (["app"], nil, nil), (["app"], "1", 1), (["app"], "3", 3), (["app"], "4", 3), (["app"], "0", nil),
            (["app"], "much", nil), (["app", "-espalier.RequestLog", "2"], nil, 2),
            (["app", "-espalier.RequestLog", "2"], "3", 2), (["app", "-espalier.RequestLog"], "3", 3),
            (["app", "-espalier.RequestLog", "x"], "3", nil),
        ] as [([String], String?, Int?)])
    func `arguments and environment of the process set the level (DB-04)`(
        arguments: [String], variable: String?, level: Int?
    ) {
        let environment = variable.map { ["ESPALIER_REQUEST_LOG": $0] } ?? [:]

        let found = RequestLog.level(arguments: arguments, environment: environment) { _ in }

        #expect(found?.rawValue == level)
    }

    @Test(
        arguments: [
            (["app"], "much", "ESPALIER_REQUEST_LOG is \"much\""),
            (["app", "-espalier.RequestLog", "x"], "3", "-espalier.RequestLog is \"x\""), (["app"], "", nil),
            (["app"], "0", nil), (["app"], "4", nil), (["app", "-espalier.RequestLog", "2"], "much", nil),
        ] as [([String], String, String?)])
    func `a level that is no number is reported with those that there are (DB-04)`(
        arguments: [String], variable: String, problem: String?
    ) {
        var lines: [String] = []

        _ = RequestLog.level(arguments: arguments, environment: ["ESPALIER_REQUEST_LOG": variable]) { lines.append($0) }

        let expected = problem.map { "\($0), but its levels are the numbers from 0 (no log) to 3" }
        #expect(lines == [expected].compactMap(\.self))
    }

    @Test func `a process whose level is no number says so once, and names the levels (DB-04)`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            // SAFETY: the process has one thread yet.
            unsafe setenv("ESPALIER_REQUEST_LOG", "verbose", 1)
            let stack = try Stack(.inMemory)
            try stack.makeMusic(artists: 2, tracks: 1)
        }

        let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
        let own = lines.filter { $0.hasPrefix("espalier: ") }
        #expect(own.count == 1 && own.first?.contains("ESPALIER_REQUEST_LOG is \"verbose\"") == true, "\(lines)")
        #expect(own.first?.hasSuffix("from 0 (no log) to 3") == true, "\(lines)")
    }

    @Test func `a process whose environment asks for it writes its requests to the standard error (DB-04)`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            // SAFETY: the process has one thread yet.
            unsafe setenv("ESPALIER_REQUEST_LOG", "2", 1)
            let stack = try Stack(.inMemory)
            try stack.makeMusic(artists: 2, tracks: 1)
            stack.context.name = "main"
            let count = try stack.context.fetch(Artist.fetchRequest()).count
            #expect(count == 2)
        }

        let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("espalier: save: 8 rows, ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("espalier: fetch Artist in main: 2 rows, ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("espalier:   plan: ") }, "\(lines)")
    }
}
