// Random questions whose answers SQLite gives too, through the standard library of Python: conditions, orders, limits,
// numbers, distinct rows, aggregates and groups, of a B-tree store and of a store in memory.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct SQLiteAnswerTests {
    /// The machine may have no Python, or one without SQLite: then there is nothing to compare with.
    private static let isAvailable = (try? Command("python3", ["-c", "import sqlite3"]))?.code == 0
    private static let itemCount = 120
    /// The number of questions about the same items.
    private static let roundCount = 60

    /// Answers each line of the second file from the tables that the first one makes.
    ///
    /// Values are marked with their kind: n, i, f, s.
    private static let script = """
        import sqlite3, sys
        def text(value):
            if value is None: return 'n'
            return {int: 'i', float: 'f', str: 's'}[type(value)] + (value if type(value) is str else repr(value))
        connection = sqlite3.connect(':memory:')
        connection.executescript(open(sys.argv[1], encoding='utf-8').read())
        for question in open(sys.argv[2], encoding='utf-8').read().split('\\n'):
            rows = connection.execute(question).fetchall()
            print('\\x1e'.join('\\x1f'.join(text(value) for value in row) for row in rows))
        """

    @Test(.enabled(if: SQLiteAnswerTests.isAvailable, "python3 with its module sqlite3 answers the same questions"))
    func `random questions have the answers of SQLite, in a B-tree store and in memory`() throws {
        let seed = testSeed(default: 193_000)
        print("ESPALIER_SEED=\(seed)")
        let count = campaignCount("ESPALIER_SQLITE_QUESTIONS", default: Self.roundCount)
        for (round, first) in stride(from: 0, to: count, by: Self.roundCount).enumerated() {
            var random = SeededGenerator(seed: seed + UInt64(round))
            let items = (0..<Self.itemCount).map { _ in DrawnItem(&random) }
            let questions = (0..<min(Self.roundCount, count - first)).map { _ in SQLQuestion(&random) }
            let expected = try Self.answers(to: questions, about: items)
            try #require(expected.count == questions.count)
            let model = try ManagedObjectModel(entities: SQLQuestion.entities)
            let tree = try BTreeStore.inMemory(model: model)
            // Some sorts need a file.
            if random.next() % 2 == 0 { tree.sortByteCountMax = 0 }
            for store: any PersistentStore in [tree, InMemoryStore(model: model)] {
                let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
                coordinator.add(store)
                try Self.insert(items, coordinator)
                let context = ManagedObjectContext(coordinator)
                for (question, answer) in zip(questions, expected) {
                    let place = "seed \(seed + UInt64(round)), \(store.type.rawValue): \(question.format)"
                    let found = try Self.answer(to: question, context)
                    #expect(
                        Self.isEqual(found, answer), "\(place); \(question.sql): \(found), SQLite: \(answer)")
                }
            }
        }
    }

    private static func insert(_ items: [DrawnItem], _ coordinator: PersistentStoreCoordinator) throws {
        var boxes = BatchInsertRequest(entityName: "Box", objects: SQLQuestion.boxNames.map { ["name": $0] })
        boxes.returnsObjectIDs = true
        let ids = try #require(try coordinator.execute(boxes).objectIDs)
        let rows = items.enumerated().map { serial, item in
            var row: [String: any PredicateArgument] = ["serial": serial]
            if let whole = item.whole { row["whole"] = whole }
            if let number = item.number { row["number"] = number }
            if let ratio = item.ratio { row["ratio"] = ratio }
            if let code = item.code { row["code"] = code }
            if let label = item.label { row["label"] = label }
            if let box = item.box { row["box"] = ids[box] }
            return row
        }
        try coordinator.execute(BatchInsertRequest(entityName: "Item", objects: rows))
    }

    private static func answer(
        to question: SQLQuestion, _ context: ManagedObjectContext
    ) throws -> [[AttributeValue]] {
        let predicate = try FetchPredicate(format: question.format)
        if question.form == .count {
            var request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
            (request.fetchLimit, request.fetchOffset) = (question.limit, question.offset)
            return [[.integer(Int64(try context.count(for: request)))]]
        }
        var request = ValueRequest(entityName: "Item", predicate: predicate, columns: question.columns)
        (request.fetchLimit, request.fetchOffset, request.sortKeys) = (
            question.limit, question.offset, question.sortKeys
        )
        request.propertiesToGroupBy = question.groups
        request.havingPredicate = try question.having.map { try FetchPredicate(format: $0) }
        request.returnsDistinctResults = question.form == .distinctRows
        return try context.fetch(request).map(\.values)
    }

    /// The answers of SQLite.
    private static func answers(
        to questions: [SQLQuestion], about items: [DrawnItem]
    ) throws -> [[[AttributeValue]]] {
        var statements = SQLQuestion.tables
        for (id, name) in SQLQuestion.boxNames.enumerated() {
            statements.append("INSERT INTO box VALUES(\(id), '\(name)')")
        }
        for (serial, item) in items.enumerated() {
            statements.append("INSERT INTO item VALUES(\(item.sqlValues(serial: serial)))")
        }
        return try withTemporaryFolder { folder in
            let files = ["answer.py", "tables.sql", "questions.sql"].map { folder.appending(path: $0) }
            let texts = [
                script, statements.map { $0 + ";" }.joined(separator: "\n"),
                questions.map(\.sql).joined(separator: "\n"),
            ]
            for (file, text) in zip(files, texts) { try text.write(to: file, atomically: true, encoding: .utf8) }
            let run = try Command("python3", files.map(\.path))
            try #require(run.code == 0, "\(run.errors)")
            return try run.output.split(separator: "\n", omittingEmptySubsequences: false).prefix(questions.count)
                .map { line -> [[AttributeValue]] in
                    guard !line.isEmpty else { return [] }
                    return try line.split(separator: "\u{1e}", omittingEmptySubsequences: false).map { row in
                        try row.split(separator: "\u{1f}", omittingEmptySubsequences: false).map(value)
                    }
                }
        }
    }

    /// The value that the script has written.
    private static func value(_ text: Substring) throws -> AttributeValue {
        let rest = text.dropFirst()
        switch text.first {
        case "n": return .null
        case "i": return .integer(try #require(Int64(rest)))
        case "f": return .double(try #require(Double(rest)))
        default: return .string(String(rest))
        }
    }

    /// Whether answers are equal: numbers of any kind by value, averages but for the last digits.
    private static func isEqual(_ found: [[AttributeValue]], _ expected: [[AttributeValue]]) -> Bool {
        found.count == expected.count
            && zip(found, expected).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { isEqual($0, $1) }
            }
    }

    private static func isEqual(_ found: AttributeValue, _ expected: AttributeValue) -> Bool {
        if let left = number(found), let right = number(expected) {
            return abs(left - right) <= 1e-9 * max(1, abs(left))
        }
        return found.compare(expected) == .orderedSame
    }

    private static func number(_ value: AttributeValue) -> Double? {
        switch value {
        case .integer(let whole): Double(whole)
        case .double(let number): number
        default: nil
        }
    }
}
