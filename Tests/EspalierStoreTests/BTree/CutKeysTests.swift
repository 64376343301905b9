// Unique values that are longer than an index entry: the store compares them as a whole, and does not read all rows
// with the same beginning for each of them.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct CutKeysTests {
    private static func isbn(_ number: Int) -> String { String(repeating: "9", count: 600) + "\(number)" }

    @Test func `a save of many unique values that begin alike reads each row that begins so once`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        func save(_ numbers: Range<Int>) throws -> Int {
            var request = SaveRequest()
            request.insertions = try numbers.map { try fixture.insertion("Book", ["isbn": .string(Self.isbn($0))]) }
            return try StepCount.count { _ = try fixture.store.save(request) }.rows
        }

        let (first, second) = (try save(0..<200), try save(200..<400))

        #expect(first <= 200, "\(first) rows were read for 200 new ones")
        #expect(second <= 400, "\(second) rows were read for 200 new ones beside 200")
        #expect(throws: StoreError.self) { try save(399..<400) }
        #expect(throws: StoreError.self) { try save(7..<8) }
    }

    @Test func `saves of one unique value each, which begin alike, do not read the rows that begin so again`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        func save(_ numbers: Range<Int>) throws -> Int {
            var request = SaveRequest()
            request.insertions = try numbers.map { try fixture.insertion("Book", ["isbn": .string(Self.isbn($0))]) }
            return try StepCount.count { _ = try fixture.store.save(request) }.rows
        }
        _ = try save(0..<200)
        for number in 200..<220 {
            let count = try save(number..<number + 1)
            #expect(count <= 2, "\(count) rows were read for one beside \(number)")
        }
    }

    @Test func `a save that is refused after it has removed an entry hides no value from the next one`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        let (first, second) = (Self.isbn(1), Self.isbn(2))
        let id = try fixture.insert("Book", ["isbn": .string(first)])
        _ = try fixture.insert("Book", ["isbn": .string(second)])
        // Nothing is known from the saves before a command.
        let store = try #require(fixture.store as? BTreeStore)
        try store.setMetadata(["step": .integer(1)])

        // The entry of the first value is removed before the rows are read that begin alike.
        #expect(throws: StoreError.self) { try fixture.change(id, ["isbn": .string(second)]) }
        #expect(throws: StoreError.self) { try fixture.insert("Book", ["isbn": .string(first)]) }
        #expect(try store.check().isOK)
    }

    @Test func `a unique value that comes and goes is looked up in as many steps each time`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        _ = try fixture.insert("Book", ["isbn": .string(Self.isbn(0))])
        var counts: [Int] = []
        for _ in 0..<30 {
            var id: ObjectID?
            counts.append(
                try StepCount.count { id = try fixture.insert("Book", ["isbn": .string(Self.isbn(1))]) }.rows)
            try fixture.delete(try #require(id))
        }

        #expect(counts[29] <= counts[2] + 1, "\(counts)")
    }

    @Test func `unique values that begin alike are taken, exchanged and given up as a dictionary says`() throws {
        let first = testSeed(default: 512_000)
        print("ESPALIER_SEED=\(first)")
        for seed in (0..<3).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            let fixture = try StoreFixture(.treeInMemory)
            let store = try #require(fixture.store as? BTreeStore)
            // By row: the number of its value.
            var numbers: [ObjectID: Int] = [:]
            for step in 0..<150 {
                let place = "seed \(seed), step \(step)"
                // Some are short enough for an entry.
                let number = Int.random(in: 0..<40, using: &random)
                let isbn = AttributeValue.string(number % 5 == 0 ? "\(number)" : Self.isbn(number))
                let rows = numbers.keys.sorted { $0.key < $1.key }
                switch Int.random(in: 0..<10, using: &random) {
                case 0: try store.setMetadata(["step": .integer(Int64(step))])
                case 1:
                    guard let id = rows.randomElement(using: &random) else { continue }
                    try fixture.delete(id)
                    numbers[id] = nil
                case 2..<5:
                    guard let id = rows.randomElement(using: &random) else { continue }
                    let isTaken = numbers.contains { $0.key != id && $0.value == number }
                    let isRefused = try refuses { try fixture.change(id, ["isbn": isbn]) }
                    #expect(isRefused == isTaken, "\(place): a change to \(number)")
                    if !isTaken { numbers[id] = number }
                default:
                    let isTaken = numbers.values.contains(number)
                    var id: ObjectID?
                    // A command writes rows of which the next save knows nothing.
                    let isCommand = Int.random(in: 0..<3, using: &random) == 0
                    let isRefused = try refuses {
                        id = try isCommand ? insertByCommand(isbn, store) : fixture.insert("Book", ["isbn": isbn])
                    }
                    #expect(isRefused == isTaken, "\(place): an insertion of \(number)")
                    if let id { numbers[id] = number }
                }
            }
            let report = try store.check()
            #expect(report.isOK, "seed \(seed): \(report.findings)")
        }
    }

    private func insertByCommand(_ isbn: AttributeValue, _ store: BTreeStore) throws -> ObjectID? {
        var command = try store.insertion("Book", [try store.newRow("Book", ["isbn": isbn])])
        command.returnsIDs = true
        return try store.execute(command).ids.first
    }

    /// Whether a save is refused for a unique value.
    private func refuses(_ save: () throws -> Void) throws -> Bool {
        do {
            try save()
            return false
        } catch StoreError.constraint {
            return true
        }
    }

    @Test func `equal values that begin alike are refused within one save, and given up ones may be taken`() throws {
        let fixture = try StoreFixture(.treeInMemory)
        let first = try fixture.insert("Book", ["isbn": .string(Self.isbn(1))])
        let second = try fixture.insert("Book", ["isbn": .string(Self.isbn(2))])
        var exchange = SaveRequest()
        exchange.updates = try [
            fixture.update(first, ["isbn": .string(Self.isbn(2))]),
            fixture.update(second, ["isbn": .string(Self.isbn(1))]),
        ]
        _ = try fixture.store.save(exchange)
        #expect(try fixture.value(first, "isbn") == .string(Self.isbn(2)))
        var twice = SaveRequest()
        twice.insertions = try (0..<2).map { _ in try fixture.insertion("Book", ["isbn": .string(Self.isbn(3))]) }

        #expect(throws: StoreError.self) { try fixture.store.save(twice) }
    }
}
