// Questions for values that the entries of one index answer without rows (FR-11), and those for which rows are read.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct CoveringReadTests {
    private static let alone = "read entries alone, and rows only for values that entries do not have exactly"

    /// Three hundred things of three owners, all of whose values have codes of their own.
    private func things() throws -> StoreFixture {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        var request = SaveRequest()
        let owners = try (0..<3).map { try fixture.insertion("Owner", ["name": .string("owner \($0)")]) }
        request.insertions = owners
        for number in 0..<300 {
            request.insertions.append(
                try fixture.insertion(
                    number % 5 == 0 ? "Tool" : "Thing",
                    [
                        "number": .integer(Int64(number % 10)), "ratio": .double(Double(number) + 0.5),
                        "name": .string("thing \(number)"), "flag": .boolean(number % 4 == 0),
                        "day": .date(Date(timeIntervalSinceReferenceDate: Double(number % 7) + 1)),
                        "small": .integer(Int64(number % 3)), "half": .float(Float(number) + 0.5),
                    ], to: ["owner": owners[number % 3].id]))
        }
        _ = try fixture.store.save(request)
        return fixture
    }

    /// The rows, and the numbers of entries and of rows that the store has read for them.
    private func answer(
        _ fixture: StoreFixture, _ fetch: StoreValueFetch
    ) throws -> (rows: [[AttributeValue]], steps: Int, readCount: Int) {
        let snapshot = try fixture.store.snapshot()
        var rows: [[AttributeValue]] = []
        let count = try StepCount.count { rows = try snapshot.values(fetch).rows().map(\.values) }
        return (rows, count.steps, count.rows)
    }

    private func isAlone(_ fixture: StoreFixture, _ fetch: StoreValueFetch) throws -> Bool {
        try fixture.store.explain(fetch).contains(Self.alone)
    }

    @Test func `one index answers columns, conditions and order without rows`() throws {
        let fixture = try things()
        let range = try CoveringModel.fetch(
            fixture, ["ratio", "objectID"], FetchPredicate(format: "number == 3 AND ratio > 200 AND ratio != 213.5"))
        let plan = try fixture.store.explain(range)
        #expect(plan[0].hasPrefix("tree \"index:Thing.byNumber\", keys from"), "\(plan)")
        #expect(plan.dropFirst() == [Self.alone, "test 1 condition on each entry"])
        let found = try answer(fixture, range)
        let ratios = [203.5, 223.5, 233.5, 243.5, 253.5, 263.5, 273.5, 283.5, 293.5]
        #expect(found.rows.map { $0[0] } == ratios.map { AttributeValue.double($0) })
        #expect(found.readCount == 0 && found.steps < 20, "\(found.steps) steps, \(found.readCount) rows")

        let sort = [SortKey("name", ascending: false), SortKey("number", ascending: false)]
        let last = try CoveringModel.fetch(fixture, ["name"], sort: sort, limit: 3)
        #expect(
            try fixture.store.explain(last) == [
                "tree \"index:Thing.byName\", all keys, backwards", Self.alone, "order: by index", "stop after 3",
            ])
        let names = try answer(fixture, last)
        #expect(names.rows == [[.string("thing 99")], [.string("thing 98")], [.string("thing 97")]])
        #expect(names.readCount == 0 && names.steps < 12, "\(names.steps) steps, \(names.readCount) rows")
    }

    @Test func `groups, distinct rows and expressions need no row if one index has all of their values`() throws {
        let fixture = try things()
        let sums = try CoveringModel.fetch(fixture, ["number", .sum("ratio"), .max("ratio")], by: ["number"])
        let grouped = try answer(fixture, sums)
        #expect(grouped.rows.count == 10 && grouped.readCount == 0)
        #expect(grouped.rows[3] == [.integer(3), .double(4455), .double(293.5)])

        let pairs = try CoveringModel.fetch(fixture, ["owner", "flag"], distinct: true)
        let listed = try answer(fixture, pairs)
        #expect(listed.rows.count == 6 && listed.readCount == 0, "\(listed.rows), \(listed.readCount) rows")

        let doubled = try CoveringModel.fetch(
            fixture, [FetchColumn("twice", format: "number * 2"), "ratio"],
            sort: [SortKey("number", ascending: false), SortKey("ratio")])
        let computed = try answer(fixture, doubled)
        #expect(computed.rows.first == [.integer(18), .double(9.5)] && computed.readCount == 0)
        #expect(computed.rows.last == [.integer(0), .double(290.5)])

        let owner = try #require(try fixture.find("Owner", "name == 'owner 1'").first)
        let days = try CoveringModel.fetch(
            fixture, ["owner", "day"], FetchPredicate(format: "owner == %@ AND flag == YES", owner), of: "Tool")
        let owned = try answer(fixture, days)
        #expect(owned.rows.count == 5 && owned.readCount == 0, "\(owned.rows), \(owned.readCount) rows")
        #expect(owned.rows.allSatisfy { $0[0] == .objectID(owner) })
    }

    @Test func `values that an index lacks, folds, leaves out or may not answer are read from rows`() throws {
        let fixture = try things()
        let byNumber = [SortKey("number"), SortKey("ratio", ascending: false)]
        let bySmall = [SortKey("small", ascending: false), SortKey("half")]
        let isFlagged = try FetchPredicate(format: "flag == YES")
        let folded = [SortKey("name", options: [.caseInsensitive, .diacriticInsensitive]), SortKey("small")]

        #expect(try isAlone(fixture, CoveringModel.fetch(fixture, ["number"], sort: byNumber)))
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["number", "small"], sort: byNumber)))
        #expect(try isAlone(fixture, CoveringModel.fetch(fixture, ["half"], isFlagged, sort: bySmall)))
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["half"], sort: bySmall)))
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["name"], sort: folded, limit: 5)))
        let hidden = try FetchPredicate(format: "noindex:(number) == 3")
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["ratio"], hidden, sort: byNumber)))
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["number"], sort: [SortKey("ratio")], limit: 2)))
        let byPrice = [SortKey("price"), SortKey("number")]
        #expect(try !isAlone(fixture, CoveringModel.fetch(fixture, ["price"], sort: byPrice)))

        // A folded index has the answer to the condition, and the other property unchanged.
        let same = try CoveringModel.fetch(fixture, ["small"], FetchPredicate(format: "name ==[cd] 'THING 8'"))
        #expect(try fixture.store.explain(same)[0].hasPrefix("tree \"index:Thing.folded\""))
        let found = try answer(fixture, same)
        #expect(found.rows == [[.integer(2)]] && found.readCount == 0)
        // So has an index of an expression.
        let twice = try CoveringModel.fetch(
            fixture, ["small", .count()], FetchPredicate(format: "number * 2 == 6"), by: ["small"])
        #expect(try fixture.store.explain(twice)[0].hasPrefix("tree \"index:Thing.byTwice\""))
        let counted = try answer(fixture, twice)
        #expect(counted.rows == (0..<3).map { [AttributeValue.integer($0), .integer(10)] } && counted.readCount == 0)
    }

    @Test func `a value whose code others have too comes from its row as it was saved`() throws {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        let names = ["abc", "e\u{301}", "\u{212A}", "K", "é", "a;"]
        let ratios: [Double] = [1, -0.0, .nan, 0, 2, -1]
        for (number, (name, ratio)) in zip(names, ratios).enumerated() {
            _ = try fixture.insert(
                "Thing", ["number": .integer(Int64(number)), "name": .string(name), "ratio": .double(ratio)])
        }

        let texts = try answer(
            fixture, CoveringModel.fetch(fixture, ["name"], sort: [SortKey("name"), SortKey("number")]))
        let numbers = try answer(
            fixture,
            CoveringModel.fetch(fixture, ["ratio"], sort: [SortKey("number"), SortKey("ratio", ascending: false)]))

        let scalars = texts.rows.map { row -> [Unicode.Scalar] in
            if case .string(let text) = row[0] { Array(text.unicodeScalars) } else { [] }
        }
        #expect(scalars == ["\u{212A}", "K", "a;", "abc", "e\u{301}", "é"].map { Array($0.unicodeScalars) })
        #expect(texts.readCount == 5, "\(texts.readCount) rows")
        let bits = numbers.rows.map { row -> UInt64 in
            if case .double(let ratio) = row[0] { ratio.bitPattern } else { 1 }
        }
        #expect(bits == ratios.map(\.bitPattern))
        #expect(numbers.readCount == 3, "\(numbers.readCount) rows")
    }

    @Test func `a group begins with a value as it was saved, and needs no other row`() throws {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        for number in 0..<40 {
            _ = try fixture.insert(
                "Thing", ["number": .integer(Int64(number)), "name": .string(number % 2 == 0 ? "e\u{301}" : "abc")])
        }
        let sums = try answer(fixture, CoveringModel.fetch(fixture, ["name", .sum("number")], by: ["name"]))

        #expect(sums.rows == [[.string("abc"), .integer(400)], [.string("e\u{301}"), .integer(380)]])
        #expect(sums.readCount == 1, "\(sums.readCount) rows")
        guard case .string(let text) = sums.rows[1][0] else { return }
        #expect(text.unicodeScalars.count == 2, "the text is composed")
    }

    @Test func `groups that an index counts have the values of their first rows`() throws {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        for note in ["e\u{301}", "é", "abc", "abc"] { _ = try fixture.insert("Thing", ["note": .string(note)]) }

        let counts = try answer(fixture, CoveringModel.fetch(fixture, ["note", .count()], by: ["note"]))

        #expect(counts.rows == [[.string("abc"), .integer(2)], [.string("é"), .integer(2)]])
        #expect(counts.readCount == 1, "\(counts.readCount) rows")
        guard case .string(let text) = counts.rows[1][0] else { return }
        #expect(text.unicodeScalars.count == 2, "the text is that of the second row, or composed")
    }

    @Test func `texts that the index has cut are read from their rows, in order`() throws {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        let long = String(repeating: "x", count: 600)
        let notes = ["b", long + "a", "z", long + "c", long + "b", "y"]
        for note in notes { _ = try fixture.insert("Thing", ["note": .string(note)]) }

        let fetch = try CoveringModel.fetch(fixture, ["note"], sort: [SortKey("note", ascending: false)])
        #expect(try isAlone(fixture, fetch))
        let found = try answer(fixture, fetch)

        #expect(found.rows == notes.sorted(by: >).map { [AttributeValue.string($0)] })
        #expect(found.readCount == 3, "\(found.readCount) rows")
    }

    @Test func `a question gives up an index whose entries lead to too many rows, and reads all rows once`() throws {
        let fixture = try StoreFixture(.treeInMemory, CoveringModel.make())
        var request = SaveRequest()
        for number in 0..<400 {
            request.insertions.append(
                try fixture.insertion("Thing", ["number": .integer(Int64(number % 4)), "ratio": .double(0)]))
        }
        _ = try fixture.store.save(request)

        let sums = try CoveringModel.fetch(fixture, ["number", .sum("ratio")], by: ["number"])
        #expect(try isAlone(fixture, sums))
        let found = try answer(fixture, sums)

        #expect(found.rows == (0..<4).map { [AttributeValue.integer(Int64($0)), .double(0)] })
        #expect(found.readCount > 400 && found.readCount < 400 + 64 + 20, "\(found.readCount) rows")
    }

    @Test func `rows that are left out, and those of other entities, are in no answer of an index alone`() throws {
        let fixture = try things()
        let all = try fixture.store.fetchIDs(fixture.request("Thing"))
        var sums = try CoveringModel.fetch(fixture, ["number", .sum("ratio")], by: ["number"], subentities: false)
        sums.excluded = [all[3], all[4], all[5]]
        var first = try CoveringModel.fetch(
            fixture, ["name"], sort: [SortKey("name"), SortKey("number")], limit: 2, subentities: false)
        first.excluded = [all[1]]

        let grouped = try answer(fixture, sums)
        #expect(grouped.rows.map { $0[0] } == [1, 2, 3, 4, 6, 7, 8, 9].map { AttributeValue.integer($0) })
        #expect(grouped.rows[2][1] == .double(4455 - 3.5) && grouped.readCount == 0)
        let named = try answer(fixture, first)
        #expect(named.rows == [[.string("thing 101")], [.string("thing 102")]] && named.readCount == 0)
    }
}
