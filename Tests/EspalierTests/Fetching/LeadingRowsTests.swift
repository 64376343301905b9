// Fetches that read the owners of what they find, beside many changed owners: the result is that after a save (F-3).

import Espalier
import EspalierModel
import Testing

@Suite struct LeadingRowsTests {
    /// The answers to one request in each form.
    private struct Answers: Equatable {
        let numbers: [Int]
        let firstNumbers: [Int]
        let count: Int
        let codes: [[AttributeValue]]
    }

    /// A store of 60 drawers with two papers each, and papers without a drawer.
    private func makeStack(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind, classes: paperClasses)
        let context = stack.newContext()
        let drawers = (0..<60).map { number in
            let drawer = Drawer(context: context)
            drawer.code = Stack.code("s", number)
            return drawer
        }
        for number in 0..<130 {
            let paper = Paper(context: context)
            (paper.number, paper.kind) = (number, number % 10)
            if number < 120 { paper.drawer = drawers[number / 2] }
        }
        try context.save()
        return stack
    }

    private func answers(_ format: String, _ code: String, _ context: ManagedObjectContext) throws -> Answers {
        let predicate = try FetchPredicate(
            format: format, argumentArray: format.contains("%@") ? [code as (any PredicateArgument)?] : [])
        let request = FetchRequest<Paper>(predicate, sortedBy: [SortKey("drawer.code"), SortKey("number")])
        var first = request
        first.fetchLimit = 2
        var values = ValueRequest(entityName: "Paper", predicate: predicate, columns: ["number", "drawer.code"])
        values.sortKeys = [SortKey("number")]
        return Answers(
            numbers: try context.fetch(request).map(\.number), firstNumbers: try context.fetch(first).map(\.number),
            count: try context.count(for: request), codes: try context.fetch(values).map(\.values))
    }

    @Test(arguments: StoreKind.allCases)
    func `papers are found by what many changed drawers have, and not by what they had, as after a save (F-3)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let drawers = try context.fetch(FetchRequest<Drawer>(sortedBy: [SortKey("code")]))
        // Each has the former code of the next one, so two have the last of these.
        for (drawer, next) in zip(drawers.prefix(40), drawers.dropFirst().map(\.code)) { drawer.code = next }
        for number in [41, 42] { try context.delete(drawers[number]) }
        let new = Drawer(context: context)
        new.code = Stack.code("s", 43)
        let added = Paper(context: context)
        (added.number, added.drawer) = (1000, new)
        // This paper moves from a changed drawer to an unchanged one.
        let moved = try #require(drawers[3].papers.min { $0.number < $1.number })
        moved.drawer = drawers[50]
        let formats = [
            "drawer.code == %@", "drawer.code IN {%@, 's000005'}", "drawer.code == %@ AND drawer.code ENDSWITH '1'",
            "kind == 3 AND drawer.code == %@", "drawer.code != %@", "NOT drawer.code == %@",
            "drawer.code == %@ OR kind == 3", "drawer.code >= %@", "drawer.code == nil", "drawer.code IN {nil, %@}",
        ]
        let questions = formats.flatMap { format in
            [0, 1, 3, 4, 39, 40, 41, 43, 50].map { (format: format, code: Stack.code("s", $0)) }
        }

        let before = try questions.map { try answers($0.format, $0.code, context) }
        try context.save()

        for (question, found) in zip(questions, before) {
            let after = try answers(question.format, question.code, stack.newContext())
            #expect(found == after, "\(question)")
        }
        #expect(before.contains { $0.numbers.isEmpty } && before.contains { $0.count > 60 })
    }
}
