// A row that differs from another one in a few values (ChangedRow).

package import EspalierModel

extension ObjectSnapshot {
    /// The values of `base` at another version, apart from some attributes and to-one destinations.
    ///
    /// - Complexity: O(`attributes` and `destinations`); O(values of the row) if there are many.
    package init(
        _ base: ObjectSnapshot, of entity: Entity, version: UInt64, attributes: [(slot: Int, value: AttributeValue)],
        destinations: [(slot: Int, id: ObjectID?)]
    ) {
        assert(
            attributes.allSatisfy { entity.attributes.indices.contains($0.slot) },
            "a value of \(base.id) is at slot \(attributes.map(\.slot)), and \(entity.name) has no such attribute")
        assert(
            destinations.allSatisfy { entity.relationships.indices.contains($0.slot) },
            "a destination of \(base.id) is at slot \(destinations.map(\.slot)), and \(entity.name) has none there")
        var row = ChangedRow(
            version: version, base: base.content, place: base.place, attributes: attributes,
            destinations: destinations)
        if let former = base.content.changedRow {
            row = ChangedRow(
                version: version, base: former.base, place: former.place, attributes: attributes,
                destinations: destinations)
            row.add(former)
        }
        assert(row.base.changedRow == nil, "the base of \(base.id) is a changed row itself")
        var decoded = DecodedRow.changed(row)
        if row.attributes.count + row.destinations.count > ChangedRow.slotCountMax {
            decoded = .values(
                DecodedValues(
                    version: version, values: entity.attributes.indices.map(row.value),
                    destinations: entity.relationships.indices.map(row.destination)))
        }
        self.init(id: base.id, content: RowContent(decoded), place: .none)
    }
}
