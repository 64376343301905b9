// Reads one to-one relationship in many rows, most of which are alike.
//
// Invariants
//   1. Offsets and field are those of the rows of `numbering` that begin with the two bytes of `head`. Two bytes
//      determine widths and layout, except for a layout with a long number: such rows are resolved one by one.
//   2. No row begins with the initial `head`: 0 is the number of no layout.

package import EspalierModel

/// Reads the destinations of one to-one relationship; the layout of rows that begin alike is resolved once.
package struct DestinationReader {
    /// The slot of the relationship.
    package let slot: Int
    private var numbering = StoreNumbering.none
    private var head: UInt16 = 0
    private var offsets = RowOffsets(RowOffsets.Widths(), .none)
    /// The null bit of the relationship, and its position among the references; `nil` if the rows lack it.
    private var field: (bit: Int, position: Int)?

    package init(slot: Int) { self.slot = slot }

    /// The destination in a row; the same as `RowContent.destination(at:of:)`.
    package mutating func destination(in content: RowContent, at place: RowContent.Place) -> ObjectID? {
        guard place.byteCount > 0 else { return content.destination(at: slot, of: place) }
        return content.withRow(at: place) { row in
            if row.number(at: 0) != head || numbering !== content.numbering { resolve(row, content.numbering) }
            guard let field, !offsets.isNull(bit: field.bit, row) else { return nil }
            let reference = offsets.reference(at: field.position, row)
            let id = numbering.id(entityNumber: reference.entity, key: reference.key)
            assert(id == content.destination(at: slot, of: place), "invariant 1: the row leads elsewhere")
            return id
        }
    }

    /// Finds the relationship in rows like `row`, which was checked.
    @inline(never)
    private mutating func resolve(_ row: RawSpan, _ numbering: StoreNumbering) {
        let reader = RowReader(numbering: numbering)
        let shape = reader.shape(of: row)
        self.numbering = numbering
        offsets = reader.offsets(of: row, shape)
        field = numbering.shapes.place(ofRelationship: slot, shape).map { ($0.bit, $0.position) }
        head = row.byte(at: 1) == RowOffsets.longNumberMark ? 0 : row.number(at: 0)
    }
}
