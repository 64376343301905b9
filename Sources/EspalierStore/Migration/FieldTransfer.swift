// Copies the fields that a migration does not change, byte for byte, from rows of one layout to rows of another one,
// and writes the texts of integers without a string between.
//
// Invariants
//   1. A field that is copied has the same content in both layouts, so its bytes mean the same. Bytes that a check of
//      the content would report are copied, too: the check reports them afterwards. Entity numbers do not change, so
//      neither does a reference to an object that keeps its key.
//   2. For the same values the new row is the one that `RowEncoder` makes.
// The reason for copying bytes, with its number, is in Decisions, "Fields that a migration copies".

internal import EspalierEngine
internal import EspalierModel

/// The sources of the fields in new rows of an entity, for old rows of one layout.
final class FieldTransfer {
    /// The source of a field.
    private enum Source {
        case null
        /// The field at this place of the old row.
        case field(RowLayout.Place)
        /// The text of the integer in the field at this place of the old row.
        case digits(RowLayout.Place)
        /// The computed value, or the destination that was found, of this position.
        case computed(Int)
    }

    private struct Field {
        let source: Source
        let target: RowLayout.Place
    }

    /// An attribute whose value is not copied.
    final class Computed {
        let slot: Int
        let source: EntityChange.Source
        /// The value that replaces null.
        let replacement: AttributeValue?
        let attribute: Attribute
        /// The place of the text, in old rows, of which the integer is made.
        let text: RowLayout.Place?

        fileprivate init(
            _ attribute: Attribute, _ source: EntityChange.Source, _ replacement: AttributeValue?,
            text: RowLayout.Place?
        ) {
            slot = attribute.slot
            (self.attribute, self.source, self.replacement, self.text) = (attribute, source, replacement, text)
        }
    }

    /// A to-one relationship whose destination is not copied.
    struct Related {
        let relationship: Relationship
        /// The slot of the older entity that has the reference; `nil` if pairs were gathered.
        let former: Int?
    }

    /// The shape of the old rows.
    let shape: RowLayout.Shape
    /// Whether all rows of the layout are rewritten.
    let rewritesAll: Bool
    let computed: [Computed]
    let related: [Related]
    private let layout: RowLayout
    private let fixed: [Field]
    private let integers: [Field]
    private let references: [Field]
    private let variable: [Field]

    /// - Parameters:
    ///   - shape: the shape of the old rows in `shapes`.
    ///   - layout: the layout of new rows of `entity`.
    init(
        from shape: RowLayout.Shape, of shapes: RowLayout.Shapes, to layout: RowLayout, of entity: Entity,
        _ change: EntityChange
    ) {
        var (computed, related): ([Computed], [Related]) = ([], [])
        func field(_ slot: Int, _ target: RowLayout.Place) -> Field {
            var text: RowLayout.Place?
            switch change.sources[slot] {
            case .none where change.defaults[slot] == nil: return Field(source: .null, target: target)
            case .copy(let former) where change.defaults[slot] == nil:
                if let place = shapes.place(ofAttribute: former, shape), place.content == target.content {
                    return Field(source: .field(place), target: target)
                }
            case .convert(let former, _):
                guard let place = shapes.place(ofAttribute: former, shape) else { break }
                let isText = (old: place.content == .attribute(.string), new: target.content == .attribute(.string))
                if place.content.isInteger, isText.new, change.defaults[slot] == nil {
                    return Field(source: .digits(place), target: target)
                }
                if isText.old, target.content.isInteger { text = place }
            default: break
            }
            computed.append(
                Computed(entity.attributes[slot], change.sources[slot], change.defaults[slot], text: text))
            return Field(source: .computed(computed.count - 1), target: target)
        }
        func reference(_ slot: Int, _ target: RowLayout.Place) -> Field {
            let destination = change.destinations[slot]
            switch destination {
            case .none: return Field(source: .null, target: target)
            case .field(let former):
                let place = shapes.place(ofRelationship: former, shape)
                return Field(source: place.map { Source.field($0) } ?? .null, target: target)
            case .moved, .pairs:
                related.append(Related(relationship: entity.relationships[slot], former: destination.slot))
                return Field(source: .computed(related.count - 1), target: target)
            }
        }
        fixed = layout.fixedAttributes.map { field($0.slot, $0.place) }
        integers = layout.integerAttributes.map { field($0.slot, $0.place) }
        references = layout.toOnes.map { reference($0.slot, $0.place) }
        variable = layout.variableAttributes.map { field($0.slot, $0.place) }
        (self.shape, rewritesAll) = (shape, change.rewritesAll)
        self.layout = layout
        self.computed = computed
        self.related = related
        assert(
            computed.count <= fixed.count + integers.count + variable.count,
            "\(computed.count) values are computed for the attributes of \(entity.name)")
    }

    /// Writes the new row for an old one over the first bytes of `new`, which is lengthened if they are too few.
    ///
    /// - Parameters:
    ///   - row: an old row of the layout, checked.
    ///   - old: its offsets.
    ///   - values: a value for each element of `computed`.
    ///   - destinations: a destination for each element of `related`.
    /// - Returns: the byte count of the new row.
    /// - Complexity: O(fields + bytes).
    func write(
        _ new: inout [UInt8], from row: RawSpan, _ old: RowOffsets, values: [AttributeValue],
        _ destinations: [ObjectID?], _ encoder: RowEncoder
    ) -> Int {
        assert(values.count == computed.count, "\(values.count) of \(computed.count) computed values")
        assert(destinations.count == related.count, "\(destinations.count) of \(related.count) destinations")
        let (offsets, variableByteCount) = measure(row, old, values, destinations, encoder)
        let byteCount = offsets.variableOffset + variableByteCount
        if new.count < byteCount { new += [UInt8](repeating: 0, count: byteCount - new.count) }
        new.withMutableRawSpan { new in
            offsets.begin(&new, layout, version: RowReader.version(of: row))
            writeNumbers(row, old, values, encoder, offsets, &new)
            writeReferences(row, old, destinations, encoder, offsets, &new)
            var end = offsets.variableOffset
            for index in variable.indices {
                let target = variable[index].target
                switch variable[index].source {
                case .field(let place) where !old.isNull(bit: place.bit, row):
                    let range = old.range(at: place.position, row)
                    new.write(row.extracting(range), at: end)
                    end += range.count
                case .digits(let place) where !old.isNull(bit: place.bit, row):
                    end += DecimalDigits.write(integer(at: place, row, old), to: &new, at: end)
                case .computed(let position) where !values[position].isNull:
                    end += encoder.encodeVariable(values[position], to: &new, at: end)
                default: offsets.setNull(target, &new)
                }
                offsets.write(end: end - offsets.variableOffset, at: target.position, &new)
            }
            assert(end == byteCount, "the row ends at \(end) of \(byteCount) measured bytes")
        }
        return byteCount
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
        for index in references.indices {
            switch references[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                widths.include(reference: old.reference(at: place.position, row))
            case .computed(let position):
                guard let destination = destinations[position] else { continue }
                widths.include(reference: encoder.numbering.reference(destination))
            default: break
            }
        }
        var byteCount = 0
        for index in variable.indices {
            switch variable[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                byteCount += old.range(at: place.position, row).count
            case .digits(let place) where !old.isNull(bit: place.bit, row):
                byteCount += DecimalDigits.byteCount(of: integer(at: place, row, old))
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

    /// Writes the references over zero bytes.
    private func writeReferences(
        _ row: RawSpan, _ old: RowOffsets, _ destinations: [ObjectID?], _ encoder: RowEncoder, _ offsets: RowOffsets,
        _ new: inout MutableRawSpan
    ) {
        for index in references.indices {
            let target = references[index].target
            switch references[index].source {
            case .field(let place) where !old.isNull(bit: place.bit, row):
                offsets.write(reference: old.reference(at: place.position, row), at: target.position, &new)
            case .computed(let position): encoder.encode(destinations[position], at: target, offsets, &new)
            default: offsets.setNull(target, &new)
            }
        }
    }

    /// The integer in a field of an old row.
    private func integer(at place: RowLayout.Place, _ row: RawSpan, _ old: RowOffsets) -> Int64 {
        assert(place.content.isInteger, "field \(place.bit) is no integer")
        switch place.width {
        case 0: return old.integer(at: place.position, row)
        case 2: return Int64(row.number(at: old.fixedOffset + place.position, as: Int16.self))
        default: return Int64(row.number(at: old.fixedOffset + place.position, as: Int32.self))
        }
    }
}

extension RowLayout.Content {
    /// Whether the field has an integer.
    fileprivate var isInteger: Bool {
        switch self {
        case .attribute(.integer16), .attribute(.integer32), .attribute(.integer64): true
        case .attribute, .reference: false
        }
    }
}
