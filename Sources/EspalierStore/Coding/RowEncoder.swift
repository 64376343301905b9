// Encodes values as row bytes: one pass over the fields, into memory of the right length.

internal import EspalierModel
internal import FoundationEssentials

/// Writes rows of one store.
struct RowEncoder {
    let numbering: StoreNumbering

    /// The offsets and the length of the encoded row of an entity with these values.
    ///
    /// - Complexity: O(fields + bytes).
    @inline(__always)
    func measure(
        _ entity: ManagedObjectModel.EntityIndex, version: UInt64, _ values: RowValues,
        permanent: (ObjectID) -> ObjectID
    ) -> (offsets: RowOffsets, byteCount: Int) {
        let layout = currentLayout(entity)
        var widths = RowOffsets.Widths()
        widths.include(version: version)
        for index in layout.integerAttributes.indices {
            // SAFETY: read in place; the pointer does not leave the closure.
            unsafe values.withAttribute(at: layout.integerAttributes[index].slot) { value in
                if case .integer(let number) = unsafe value.pointee { widths.include(integer: number) }
            }
        }
        for index in layout.toOnes.indices {
            guard let destination = values.destination(at: layout.toOnes[index].slot) else { continue }
            widths.include(reference: numbering.reference(permanent(destination)))
        }
        var variableByteCount = 0
        for index in layout.variableAttributes.indices {
            // SAFETY: as above.
            variableByteCount += unsafe values.withAttribute(at: layout.variableAttributes[index].slot) {
                self.variableByteCount(unsafe $0.pointee)
            }
        }
        widths.include(end: variableByteCount)
        let offsets = RowOffsets(widths, layout.extent)
        assert(offsets.variableOffset > 0 && variableByteCount >= 0, "\(variableByteCount) bytes of variable width")
        return (offsets, offsets.variableOffset + variableByteCount)
    }

    /// Writes the encoded row over `row`, which has the length that `measure` returned.
    ///
    /// - Parameters:
    ///   - entity: a concrete entity of the open model.
    ///   - values: accepted by the attributes.
    ///   - permanent: returns the permanent ID of a destination.
    ///   - offsets: the result of `measure` for the same values.
    /// - Complexity: O(fields + bytes).
    @inline(__always)
    func encode(
        _ entity: ManagedObjectModel.EntityIndex, version: UInt64, _ values: RowValues,
        permanent: (ObjectID) -> ObjectID, in offsets: RowOffsets, into row: inout MutableRawSpan
    ) {
        let layout = currentLayout(entity)
        assert(row.byteCount >= offsets.variableOffset, "\(row.byteCount) bytes for a row that was measured")
        assert(values.attributeCount == layout.attributes.count, "values of another entity")
        assert(values.relationshipCount == layout.references.count, "destinations of another entity")
        offsets.begin(&row, layout, version: version)
        for index in layout.fixedAttributes.indices {
            let (slot, place) = layout.fixedAttributes[index]
            // SAFETY: read in place; the pointer does not leave the closure.
            unsafe values.withAttribute(at: slot) { encodeFixed(unsafe $0.pointee, at: place, offsets, &row) }
        }
        for index in layout.integerAttributes.indices {
            let (slot, place) = layout.integerAttributes[index]
            // SAFETY: as above.
            unsafe values.withAttribute(at: slot) { encodeInteger(unsafe $0.pointee, at: place, offsets, &row) }
        }
        for index in layout.toOnes.indices {
            let (slot, place) = layout.toOnes[index]
            encode(values.destination(at: slot).map(permanent), at: place, offsets, &row)
        }
        var end = offsets.variableOffset
        for index in layout.variableAttributes.indices {
            let (slot, place) = layout.variableAttributes[index]
            // SAFETY: as above.
            unsafe values.withAttribute(at: slot) { value in
                if case .null = unsafe value.pointee { return offsets.setNull(place, &row) }
                end += encodeVariable(unsafe value.pointee, to: &row, at: end)
            }
            offsets.write(end: end - offsets.variableOffset, at: place.position, &row)
        }
        assert(end == row.byteCount, "the row ends at \(end) of \(row.byteCount) measured bytes")
    }

    /// The encoded row of an entity with these values, whose destinations have permanent IDs.
    func row(of entity: ManagedObjectModel.EntityIndex, version: UInt64, _ values: RowValues) -> [UInt8] {
        let (offsets, byteCount) = measure(entity, version: version, values) { $0 }
        var bytes = [UInt8](repeating: 0, count: byteCount)
        bytes.withMutableRawSpan { bytes in
            encode(entity, version: version, values, permanent: { $0 }, in: offsets, into: &bytes)
        }
        return bytes
    }

    /// The layout of new rows of a concrete entity.
    func currentLayout(_ entity: ManagedObjectModel.EntityIndex) -> RowLayout {
        guard let layout = numbering.currentLayouts[entity] else {
            preconditionFailure("entity \(entity) is abstract and has no rows")
        }
        return layout
    }

    /// Whether `patch` may carry an update out: no changed attribute is in the variable part.
    func canPatch(_ entity: ManagedObjectModel.EntityIndex, _ values: [(slot: Int, value: AttributeValue)]) -> Bool {
        guard let layout = numbering.currentLayouts[entity] else { return false }
        for (slot, _) in values where layout.attributes[slot]?.part == .variable { return false }
        return true
    }

    /// Changes an encoded row in place: the named values and destinations, and the version.
    ///
    /// - Returns: `false`, with the row unchanged, if the row has to be encoded anew: it has an older layout, or a
    ///   number needs more bytes than the row has for it.
    func patch(
        _ row: inout MutableRawSpan, _ entity: ManagedObjectModel.EntityIndex, version: UInt64,
        values: [(slot: Int, value: AttributeValue)], destinations: [(slot: Int, destination: ObjectID?)]
    ) -> Bool {
        guard let layout = numbering.currentLayouts[entity], RowOffsets.layoutNumber(row.bytes) == layout.number
        else { return false }
        let offsets = RowOffsets(RowOffsets.Widths(byte: row.bytes.byte(at: 0)), layout.extent)
        var widths = self.widths(offsets.widths, holding: version, values, layout)
        for case (_, let destination?) in destinations { widths.include(reference: numbering.reference(destination)) }
        guard widths == offsets.widths else { return false }
        row.write(version, at: RowOffsets.versionOffset(row.bytes), power: widths.version)
        for (slot, value) in values {
            guard let place = layout.attributes[slot] else { continue }
            overwrite(place, with: value, offsets, &row)
        }
        for (slot, destination) in destinations {
            guard let place = layout.references[slot] else { continue }
            clear(place, offsets, &row)
            encode(destination, at: place, offsets, &row)
        }
        return true
    }

    /// Writes a row over `new` that has a new version and new values of some attributes, and the rest of a stored row.
    ///
    /// - Parameter row: a checked row with the layout of new rows of the entity.
    /// - Complexity: O(fields + bytes).
    func rewrite(
        _ row: RawSpan, _ entity: ManagedObjectModel.EntityIndex, version: UInt64,
        values: [(slot: Int, value: AttributeValue)], into new: inout [UInt8]
    ) {
        let layout = currentLayout(entity)
        assert(RowOffsets.layoutNumber(row) == layout.number, "a row of layout \(RowOffsets.layoutNumber(row))")
        let former = RowOffsets(RowOffsets.Widths(byte: row.byte(at: 0)), layout.extent)
        var variableByteCount = 0
        for place in layout.variablePlaces {
            let value = newValue(at: place, values, layout)
            variableByteCount +=
                value.map { self.variableByteCount($0) } ?? former.range(at: place.position, row).count
        }
        var widths = self.widths(former.widths, holding: version, values, layout)
        widths.include(end: variableByteCount)
        let offsets = RowOffsets(widths, layout.extent)
        new.removeAll(keepingCapacity: true)
        new.append(contentsOf: repeatElement(0, count: offsets.variableOffset + variableByteCount))
        new.withMutableRawSpan { new in
            offsets.begin(&new, layout, version: version)
            new.write(row.extracting(former.nullOffset..<former.integerOffset), at: offsets.nullOffset)
            for position in 0..<Int(layout.extent.integerCount) {
                offsets.write(integer: former.integer(at: position, row), at: position, &new)
            }
            for position in 0..<Int(layout.extent.referenceCount) {
                offsets.write(reference: former.reference(at: position, row), at: position, &new)
            }
            for (slot, value) in values {
                guard let place = layout.attributes[slot], place.part != .variable else { continue }
                overwrite(place, with: value, offsets, &new)
            }
            var end = offsets.variableOffset
            for place in layout.variablePlaces {
                if let value = newValue(at: place, values, layout) {
                    offsets.clearNull(place, &new)
                    if value.isNull { offsets.setNull(place, &new) }
                    if !value.isNull { end += encodeVariable(value, to: &new, at: end) }
                } else {
                    let range = former.range(at: place.position, row)
                    new.write(row.extracting(range), at: end)
                    end += range.count
                }
                offsets.write(end: end - offsets.variableOffset, at: place.position, &new)
            }
            assert(end == new.byteCount, "the row ends at \(end) of \(new.byteCount) measured bytes")
        }
    }

    /// The new value of the field at `place`; `nil` if the field keeps its value.
    private func newValue(
        at place: RowLayout.Place, _ values: [(slot: Int, value: AttributeValue)], _ layout: RowLayout
    ) -> AttributeValue? {
        assert(place.part == .variable, "a field of fixed width at \(place.position)")
        return values.last { layout.attributes[$0.slot]?.bit == place.bit }?.value
    }

    /// Widths that hold a version and values, too.
    private func widths(
        _ widths: RowOffsets.Widths, holding version: UInt64, _ values: [(slot: Int, value: AttributeValue)],
        _ layout: RowLayout
    ) -> RowOffsets.Widths {
        var widths = widths
        widths.include(version: version)
        for (slot, value) in values where layout.attributes[slot]?.part == .integers {
            if case .integer(let number) = value { widths.include(integer: number) }
        }
        return widths
    }

    /// Writes another value over a field outside of the variable part.
    private func overwrite(
        _ place: RowLayout.Place, with value: AttributeValue, _ offsets: RowOffsets, _ row: inout MutableRawSpan
    ) {
        clear(place, offsets, &row)
        if place.part == .integers {
            encodeInteger(value, at: place, offsets, &row)
        } else {
            encodeFixed(value, at: place, offsets, &row)
        }
    }

    /// Resets a field to its state in a new row: not null, zero bytes.
    private func clear(_ place: RowLayout.Place, _ offsets: RowOffsets, _ row: inout MutableRawSpan) {
        assert(place.part != .variable, "a field of variable width is patched")
        offsets.clearNull(place, &row)
        row.clear(offsets.bytes(of: place))
    }

    /// Writes a destination over zero bytes.
    @inline(__always)
    func encode(
        _ destination: ObjectID?, at place: RowLayout.Place, _ offsets: RowOffsets, _ row: inout MutableRawSpan
    ) {
        assert(place.part == .references, "a destination is not among the references")
        guard let destination else { return offsets.setNull(place, &row) }
        offsets.write(reference: numbering.reference(destination), at: place.position, &row)
    }

    /// Writes a 64-bit integer over zero bytes.
    @inline(__always)
    func encodeInteger(
        _ value: AttributeValue, at place: RowLayout.Place, _ offsets: RowOffsets, _ row: inout MutableRawSpan
    ) {
        assert(place.part == .integers, "a 64-bit integer is not among the integers")
        guard case .integer(let number) = value else { return offsets.setNull(place, &row) }
        offsets.write(integer: number, at: place.position, &row)
    }

    /// Writes an attribute of fixed width over zero bytes.
    func encodeFixed(
        _ value: AttributeValue, at place: RowLayout.Place, _ offsets: RowOffsets, _ row: inout MutableRawSpan
    ) {
        assert(place.part == .fixed, "a value of fixed width is not in the fixed part")
        let offset = offsets.fixedOffset + place.position
        switch value {
        case .integer(let number):
            assert(place.width == 2 || place.width == 4, "an integer of \(place.width) bytes")
            assert(place.width == 4 || Int16(exactly: number) != nil, "\(number) does not fit into two bytes")
            assert(place.width == 2 || Int32(exactly: number) != nil, "\(number) does not fit into four bytes")
            if place.width == 2 {
                row.write(Int16(truncatingIfNeeded: number), at: offset)
            } else {
                row.write(Int32(truncatingIfNeeded: number), at: offset)
            }
        case .boolean(let bit): row.write(bit ? 1 : 0 as UInt8, at: offset)
        case .double(let number): row.write(number.bitPattern, at: offset)
        case .float(let number): row.write(number.bitPattern, at: offset)
        case .date(let date): row.write(date.timeIntervalSinceReferenceDate.bitPattern, at: offset)
        case .uuid(let uuid): row.write(uuid.bytes, at: offset)
        case .decimal(let number):
            var bytes: [UInt8] = []
            DecimalBytes.append(number, to: &bytes)
            assert(bytes.count == place.width, "a decimal of \(bytes.count) bytes in \(place.width)")
            row.write(bytes, at: offset)
        default: offsets.setNull(place, &row)
        }
    }

    /// The number of bytes of a variable-width value; 0 for null.
    @inline(__always)
    func variableByteCount(_ value: AttributeValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .binary(let bytes), .transformable(let bytes): bytes.count
        default: variableBytes(value).count
        }
    }

    /// Writes a variable-width value, which is not null; returns the number of bytes.
    @inline(__always)
    func encodeVariable(_ value: AttributeValue, to row: inout MutableRawSpan, at offset: Int) -> Int {
        if case .string(let text) = value { return write(text, to: &row, at: offset) }
        return write(variableBytes(value), to: &row, at: offset)
    }

    /// Writes the UTF-8 of a text; returns the number of bytes.
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
}
