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
    ///   - destinations: one for each relationship slot, from position `first` on.
    /// - Complexity: O(fields + bytes).
    func encode(
        _ entity: ManagedObjectModel.EntityIndex, version: UInt64, values: [AttributeValue],
        destinations: [ObjectID?], from first: Int, into row: inout [UInt8]
    ) {
        guard let layout = context.currentLayouts[entity] else {
            preconditionFailure("entity \(entity) is abstract and has no rows")
        }
        row.removeAll(keepingCapacity: true)
        row.append(contentsOf: layout.blankRow)
        row.withMutableRawSpan { bytes in
            bytes.write(version, at: RowLayout.versionOffset)
            for slot in layout.attributes.indices {
                guard let place = layout.attributes[slot], place.width > 0 else { continue }
                encodeFixed(values[slot], at: place, &bytes)
            }
            for slot in layout.references.indices {
                guard let place = layout.references[slot] else { continue }
                encode(destinations[first + slot], at: place, &bytes)
            }
        }
        // In slot order, which is the order of the variable part.
        for slot in layout.attributes.indices {
            guard let place = layout.attributes[slot], place.width == 0 else { continue }
            let isNull = !appendVariable(values[slot], to: &row)
            let end = UInt32(row.count - layout.variableOffset)
            row.withMutableRawSpan { bytes in
                if isNull { setNull(place, &bytes) }
                bytes.write(end, at: layout.tableOffset + 4 * place.position)
            }
        }
    }

    /// Whether `patch` can carry an update out: all attributes that change are of fixed width.
    func canPatch(_ entity: ManagedObjectModel.EntityIndex, _ values: [(slot: Int, value: AttributeValue)]) -> Bool {
        guard let layout = context.currentLayouts[entity] else { return false }
        for (slot, _) in values where layout.attributes[slot]?.width == 0 { return false }
        return true
    }

    /// Changes an encoded row in place: the values and destinations that are named, and the version.
    ///
    /// - Returns: `false`, and then the row is as it was, if it has to be encoded anew: it is in an older layout.
    func patch(
        _ row: inout MutableRawSpan, _ entity: ManagedObjectModel.EntityIndex, version: UInt64,
        values: [(slot: Int, value: AttributeValue)], destinations: [(slot: Int, destination: ObjectID?)]
    ) -> Bool {
        guard let layout = context.currentLayouts[entity], row.bytes.number(at: 0) == layout.number
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
    private func clear(_ place: RowLayout.Place, _ row: inout MutableRawSpan) {
        let offset = RowLayout.headerByteCount + place.bit / 8
        row.write(row.bytes.byte(at: offset) & ~(1 << UInt8(place.bit % 8)), at: offset)
        for offset in place.position..<place.position + place.width { row.write(0 as UInt8, at: offset) }
    }

    /// Writes a destination over zero bytes.
    private func encode(_ destination: ObjectID?, at place: RowLayout.Place, _ row: inout MutableRawSpan) {
        guard let destination else { return setNull(place, &row) }
        let reference = context.reference(destination)
        row.write(reference.entity, at: place.position)
        row.write(reference.key, at: place.position + 2)
    }

    /// Writes an attribute of fixed width over zero bytes.
    private func encodeFixed(_ value: AttributeValue, at place: RowLayout.Place, _ row: inout MutableRawSpan) {
        switch value {
        case .integer(let number):
            switch place.width {
            case 2: row.write(Int16(truncatingIfNeeded: number), at: place.position)
            case 4: row.write(Int32(truncatingIfNeeded: number), at: place.position)
            default: row.write(number, at: place.position)
            }
        case .boolean(let bit): row.write(bit ? 1 : 0 as UInt8, at: place.position)
        case .double(let number): row.write(number.bitPattern, at: place.position)
        case .float(let number): row.write(number.bitPattern, at: place.position)
        case .date(let date): row.write(date.timeIntervalSinceReferenceDate.bitPattern, at: place.position)
        case .uuid(let uuid): row.write(uuid.bytes, at: place.position)
        case .decimal(let number):
            var bytes: [UInt8] = []
            DecimalBytes.append(number, to: &bytes)
            row.write(bytes, at: place.position)
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

    private func setNull(_ place: RowLayout.Place, _ row: inout MutableRawSpan) {
        let offset = RowLayout.headerByteCount + place.bit / 8
        row.write(row.bytes.byte(at: offset) | 1 << UInt8(place.bit % 8), at: offset)
    }
}
