// What layouts say, as plain numbers side by side: whoever reads a row counts no references and follows no object.
//
// Invariants
//   1. The shape of a layout says the same as the layout; it is made from it once, when the store is opened.
//   2. `places` of `RowShapes` holds, for each shape, those of its attribute slots, then those of its relationship
//      slots, then those of all its references.
// With layouts as objects each row that was fetched cost two retains, and each value that was read one more.

internal import EspalierModel

/// The numbers that all rows of one layout share.
struct RowShape: Sendable {
    /// The number of the entity; `nil` if the catalog has no such layout.
    let entityNumber: UInt16?
    /// Offset of the offset table: the length of everything before it.
    let tableOffset: Int
    /// Offset of the variable part.
    let variableOffset: Int
    /// Where the places of the slots are.
    fileprivate let attributes: Range<Int>
    fileprivate let relationships: Range<Int>
    fileprivate let references: Range<Int>
}

/// The shapes of all layouts of a store, by layout number.
struct RowShapes: Sendable {
    private var shapes: [RowShape] = []
    private var places: [RowLayout.Place?] = []

    init(_ layouts: [RowLayout?]) {
        for layout in layouts {
            let attributes = append(layout?.attributes ?? [])
            let relationships = append(layout?.references ?? [])
            let references = append(layout?.referencePlaces ?? [])
            shapes.append(
                RowShape(
                    entityNumber: layout?.entityNumber, tableOffset: layout?.tableOffset ?? 0,
                    variableOffset: layout?.variableOffset ?? 0, attributes: attributes,
                    relationships: relationships, references: references))
        }
    }

    /// The shape of layout `number`; `nil` if there is no such layout.
    @inline(__always)
    subscript(number: UInt16) -> RowShape? {
        Int(number) < shapes.count && shapes[Int(number)].entityNumber != nil ? shapes[Int(number)] : nil
    }

    /// Where the attribute in `slot` lies; `nil` = reads as null.
    @inline(__always)
    func place(ofAttribute slot: Int, _ shape: RowShape) -> RowLayout.Place? {
        precondition(slot < shape.attributes.count, "an attribute of another entity")
        return places[shape.attributes.lowerBound + slot]
    }

    /// Where the to-one relationship in `slot` lies; `nil` = has no destination.
    @inline(__always)
    func place(ofRelationship slot: Int, _ shape: RowShape) -> RowLayout.Place? {
        precondition(slot < shape.relationships.count, "a relationship of another entity")
        return places[shape.relationships.lowerBound + slot]
    }

    /// The first reference of the shape that `isBad`.
    @inline(__always)
    func firstReference(of shape: RowShape, where isBad: (RowLayout.Place) -> Bool) -> RowLayout.Place? {
        for position in shape.references {
            if let place = places[position], isBad(place) { return place }
        }
        return nil
    }

    private mutating func append(_ more: [RowLayout.Place?]) -> Range<Int> {
        let start = places.count
        places += more
        return start..<places.count
    }
}
