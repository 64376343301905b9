// Copies the fields that a migration does not change, byte for byte, from rows of one layout to rows of another one.
//
// Invariants
//   1. A field that is copied has the same content in both layouts, so its bytes mean the same. Bytes that a check of
//      the content would report are copied, too: the check reports them afterwards.
//   2. For the same values the new row is the one that `RowEncoder` makes.
// Decoding and encoding all values took half of the time of a migration that changes the type of one attribute.

internal import EspalierEngine
internal import EspalierModel

/// The sources of the fields in new rows of an entity, for old rows of one layout.
final class FieldTransfer {
    /// The source of an attribute's value.
    private enum Source {
        case null
        /// The field at this place of the old row.
        case field(RowLayout.Place)
        /// The computed value of this position.
        case computed(Int)
    }

    private struct Field {
        let source: Source
        let target: RowLayout.Place
    }

    /// An attribute whose value is not copied.
    struct Computed {
        let slot: Int
        let source: EntityChange.Source
        /// The value that replaces null.
        let replacement: AttributeValue?
        let attribute: Attribute
    }

    let computed: [Computed]
    private let layout: RowLayout
    private let fixed: [Field]
    private let integers: [Field]
    private let variable: [Field]

    /// - Parameters:
    ///   - shape: the shape of the old rows in `shapes`.
    ///   - layout: the layout of new rows of `entity`.
    init(
        from shape: RowLayout.Shape, of shapes: RowLayout.Shapes, to layout: RowLayout, of entity: Entity,
        _ change: EntityChange
    ) {
        var computed: [Computed] = []
        func field(_ slot: Int, _ target: RowLayout.Place) -> Field {
            switch change.sources[slot] {
            case .none where change.defaults[slot] == nil: return Field(source: .null, target: target)
            case .copy(let former) where change.defaults[slot] == nil:
                if let place = shapes.place(ofAttribute: former, shape), place.content == target.content {
                    return Field(source: .field(place), target: target)
                }
            default: break
            }
            computed.append(
                Computed(
                    slot: slot, source: change.sources[slot], replacement: change.defaults[slot],
                    attribute: entity.attributes[slot]))
            return Field(source: .computed(computed.count - 1), target: target)
        }
        fixed = layout.fixedAttributes.map { field($0.slot, $0.place) }
        integers = layout.integerAttributes.map { field($0.slot, $0.place) }
        variable = layout.variableAttributes.map { field($0.slot, $0.place) }
        self.layout = layout
        self.computed = computed
        assert(
            computed.count <= fixed.count + integers.count + variable.count,
            "\(computed.count) values are computed for the attributes of \(entity.name)")
    }

    /// The new row for an old one.
    ///
    /// - Parameters:
    ///   - row: an old row of the layout, checked.
    ///   - old: its offsets.
    ///   - values: a value for each element of `computed`.
    ///   - destinations: by slot of the newer entity.
    /// - Complexity: O(fields + bytes).
    func newRow(
        from row: RawSpan, _ old: RowOffsets, values: [AttributeValue], _ destinations: [ObjectID?],
        _ encoder: RowEncoder
    ) -> [UInt8] {
        assert(values.count == computed.count, "\(values.count) of \(computed.count) computed values")
        assert(destinations.count >= layout.toOnes.count, "\(destinations.count) of \(layout.toOnes.count) places")
        let (offsets, variableByteCount) = measure(row, old, values, destinations, encoder)
        var bytes = [UInt8](repeating: 0, count: offsets.variableOffset + variableByteCount)
        bytes.withMutableRawSpan { new in
            offsets.begin(&new, layout, version: RowReader.version(of: row))
            writeNumbers(row, old, values, encoder, offsets, &new)
            for index in layout.toOnes.indices {
                let (slot, place) = layout.toOnes[index]
                encoder.encode(destinations[slot], at: place, offsets, &new)
            }
            var end = offsets.variableOffset
            for index in variable.indices {
                let target = variable[index].target
                switch variable[index].source {
                case .field(let place) where !old.isNull(bit: place.bit, row):
                    let range = old.range(at: place.position, row)
                    new.write(row.extracting(range), at: end)
                    end += range.count
                case .computed(let position) where !values[position].isNull:
                    end += encoder.encodeVariable(values[position], to: &new, at: end)
                default: offsets.setNull(target, &new)
                }
                offsets.write(end: end - offsets.variableOffset, at: target.position, &new)
            }
            assert(end == new.byteCount, "the row ends at \(end) of \(new.byteCount) measured bytes")
        }
        return bytes
    }

    private func measure(
        _ row: RawSpan, _ old: RowOffsets, _ values: [AttributeValue], _ destinations: [ObjectID?],
        _ encoder: RowEncoder
    ) -> (offsets: RowOffsets, variableByteCount: Int) {
        var widths = RowOffsets.Widths()
        widths.include(version: RowReader.version(of: row))
        for index in integers.indices {
            switch integers[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                widths.include(integer: old.integer(at: place.position, row))
            case .computed(let position):
                if case .integer(let number) = values[position] { widths.include(integer: number) }
            default: break
            }
        }
        for index in layout.toOnes.indices {
            guard let destination = destinations[layout.toOnes[index].slot] else { continue }
            widths.include(reference: encoder.numbering.reference(destination))
        }
        var byteCount = 0
        for index in variable.indices {
            switch variable[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                byteCount += old.range(at: place.position, row).count
            case .computed(let position): byteCount += encoder.variableByteCount(values[position])
            default: break
            }
        }
        widths.include(end: byteCount)
        return (RowOffsets(widths, layout.extent), byteCount)
    }

    /// Writes the attributes of fixed width and the 64-bit integers over zero bytes.
    private func writeNumbers(
        _ row: RawSpan, _ old: RowOffsets, _ values: [AttributeValue], _ encoder: RowEncoder, _ offsets: RowOffsets,
        _ new: inout MutableRawSpan
    ) {
        for index in fixed.indices {
            let target = fixed[index].target
            switch fixed[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                let start = old.fixedOffset + place.position
                new.write(row.extracting(start..<start + place.width), at: offsets.fixedOffset + target.position)
            case .computed(let position): encoder.encodeFixed(values[position], at: target, offsets, &new)
            default: offsets.setNull(target, &new)
            }
        }
        for index in integers.indices {
            let target = integers[index].target
            switch integers[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                offsets.write(integer: old.integer(at: place.position, row), at: target.position, &new)
            case .computed(let position): encoder.encodeInteger(values[position], at: target, offsets, &new)
            default: offsets.setNull(target, &new)
            }
        }
    }
}
