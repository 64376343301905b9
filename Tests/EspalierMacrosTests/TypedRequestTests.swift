// Requests by `#Predicate` and key paths: order, prefetching, plans, errors with their place, and closures.

import Espalier
import Foundation
import TestSupport
import Testing

@Suite struct TypedRequestTests {
    private func shop(_ body: (ManagedObjectContext) throws -> Void) throws {
        try withTemporaryFolder { folder in
            for (_, context) in try RecordShop(count: 40, seed: 5, in: folder).contexts { try body(context) }
        }
    }

    /// The error of a request that cannot be translated.
    private func problem(_ predicate: Predicate<Record>, line: Int = #line) -> String {
        do {
            let request = try FetchRequest<Record>(predicate: predicate, line: line)
            return "no error, but \(request.debugDescription)"
        } catch {
            return "\(error)"
        }
    }

    @Test func `key paths sort as names do, also across relationships`() throws {
        try shop { context in
            let typed = try FetchRequest<Record>(sortBy: [
                TypedSortKey(\.singer?.name), TypedSortKey(\.singer?.home?.size, order: .reverse),
                TypedSortKey(\.title, options: .caseInsensitive), TypedSortKey(\.year),
            ])
            let named = FetchRequest<Record>(sortedBy: [
                SortKey("singer.name"), SortKey("singer.home.size", ascending: false),
                SortKey("title", options: .caseInsensitive), SortKey("year"),
            ])

            #expect(typed.sortKeys == named.sortKeys)
            #expect(try context.fetch(typed) == context.fetch(named))
        }
    }

    @Test func `a class makes a request of a predicate and key paths (MO-03)`() throws {
        let request = try Record.fetchRequest(
            where: #Predicate { $0.year > 2 }, sortBy: [TypedSortKey(\.title), TypedSortKey(\.year, order: .reverse)])
        let same = FetchRequest<Record>(
            try FetchPredicate(format: "year > 2"), sortedBy: [SortKey("title"), SortKey("year", ascending: false)])

        #expect(request.predicate == same.predicate && request.sortKeys == same.sortKeys)
        let (all, none) = (try Record.fetchRequest(sortBy: [TypedSortKey(\.title)]), Record.fetchRequest())
        #expect(all.predicate == nil && all.sortKeys == [SortKey("title")] && none.sortKeys.isEmpty)
    }

    @Test func `key paths of inherited properties belong to the subclass too`() throws {
        let request = try FetchRequest<BoxSet>(
            predicate: #Predicate { $0.discCount > 1 && $0.title != "" && $0.singer?.rival != nil },
            sortBy: [TypedSortKey(\.discCount), TypedSortKey(\.title), TypedSortKey(\.singer?.home?.name)])

        #expect(request.predicate?.description == "discCount > 1 AND title != \"\" AND singer.rival != nil")
        #expect(request.sortKeys.map(\.keyPath.description) == ["discCount", "title", "singer.home.name"])
        try shop { context in
            let boxes = try context.fetch(request)
            #expect(boxes.allSatisfy { $0.discCount > 1 })
        }
    }

    @Test func `relationships are prefetched by key path`() throws {
        let request = try FetchRequest<Record>(sortBy: [], prefetching: [\.singer, \.singer?.home, \.songs])

        #expect(request.relationshipKeyPathsForPrefetching == ["singer", "singer.home", "songs"])
        try withTemporaryFolder { folder in
            let context = try RecordShop(count: 40, seed: 5, in: folder).contexts[0].context
            let records = try context.fetch(request)
            let names = records.map { $0.singer?.home?.name ?? "" }

            #expect(names.contains { !$0.isEmpty })
            #expect(records.allSatisfy { $0.singer?.isFault != true && $0.singer?.home?.isFault != true })
        }
    }

    @Test func `a typed predicate uses the indexes that its format uses`() throws {
        let pairs: [(Predicate<Record>, String)] = [
            (#Predicate { $0.title == "Nina" }, "title == 'Nina'"),
            (#Predicate { $0.year > 2 && $0.isLive }, "year > 2 AND isLive == YES"),
            (#Predicate { 2 < $0.year }, "year > 2"), (#Predicate { (1...3).contains($0.year) }, "year BETWEEN {1, 3}"),
            (#Predicate { $0.title.starts(with: "Ni") }, "title BEGINSWITH 'Ni' AND title BEGINSWITH[w] 'Ni'"),
            (#Predicate { ["a", "b"].contains($0.title) }, "title IN {'a', 'b'}"),
            (#Predicate { $0.singer?.name == "Nina" }, "singer.name == 'Nina'"),
            (#Predicate { $0.guests.contains { $0.name == "Nina" } }, "ANY guests.name == 'Nina'"),
            (#Predicate { $0.guests.allSatisfy { $0.name == "Nina" } }, "ALL guests.name == 'Nina'"),
        ]
        try withTemporaryFolder { folder in
            let context = try RecordShop(count: 40, seed: 5, in: folder).contexts[0].context
            for (predicate, format) in pairs {
                let typed = try FetchRequest<Record>(predicate: predicate)
                let condition = try FetchPredicate(format: format)

                #expect(typed.predicate == condition)
                let plan = try context.explain(typed)
                #expect(try plan == context.explain(FetchRequest<Record>(condition)))
                if !format.hasPrefix("ALL") { #expect(!plan.contains { $0.contains("scan") }, "\(plan)") }
            }
        }
    }

    @Test func `what has no counterpart is refused by name, reason, file and line when the request is made`() {
        let computed = problem(#Predicate { $0.shortTitle == "Nin" }, line: 77)
        #expect(
            computed.hasPrefix("predicate at EspalierMacrosTests/TypedRequestTests.swift:77: the property "),
            "\(computed)")
        #expect(
            computed.contains("of type String cannot be part of a fetch: it is computed or not in the model")
        )
        #expect(computed.contains("the stored properties of Record are title, year, small"))

        let (table, list) = (["a": 1], [1, 2])
        let refusals: [(Predicate<Record>, String)] = [
            (#Predicate { ($0 as? BoxSet)?.discCount == 2 }, "a cast from Record to BoxSet"),
            (#Predicate { $0.songs.first?.length == 2 }, "a property of type Int of 'songs[FIRST]'"),
            (#Predicate { $0.cover?.count == 2 }, "a property of type Int of 'cover'"),
            (#Predicate { table[$0.title] == 1 }, "dictionary and key must be constants"),
            (#Predicate { $0.title.max() == nil }, "max() of title"),
            (#Predicate { $0.title.min() == nil }, "min() of title"),
            (#Predicate { list[$0.year] == 2 }, "only members of an ordered relationship have an index"),
        ]
        for (predicate, reason) in refusals {
            let found = problem(predicate)
            #expect(found.contains(reason), "\(found)")
        }
    }

    @Test func `a key path of no modelled property is refused when the request is made`() {
        do {
            _ = try FetchRequest<Record>(sortBy: [TypedSortKey(\.shortTitle)])
            Issue.record("no error")
        } catch {
            #expect("\(error)".hasPrefix("sort key at EspalierMacrosTests/TypedRequestTests.swift:"))
            #expect(error.place?.hasSuffix(".swift:\(#line - 4)") == true)
        }
        #expect(throws: FetchPredicateError.self) {
            _ = try FetchRequest<Record>(sortBy: [], prefetching: [\.shortTitle])
        }
    }

    @Test func `where Swift would end the program or throw, a condition is false or counts with nil`() throws {
        try withTemporaryFolder { folder in
            for (name, context) in try RecordShop(count: 20, seed: 5, in: folder).contexts {
                let count = try context.count(for: FetchRequest<Record>())
                func found(_ predicate: Predicate<Record>) throws -> Int {
                    try context.count(for: FetchRequest<Record>(predicate: predicate))
                }
                let (large, zero) = (Int.max, 0)

                #expect(try found(#Predicate { $0.year * 0 + large + 1 > large }) == count, "\(name)")
                #expect(try found(#Predicate { $0.year / zero == 0 }) == 0, "\(name)")
                #expect(try found(#Predicate { $0.year % zero == 0 }) == 0, "\(name)")
                let forced = Predicate<Record> {
                    PredicateExpressions.build_Equal(
                        lhs: PredicateExpressions.build_ForcedUnwrap(
                            PredicateExpressions.build_KeyPath(root: $0, keyPath: \.stars)),
                        rhs: PredicateExpressions.build_Arg(1))
                }
                #expect(try found(forced) == found(#Predicate { $0.stars == 1 }), "\(name)")
                let isHigh = Predicate<Record> {
                    PredicateExpressions.build_contains(
                        PredicateExpressions.build_Range(
                            lower: PredicateExpressions.build_Arg(3), upper: PredicateExpressions.build_Arg(1)),
                        PredicateExpressions.build_KeyPath(root: $0, keyPath: \.year))
                }
                #expect(try found(isHigh) == 0, "\(name)")
            }
        }
    }

    @Test func `NaN equals nothing, as in Swift`() throws {
        try withTemporaryFolder { folder in
            for (name, context) in try RecordShop(count: 20, seed: 5, in: folder).contexts {
                let records = try context.fetch(FetchRequest<Record>())
                for record in records.prefix(4) { (record.weight, record.loudness) = (.nan, .nan) }
                let noNumber = Double.nan
                let predicates: [Predicate<Record>] = [
                    #Predicate { $0.weight == $0.weight }, #Predicate { $0.weight != $0.weight },
                    #Predicate { $0.weight == noNumber }, #Predicate { $0.weight != noNumber },
                    #Predicate { $0.loudness == $0.loudness }, #Predicate { $0.weight < 1 },
                    #Predicate { $0.loudness == nil }, #Predicate { !($0.weight >= 1) },
                ]
                for isSaved in [false, true] {
                    if isSaved { try context.save() }
                    for (position, predicate) in predicates.enumerated() {
                        let found = try context.fetch(FetchRequest<Record>(predicate: predicate))
                        let expected = try records.filter { try predicate.evaluate($0) }
                        #expect(Set(found) == Set(expected), "\(name), predicate \(position), saved \(isSaved)")
                    }
                }
            }
        }
    }

    @Test func `a deep predicate is refused instead of overflowing the stack`() throws {
        func opposite(_ truth: some StandardPredicateExpression<Bool>) -> any StandardPredicateExpression<Bool> {
            PredicateExpressions.build_Negation(truth)
        }
        let deep = Predicate<Record> { record in
            var truth: any StandardPredicateExpression<Bool> = PredicateExpressions.build_KeyPath(
                root: record, keyPath: \.isLive)
            for _ in 0..<250 { truth = opposite(truth) }
            return truth
        }
        #expect(problem(deep).contains("nested more than 200 levels"))
    }

    @Test func `a closure filters in memory, and offset and limit count what passes`() throws {
        try shop { context in
            var request = try FetchRequest<Record>(
                predicate: #Predicate { $0.year > 0 }, sortBy: [TypedSortKey(\.title)])
            let expected = try context.fetch(request).filter { $0.shortTitle.count > 1 }
            #expect(expected.count > 4)
            #expect(try context.fetch(request) { $0.shortTitle.count > 1 } == expected)

            request.fetchOffset = 1
            request.fetchLimit = 2
            var testCount = 0
            let page = try context.fetch(request) {
                testCount += 1
                return $0.shortTitle.count > 1
            }
            #expect(page == Array(expected[1...2]))
            #expect(try testCount < context.count(for: FetchRequest<Record>()))
        }
    }

    @Test func `equal predicates with equal constants are equal conditions`() throws {
        func condition(_ least: Int) throws -> FetchPredicate {
            try FetchPredicate(#Predicate<Record> { $0.songs.contains { $0.length > least && $0.name != "" } })
        }
        #expect(try condition(2) == condition(2))
        #expect(try condition(2) != condition(3))
        #expect(try FetchPredicate(format: condition(2).description) == condition(2))
    }
}
