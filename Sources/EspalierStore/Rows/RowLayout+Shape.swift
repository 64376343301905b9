// The contents of layouts as plain numbers in arrays: reading a row counts no references and follows no object.
//
// Invariants
//   1. A shape has the same contents as its layout; it is computed from the layout once, when the store is opened.
//   2. `places` of `RowLayout.Shapes` holds, for each shape, the places of its attribute slots, then those of its
//      relationship slots; `referenceBits` holds the null bits of all its references.
// Plain numbers and not layouts as objects: see Decisions, "Reading rows".

internal import EspalierModel

extension RowLayout {
    /// The numbers that all rows of one layout share.
    struct Shape: Sendable {
        /// The number of the entity; `nil` if the catalog has no such layout.
        let entityNumber: UInt16?
        /// The size of each part.
        let extent: RowLayout.Extent
        /// Whether the layout has a default row.
        let hasDefaultRow: Bool
        /// The ranges of the slots' places in `Shapes.places`.
        fileprivate let attributes: Range<Int>
        fileprivate let relationships: Range<Int>
        /// The position of the references' null bits in `Shapes.referenceBits`.
        fileprivate let firstReference: Int
    }

    /// The shapes of all layouts of a store, by layout number.
    struct Shapes: Sendable {
        private var shapes: [RowLayout.Shape] = []
        private var places: [RowLayout.Place?] = []
        private var referenceBits: [UInt16] = []

        init(_ layouts: [RowLayout?]) {
            for layout in layouts {
                let attributes = append(layout?.attributes ?? [])
                let relationships = append(layout?.references ?? [])
                let firstReference = referenceBits.count
                referenceBits += layout?.referencePlaces.map { UInt16(truncatingIfNeeded: $0.bit) } ?? []
                assert((layout?.fields.count ?? 0) <= Int(UInt16.max), "a null bit has a number of more than two bytes")
                assert(
                    layout.map { Int($0.number) == shapes.count } ?? true,
                    "the position of a shape is not its layout's number")
                shapes.append(
                    RowLayout.Shape(
                        entityNumber: layout?.entityNumber, extent: layout?.extent ?? .none,
                        hasDefaultRow: layout?.defaultRow.isEmpty == false, attributes: attributes,
                        relationships: relationships, firstReference: firstReference))
            }
            assert(shapes.count == layouts.count, "\(shapes.count) shapes of \(layouts.count) layouts")
        }

        /// The shape of layout `number`; `nil` if there is no such layout.
        @inline(__always)
        subscript(number: UInt16) -> RowLayout.Shape? {
            Int(number) < shapes.count && shapes[Int(number)].entityNumber != nil ? shapes[Int(number)] : nil
        }

        /// The place of the attribute in `slot`; `nil` = reads as in the default row, or as null without one.
        @inline(__always)
        func place(ofAttribute slot: Int, _ shape: RowLayout.Shape) -> RowLayout.Place? {
            precondition(slot < shape.attributes.count, "an attribute of another entity")
            return places[shape.attributes.lowerBound + slot]
        }

        /// The place of the to-one relationship in `slot`; `nil` = has no destination.
        @inline(__always)
        func place(ofRelationship slot: Int, _ shape: RowLayout.Shape) -> RowLayout.Place? {
            precondition(slot < shape.relationships.count, "a relationship of another entity")
            return places[shape.relationships.lowerBound + slot]
        }

        /// The null bit of the reference at `position` among those of a row.
        @inline(__always)
        func bit(ofReference position: Int, _ shape: RowLayout.Shape) -> Int {
            assert(position >= 0 && position < Int(shape.extent.referenceCount), "reference \(position) of a row")
            return Int(referenceBits[shape.firstReference &+ position])
        }

        private mutating func append(_ more: [RowLayout.Place?]) -> Range<Int> {
            let start = places.count
            places += more
            return start..<places.count
        }
    }
}
