// Converts rows of the first format to the present one, once, when such a store is opened to write.
//
// Row of format 1 (little-endian): u16 layout number | u16 entity number | u64 version | null bits as today | fields of
//   fixed width in order, among them integer64 with 8 bytes and references with u16 and u64 | for each field of
//   variable width in order: u32 end | variable part. Everything else in the file is as today.
// Invariants
//   1. One transaction: all rows of a file are in one format.
//   2. Every row is checked before any part of it is used; a damaged row leaves the file unchanged.

internal import EspalierEngine
internal import EspalierModel

extension StoreCatalog {
    /// Converts all rows of a store of the first format to the present one.
    ///
    /// - Throws: `StoreError.damagedContent` for a row that is not in that format.
    /// - Complexity: O(bytes of all rows).
    func upgradeRows(in transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        assert(rowTrees.count == model.entities.count, "\(rowTrees.count) places for \(model.entities.count) entities")
        for (root, tree) in rowTrees.enumerated() {
            guard let tree else { continue }
            // A cursor of a write transaction continues from its key, whatever was put in the meantime.
            var cursor = try transaction.cursor(over: tree)
            while try cursor.next() {
                let (key, old) = (try cursor.key, try cursor.value())
                guard let row = old.withRawSpan({ FirstFormatRow.upgraded($0, numbering) }) else {
                    throw .damaged(
                        entity: model.entities[root].name, key: key,
                        reason: "the row is not in format \(StoreFormat.first), which the store states")
                }
                try transaction.put(row, for: key, in: tree)
            }
        }
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else { return }
        var version: [UInt8] = []
        version.append(littleEndian: StoreFormat.newest)
        try transaction.put(version, for: StoreName.format, in: records)
    }
}

/// The bytes of a row in the first format.
private enum FirstFormatRow {
    private static let (versionOffset, nullOffset) = (4, 12)

    /// The row in the present format; `nil` if it is damaged.
    static func upgraded(_ row: RawSpan, _ numbering: StoreNumbering) -> [UInt8]? {
        guard row.byteCount >= nullOffset, let layout = numbering.layout(row.number(at: 0)),
            row.number(at: 2) == layout.entityNumber
        else { return nil }
        let (oldOffsets, tableOffset) = oldOffsets(of: layout)
        let variableOffset = tableOffset + 4 * layout.variablePlaces.count
        guard row.byteCount >= variableOffset, let ends = ends(in: row, layout, tableOffset, variableOffset) else {
            return nil
        }
        func isNull(_ place: RowLayout.Place) -> Bool {
            row.byte(at: nullOffset + place.bit / 8) & 1 << UInt8(place.bit % 8) != 0
        }
        func reference(at offset: Int) -> (entity: UInt16, key: UInt64) {
            (row.number(at: offset), row.number(at: offset + 2))
        }

        let version: UInt64 = row.number(at: versionOffset)
        var widths = RowOffsets.Widths()
        widths.include(version: version)
        widths.include(end: row.byteCount - variableOffset)
        for (place, offset) in zip(layout.places, oldOffsets) where !isNull(place) {
            switch place.part {
            case .integers: widths.include(integer: row.number(at: offset))
            case .references: widths.include(reference: reference(at: offset))
            case .fixed, .variable: break
            }
        }
        let offsets = RowOffsets(widths, layout.extent)
        var new = [UInt8](repeating: 0, count: offsets.variableOffset + row.byteCount - variableOffset)
        assert(
            offsets.variableOffset + (ends.last ?? 0) == new.count,
            "the last value ends at \(ends.last ?? 0) after \(offsets.variableOffset), in a row of \(new.count) bytes")
        new.withMutableRawSpan { new in
            offsets.begin(&new, layout, version: version)
            for (place, offset) in zip(layout.places, oldOffsets) {
                if isNull(place) { offsets.setNull(place, &new) }
                switch place.part {
                case .fixed:
                    new.write(row.extracting(offset..<offset + place.width), at: offsets.fixedOffset + place.position)
                case .integers where !isNull(place):
                    offsets.write(integer: row.number(at: offset), at: place.position, &new)
                case .references where !isNull(place):
                    offsets.write(reference: reference(at: offset), at: place.position, &new)
                // A null field has zero bytes, whatever the old row has there.
                case .integers, .references: break
                case .variable: offsets.write(end: ends[place.position], at: place.position, &new)
                }
            }
            new.write(row.extracting(variableOffset..<row.byteCount), at: offsets.variableOffset)
        }
        return new
    }

    /// The offset of each field, where fields of variable width have no bytes, and the offset of the table of ends.
    private static func oldOffsets(of layout: RowLayout) -> (fields: [Int], table: Int) {
        var offset = nullOffset + (layout.fields.count + 7) / 8
        let fields = layout.places.map { place in
            let width =
                switch place.part {
                case .fixed: place.width
                case .integers: 8
                case .references: 10
                case .variable: 0
                }
            defer { offset += width }
            return offset
        }
        return (fields, offset)
    }

    /// The ends of the fields of variable width; `nil` if they do not ascend to the end of the row.
    private static func ends(
        in row: RawSpan, _ layout: RowLayout, _ tableOffset: Int, _ variableOffset: Int
    ) -> [Int]? {
        var ends: [Int] = []
        for position in layout.variablePlaces.indices {
            let end = Int(row.number(at: tableOffset + 4 * position, as: UInt32.self))
            guard end >= ends.last ?? 0 else { return nil }
            ends.append(end)
        }
        return ends.last ?? 0 == row.byteCount - variableOffset ? ends : nil
    }
}
