// Rewrites rows, moves them to other hierarchies, and removes those of removed entities.
//
// Invariants
//   1. A row that stays in place and need not be rewritten is not touched; a hierarchy of such rows is not read.
//   2. The cursor reads rows of the older model only: rows that are moved from another hierarchy have greater keys.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    /// Moves and rewrites the rows of all hierarchies as the newer model requires.
    func changeRows(
        _ catalog: StoreCatalog, _ pairs: GatheredPairs, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        let takenOver = Set(match.hierarchies.filter(\.takesOver).map { $0.sources[0] })
        for root in match.old.entities where root.root == root.index {
            let members = members(of: root.index)
            guard visitsRows(of: root) else {
                try countRemoved(members.filter { $0.fate == nil }.map(\.entity), in: transaction)
                continue
            }
            try changeRows(of: root, isTakenOver: takenOver.contains(root.index), catalog, pairs, in: &transaction)
        }
    }

    /// Whether the rows of an older hierarchy are read one by one.
    func visitsRows(of root: Entity) -> Bool {
        let members = members(of: root.index)
        let isTouched = members.contains { entity, fate in
            let change = changes[Int(oldCatalog.numbering.entityNumbers[entity.index])]
            guard let fate, let change else { return true }
            return !fate.staysInPlace || change.rewritesAll || !change.filledSlots.isEmpty || fate.entity.isAbstract
        }
        // If the newer model has no member of this hierarchy, its trees are dropped as a whole.
        return isTouched && members.contains { $0.fate != nil }
    }

    private func countRemoved(
        _ entities: [Entity], in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        for entity in entities {
            let number = oldCatalog.numbering.entityNumbers[entity.index]
            let rowCount = try transaction.counter(Counter.rows(entityNumber: number), oldCatalog)
            outcome.rowsRemoved.add(clamping: rowCount)
        }
    }

    private func changeRows(
        of root: Entity, isTakenOver: Bool, _ catalog: StoreCatalog, _ pairs: GatheredPairs,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(root.root == root.index, "\(root.name) has no tree of its own")
        let tree = try trees.current(oldCatalog.rowTree(of: root))
        let last = fates.formerLastKeys[root.index] ?? 0
        var rewriter = MigrationRewriter(self, catalog, pairs)
        defer { notes.part("rows of \(root.name)", rewriter.rowCount) }
        var pending = PendingPuts()
        var cursor = try transaction.cursor(over: tree)
        while try cursor.next() {
            try units.advance()
            let key = try cursor.key
            if key > last {
                guard !isTakenOver else { break }
                throw .damaged(entity: root.name, key: key, reason: "the key was never allocated")
            }
            var (number, bytes): (UInt16, [UInt8]?) = (0, nil)
            try cursor.withValue { row throws(StoreError) in
                number = try oldCatalog.check(row, in: root, key: key)
                guard let fate = fates[number], !fate.entity.isAbstract, let change = changes[Int(number)] else {
                    return
                }
                bytes = try rewriter.rewritten(row, key: key, number, fate, change, in: transaction)
                if bytes == nil, !fate.staysInPlace { bytes = row.copy(0..<row.byteCount) }
            }
            guard let fate = fates[number], !fate.entity.isAbstract else {
                if let fate = fates[number] {
                    failures.add(
                        fate.entity.name, .abstractEntity, oldCatalog.numbering.id(entityNumber: number, key: key))
                }
                outcome.rowsRemoved += 1
                if isTakenOver { try transaction.remove(key, from: tree) }
                continue
            }
            if !fate.staysInPlace {
                outcome.rowsMoved += 1
                if isTakenOver { try transaction.remove(key, from: tree) }
            }
            guard let bytes else { continue }
            assert(!fate.entity.isAbstract && !bytes.isEmpty, "a row of \(fate.entity.name) has \(bytes.count) bytes")
            try pending.put(bytes, for: key &+ fate.offset, in: catalog.rowTree(of: fate.entity), of: &transaction)
        }
        try pending.write(to: &transaction)
        outcome.rowsWritten += rewriter.rowCount
    }
}

/// Rows that were built and are not written yet: a cursor finds its place anew after each write to its tree.
private struct PendingPuts {
    private static let byteCountMax = 64 << 10

    private var rows: [(bytes: [UInt8], key: UInt64, tree: Tree<UInt64>)] = []
    private var byteCount = 0

    mutating func put(
        _ bytes: [UInt8], for key: UInt64, in tree: Tree<UInt64>,
        of transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        rows.append((bytes, key, tree))
        byteCount += bytes.count
        if byteCount >= Self.byteCountMax { try write(to: &transaction) }
    }

    mutating func write(to transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        for row in rows { try transaction.put(row.bytes, for: row.key, in: row.tree) }
        rows.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}

/// Builds rows of the newer model from rows of the older one.
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
    mutating func rewritten(
        _ row: RawSpan, key: UInt64, _ number: UInt16, _ fate: EntityFate, _ change: EntityChange,
        in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> [UInt8]? {
        guard change.rewritesAll || change.filledSlots.contains(where: { reader.isNull(at: $0, row) }) else {
            return nil
        }
        rowCount += 1
        let id = run.oldCatalog.numbering.id(entityNumber: number, key: key)
        let shape = reader.shape(of: row)
        let transfer = transfer(of: RowOffsets.layoutNumber(row), shape, fate.entity, change)
        values.removeAll(keepingCapacity: true)
        for index in transfer.computed.indices { values.append(value(transfer.computed[index], row, id)) }
        destinations.removeAll(keepingCapacity: true)
        for (slot, destination) in change.destinations.enumerated() {
            let relationship = fate.entity.relationships[slot]
            switch destination {
            case .none: destinations.append(nil)
            case .field(let former): destinations.append(self.destination(at: former, row, of: relationship, id))
            case .pairs:
                destinations.append(try paired(key &+ fate.offset, relationship, id, in: transaction))
            }
        }
        assert(destinations.count == fate.entity.relationships.count, "\(destinations.count) destinations")
        return transfer.newRow(from: row, reader.offsets(of: row, shape), values: values, destinations, encoder)
    }

    private mutating func transfer(
        of layoutNumber: UInt16, _ shape: RowLayout.Shape, _ entity: Entity, _ change: EntityChange
    ) -> FieldTransfer {
        let position = Int(layoutNumber)
        if position < transfers.count, let known = transfers[position] { return known }
        let transfer = FieldTransfer(
            from: shape, of: reader.numbering.shapes, to: encoder.currentLayout(entity.index), of: entity, change)
        while transfers.count <= position { transfers.append(nil) }
        transfers[position] = transfer
        return transfer
    }

    /// The value of an attribute that is not copied.
    private func value(_ computed: FieldTransfer.Computed, _ row: RawSpan, _ id: ObjectID?) -> AttributeValue {
        let value: AttributeValue
        switch computed.source {
        case .none: return .null
        case .fill(let filled): return filled
        case .copy(let former): value = reader.value(at: former, row)
        case .convert(let former):
            let old = reader.value(at: former, row)
            let attribute = computed.attribute
            if let migrated = attribute.description.migrated(old) {
                value = migrated
            } else {
                let declaring = run.match.new.entities[attribute.declaredBy].name
                run.failures.add("\(declaring).\(attribute.name)", .inexact(attribute.type), id)
                value = .null
            }
        }
        return value.isNull ? computed.replacement ?? .null : value
    }

    /// The destination in the newer model of a reference in an older row.
    private func destination(
        at former: Int, _ row: RawSpan, of relationship: Relationship, _ id: ObjectID?
    ) -> ObjectID? {
        assert(!relationship.isToMany, "\(relationship.name) is a list")
        guard let reference = reader.reference(at: former, row), let fate = run.fates[reference.entity] else {
            return nil
        }
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
