// The values of a new row: each slot has the value that was set last, and copies change independently.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct RowValuesTests {
    private let id = ObjectID(storeTag: 1, entityTag: 1, key: 7)

    @Test func `values and destinations are what was set last, in slots of their own`() {
        let row = RowValues([.integer(1), .string("a text that is too long to lie in its own words")], [nil, id])
        row.setAttribute(.null, at: 0)
        row.setAttribute(.string("another text that is too long to lie in its own words"), at: 1)
        row.setDestination(id, at: 0)
        row.setDestination(nil, at: 1)
        #expect(row.attributes == [.null, .string("another text that is too long to lie in its own words")])
        #expect(row.destinations == [id, nil])
        #expect(row.isNull(at: 0) && !row.isNull(at: 1))
    }

    @Test func `a copy changes alone`() {
        let row = RowValues([.string("a")], relationshipCount: 1)
        let copy = row.copy()
        copy.setAttribute(.string("b"), at: 0)
        copy.setDestination(id, at: 0)
        #expect(row.attributes == [.string("a")] && row.destinations == [nil])
        #expect(copy.attributes == [.string("b")] && copy.destinations == [id])
    }

    @Test func `an insertion shares its values, and another one changes alone`() {
        let row = RowValues([.string("a")], [id])
        let insertion = SaveRequest.Insertion(id: id, row)
        var other = insertion
        other.values[0] = .string("b")
        other.destinations[0] = nil
        #expect(row.isShared)
        #expect(insertion.values == [.string("a")] && insertion.destinations == [id])
        #expect(other.values == [.string("b")] && other.destinations == [nil])
    }

    @Test(arguments: [64, 65, 300])
    func `a row of any number of slots has the values that were set last, in copies too`(slotCount: Int) {
        let seed = testSeed(default: 6500)
        var generator = SeededGenerator(seed: seed)
        let attributeCount = slotCount - 10
        let initial = (0..<attributeCount).map { AttributeValue.integer(Int64($0)) }
        var rows = [
            (
                row: RowValues(initial, relationshipCount: 10), attributes: initial,
                links: [ObjectID?](repeating: nil, count: 10)
            )
        ]
        for step in 0..<2000 {
            let place = Int.random(in: 0..<rows.count, using: &generator)
            let slot = Int.random(in: 0..<attributeCount, using: &generator)
            switch step % 8 {
            case 0:
                let link = Bool.random(using: &generator) ? id : nil
                rows[place].row.setDestination(link, at: slot % 10)
                rows[place].links[slot % 10] = link
            case 1 where rows.count < 5:
                rows.append((rows[place].row.copy(), rows[place].attributes, rows[place].links))
            default:
                let value = step % 3 == 0 ? AttributeValue.null : .string("value \(step)")
                rows[place].row.setAttribute(value, at: slot)
                rows[place].attributes[slot] = value
            }
            #expect(rows[place].row.attribute(at: slot) == rows[place].attributes[slot], "seed \(seed), step \(step)")
        }
        for (row, attributes, links) in rows {
            #expect(row.attributes == attributes && row.destinations == links, "seed \(seed)")
            #expect((0..<attributeCount).allSatisfy { row.isNull(at: $0) == attributes[$0].isNull })
            #expect(row.attributeCount == attributeCount && row.relationshipCount == 10)
        }
    }
}
