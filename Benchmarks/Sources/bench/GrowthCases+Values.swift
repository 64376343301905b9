// The operations of `bench --growth` that are requests for values, typed requests, and other ways to read objects.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    // MARK: Values

    /// A request for values of papers, whose result must have `expecting` rows if that is given.
    private static func rows(
        _ name: String, _ columns: [FetchColumn], reason: String = "", work: GrowthCase.Work = .rows,
        sorts: Bool = false, expecting: Int? = nil,
        _ complete: @escaping @Sendable (inout ValueRequest) throws -> Void = { _ in }
    ) -> GrowthCase {
        GrowthCase("values: " + name, 1, reason: reason, work: work, sorts: sorts) { store in
            {
                var request = ValueRequest(entityName: "Paper", columns: columns)
                try complete(&request)
                let found = try store.context().fetch(request).count
                if let expecting, found != expecting { throw WrongResult(expected: expecting, found: found) }
            }
        }
    }

    private static let groupReason =
        "each row is looked up in a hash table of all groups, whose keys are arrays of their own"

    static let valueRequests: [GrowthCase] = [
        rows("two columns of all", ["number", "word"]),
        rows("a column of the owner of all", ["number", "shelf.code"]),
        rows("a column of the one owner of all", ["number", "home.code"]),
        rows("sum and count of all", [.sum("number", as: "sum"), .count(as: "count")], expecting: 1),
        rows("group by ten values, with sum", ["kind", .sum("number", as: "sum")], expecting: 10) {
            $0.propertiesToGroupBy = ["kind"]
        },
        rows("group by ten values, having a count", ["kind", .count(as: "count")], expecting: 10) {
            $0.propertiesToGroupBy = ["kind"]
            $0.havingPredicate = try FetchPredicate(format: "count > 1")
        },
        rows(
            "group by to-one, one group for each", ["shelf", .count(as: "count")], reason: groupReason, work: .tables
        ) { $0.propertiesToGroupBy = ["shelf"] },
        rows("distinct, ten values", ["kind"], expecting: 10) { $0.returnsDistinctResults = true },
        rows("distinct, one value for each", ["number"], reason: groupReason, work: .tables) {
            $0.returnsDistinctResults = true
        },
        rows("sorted by a value without index", ["number", "word"], reason: "n log n comparisons", sorts: true) {
            $0.sortKeys = [SortKey("word")]
        },
        GrowthCase("values: group by beside one new object", 1, work: .rows) { store in
            let context = store.context()
            let paper = Paper(context: context)
            return {
                var request = ValueRequest(entityName: "Paper", columns: ["kind", .count(as: "count")])
                request.propertiesToGroupBy = ["kind"]
                blackHole(try context.fetch(request).count)
                withExtendedLifetime(paper) {}
            }
        },
        GrowthCase("values: enumerate two columns of all", 1, work: .rows) { store in
            {
                let request = ValueRequest(entityName: "Paper", columns: ["number", "word"])
                try store.context().enumerate(request) { row in blackHole(row.values.count) }
            }
        },
        GrowthCase("values: explain", 0) { store in
            let request = ValueRequest(entityName: "Paper", columns: ["number"])
            return { blackHole(try store.context().explain(request).count) }
        },
        GrowthCase("values: analyze", 1, work: .rows) { store in
            let request = ValueRequest(entityName: "Paper", columns: ["number"])
            return {
                let steps = try store.context().analyze(request)
                blackHole("\(steps)".utf8.count)
            }
        },
        GrowthCase("values: typed columns of all", 1, work: .rows) { store in
            {
                let found = try store.context().fetch(
                    FetchRequest<Paper>(), TypedColumn(\Paper.number), TypedColumn(\Paper.word))
                blackHole(found.count)
            }
        },
        GrowthCase("values: typed group by with sum, having, sorted by it", 1, work: .rows) { store in
            {
                let sum = TypedColumn.sum(\Paper.number)
                let found = try store.context().fetch(
                    FetchRequest<Paper>(), TypedColumn(\Paper.kind), sum, groupedBy: [\Paper.kind], having: sum > 3,
                    sortBy: [TypedColumnOrder(sum, order: .reverse)])
                guard found.count == 10 else { throw WrongResult(expected: 10, found: found.count) }
            }
        },
    ]

    // MARK: Typed requests

    /// A request with a predicate that the compiler checks.
    private static func typed(
        _ name: String, _ power: Double, reason: String = "", expecting: Int? = nil,
        _ predicate: @escaping @Sendable () -> Predicate<Paper>
    ) -> GrowthCase {
        GrowthCase("#Predicate: " + name, power, reason: reason, work: power < 1 ? .steps : .rows) { store in
            {
                let found = try store.context().fetch(Paper.fetchRequest(where: predicate())).count
                if let expecting, found != expecting { throw WrongResult(expected: expecting, found: found) }
            }
        }
    }

    static let typedQueries: [GrowthCase] = [
        typed("unindexed ==", 1, expecting: 1) { #Predicate<Paper> { $0.number == 77 } },
        typed("an indexed value", 0, expecting: 1) { #Predicate<Paper> { $0.code == "c00000007" } },
        typed("a range", 1, expecting: 10) { #Predicate<Paper> { $0.number >= 10 && $0.number < 20 } },
        typed("starts(with:)", 1) { #Predicate<Paper> { $0.word.starts(with: "word number 77") } },
        typed("contains of a text", 1) { #Predicate<Paper> { $0.word.contains("r 77") } },
        typed("arithmetic of two attributes", 1) { #Predicate<Paper> { $0.number + 1 == $0.kind * 2 } },
        typed("an optional value", 1) { #Predicate<Paper> { $0.made == nil } },
        typed("an attribute of the owner", 0, expecting: 1) { #Predicate<Paper> { $0.shelf?.code == "s00000007" } },
        typed("contains(where:) of to-many", 1) { #Predicate<Paper> { $0.topics.contains { $0.name == "all" } } },
        typed("count of to-many", 1, expecting: 0) { #Predicate<Paper> { $0.topics.count == 0 } },
        GrowthCase("TypedSortKey, limit 10 over an index", 0) { store in
            {
                var request = try Paper.fetchRequest(sortBy: [TypedSortKey(\Paper.code, order: .reverse)])
                request.fetchLimit = 10
                blackHole(try store.context().fetch(request).count)
            }
        },
    ]

    // MARK: Other ways to read

    static let reading: [GrowthCase] = [
        GrowthCase("fetchPages, all in pages of 100", 1, work: .rows) { store in
            {
                var request = FetchRequest<Paper>(sortedBy: [SortKey("code")])
                request.fetchBatchSize = 100
                for paper in try store.context().fetchPages(request) { blackHole(paper.number) }
            }
        },
        GrowthCase("fetchPages, the first page", 1, reason: "the IDs of all results are read", work: .rows) { store in
            {
                var request = FetchRequest<Paper>(sortedBy: [SortKey("code")])
                request.fetchBatchSize = 100
                let pages = try store.context().fetchPages(request)
                blackHole(pages[0].number)
            }
        },
        GrowthCase("fetch(_:where:) of a closure", 1, work: .rows) { store in
            { blackHole(try store.context().fetch(FetchRequest<Paper>()) { $0.number == 77 }.count) }
        },
        value("matches(_:)") { blackHole(try $0.matches(FetchPredicate(format: "number == 77"))) },
        GrowthCase("filter(_:) of all", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return { blackHole(try papers.filter(FetchPredicate(format: "number < 10 AND kind == 3")).count) }
        },
        GrowthCase("sorted(by:) of all", 1, reason: "n log n comparisons", sorts: true) { store in
            let context = store.context()
            let papers = try all(context)
            return { blackHole(try papers.sorted(by: [SortKey("kind", ascending: false), SortKey("word")]).count) }
        },
        GrowthCase("matches(_:), patterns on a text as long as all objects", 1, reason: "the text has as many letters")
        {
            store in
            let paper = Paper(context: store.context())
            paper.word = String(repeating: "a", count: store.count)
            let patterns = ["(a|aa)*b", ".*a.*b"]
            return {
                for pattern in patterns {
                    let found = try paper.matches(FetchPredicate(format: "word MATCHES %@", pattern))
                    if found { throw WrongResult(expected: 0, found: 1) }
                }
            }
        },
        GrowthCase("analyze of a condition on all", 1, work: .rows) { store in
            {
                let request = FetchRequest<Paper>(try FetchPredicate(format: "number == 77"))
                let steps = try store.context().analyze(request)
                blackHole("\(steps)".utf8.count)
            }
        },
        GrowthCase("assertNoFaults around a read of all in memory", 1) { store in
            let context = store.context()
            let papers = try all(context)
            return { try context.assertNoFaults { for paper in papers { blackHole(paper.number) } } }
        },
    ]
}
