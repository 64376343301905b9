// Lines of rows that are written as bytes are those of the JSON values.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct RowLinesTests {
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Größe",
                attributes: [
                    AttributeDescription("text", .string), AttributeDescription("integer", .integer64),
                    AttributeDescription("zählt", .double),
                    AttributeDescription("unstored", .string, isTransient: true),
                    AttributeDescription("date", .date), AttributeDescription("flag", .boolean),
                    AttributeDescription("bytes", .binary), AttributeDescription("decimal", .decimal),
                ],
                relationships: [
                    RelationshipDescription("one", to: "Größe"),
                    RelationshipDescription("many", to: "Größe", .ordered),
                ]),
            EntityDescription("Plain"),
        ])
    }

    @Test func `lines are those of the JSON values, for every type and any text`() throws {
        let model = try Self.model()
        let entity = model.entities[0]
        let seed = testSeed(default: 9)
        var random = SeededGenerator(seed: seed)
        let store = UUID()
        var lines = RowLines(entity, lists: ["many"])
        func id() -> ObjectID { ObjectID(.number(1 + random.next() % (1 << 62)), of: entity, inStore: store) }
        let scalars: [Unicode.Scalar] = [
            "a", "\"", "\\", "\n", "\u{1F}", "\u{7F}", "\u{2028}", "€", "é", "日", "😀", "/",
        ]
        for _ in 0..<300 {
            let text = String(
                String.UnicodeScalarView((0..<Int(random.next() % 8)).map { _ in scalars[Int(random.next() % 12)] }))
            let number = Int64(bitPattern: random.next())
            let values: [AttributeValue] = [
                .string(text), [.integer(number), .integer(.min), .integer(0), .null][Int(random.next() % 4)],
                .double(Double(bitPattern: random.next())), .null,
                .date(Date(timeIntervalSinceReferenceDate: Double(number % 1_000_000_000))), .boolean(number > 0),
                .binary(Data(text.utf8)), .decimal(Decimal(number)),
            ]
            let row = ObjectSnapshot(
                id: id(), version: random.next(), values: values,
                destinations: [random.next() % 2 == 0 ? nil : id(), nil])
            let list = (0..<Int(random.next() % 3)).map { _ in id() }

            lines.removeAll()
            lines.append(row, lists: [list])

            let expected = row.json(of: entity, links: [("many", list)]).compact + "\n"
            #expect(String(decoding: lines.bytes, as: UTF8.self) == expected, "seed \(seed)")
        }
        let plain = model.entities[1]
        var plainLines = RowLines(plain)
        let row = ObjectSnapshot(
            id: ObjectID(.number(7), of: plain, inStore: store), version: 1, values: [], destinations: [])
        plainLines.append(row)
        #expect(String(decoding: plainLines.bytes, as: UTF8.self) == row.json(of: plain).compact + "\n")
    }
}
