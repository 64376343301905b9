// Fetches that are cancelled while a store answers them: the store asks now and then whether its answer is wanted, and
// stops at once if it is not.

import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct CancelledAnswerTests {
    /// A question, and its answer as a text.
    private struct Question {
        let name: String
        let ask: (any StoreSnapshot, (@Sendable () -> Bool)?) throws -> String
    }

    private static let thingCount = 2000

    private func things(_ kind: StoreKind) throws -> StoreFixture {
        let fixture = try StoreFixture(kind, CoveringModel.make())
        var request = SaveRequest()
        let owners = try (0..<3).map { try fixture.insertion("Owner", ["name": .string("owner \($0)")]) }
        request.insertions = owners
        for number in 0..<Self.thingCount {
            request.insertions.append(
                try fixture.insertion(
                    "Thing",
                    [
                        "number": .integer(Int64(number % 10)), "ratio": .double(Double(number)),
                        "name": .string("thing \(number)"), "flag": .boolean(number % 2 == 0),
                        "half": .float(Float(Self.thingCount - number)), "note": .string("x\(number)"),
                    ], to: ["owner": owners[number % 3].id]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    private func question(_ name: String, _ fetch: StoreFetch) -> Question {
        Question(name: name) { snapshot, isCancelled in
            var fetch = fetch
            fetch.isCancelled = isCancelled
            let ids: [ObjectID]
            switch name.prefix(while: { $0 != " " }) {
            case "IDs": ids = try snapshot.fetchIDs(fetch)
            case "number": return "\(try snapshot.count(fetch)) things"
            case "batch": ids = Array(try snapshot.fetchBatch(fetch, of: 100).rows.ids.prefix(100))
            default: ids = try snapshot.fetch(fetch).ids
            }
            return ids.map(\.key).description
        }
    }

    private func question(_ name: String, _ fetch: StoreValueFetch) -> Question {
        Question(name: name) { snapshot, isCancelled in
            var fetch = fetch
            fetch.rows.isCancelled = isCancelled
            return try snapshot.values(fetch).rows().map { "\($0.values)" }.sorted().description
        }
    }

    /// Questions for which a store visits most things.
    private func questions(_ fixture: StoreFixture) throws -> [Question] {
        func fetch(_ format: String?, of name: String = "Thing", sort: [SortKey] = []) throws -> StoreFetch {
            try fixture.request(name, try format.map { try FetchPredicate(format: $0) }, sort: sort)
        }
        var questions = [
            question("rows of a scan", try fetch("note CONTAINS 'x'")),
            question("number by an index", try fetch("number >= 0")),
            question("IDs by several values", try fetch("number IN {1, 2, 3, 4, 5, 6}")),
            question("rows to sort", try fetch(nil, sort: [SortKey("half")])),
            question("rows in the order of an index", try fetch("flag == YES", sort: [SortKey("number")])),
            question("IDs across a to-one relationship", try fetch("owner.name BEGINSWITH 'owner'")),
            question("batch of sorted rows", try fetch("note CONTAINS 'x'", sort: [SortKey("half")])),
            question("values of rows", try CoveringModel.fetch(fixture, ["half", "flag"])),
            question("sums of groups", try CoveringModel.fetch(fixture, ["number", .sum("ratio")], by: ["number"])),
            question("numbers of groups", try CoveringModel.fetch(fixture, ["note", .count(as: "n")], by: ["note"])),
        ]
        if fixture.kind == .treeInMemory {
            // Other stores visit three owners, and read their lists at once.
            questions += [
                question("IDs of owners", try fetch("ANY things.half > 5", of: "Owner")),
                question(
                    "IDs by a subquery",
                    try fetch("SUBQUERY(things, $t, $t.half + 1 > 5 AND $t.flag == YES).@count > 5", of: "Owner")),
            ]
        }
        return questions
    }

    @Test(arguments: [StoreKind.memory, .treeInMemory, .outside])
    func `a store asks whether its answer is wanted, and stops when it is not (FR-22)`(kind: StoreKind) throws {
        let fixture = try things(kind)
        for question in try questions(fixture) {
            let snapshot = try fixture.store.snapshot()
            let whole = try question.ask(snapshot, nil)
            let count = Mutex(0)

            let answer = try question.ask(snapshot) {
                count.withLock { $0 += 1 }
                return false
            }
            #expect(answer == whole, "\(question.name)")
            #expect(count.withLock { $0 } >= 3, "\(question.name)")

            count.withLock { $0 = 0 }
            var error: (any Error)?
            let visited = StepCount.count {
                do {
                    _ = try question.ask(snapshot) {
                        count.withLock { count in
                            count += 1
                            return count == 3
                        }
                    }
                } catch let thrown {
                    error = thrown
                }
            }
            guard case .fetchCancelled? = error as? StoreError else {
                Issue.record("\(question.name): \(String(describing: error))")
                continue
            }
            // It was not asked again, and few rows were read.
            #expect(count.withLock { $0 } == 3, "\(question.name)")
            #expect(visited.rows <= Self.thingCount / 2, "\(question.name): \(visited.rows) rows")
            // The snapshot answers the next question.
            #expect(try question.ask(snapshot, nil) == whole, "\(question.name)")
        }
    }
}
