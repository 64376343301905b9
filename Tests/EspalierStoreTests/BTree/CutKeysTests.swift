// Unique values that are longer than an index entry: the store compares them as a whole, and does not read all rows
// with the same beginning for each of them.

import EspalierModel
import EspalierStore
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
