// Fetches whose results are rows of values: columns, aggregates, groups, distinct rows, and what is refused.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct ValueFetchTests {
    private typealias Place = SaleBoard.Place

    /// Two shops with three and two sales, and a sale in no shop; the last three are refunds or unsaved if `isSaved` is
    /// false.
    private func makeSales(_ place: SaleBoard.Place, isSaved: Bool = true) throws -> (SaleBoard, ManagedObjectContext) {
        let board = try SaleBoard(place)
        let context = board.newContext()
        let oslo = try context.make("Shop", ["name": .string("Fjell"), "town": .string("Oslo"), "rank": .integer(1)])
        let rome = try context.make("Shop", ["name": .string("Città"), "town": .string("Roma"), "rank": .integer(2)])
        func sale(_ text: String?, _ whole: Int64?, _ money: String?, _ shop: ManagedObject?, _ entity: String = "Sale")
            throws
        {
            try context.make(
                entity,
                [
                    "text": text.map { .string($0) } ?? .null, "whole": whole.map { .integer($0) } ?? .null,
                    "money": try money.map { .decimal(try #require(Decimal(string: $0))) } ?? .null,
                    "day": whole.map { .date(Date(timeIntervalSinceReferenceDate: Double($0))) } ?? .null,
                ], shop: shop)
        }
        try sale("ananas", 3, "0.10", oslo)
        try sale("Ölbrød", 5, "0.20", oslo)
        try sale("ananas", nil, "0.30", rome)
        try context.save()
        try sale("zebra", 7, nil, rome, "Refund")
        try sale("e\u{301}clair", 2, "1.50", oslo, "Refund")
        try sale(nil, 4, "2", nil)
        if isSaved { try context.save() }
        return (board, context)
    }

    @Test func `values that another thread reads count the rows of a store once, for the progress (FR-22)`()
        async throws
    {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let counts = Mutex(0)
        coordinator.add(WatchedStore(model: model) { call in if case .count = call { counts.withLock { $0 += 1 } } })
        let maker = ManagedObjectContext(coordinator)
        for number in 0..<3 { Artist(context: maker).name = "Artist \(number)" }
        try maker.save()
        let before = counts.withLock(\.self)
        let (reader, progress) = (ManagedObjectContext(coordinator), FetchProgress())
        let request = ValueRequest(entityName: "Artist", columns: [.count(as: "n")])

        let rows = try await reader.fetch(request, progress: progress)

        #expect(counts.withLock(\.self) - before == 1)
        #expect(progress.completedCount == 3 && progress.totalCount == 3)
        #expect(try reader.fetch(request) == rows)
    }

    @Test(arguments: SaleBoard.Place.allCases)
    func `values that another thread reads have the order of the request, with a limit and without one (FR-22)`(
        _ place: SaleBoard.Place
    ) async throws {
        let (board, context) = try makeSales(place, isSaved: true)
        defer { withExtendedLifetime(board) {} }
        for (limit, isAscending) in [(0, true), (0, false), (3, true), (3, false)] {
            var request = ValueRequest(entityName: "Sale", columns: ["text"])
            request.sortKeys = [SortKey("whole", ascending: isAscending), SortKey("text")]
            request.fetchLimit = limit

            let rows = try await context.fetch(request, progress: FetchProgress())

            #expect(try rows == context.fetch(request), "limit \(limit), ascending: \(isAscending)")
        }
    }

    @Test func `requests search no store for few changed objects, nor before another thread reads (FR-22)`()
        async throws
    {
        let model = try ManagedObjectModel(for: paperClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let searches = Mutex(0)
        coordinator.add(WatchedStore(model: model) { call in if case .ids = call { searches.withLock { $0 += 1 } } })
        let context = ManagedObjectContext(coordinator)
        let papers = (0..<1001).map { number in
            let paper = Paper(context: context)
            paper.code = Stack.code("c", number)
            return paper
        }
        try context.save()
        let predicate = try FetchPredicate(format: "code == %@", Stack.code("c", 0))
        let values = ValueRequest(entityName: "Paper", predicate: predicate, columns: ["number"])
        let objects = FetchRequest<Paper>(predicate)
        for (changedCount, searchCount) in [(1, 0), (1001, 1)] {
            for paper in papers.prefix(changedCount) { paper.number = 7 }
            let before = searches.withLock(\.self)
            let rows = try await context.fetch(values, progress: FetchProgress())
            #expect(searches.withLock(\.self) == before, "\(changedCount) changed objects")
            #expect(rows.map(\.values) == [[.integer(7)]])

            #expect(try context.fetch(values) == rows)
            #expect(searches.withLock(\.self) == before + searchCount, "\(changedCount) changed objects")
            #expect(try context.count(for: objects) == 1)
            #expect(searches.withLock(\.self) == before + 2 * searchCount, "\(changedCount) changed objects")
        }
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `rows have attributes, to-one paths, expressions and constants under their names (FR-02, FR-11)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }
        var request = ValueRequest(entityName: "Sale", predicate: try FetchPredicate(format: "whole > 2"))
        request.propertiesToFetch = try [
            "text", "shop.town", FetchColumn("double", format: "whole * 2"), FetchColumn("one", .value(.integer(1))),
            FetchColumn("count", format: "shop.sales.@count"), FetchColumn("kind", format: "entity.name"),
        ]
        request.sortKeys = [SortKey("whole")]

        let rows = try context.fetch(request)

        #expect(rows.columns == ["text", "shop.town", "double", "one", "count", "kind"])
        let expected: [[AttributeValue]] = [
            [.string("ananas"), .string("Oslo"), .integer(6), .integer(1), .integer(3), .string("Sale")],
            [.null, .null, .integer(8), .integer(1), .integer(0), .string("Sale")],
            [.string("Ölbrød"), .string("Oslo"), .integer(10), .integer(1), .integer(3), .string("Sale")],
            [.string("zebra"), .string("Roma"), .integer(14), .integer(1), .integer(2), .string("Refund")],
        ]
        #expect(rows.map(\.values) == expected)
        #expect(rows[1]["text"] == .null && rows[1]["nothing"] == nil)
        #expect(
            rows[1].dictionary == [
                "double": .integer(8), "one": .integer(1), "count": .integer(0), "kind": .string("Sale"),
            ])
        #expect(rows[0].description.hasPrefix("text: \"ananas\", shop.town: \"Oslo\", double: 6"))
        let window = try context.rows(
            "Sale", ["text"], where: "whole > 2", sort: [SortKey("whole")], offset: 1, limit: 2)
        #expect(window == [[.null], [.string("Ölbrød")]])
        let ids = try context.rows("Sale", ["objectID", "shop"], where: "whole == 7")
        let zebra = try #require(
            try context.fetch(
                FetchRequest<ManagedObject>(
                    entityName: "Sale", predicate: FetchPredicate(format: "whole == 7"))
            ).first)
        let rome = try #require(try zebra.objectIDs(forRelationshipNamed: "shop").first)
        #expect(ids == [[.objectID(zebra.objectID), .objectID(rome)]])
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `rows come in the order of an expression that is no column, whatever the limit (FR-26)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }
        let sort = [SortKey(expression: try FetchExpression(format: "0 - whole * 2"))]
        let expected: [AttributeValue] = [.null, .integer(7), .integer(5), .integer(4), .integer(3), .integer(2)]
        for limit in [0, 1, 4] {
            let rows = try context.rows("Sale", ["whole"], where: "TRUEPREDICATE", sort: sort, limit: limit)
            #expect(rows == expected.prefix(limit == 0 ? 6 : limit).map { [$0] }, "\(limit)")
        }
    }

    @Test(arguments: SaleBoard.Place.allCases)
    func `a column across a relationship shows what is changed and not saved (F-3)`(_ place: SaleBoard.Place) throws {
        let (board, context) = try makeSales(place, isSaved: true)
        defer { withExtendedLifetime(board) {} }
        let shops = FetchRequest<ManagedObject>(
            entityName: "Shop", predicate: try FetchPredicate(format: "town == 'Oslo'"))
        for shop in try context.fetch(shops) { try shop.setValue(.string("Bergen"), forKey: "town") }

        for child in [context, ManagedObjectContext(parent: context)] {
            #expect(try child.rows("Sale", ["shop.town"], where: "whole == 3") == [[.string("Bergen")]])
            #expect(try child.rows("Sale", [.min("shop.town")]) == [[.string("Bergen")]])
        }
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `objects and values come in the order of the names of their entities, whatever the limit`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }
        for isAscending in [true, false] {
            let sort = [SortKey("entity.name", ascending: isAscending), SortKey("whole")]
            let (sales, refunds): ([AttributeValue], [AttributeValue]) = (
                [.null, .integer(3), .integer(4), .integer(5)], [.integer(2), .integer(7)]
            )
            let expected = isAscending ? refunds + sales : sales + refunds
            for limit in [0, 1, 3, 5] {
                let own = limit == 0 ? expected : Array(expected.prefix(limit))
                var request = FetchRequest<ManagedObject>(entityName: "Sale", sortKeys: sort)
                request.fetchLimit = limit
                #expect(try context.fetch(request).map { $0[attribute: "whole"] } == own)
                #expect(try context.rows("Sale", ["whole"], sort: sort, limit: limit) == own.map { [$0] })
            }
        }
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `aggregates ignore nulls, add decimals exactly, and compare texts and dates (FR-19)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }

        let rows = try context.rows(
            "Sale",
            [
                .count(), .count("whole", as: "wholes"), .sum("whole"), .average("whole"), .min("whole"), .max("whole"),
                .sum("money"), .min("text"), .max("text"), .max("day"), FetchColumn("m", format: "median:(whole)"),
                FetchColumn("spread", format: "max:(whole) - min:(whole)"), .max("shop.town"),
                FetchColumn("@sum.whole"),
                FetchColumn("most", format: "max:(shop.sales.@count)"),
            ])

        let day = Date(timeIntervalSinceReferenceDate: 7)
        #expect(
            rows == [
                [
                    .integer(6), .integer(5), .integer(21), .double(4.2), .integer(2), .integer(7),
                    .decimal(try #require(Decimal(string: "4.1"))), .string("ananas"), .string("éclair"), .date(day),
                    .integer(4), .integer(5), .string("Roma"), .integer(21), .integer(3),
                ]
            ])
        #expect(try context.rows("Refund", [.count(), .min("whole")]) == [[.integer(2), .integer(2)]])
    }

    @Test(arguments: SaleBoard.Place.allCases)
    func `over no objects there is one row, with 0 for count and sum and null for others, and no group (FR-19)`(
        _ place: SaleBoard.Place
    ) throws {
        let board = try SaleBoard(place)
        let columns: [FetchColumn] = [.count(), .sum("whole"), .average("real"), .min("text"), .max("day")]
        let expected: [[AttributeValue]] = [[.integer(0), .integer(0), .null, .null, .null]]
        let context = board.newContext()

        #expect(try context.rows("Sale", columns) == expected)
        #expect(try context.rows("Sale", columns, where: "whole == 1") == expected)
        #expect(try context.rows("Sale", columns, by: ["text"]) == [])
        #expect(try context.rows("Sale", ["text", .count()]) == [])
        #expect(try context.rows("Sale", ["text"], distinct: true) == [])
    }

    @Test(arguments: SaleBoard.Place.allCases)
    func `a NaN makes a sum null and is the greatest value, and a sum that overflows becomes a double (FR-19)`(
        _ place: SaleBoard.Place
    ) throws {
        let board = try SaleBoard(place)
        let context = board.newContext()
        try context.make("Sale", ["real": .double(.nan), "big": .integer(.max), "text": .string("a")])
        try context.make("Sale", ["real": .double(2), "big": .integer(.max), "text": .string("b")])
        let columns: [FetchColumn] = [.sum("real"), .average("real"), .min("real"), .max("real"), .sum("big")]
        for isSaved in [false, true] {
            if isSaved { try context.save() }

            let row = try context.rows("Sale", columns)[0]

            let expected: [AttributeValue] = [.null, .null, .double(2), .double(.nan), .double(0x1p64)]
            #expect(row.isSame(as: expected), "\(row)")
            let groups = try context.rows("Sale", ["real", .count()], by: ["real"])
            #expect(groups.count == 2 && groups[0] == [.double(2), .integer(1)], "\(groups)")
        }
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `aggregates beside columns are those of all objects, once for each object (FR-20)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }

        let rows = try context.rows(
            "Sale", ["whole", .sum("whole"), FetchColumn("share", format: "100 * whole / sum:(whole)")],
            where: "whole > 3", sort: [SortKey("whole", ascending: false)], limit: 2)

        #expect(rows == [[.integer(7), .integer(16), .integer(43)], [.integer(5), .integer(16), .integer(31)]])
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `groups have their properties and aggregates, a condition, an order and limits (FR-13)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }
        let columns: [FetchColumn] = ["shop.town", .count(as: "sales"), .sum("whole", as: "total")]

        let all = try context.rows("Sale", columns, by: ["shop.town"])

        #expect(
            all == [
                [.null, .integer(1), .integer(4)], [.string("Oslo"), .integer(3), .integer(10)],
                [.string("Roma"), .integer(2), .integer(7)],
            ])
        for having in ["total > 5", "$total > 5", "sum:(whole) > 5", "@sum.whole > 5", "shop.town != nil"] {
            let rows = try context.rows(
                "Sale", columns, by: ["shop.town"], having: having, sort: [SortKey("total", ascending: false)])
            #expect(rows == [all[1], all[2]], "\(having)")
        }
        let largest = try context.rows(
            "Sale", columns, by: ["shop.town"], sort: [SortKey("sales", ascending: false)], offset: 1, limit: 1)
        #expect(largest == [all[2]])
        let upper = try context.rows(
            "Sale", [FetchColumn("town", format: "uppercase(shop.town)"), .max("whole")], by: ["shop.town", "flag"])
        #expect(upper.map { $0[0] } == [.null, .string("OSLO"), .string("ROMA")])
        let computed = try context.rows(
            "Sale", [FetchColumn("half", format: "modulus:by:(whole, 2)"), .count()], by: ["half"])
        #expect(computed == [[.null, .integer(1)], [.integer(0), .integer(2)], [.integer(1), .integer(3)]])
        #expect(try context.rows("Sale", [], by: ["text"]).count == 5)
    }

    @Test(arguments: SaleBoard.Place.allCases, [true, false])
    func `equal rows are returned once, if the request says so (FR-12)`(
        _ place: SaleBoard.Place, _ isSaved: Bool
    ) throws {
        let (board, context) = try makeSales(place, isSaved: isSaved)
        defer { withExtendedLifetime(board) {} }

        let texts = try context.rows("Sale", ["text"], distinct: true, sort: [SortKey("text", ascending: false)])

        #expect(
            texts
                == [[.string("Ölbrød")], [.string("zebra")], [.string("éclair")], [.string("ananas")], [.null]]
                .sorted { $0[0].compare($1[0]) == .orderedDescending })
        #expect(try context.rows("Sale", ["text"]).count == 6)
        #expect(try context.rows("Sale", ["shop.rank"], distinct: true) == [[.null], [.integer(1)], [.integer(2)]])
        #expect(try context.rows("Sale", [.count()], by: ["text"], distinct: true) == [[.integer(1)], [.integer(2)]])
    }

    @Test func `a column is converted to the type that it names (FR-18)`() throws {
        let (board, context) = try makeSales(.memory)
        defer { withExtendedLifetime(board) {} }
        let average = FetchExpression.function("average", [.keyPath(FetchKeyPath(["whole"]))])

        let rows = try context.rows(
            "Sale",
            [
                FetchColumn("whole", average, type: .integer64), FetchColumn("real", average),
                FetchColumn(
                    "small", .function("multiply:by:", [average, .value(.integer(100_000))]), type: .integer16),
            ])

        #expect(rows == [[.integer(4), .double(4.2), .null]])
        let sorted = try context.rows(
            "Sale", [FetchColumn("money", .keyPath(FetchKeyPath(["money"])), type: .integer64)], where: "money != nil",
            sort: [SortKey("money", ascending: false)], limit: 2)
        #expect(sorted == [[.integer(2)], [.integer(1)]])
    }

    @Test func `a request without columns has all stored attributes and to-one relationships (FR-11)`() throws {
        let (board, context) = try makeSales(.memory)
        defer { withExtendedLifetime(board) {} }

        let rows = try context.fetch(ValueRequest(entityName: "Shop"))

        #expect(rows.columns == ["name", "town", "rank"])
        #expect(rows.map { $0["name"] } == [.string("Fjell"), .string("Città")])
        let names = try context.fetch(ValueRequest(entityName: "Sale")).columns
        #expect(names.contains("shop") && !names.contains("hidden"))
    }

    @Test(arguments: SaleBoard.Place.allCases)
    func `values make no objects, and the log names the request (FR-02)`(_ place: SaleBoard.Place) throws {
        let (board, _) = try makeSales(place)
        let context = board.newContext()
        let records = RecordList()
        context.requestLog = RequestLog(.plans) { records.append($0) }

        _ = try context.rows("Sale", ["text", .count()], by: ["text"])

        #expect(context.registeredObjects.isEmpty)
        #expect(records.all.map(\.kind) == [.values])
        #expect(records.all[0].rowCount == 5)
    }

    @Test func `stores that share an entity answer together, and the limits count the rows of all (FR-02)`() throws {
        let model = try ManagedObjectModel(entities: SaleBoard.entities)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let stores: [any PersistentStore] = [try BTreeStore.inMemory(model: model), InMemoryStore(model: model)]
        for store in stores { coordinator.add(store) }
        let context = ManagedObjectContext(coordinator)
        for (number, store) in [stores[0], stores[1], stores[0], stores[1]].enumerated() {
            let sale = try context.make("Sale", ["whole": .integer(Int64(number)), "text": .string("t\(number / 2)")])
            try context.assign(sale, to: store)
        }
        for _ in 0..<2 {
            #expect(try context.rows("Sale", [.sum("whole"), .count()]) == [[.integer(6), .integer(4)]])
            let rows = try context.rows(
                "Sale", ["whole"], sort: [SortKey("whole", ascending: false)], offset: 1, limit: 2)
            #expect(rows == [[.integer(2)], [.integer(1)]])
            #expect(
                try context.rows("Sale", ["text", .max("whole")], by: ["text"]) == [
                    [.string("t0"), .integer(1)], [.string("t1"), .integer(3)],
                ])
            try context.save()
        }
    }

    /// Each of 3,300 positions of `b` counts 3,300 steps at once for the repetition of the group, which differs there.
    @Test(arguments: SaleBoard.Place.allCases)
    func `a condition on groups that takes too many steps ends the request with an error (FR-13)`(
        _ place: SaleBoard.Place
    ) throws {
        let board = try SaleBoard(place)
        let context = board.newContext()
        let text = String(repeating: "a", count: 3_300) + String(repeating: "b", count: 6_600)
        for text in [text, "short"] { try context.make("Sale", ["text": .string(text)]) }
        if place != .plain { try context.save() }
        let pattern = "MATCHES '(a+)b+\\\\1'"
        let asks: [() throws -> Void] = [
            { _ = try context.rows("Sale", [.count()], by: ["text"], having: "NOT text \(pattern)") },
            {
                let column = try FetchColumn("kind", format: "TERNARY(text \(pattern), 1, 2)")
                _ = try context.rows("Sale", [column, .count()], by: ["text"])
            },
        ]
        for ask in asks {
            let error = contextError(ask)
            guard case .invalidPredicate(let problem)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(problem.reason == .patternTooSlow("(a+)b+\\1", stepCountMax: 10_000_000))
        }
        let rows = try context.rows("Sale", [.count()], by: ["text"], having: "NOT text MATCHES '(s)hor(t)\\\\2*'")
        #expect(rows == [[.integer(1)]])
    }

    @Test func `what does not fit is refused, and the error names the column, group, condition or sort key`() throws {
        let board = try SaleBoard(.memory)
        let context = board.newContext()
        func problem(_ body: () throws -> Void) -> String {
            guard case .invalidPredicate(let error)? = contextError(body) else { return "no error" }
            return "\(error.subject): \(error.reason)"
        }
        func check(
            _ columns: [FetchColumn], by groups: [FetchColumn] = [], having: String? = nil, distinct: Bool = false,
            sort: [SortKey] = [], _ expected: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let found = problem {
                _ = try context.rows("Sale", columns, by: groups, having: having, distinct: distinct, sort: sort)
            }
            #expect(found.hasPrefix(expected), "\(found)", sourceLocation: sourceLocation)
        }
        check(["text", "txt"], "column 'txt': entity 'Sale' has no property 'txt'")
        check(["hidden"], "column 'hidden': 'Sale.hidden' is not stored")
        // Case 12: a to-many relationship is refused there, too, and a condition on groups is not.
        check(["shop.sales"], "column 'shop.sales': 'shop.sales' leads to many values")
        check(["shop.sales.text"], "column 'shop.sales.text': 'shop.sales.text' leads to many values")
        check(["text", "whole", .count()], by: ["text"], "column 'whole': 'whole' is neither a property of the groups")
        check(try [FetchColumn("x", format: "whole + sum:(whole)")], by: ["text"], "column 'x': 'whole' is neither")
        check(["text"], by: ["txt"], "group by 'txt': entity 'Sale' has no property")
        check([.count(as: "n")], by: ["n"], "group by 'n': 'n' is an aggregate")
        check(["text"], having: "text != nil", "condition on groups: a condition on groups needs")
        check(["text"], by: ["text"], having: "whole > 1", "condition on groups: 'whole' is neither")
        check(["text"], by: ["text"], having: "$n > 1", "condition on groups: variable $n is not bound")
        check(["text", .count(as: "n")], by: ["text"], having: "n == 'x'", "condition on groups: found the text")
        check(["text"], by: ["text"], sort: [SortKey("whole")], "sort key 'whole': 'whole' is neither")
        check(["text"], distinct: true, sort: [SortKey("whole")], "sort key 'whole': 'whole' is not one of the columns")
        check(["shop"], sort: [SortKey("shop")], "sort key 'shop': found")
        check([.sum("text")], "column 'sum text': collection operator 'sum': needs numbers")
        check([.min("shop")], "column 'min shop': found 'shop'")
        check([.max("place")], "column 'max place': found 'place'")
        check(try [FetchColumn("x", format: "sum:(max:(whole))")], "column 'x': the argument of 'sum' is an aggregate")
        check(try [FetchColumn("x", format: "uppercase(whole)")], "column 'x': found 'whole'")
        check([FetchColumn("d", .keyPath(FetchKeyPath(["text"])), type: .date)], "column 'd': found 'text'")
        check(try ["text", FetchColumn("text", format: "whole")], "column 'text': two columns are named 'text'")
        #expect(
            contextError { _ = try context.fetch(ValueRequest(entityName: "Sales")) }.map { "\($0)" }?.contains("Sales")
                == true)
    }
}

/// Records that a log has received.
// SAFETY: one thread uses it.
private final class RecordList: @unchecked Sendable {
    private(set) var all: [StoreRequestRecord] = []

    func append(_ record: StoreRequestRecord) { all.append(record) }
}
