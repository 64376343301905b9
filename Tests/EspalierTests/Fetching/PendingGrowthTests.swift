// Fetches beside many unsaved changes cost what they ask for, not what has changed: debug builds count steps and rows.

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct PendingGrowthTests {
    @Test func `counting the objects of one value and changing one, each, costs as much for each`() throws {
        try expectSameSteps { context, paper in
            let request = FetchRequest<Paper>(try FetchPredicate(format: "code == %@", paper.code))
            #expect(try context.count(for: request) == 1)
            paper.number += 1
            #expect(try context.count(for: request) == 1)
        }
    }

    @Test func `values of the objects of one value and a change of one, each, cost as much for each`() throws {
        try expectSameSteps { context, paper in
            paper.number += 1
            let rows = try context.fetch(
                ValueRequest(
                    entityName: "Paper", predicate: try FetchPredicate(format: "code == %@", paper.code),
                    columns: ["number"]))
            #expect(rows.map(\.values) == [[.integer(Int64(paper.number))]])
        }
    }

    @Test func `finding or making objects by a to-one relationship costs as much for each, saved or not`() throws {
        try expectGrowth(1, 600, 2400) { stack in
            let context = stack.newContext()
            var drawers = try context.fetch(FetchRequest<Drawer>(sortedBy: [SortKey("code")]))
            drawers = Array(drawers.prefix(drawers.count / 2))
            let storedCount = drawers.count
            for _ in 0..<storedCount { drawers.append(Drawer(context: context)) }
            return try work(context) {
                for (number, drawer) in drawers.enumerated() {
                    // A paper that leads to a changed drawer need not be tested: only the drawer's ID is compared.
                    drawer.code = Stack.code("d", number)
                    let request = FetchRequest<Paper>(try FetchPredicate(format: "drawer == %@", drawer))
                    for isFirst in [true, false] {
                        let found = try context.fetch(request)
                        #expect(found.count == (isFirst && number >= storedCount ? 0 : 1))
                        let paper = found.first ?? Paper(context: context)
                        paper.drawer = drawer
                        paper.number += 1
                    }
                }
            }
        }
    }

    @Test func `finding objects by a value of their owners, which change one by one, costs as much for each`() throws {
        try expectGrowth(1, 600, 2400) { stack in
            let context = stack.newContext()
            let drawers = try context.fetch(FetchRequest<Drawer>(sortedBy: [SortKey("code")]))
            return try work(context) {
                for (number, drawer) in drawers.enumerated() {
                    let former = FetchRequest<Paper>(try FetchPredicate(format: "drawer.code == %@", drawer.code))
                    drawer.code = Stack.code("t", number)
                    let present = FetchRequest<Paper>(try FetchPredicate(format: "drawer.code == %@", drawer.code))
                    #expect(try context.fetch(present).map(\.number) == [number])
                    #expect(try context.count(for: former) == 0)
                }
            }
        }
    }

    @Test func `of two conditions the one that fewer unsaved objects may fulfil is looked up`() throws {
        try expectGrowth(1, 600, 2400) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            for number in 0..<count {
                let paper = Paper(context: context)
                (paper.kind, paper.code) = (77, Stack.code("u", number))
            }
            return try work(context) {
                for number in 0..<count {
                    let code = Stack.code("u", number)
                    let found = try context.fetch(
                        FetchRequest<Paper>(try FetchPredicate(format: "kind == 77 AND code == %@", code)))
                    #expect(found.count == 1)
                }
            }
        }
    }

    @Test func `two ends of a range leave only the unsaved objects between them to be tested`() throws {
        try expectGrowth(0, 600, 2400) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            for number in 0..<count { Paper(context: context).code = Stack.code("u", number) }
            let request = FetchRequest<Paper>(
                try FetchPredicate(
                    format: "code >= %@ AND code < %@", Stack.code("u", count / 2), Stack.code("u", count / 2 + 10)))
            // The first question lists the new objects by value.
            #expect(try context.fetch(request).count == 10)
            return try work(context) {
                let found = try context.fetch(request)
                #expect(found.count == 10)
            }
        }
    }

    @Test func `unsaved objects of another entity do not make a fetch slower`() throws {
        try expectGrowth(0, 600, 2400) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            for number in 0..<count { Author(context: context).name = "\(number)" }
            for paper in try context.fetch(FetchRequest<Paper>()) { paper.number += 1 }
            for _ in 0..<10 { Drawer(context: context).code = "new" }
            // The first question lists the changed objects by entity.
            let request = FetchRequest<Drawer>(
                try FetchPredicate(format: "code BEGINSWITH 'n'"), sortedBy: [SortKey("code")])
            #expect(try context.count(for: request) == 10)
            return try work(context) {
                let (found, count) = (try context.fetch(request), try context.count(for: request))
                #expect(found.count == 10 && count == 10)
            }
        }
    }

    @Test func `pages of a walk that changes what it passes cost as much for each object`() throws {
        try expectGrowth(1, 600, 2400) { stack in
            let context = stack.newContext()
            let count = try context.count(for: FetchRequest<Paper>())
            return try work(context) {
                var (last, passedCount) = ("", 0)
                while true {
                    var page = FetchRequest<Paper>(
                        try FetchPredicate(format: "code > %@", last), sortedBy: [SortKey("code")])
                    page.fetchLimit = 20
                    let papers = try context.fetch(page)
                    for paper in papers { paper.number = -1 }
                    passedCount += papers.count
                    guard let code = papers.last?.code else { break }
                    last = code
                }
                #expect(passedCount == count)
            }
        }
    }

    @Test func `a limit beside many changed objects reads no more rows than it needs`() throws {
        let stack = try Stack.ofPapers(600)
        let context = stack.newContext()
        let papers = try context.fetch(FetchRequest<Paper>(sortedBy: [SortKey("code")]))
        for paper in papers.prefix(300) { paper.number = -1 }
        for (format, isSorted) in [("code >= 'c000300'", true), ("code >= 'c000300'", false), ("number >= 0", false)] {
            var request = FetchRequest<Paper>(
                try FetchPredicate(format: format), sortedBy: isSorted ? [SortKey("code")] : [])
            request.fetchLimit = 10
            let rowsFetched = context.rowsFetched
            let found = try context.fetch(request)

            #expect(found.map(\.number) == Array(300..<310), "\(format)")
            // The store finds the changed ones first if their former numbers match: these have to be passed over.
            let rowCountMax = format.hasPrefix("code") ? 28 : 600
            #expect(context.rowsFetched - rowsFetched <= rowCountMax, "\(format)")
        }

        // All rows that the store finds first are changed, so the limit is reached after several steps, or not at all.
        for limit in [1, 10, 299, 300, 301] {
            var request = FetchRequest<Paper>(sortedBy: [SortKey("code")])
            request.fetchLimit = limit
            #expect(try context.fetch(request) == Array(papers.prefix(limit)), "limit \(limit)")
            request.predicate = try FetchPredicate(format: "number >= 0")
            #expect(try context.fetch(request) == Array(papers[300...].prefix(limit)), "limit \(limit)")
        }
    }

    // MARK: Measuring

    /// Expects questions for 100 papers, which are unchanged before, to take as many steps beside many changed papers
    /// as beside few.
    ///
    /// - Parameter ask: asks the context for one paper, and may change it.
    private func expectSameSteps(_ ask: (ManagedObjectContext, Paper) throws -> Void) throws {
        // Up to 1,000 changed objects are listed for each question: that costs less than a search.
        let (fewCount, manyCount, askedCount) = (1100, 2200, 100)
        func steps(_ changedCount: Int) throws -> Int {
            let stack = try Stack.ofPapers(2400)
            defer { withExtendedLifetime(stack) {} }
            let context = stack.newContext()
            let papers = try context.fetch(FetchRequest<Paper>(sortedBy: [SortKey("code")]))
            for paper in papers.prefix(changedCount) { paper.number += 1 }
            // The first question lists the changed objects by value.
            try ask(context, papers[0])
            return try work(context) { for paper in papers.suffix(askedCount) { try ask(context, paper) } }
        }
        let (few, many) = (try steps(fewCount), try steps(manyCount))
        #expect(few > 0, "nothing was counted")
        #expect(
            many <= few + few / 4,
            "\(few) steps beside \(fewCount) changed objects, \(many) beside \(manyCount)")
    }
}
