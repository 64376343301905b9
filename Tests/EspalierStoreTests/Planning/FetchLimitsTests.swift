// Fetches at the limits of numbers and patterns: every kind of store gives the same answer.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct FetchLimitsTests {
    @Test(arguments: StoreKind.allCases)
    func `any offset and limit is answered, or refused with a typed error`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        for number in 0..<5 {
            _ = try fixture.insert("Song", ["title": .string("s\(number % 2)"), "length": .integer(Int64(number))])
        }
        let song = try fixture.entity("Song")
        let predicates: [FetchPredicate?] = try [nil, "title == 's1'", "length > 0", "title BEGINSWITH 's'"].map {
            try $0.map { try FetchPredicate(format: $0) }
        }
        let sorts: [[SortKey]] = [[], [SortKey("length")], [SortKey("title", ascending: false)]]
        let edges = [0, 1, 3, 5, Int.max / 2, Int.max - 1, Int.max]
        for predicate in predicates {
            for sort in sorts {
                let resolved = try predicate.map { try ResolvedPredicate($0, for: song, in: fixture.model) }
                let keys = try sort.map { try ResolvedSortKey($0, for: song, in: fixture.model) }
                var fetch = StoreFetch(entity: song, predicate: resolved, sort: keys)
                let all = try fixture.store.fetchIDs(fetch)
                for offset in edges {
                    for limit in edges.map(Optional.some) + [nil] {
                        (fetch.offset, fetch.limit) = (offset, limit)
                        let expected = Array(all.dropFirst(offset).prefix(limit ?? .max))
                        #expect(try fixture.store.fetchIDs(fetch) == expected, "\(offset) \(limit ?? -1)")
                        #expect(try fixture.store.fetch(fetch).ids == expected)
                        #expect(try fixture.store.count(fetch) == expected.count)
                        #expect(try !fixture.store.explain(fetch).isEmpty)
                        for size in [1, 2, Int.max] {
                            var (found, rest): ([ObjectID], StoreFetch?) = ([], fetch)
                            while let next = rest {
                                let batch = try fixture.store.fetchBatch(next, of: size)
                                found += batch.rows.ids
                                rest = batch.rest
                            }
                            #expect(found == expected, "\(offset) \(limit ?? -1) in batches of \(size)")
                        }
                    }
                }
            }
        }
        for (offset, limit) in [(-1, nil), (0, -1), (Int.min, Int.min)] as [(Int, Int?)] {
            #expect(throws: StoreError.self) {
                _ = try fixture.store.fetchIDs(StoreFetch(entity: song, offset: offset, limit: limit))
            }
        }
    }

    @Test func `a page anywhere in an index holds what follows the rows before it, cut values too`() throws {
        let (tree, memory) = (try StoreFixture(.treeInMemory), try StoreFixture(.memory))
        let seed = testSeed(default: 17)
        var random = SeededGenerator(seed: seed)
        // Runs of values with a common beginning that is longer than an index entry; some runs fill several leaves.
        let rows = (0..<600).map { number -> (entity: String, title: String) in
            let head = ["", "a", "b", "c"].randomElement(using: &random) ?? ""
            let isLong = number % 3 == 0 && !head.isEmpty
            let title = String(repeating: head, count: isLong ? 600 : 2) + "\(Int.random(in: 0..<300, using: &random))"
            return (Int.random(in: 0..<4, using: &random) == 0 ? "Book" : "Song", title)
        }
        for fixture in [tree, memory] {
            var request = SaveRequest()
            request.insertions = try rows.map { try fixture.insertion($0.entity, ["title": .string($0.title)]) }
            _ = try fixture.store.save(request)
        }
        let formats = [nil, "title >= 'aa'", "title < 'b'"]
        for (format, name) in formats.flatMap({ format in ["Media", "Song"].map { (format, $0) } }) {
            for isAscending in [true, false] {
                let (predicate, key) = (
                    try format.map { try FetchPredicate(format: $0) }, SortKey("title", ascending: isAscending)
                )
                func keys(_ fixture: StoreFixture, _ offset: Int = 0, _ limit: Int? = nil) throws -> [Substring?] {
                    let fetch = try fixture.request(name, predicate, sort: [key], offset: offset, limit: limit)
                    let ids = try fixture.store.fetch(fetch).ids
                    #expect(try limit == nil || fixture.store.fetchIDs(fetch) == ids)
                    return ids.map { $0.uriRepresentation.split(separator: "/").last }
                }
                let all = try keys(memory)
                for _ in 0..<8 {
                    let (offset, limit) = (
                        Int.random(in: 0..<650, using: &random), Int.random(in: 1..<20, using: &random)
                    )
                    #expect(
                        try keys(tree, offset, limit) == Array(all.dropFirst(offset).prefix(limit)),
                        "seed \(seed), \(name), \(isAscending), \(offset), \(limit)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is no number is in no order, with an index and without`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let sample = try fixture.entity("Sample")
        let doubles: [Double?] = [.nan, -.nan, .infinity, -.infinity, 0, -0.0, 1, 2, nil]
        for value in doubles + doubles {
            let number = value.map { $0.isNaN ? Decimal.nan : $0.isInfinite ? Decimal(9) : Decimal(Int($0)) }
            _ = try fixture.insert(
                "Sample",
                [
                    "double": value.map { .double($0) } ?? .null, "float": value.map { .float(Float($0)) } ?? .null,
                    "decimal": number.map { .decimal($0) } ?? .null,
                    "date": value.map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null,
                ])
        }
        func count(_ format: String, _ arguments: [(any PredicateArgument)?]) throws -> Int {
            let predicate = try FetchPredicate(format: format, argumentArray: arguments)
            let resolved = try ResolvedPredicate(predicate, for: sample, in: fixture.model)
            return try fixture.store.count(StoreFetch(entity: sample, predicate: resolved))
        }
        // "double" has no index; the other attributes have one.
        for name in ["double", "float", "decimal", "date"] {
            func value(_ number: Double) -> any PredicateArgument {
                switch name {
                case "date": Date(timeIntervalSinceReferenceDate: number)
                case "decimal": number.isNaN ? Decimal.nan : Decimal(Int(number))
                default: number
                }
            }
            #expect(try count("\(name) > %@", [value(0)]) == (name == "decimal" ? 8 : 6), "\(name)")
            #expect(try count("\(name) >= %@", [value(1)]) == (name == "decimal" ? 8 : 6), "\(name)")
            #expect(try count("\(name) < %@", [value(2)]) == (name == "decimal" ? 6 : 8), "\(name)")
            #expect(try count("\(name) > %@ AND \(name) <= %@", [value(0), value(2)]) == 4, "\(name)")
            #expect(try count("\(name) BETWEEN {%@, %@}", [value(0), value(2)]) == 8, "\(name)")
            #expect(try count("\(name) == %@", [value(.nan)]) == 4, "\(name)")
            for comparison in ["<", "<=", ">", ">="] {
                #expect(try count("\(name) \(comparison) %@", [value(.nan)]) == 0, "\(name) \(comparison)")
            }
            #expect(try count("\(name) BETWEEN {%@, %@}", [value(0), value(.nan)]) == 0, "\(name)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a pattern that takes too many steps ends a fetch with an error that names it`(kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        _ = try fixture.insert("Song", ["title": .string(String(repeating: "a", count: 40))])
        let song = try fixture.entity("Song")
        let format = "title MATCHES '(a+)+(b)\\\\2'"
        let predicate = try ResolvedPredicate(FetchPredicate(format: format), for: song, in: fixture.model)

        let fetch = StoreFetch(entity: song, predicate: predicate)
        let asks: [() throws -> Void] = [
            { _ = try fixture.store.fetch(fetch) }, { _ = try fixture.store.count(fetch) },
            { _ = try fixture.store.fetchIDs(fetch) }, { _ = try fixture.store.fetchBatch(fetch, of: 10) },
        ]
        // Each takes 10,000,000 steps, so the kinds of stores share them.
        let place = StoreKind.allCases.firstIndex(of: kind) ?? 0
        for ask in [asks[place % asks.count]] {
            do {
                try ask()
                Issue.record("no error")
            } catch StoreError.invalidPredicate(let error) {
                #expect(error.reason == .patternTooSlow("(a+)+(b)\\2", stepCountMax: 10_000_000))
                #expect("\(error)".contains("takes more than 10000000 steps"))
            }
        }
    }
}
