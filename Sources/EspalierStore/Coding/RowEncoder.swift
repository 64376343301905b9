// Values into row bytes: one pass over the fields, into memory of the right length.

internal import EspalierModel
internal import FoundationEssentials

/// Writes rows of one store.
struct RowEncoder {
    let context: RowContext

    /// How long the encoded row of an entity with these values is.
    ///
    /// - Complexity: O(fields + bytes).
    func byteCount(_ entity: ManagedObjectModel.EntityIndex, _ values: RowValues) -> Int {
        let layout = currentLayout(entity)
        var byteCount = layout.variableOffset
        for index in layout.variableAttributes.indices {
            // SAFETY: read where it lies.
            byteCount += unsafe values.withAttribute(at: layout.variableAttributes[index].slot) { value in
                switch unsafe value.pointee {
                case .string(let text): text.utf8.count
                case .binary(let bytes), .transformable(let bytes): bytes.count
                default: variableBytes(unsafe value.pointee).count
                }
            }
        }
        return byteCount
    }

    /// Makes `row`, of `byteCount` bytes, the encoded row.
    ///
    /// - Parameters:
    ///   - entity: a concrete entity of the open model.
    ///   - values: accepted by the attributes.
    ///   - permanent: the ID for one among the destinations.
    /// - Complexity: O(fields + bytes).
    @inline(__always)
    func encode(
        _ entity: ManagedObjectModel.EntityIndex, version: UInt64, _ values: RowValues,
        permanent: (ObjectID) -> ObjectID, into row: inout MutableRawSpan
    ) {
        let layout = currentLayout(entity)
        layout.blankRow.withRawSpan { row.write($0, at: 0) }
        row.write(version, at: RowLayout.versionOffset)
        for index in layout.fixedAttributes.indices {
            let (slot, place) = layout.fixedAttributes[index]
            // SAFETY: read where it lies.
            unsafe values.withAttribute(at: slot) { encodeFixed(unsafe $0.pointee, at: place, &row) }
        }
        for index in layout.toOnes.indices {
            let (slot, place) = layout.toOnes[index]
            encode(values.destination(at: slot).map(permanent), at: place, &row)
        }
        var end = layout.variableOffset
        for index in layout.variableAttributes.indices {
            let (slot, place) = layout.variableAttributes[index]
            // SAFETY: as above.
            unsafe values.withAttribute(at: slot) { value in
                switch unsafe value.pointee {
                case .null: setNull(place, &row)
                case .string(let text): end += write(text, to: &row, at: end)
                default: end += write(variableBytes(unsafe value.pointee), to: &row, at: end)
                }
            }
            row.write(UInt32(end - layout.variableOffset), at: layout.tableOffset + 4 * place.position)
        }
    }

    private func currentLayout(_ entity: ManagedObjectModel.EntityIndex) -> RowLayout {
        guard let layout = context.currentLayouts[entity] else {
            preconditionFailure("entity \(entity) is abstract and has no rows")
        }
        return layout
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
            clear(place, &row, isWritten: !value.isNull)
            encodeFixed(value, at: place, &row)
        }
        for (slot, destination) in destinations {
            guard let place = layout.references[slot] else { continue }
            clear(place, &row, isWritten: destination != nil)
            encode(destination, at: place, &row)
        }
        return true
    }

    /// Makes a field of fixed width what it is in a row that nothing was written to; of one that is to be written, only
    /// the null bit: a value writes over all of its bytes.
    private func clear(_ place: RowLayout.Place, _ row: inout MutableRawSpan, isWritten: Bool) {
        let offset = RowLayout.headerByteCount + place.bit / 8
        row.write(row.bytes.byte(at: offset) & ~(1 << UInt8(place.bit % 8)), at: offset)
        guard !isWritten else { return }
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

    /// Writes the UTF-8 of a text; returns how many bytes there are.
    private func write(_ text: String, to row: inout MutableRawSpan, at offset: Int) -> Int {
        // SAFETY: the buffer does not leave the closure.
        unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            row.write(unsafe UnsafeRawBufferPointer(bytes).bytes, at: offset)
            return bytes.count
        } ?? write(Array(text.utf8), to: &row, at: offset)
    }

    private func write(_ bytes: [UInt8], to row: inout MutableRawSpan, at offset: Int) -> Int {
        row.write(bytes, at: offset)
        return bytes.count
    }

    /// The bytes of a variable-width value, in memory of their own.
    private func variableBytes(_ value: AttributeValue) -> [UInt8] {
        switch value {
        case .string(let text): return Array(text.utf8)
        case .uri(let uri): return Array(uri.absoluteString.utf8)
        case .binary(let bytes), .transformable(let bytes): return Array(bytes)
        case .composite:
            var bytes: [UInt8] = []
            TaggedValue.append(value, to: &bytes)
            return bytes
        default: return []
        }
    }

    private func setNull(_ place: RowLayout.Place, _ row: inout MutableRawSpan) {
        let offset = RowLayout.headerByteCount + place.bit / 8
        row.write(row.bytes.byte(at: offset) | 1 << UInt8(place.bit % 8), at: offset)
    }
}
