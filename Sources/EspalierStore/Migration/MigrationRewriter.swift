// Builds rows of the newer model from rows of the older one.
//
// Invariants
//   1. A row is read only after its structure was checked: by `StoreCatalog.check`, or, if its layout was seen before,
//      against that layout.
//   2. A rewriter serves the rows of one hierarchy: a layout that was seen in it belongs to it.

internal import EspalierEngine
internal import EspalierModel

/// Builds the rows of one hierarchy.
struct MigrationRewriter {
    private let run: MigrationRun
    private let catalog: StoreCatalog
    private let pairs: MigrationRun.GatheredPairs
    private let reader: RowReader
    private let encoder: RowEncoder
    /// By number of the older layout.
    private var transfers: [FieldTransfer?] = []
    /// The computed values and the destinations of the row that is built.
    private var values: [AttributeValue] = []
    private var destinations: [ObjectID?] = []
    /// The number of rows that were built.
    private(set) var rowCount = 0

    init(_ run: MigrationRun, _ catalog: StoreCatalog, _ pairs: MigrationRun.GatheredPairs) {
        (self.run, self.catalog, self.pairs) = (run, catalog, pairs)
        reader = RowReader(numbering: run.oldCatalog.numbering)
        encoder = RowEncoder(numbering: catalog.numbering)
    }

    /// The row in the newer model; `nil` if it can remain unchanged.
    ///
    /// - Parameter row: a checked row.
    mutating func rewritten(
        _ row: RawSpan, key: UInt64, _ number: UInt16, _ fate: EntityFate, _ change: EntityChange,
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [UInt8]? {
        guard needsRewriting(row, change) else { return nil }
        let transfer = transfer(for: row, fate.entity, change)
        destinations.removeAll(keepingCapacity: true)
        for related in transfer.related {
            let id = run.oldCatalog.numbering.id(entityNumber: number, key: key)
            if related.former == nil {
                let owner = key &+ fate.offset
                destinations.append(try paired(owner, related.relationship, id, in: transaction))
            } else {
                destinations.append(destination(of: related, row, id))
            }
        }
        var bytes: [UInt8] = []
        let byteCount = write(&bytes, row, reader.offsets(of: row, transfer.shape), key: key, number, transfer)
        assert(byteCount == bytes.count, "\(bytes.count) bytes for a row of \(byteCount)")
        return bytes
    }

    /// Builds a row in `new` if it has to be rewritten, for a walk that rewrites the tree of the hierarchy of `root`.
    ///
    /// - Parameter row: a row that was not checked; one that needs no pairs.
    /// - Throws: `.damaged` for a row without a sound structure, or of another hierarchy.
    mutating func rewrite(
        _ row: RawSpan, key: UInt64, in root: Entity, into new: inout [UInt8]
    ) throws(StoreError) -> RewrittenEntry {
        assert(root.root == root.index, "\(root.name) has no tree of its own")
        // The layout was seen before, and all of its rows are rewritten: only the structure is left to be checked.
        if key != 0, let transfer = knownTransfer(for: row), transfer.rewritesAll,
            let number = transfer.shape.entityNumber, let offsets = reader.soundOffsets(of: row, transfer.shape)
        {
            return .replaced(byteCount: rebuild(&new, row, offsets, key: key, number, transfer))
        }
        let number = try run.oldCatalog.check(row, in: root, key: key)
        guard let fate = run.fates[number], !fate.entity.isAbstract, let change = run.changes[Int(number)] else {
            run.noteRemoval(of: number, key: key)
            return .removed
        }
        guard needsRewriting(row, change) else { return .kept }
        let transfer = transfer(for: row, fate.entity, change)
        let offsets = reader.offsets(of: row, transfer.shape)
        return .replaced(byteCount: rebuild(&new, row, offsets, key: key, number, transfer))
    }

    private func needsRewriting(_ row: RawSpan, _ change: EntityChange) -> Bool {
        change.rewritesAll || change.filledSlots.contains { reader.isNull(at: $0, row) }
    }

    /// Builds a row that needs no pairs; returns its byte count.
    private mutating func rebuild(
        _ new: inout [UInt8], _ row: RawSpan, _ offsets: RowOffsets, key: UInt64, _ number: UInt16,
        _ transfer: FieldTransfer
    ) -> Int {
        destinations.removeAll(keepingCapacity: true)
        for related in transfer.related {
            let id = run.oldCatalog.numbering.id(entityNumber: number, key: key)
            destinations.append(destination(of: related, row, id))
        }
        return write(&new, row, offsets, key: key, number, transfer)
    }

    /// Writes the row whose destinations were found; returns its byte count.
    private mutating func write(
        _ new: inout [UInt8], _ row: RawSpan, _ offsets: RowOffsets, key: UInt64, _ number: UInt16,
        _ transfer: FieldTransfer
    ) -> Int {
        assert(
            destinations.count == transfer.related.count,
            "\(destinations.count) destinations for \(transfer.related.count) relationships of row \(key)")
        rowCount += 1
        values.removeAll(keepingCapacity: true)
        for computed in transfer.computed { values.append(value(computed, row, offsets, key: key, number)) }
        return transfer.write(&new, from: row, offsets, values: values, destinations, encoder)
    }

    // MARK: Layouts

    /// The transfer for the layout of a row, if one was made before.
    private func knownTransfer(for row: RawSpan) -> FieldTransfer? {
        let position = Int(RowOffsets.layoutNumber(row))
        return position < transfers.count ? transfers[position] : nil
    }

    /// The transfer for the layout of a checked row.
    private mutating func transfer(for row: RawSpan, _ entity: Entity, _ change: EntityChange) -> FieldTransfer {
        if let known = knownTransfer(for: row) { return known }
        let transfer = FieldTransfer(
            from: reader.shape(of: row), of: reader.numbering.shapes, to: encoder.currentLayout(entity.index),
            of: entity, change)
        let position = Int(RowOffsets.layoutNumber(row))
        while transfers.count <= position { transfers.append(nil) }
        transfers[position] = transfer
        return transfer
    }

    // MARK: Values

    /// The value of an attribute that is not copied.
    private func value(
        _ computed: FieldTransfer.Computed, _ row: RawSpan, _ offsets: RowOffsets, key: UInt64, _ number: UInt16
    ) -> AttributeValue {
        let value: AttributeValue
        switch computed.source {
        case .none: return .null
        case .fill(let filled): return filled
        case .copy(let former): value = reader.value(at: former, row)
        case .convert(let former, let conversion):
            if let converted = migrated(former, conversion, computed, row, offsets) {
                value = converted
            } else {
                let attribute = computed.attribute
                let declaring = run.match.new.entities[attribute.declaredBy].name
                let id = run.oldCatalog.numbering.id(entityNumber: number, key: key)
                run.failures.add("\(declaring).\(attribute.name)", .inexact(attribute.type), id)
                value = .null
            }
        }
        return value.isNull ? computed.replacement ?? .null : value
    }

    /// The value of the older attribute in slot `former` as one of the newer type; `nil` if that has no equal value.
    private func migrated(
        _ former: Int, _ conversion: AttributeConversion, _ computed: FieldTransfer.Computed, _ row: RawSpan,
        _ offsets: RowOffsets
    ) -> AttributeValue? {
        guard let place = computed.text else { return conversion.value(of: reader.value(at: former, row)) }
        if offsets.isNull(bit: place.bit, row) { return .null }
        let text = row.extracting(offsets.range(at: place.position, row))
        guard let number = DecimalDigits.number(in: text), computed.attribute.type.accepts(.integer(number)) else {
            return nil
        }
        return .integer(number)
    }

    // MARK: Destinations

    /// The destination in the newer model of a reference in an older row.
    private func destination(of related: FieldTransfer.Related, _ row: RawSpan, _ id: ObjectID?) -> ObjectID? {
        let relationship = related.relationship
        assert(!relationship.isToMany, "\(relationship.name) is a list")
        guard let former = related.former, let reference = reader.reference(at: former, row),
            let fate = run.fates[reference.entity]
        else { return nil }
        guard fate.entity.isKind(of: run.match.new.destination(of: relationship)) else {
            run.failures.add(run.subject(relationship), .otherDestination, id)
            return nil
        }
        return catalog.numbering.id(entityNumber: reference.entity, key: reference.key &+ fate.offset)
    }

    /// The one destination among the pairs of an owner.
    private func paired(
        _ owner: UInt64, _ relationship: Relationship, _ id: ObjectID?,
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> ObjectID? {
        assert(!relationship.isToMany, "\(relationship.name) is a list")
        let declared = run.match.new.entities[relationship.declaredBy].relationships[relationship.slot]
        guard let tree = pairs[RelationshipID(declared)] else { return nil }
        var (found, count): (ObjectID?, Int) = (nil, 0)
        var prefix: [UInt8] = []
        prefix.append(bigEndian: owner)
        try transaction.forEach(in: tree, beginningWith: prefix) { key, value in
            if count == 0 {
                found = catalog.numbering.id(entityNumber: value.number(at: 0), key: key.bigEndianKey(at: 8))
            }
            count += 1
            return count < 2
        }
        if count > 1 { run.failures.add(run.subject(relationship), .severalDestinations, id) }
        return found
    }
}
