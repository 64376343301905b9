// Values into row bytes: one pass over the fields, into a buffer the caller reuses.

internal import EspalierModel
internal import FoundationEssentials

/// Writes rows of one store.
struct RowEncoder {
    let context: RowContext

    /// Replaces `row` by the encoded row.
    ///
    /// - Parameters:
    ///   - entity: a concrete entity of the open model.
    ///   - values: one value for each attribute slot, accepted by its attribute.
    ///   - destinations: one for each relationship slot.
    /// - Complexity: O(fields + bytes).
    func encode(
        _ entity: Entity, version: UInt64, values: [AttributeValue], destinations: [ObjectID?], into row: inout [UInt8]
    ) {
        guard let layout = context.currentLayouts[entity.index] else {
            preconditionFailure("\(entity.name) is abstract and has no rows")
        }
        row.removeAll(keepingCapacity: true)
        row.append(contentsOf: layout.blankRow)
        row.write(version, at: RowLayout.versionOffset)
        for slot in values.indices {
            guard let place = layout.attributes[slot] else { continue }
            encode(values[slot], at: place, layout, &row)
        }
        for slot in destinations.indices {
            guard let place = layout.references[slot] else { continue }
            encode(destinations[slot], at: place, &row)
        }
    }

    /// Changes an encoded row in place: the values and destinations that are named, and the version.
    ///
    /// - Returns: `false`, and then the row is as it was, if it has to be encoded anew: an attribute of variable width
    ///   changes, or the row is in an older layout.
    func patch(
        _ row: inout [UInt8], _ entity: Entity, version: UInt64, values: [(slot: Int, value: AttributeValue)],
        destinations: [(slot: Int, destination: ObjectID?)]
    ) -> Bool {
        guard let layout = context.currentLayouts[entity.index], row.number(at: 0) == layout.number,
            values.allSatisfy({ layout.attributes[$0.slot].map { $0.width > 0 } ?? true })
        else { return false }
        row.write(version, at: RowLayout.versionOffset)
        for (slot, value) in values {
            guard let place = layout.attributes[slot] else { continue }
            clear(place, &row)
            encodeFixed(value, at: place, &row)
        }
        for (slot, destination) in destinations {
            guard let place = layout.references[slot] else { continue }
            clear(place, &row)
            encode(destination, at: place, &row)
        }
        return true
    }

    /// Makes a field of fixed width what it is in a row that nothing was written to.
    private func clear(_ place: RowLayout.Place, _ row: inout [UInt8]) {
        row[RowLayout.headerByteCount + place.bit / 8] &= ~(1 << (place.bit % 8))
        for offset in place.position..<place.position + place.width { row[offset] = 0 }
    }

    /// Writes a destination over zero bytes.
    private func encode(_ destination: ObjectID?, at place: RowLayout.Place, _ row: inout [UInt8]) {
        guard let destination else { return setNull(place, &row) }
        let reference = context.reference(destination)
        row.write(reference.entity, at: place.position)
        row.write(reference.key, at: place.position + 2)
    }

    /// Writes one attribute; attributes come in slot order, which is the order of the variable part.
    private func encode(_ value: AttributeValue, at place: RowLayout.Place, _ layout: RowLayout, _ row: inout [UInt8]) {
        if place.width > 0 {
            encodeFixed(value, at: place, &row)
        } else {
            if !appendVariable(value, to: &row) { setNull(place, &row) }
            row.write(UInt32(row.count - layout.variableOffset), at: layout.tableOffset + 4 * place.position)
        }
    }

    /// Writes an attribute of fixed width over zero bytes.
    private func encodeFixed(_ value: AttributeValue, at place: RowLayout.Place, _ row: inout [UInt8]) {
        switch value {
        case .integer(let number):
            switch place.width {
            case 2: row.write(Int16(truncatingIfNeeded: number), at: place.position)
            case 4: row.write(Int32(truncatingIfNeeded: number), at: place.position)
            default: row.write(number, at: place.position)
            }
        case .boolean(let bit): row[place.position] = bit ? 1 : 0
        case .double(let number): row.write(number.bitPattern, at: place.position)
        case .float(let number): row.write(number.bitPattern, at: place.position)
        case .date(let date): row.write(date.timeIntervalSinceReferenceDate.bitPattern, at: place.position)
        case .uuid(let uuid): row.replaceSubrange(place.position..<place.position + 16, with: uuid.bytes)
        case .decimal(let number):
            var bytes: [UInt8] = []
            DecimalBytes.append(number, to: &bytes)
            row.replaceSubrange(place.position..<place.position + DecimalBytes.count, with: bytes)
        default: setNull(place, &row)
        }
    }

    /// Appends the bytes of a variable-width value; returns `false` for null.
    private func appendVariable(_ value: AttributeValue, to row: inout [UInt8]) -> Bool {
        switch value {
        case .string(let text): row.append(contentsOf: text.utf8)
        case .uri(let uri): row.append(contentsOf: uri.absoluteString.utf8)
        case .binary(let bytes), .transformable(let bytes): row.append(contentsOf: bytes)
        case .composite: TaggedValue.append(value, to: &row)
        default: return false
        }
        return true
    }

    private func setNull(_ place: RowLayout.Place, _ row: inout [UInt8]) {
        row[RowLayout.headerByteCount + place.bit / 8] |= 1 << (place.bit % 8)
    }
}
