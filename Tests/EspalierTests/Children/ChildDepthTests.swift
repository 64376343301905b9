// Children of children, at any depth: what they read is what the store has after all levels have saved, and each level
// costs the same. Debug builds count steps, rows and requests, with 4 levels and with 12.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct ChildDepthTests {
    // MARK: What is read

    @Test func `a child of children fetches what the store has after all levels have saved`() throws {
        let stack = try Stack.ofPapers(8)
        let line = Self.line(of: 3, stack)
        try Self.change(line)

        let unsaved = try Self.answers(line[3])
        for context in line.reversed() { try context.save() }
        let saved = try Self.answers(stack.newContext())

        #expect(saved.count == 22)
        for (unsaved, saved) in zip(unsaved, saved) { #expect(unsaved == saved) }
    }

    @Test func `a child of children walks in batches over what all levels show`() throws {
        let stack = try Stack.ofPapers(8)
        let line = Self.line(of: 3, stack)
        try Self.change(line)
        var walked: [Int] = []

        try line[3].enumerate(FetchRequest<Paper>(sortedBy: [SortKey("number")]), batchSize: 2) {
            walked.append($0.number)
        }

        #expect(walked == [0, 1, 4, 6, 7, 55, 101])
    }

    /// Changes papers and drawers in the first three of four contexts: each also changes what those above it have made.
    private static func change(_ line: [ManagedObjectContext]) throws {
        func paper(_ number: Int, in context: ManagedObjectContext) throws -> Paper {
            let request = FetchRequest<Paper>(try FetchPredicate(format: "number == \(number)"))
            return try #require(try context.fetch(request).first)
        }
        func insert(_ number: Int, in context: ManagedObjectContext) {
            let paper = Paper(context: context)
            (paper.number, paper.kind) = (number, number % 10)
        }
        let root = line[0]
        try #require(try paper(1, in: root).drawer).code = "t1"
        try root.delete(paper(2, in: root))
        insert(100, in: root)
        try paper(100, in: line[1]).kind = 5
        try line[1].delete(paper(3, in: line[1]))
        try paper(4, in: line[1]).drawer = paper(1, in: line[1]).drawer
        insert(101, in: line[1])
        try paper(101, in: line[2]).drawer = paper(7, in: line[2]).drawer
        try line[2].delete(paper(100, in: line[2]))
        try paper(5, in: line[2]).number = 55
        try #require(try paper(6, in: line[2]).drawer).code = "t6"
    }

    /// The answers of a context to requests of several kinds.
    private static func answers(_ context: ManagedObjectContext) throws -> [String] {
        var answers: [String] = []
        for format in [
            "TRUEPREDICATE", "drawer.code BEGINSWITH 't'", "kind > 2", "drawer == nil", "drawer.papers.@count > 1",
            "ANY drawer.papers.number > 50", "number < 60 AND drawer.code < 's000007'",
        ] {
            let predicate = try FetchPredicate(format: format)
            var request = FetchRequest<Paper>(predicate, sortedBy: [SortKey("drawer.code"), SortKey("number")])
            for (offset, limit) in [(0, 100), (1, 2)] {
                (request.fetchOffset, request.fetchLimit) = (offset, limit)
                let numbers = try context.fetch(request).map(\.number)
                answers.append("\(format), from \(offset): \(numbers)")
                let (count, idCount) = (try context.count(for: request), try context.fetchIDs(request).count)
                #expect(count == numbers.count && idCount == numbers.count, "\(format)")
            }
            let values = ValueRequest(
                entityName: "Paper", predicate: predicate, columns: [.sum("number", as: "sum"), .count(as: "count")])
            answers.append("\(format): \(Array(try context.fetch(values)))")
        }
        let drawers = FetchRequest<Drawer>(
            try FetchPredicate(format: "ANY papers.number > 50"), sortedBy: [SortKey("code")])
        answers.append("\(try context.fetch(drawers).map(\.code))")
        return answers
    }

    // MARK: Cost

    @Test(arguments: [false, true])
    func `a fetch, the end of an event and a save cost as much for each level`(_ haveRead: Bool) throws {
        try expectGrowth(1, 4, 12) { stack in
            let line = Self.line(of: try Self.paperCount(stack), stack)
            let request = FetchRequest<Paper>(try FetchPredicate(format: "code == 'c000001'"))
            if haveRead { for context in line { #expect(try context.fetch(request).count == 1) } }
            let leaf = line[line.count - 1]
            return try work(leaf) {
                let paper = try #require(try leaf.fetch(request).first)
                paper.number += 1
                leaf.processPendingChanges()
                try leaf.save()
                #expect(leaf.parent?.updatedObjects.count == 1)
            }
        }
    }

    @Test func `a fetch and a count beside unsaved changes of each level cost as much for each of them`() throws {
        try expectGrowth(1, 4, 12) { stack in
            let count = try Self.paperCount(stack)
            let line = Self.line(of: count, stack)
            for (number, context) in line.dropLast().enumerated() {
                let request = FetchRequest<Paper>(try FetchPredicate(format: "number == \(number)"))
                let paper = try #require(try context.fetch(request).first)
                paper.number = number + 1000
                paper.drawer?.code = "t"
            }
            let leaf = line[line.count - 1]
            let request = FetchRequest<Paper>(
                try FetchPredicate(format: "drawer.code == 't'"), sortedBy: [SortKey("number")])
            return try work(leaf, isInStores: true) {
                let found = try leaf.fetch(request)
                #expect(found.map(\.number) == (0..<count).map { $0 + 1000 })
                let foundCount = try leaf.count(for: request)
                #expect(foundCount == count)
            }
        }
    }

    @Test func `a fetch from a closed store asks each level at most once for each one below it`() throws {
        try expectGrowth(2, 4, 12) { stack in
            let line = Self.line(of: try Self.paperCount(stack), stack)
            for store in stack.coordinator.persistentStores { try store.close() }
            let leaf = line[line.count - 1]
            return try work(leaf) {
                #expect(contextError { _ = try leaf.fetch(FetchRequest<Paper>()) } != nil)
            }
        }
    }

    /// A root and `depth` levels below it, the leaf last.
    private static func line(of depth: Int, _ stack: Stack) -> [ManagedObjectContext] {
        var line = [stack.newContext()]
        for _ in 0..<depth { line.append(ManagedObjectContext(parent: line[line.count - 1])) }
        return line
    }

    private static func paperCount(_ stack: Stack) throws -> Int {
        try stack.newContext().count(for: FetchRequest<Paper>())
    }
}
