// Rows that differ from others in a few values, made one on top of another: each reads as plain values say, whatever is
// made of it later.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ChangedRowTests {
    /// A row beside its plain values.
    private struct Expected {
        var version: UInt64
        var values: [AttributeValue]
        var destinations: [ObjectID?]
        let row: ObjectSnapshot
    }

    private static let attributeCount = 14
    private static let relationshipCount = 4

    private func fixture(_ kind: StoreKind) throws -> StoreFixture {
        let attributes = (0..<Self.attributeCount).map { number in
            AttributeDescription("a\(number)", number % 3 == 0 ? .string : .integer64)
        }
        let relationships = (0..<Self.relationshipCount).map { RelationshipDescription("r\($0)", to: "Row") }
        return try StoreFixture(
            kind,
            ManagedObjectModel(entities: [
                EntityDescription("Row", attributes: attributes, relationships: relationships)
            ]))
    }

    private func value(_ slot: Int, _ random: inout SeededGenerator) -> AttributeValue {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case let number: slot % 3 == 0 ? .string(String(repeating: "é", count: number)) : .integer(Int64(number))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a changed row is a change of the row that it was made of, and of no other`(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        let ids = try (0..<2).map { _ in try fixture.insert("Row", [:]) }
        let rows = try fixture.store.snapshots(of: ids).compactMap(\.self)
        let changed = ObjectSnapshot(
            rows[0], of: try fixture.entity("Row"), version: 7, attributes: [(slot: 1, value: .integer(1))],
            destinations: [])

        #expect(changed.content.isChange(of: rows[0].content, at: rows[0].place))
        #expect(!changed.content.isChange(of: rows[1].content, at: rows[1].place))
        #expect(!rows[0].content.isChange(of: rows[0].content, at: rows[0].place))
    }

    @Test(arguments: StoreKind.allCases)
    func `a row that was changed any number of times reads its changes and the rest of the first`(
        _ kind: StoreKind
    ) throws {
        let fixture = try fixture(kind)
        let entity = try fixture.entity("Row")
        let others = try (0..<3).map { _ in try fixture.insert("Row", [:]) }
        for run in 0..<20 {
            var random = SeededGenerator(seed: testSeed(default: 6_400) &+ UInt64(run))
            var named: [String: AttributeValue] = [:]
            for slot in 0..<Self.attributeCount where Bool.random(using: &random) {
                named["a\(slot)"] = value(slot, &random)
            }
            let id = try fixture.insert("Row", named)
            let first = try #require(try fixture.store.snapshots(of: [id])[0])
            var known = [
                Expected(
                    version: first.version, values: (0..<Self.attributeCount).map { first.value(at: $0) },
                    destinations: (0..<Self.relationshipCount).map { first.destination(at: $0) }, row: first)
            ]
            for step in 1...12 {
                let base = known[Int.random(in: 0..<known.count, using: &random)]
                var (values, destinations) = (base.values, base.destinations)
                let count = Int.random(in: 0...(step % 4 == 0 ? Self.attributeCount : 3), using: &random)
                let slots = (0..<Self.attributeCount).shuffled(using: &random).prefix(count)
                let attributes = slots.map { (slot: $0, value: value($0, &random)) }
                let ends = (0..<Self.relationshipCount).shuffled(using: &random)
                    .prefix(Int.random(in: 0...2, using: &random))
                    .map { (slot: $0, id: Bool.random(using: &random) ? others.randomElement(using: &random) : nil) }
                for (slot, value) in attributes { values[slot] = value }
                for (slot, end) in ends { destinations[slot] = end }
                let row = ObjectSnapshot(
                    base.row, of: entity, version: UInt64(100 + step), attributes: attributes, destinations: ends)
                known.append(
                    Expected(version: UInt64(100 + step), values: values, destinations: destinations, row: row))
                for (number, expected) in known.enumerated() {
                    let row = expected.row
                    let isEqual =
                        row.id == id && row.version == expected.version
                        && expected.values == (0..<Self.attributeCount).map { row.value(at: $0) }
                        && expected.destinations == (0..<Self.relationshipCount).map { row.destination(at: $0) }
                    #expect(isEqual, "run \(run), step \(step): row \(number)")
                }
            }
        }
    }
}
