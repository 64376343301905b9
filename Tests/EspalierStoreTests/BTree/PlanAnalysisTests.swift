// The analysis of a plan: the same steps as `explain`, with the numbers of rows that a count of the rows gives.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct PlanAnalysisTests {
    /// 20 people with 200 songs, every tenth of which is long.
    private func library(_ kind: StoreKind = .treeInMemory) throws -> StoreFixture {
        let fixture = try StoreFixture(kind)
        var request = SaveRequest()
        let people = try (0..<20).map { try fixture.insertion("Person", ["name": .string("person \($0)")]) }
        let songs = try (0..<200).map { number in
            try fixture.insertion(
                "Song",
                [
                    "title": .string("song \(number)"), "length": .integer(number % 10 == 0 ? 900 : 100),
                    "lossless": .boolean(number % 10 == 0),
                ], to: ["owner": people[number % 20].id])
        }
        request.insertions = people + songs
        _ = try fixture.store.save(request)
        return fixture
    }

    private func analyze(
        _ fixture: StoreFixture, _ entity: String, _ format: String?, sort: [SortKey] = [], limit: Int? = nil
    ) throws -> PlanStep {
        try fixture.store.snapshot().analyze(
            fixture.request(entity, format.map { try FetchPredicate(format: $0) }, sort: sort, limit: limit))
    }

    @Test func `each step has the number of rows that it finds, and the result that of the fetch`() throws {
        let step = try analyze(library(), "Song", "title == 'song 7' AND length < 500")

        #expect(step.foundCount == 1)
        let test = try #require(step.sources.first)
        #expect(test.action == "test 1 condition on each row" && test.foundCount == 1)
        let entries = try #require(test.sources.first)
        #expect(entries.action.hasPrefix("tree \"index:Media.title\"") && entries.foundCount == 1)
        #expect(try #require(entries.expectedCount) > 0)
        #expect(step.duration != nil && entries.duration != nil)
    }

    @Test func `a condition on every row is counted without the limit above it`() throws {
        let step = try analyze(library(), "Song", "lossless == YES", sort: [SortKey("lossless")], limit: 3)

        #expect(step.action == "keep the first 3 by lossless, stop after 3")
        #expect(step.foundCount == 3)
        #expect(step.sources.first?.foundCount == 20)
        let scan = try #require(step.sources.first?.sources.first)
        #expect(scan.action.hasPrefix("read all rows of"))
        #expect(scan.foundCount == scan.expectedCount)
    }

    @Test func `alternatives and ways back are branches with numbers of their own`() throws {
        let fixture = try library()
        let both = try analyze(fixture, "Song", "title == 'song 1' OR title == 'song 2'")
        let back = try analyze(fixture, "Song", "owner.name == 'person 3'")

        let numbers = both.lines.map(\.step.foundCount)
        #expect(both.foundCount == 2 && numbers.last == .some(both.sources[0].sources.isEmpty ? 2 : 1))
        #expect(back.foundCount == 10)
        let way = try #require(back.lines.first { $0.action.contains("back across") })
        #expect(way.step.foundCount == 10 && way.step.sources.first?.foundCount == 1)
        #expect(way.step.sources.first?.expectedCount != nil)
    }

    @Test func `too many candidates are answered by all rows, which the result says`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        var request = SaveRequest()
        request.insertions = try (0..<3000).map { number in
            try fixture.insertion("Song", ["title": .string(number < 2500 ? "same" : "song \(number)")])
        }
        _ = try fixture.store.save(request)

        let many = try analyze(fixture, "Song", "title == 'same'")
        let few = try analyze(fixture, "Song", "title == 'song 2999'")

        #expect(many.foundCount == 2500 && many.action.contains("all rows were read instead"))
        #expect(few.foundCount == 1 && !few.action.contains("all rows were read instead"))
    }

    @Test(arguments: StoreKind.allCases)
    func `every kind of store counts the rows of the result`(kind: StoreKind) throws {
        let fixture = try library(kind)

        for (format, count) in [("length > 500", 20), ("title BEGINSWITH 'song 1'", 111), ("FALSEPREDICATE", 0)] {
            let step = try analyze(fixture, "Song", format)
            #expect(step.foundCount == count, "\(format)")
            #expect(step.foundCount == (try fixture.find("Song", format).count))
        }
        #expect(try analyze(fixture, "Song", nil, limit: 0).foundCount == 0)
    }

    @Test func `the description is a table with a branch for each source`() {
        let leaf = PlanStep("entries", expectedCount: 4000, foundCount: 391, duration: .microseconds(80))
        let step = PlanStep(
            "the first 10", expectedCount: 10, foundCount: 10, duration: .microseconds(12_345),
            sources: [PlanStep("test", sources: [leaf]), PlanStep("other")])

        #expect(
            "\(step)" == """
                              expected  found      time
                the first 10        10     10  12.35 ms
                ├ test               -      -         -
                │ └ entries       4000    391   0.08 ms
                └ other              -      -         -
                """)
    }
}
