// The values of a new row: each slot has the value that was set last, and copies change independently.

import EspalierModel
import EspalierStore
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
}
