// Writes the rows of a source into a new store, hierarchy by hierarchy and batch by batch.
//
// Steps
//   1. All rows, with those destinations of to-one relationships that are written by then: hierarchies to which others
//      lead come first, and within a hierarchy lower keys.
//   2. The other destinations, which lead forward.
//   3. The members of ordered relationships, and of those that have a table of their own (ObjectWriter+Members).
//
// Invariants
//   1. Rows keep their primary keys, and the store gives none of these to other rows.
//   2. Memory: two batches, of which one is being saved, and the runs of keys (`KeyRuns`).
//   3. Of a one-to-one relationship the end that is written later sets both ends, as stores do.

import EspalierModel
import EspalierStore
import FoundationEssentials

/// How much an import keeps in memory.
package struct ImportLimits: Sendable {
    /// The most rows of the first batches, and the members after which a batch ends.
    let rowCount: Int
    /// The most rows of any batch.
    let rowCountMax: Int
    /// The number of bytes of values and to-one destinations after which a batch ends.
    let byteCount: Int
    /// The most members of a relationship that are collected before they are written.
    let memberCount: Int

    package init(
        rowCount: Int = 8_192, rowCountMax: Int = 65_536, byteCount: Int = 8 << 20, memberCount: Int = 500_000
    ) {
        (self.rowCount, self.rowCountMax) = (rowCount, max(rowCount, rowCountMax))
        (self.byteCount, self.memberCount) = (byteCount, memberCount)
    }

    /// The most rows of a batch after `written` rows: an eighth of them, from `rowCount` to `rowCountMax`.
    ///
    /// A batch changes pages in all parts of an index, however few entries it adds to each. Batches that grow with the
    /// store change each page fewer times.
    func batchRowCount(after written: Int) -> Int { min(max(rowCount, written / 8), rowCountMax) }
}

/// An import while it runs.
final class ObjectWriter {
    let limits: ImportLimits
    let source: any ImportSource
    let store: BTreeStore
    let model: ManagedObjectModel
    private let storeTag: UInt32
    private let progress: ((Int) -> Bool)?
    /// The topmost entities, in the order in which their rows are written.
    private let order: [Entity]
    /// By index of the topmost entity: its position in `order`.
    private var ranks: [Int]
    private var runs: [KeyRuns]
    /// By index of the topmost entity: whether rows have destinations that are written later.
    private var leadsForward: [Bool]
    private let saves: SaveQueue
    private var batch = SaveRequest()
    private var batchByteCount = 0
    private var rowCount = 0
    /// By index of the entity: the number of its rows that are written.
    private var objectCounts: [Int]
    var report: CoreDataImportReport

    init(
        _ source: any ImportSource, _ store: BTreeStore, _ limits: ImportLimits, _ report: CoreDataImportReport,
        _ progress: ((Int) -> Bool)?
    ) {
        self.limits = limits
        (self.source, self.store, self.report, self.progress) = (source, store, report, progress)
        (model, saves) = (store.model, SaveQueue(store))
        storeTag = Interned.stores.tag(of: store.identifier)
        order = Self.order(store.model)
        ranks = Array(repeating: 0, count: store.model.entities.count)
        for (rank, root) in order.enumerated() { ranks[root.index] = rank }
        runs = Array(repeating: KeyRuns(), count: store.model.entities.count)
        leadsForward = Array(repeating: false, count: store.model.entities.count)
        objectCounts = Array(repeating: 0, count: store.model.entities.count)
    }

    /// The topmost entities so that few to-one relationships lead forward.
    private static func order(_ model: ManagedObjectModel) -> [Entity] {
        var left = model.roots
        var order: [Entity] = []
        while !left.isEmpty {
            let waiting = Set(left.map(\.index))
            let place = left.firstIndex { root in
                root.family.allSatisfy { index in
                    model.entities[index].relationships.allSatisfy { relationship in
                        let target = model.destinationRoot(of: relationship).index
                        return relationship.isToMany || target == root.index || !waiting.contains(target)
                    }
                }
            }
            order.append(left.remove(at: place ?? 0))
        }
        return order
    }

    /// Writes everything.
    func run() throws(CoreDataImportError) -> CoreDataImportReport {
        do throws(CoreDataImportError) {
            for root in order { try writeRows(of: root) }
        } catch {
            // The store may be closed only after the last save has ended; the first failure is reported.
            _ = try? saves.finish()
            throw error
        }
        note(try storing { () throws(StoreError) in try saves.finish() }, &report)
        for entity in model.entities where !entity.isAbstract {
            report.objectCounts[entity.name] = objectCounts[entity.index]
        }
        for root in order where leadsForward[root.index] { try writeForwardDestinations(of: root) }
        for root in order { try checkOneToOnes(of: root) }
        for relationship in model.declaredRelationships where relationship.isToMany {
            try writeMembers(of: relationship)
        }
        if !source.metadata.isEmpty { try storing { () throws(StoreError) in try store.setMetadata(source.metadata) } }
        return report
    }

    func storing<R>(_ body: () throws(StoreError) -> R) throws(CoreDataImportError) -> R {
        do throws(StoreError) { return try body() } catch { throw .store(error) }
    }

    func advance(by count: Int) throws(CoreDataImportError) {
        rowCount += count
        if let progress, !progress(rowCount) { throw .cancelled }
    }

    // MARK: Rows

    private func writeRows(of root: Entity) throws(CoreDataImportError) {
        let lastKey = source.lastKey(of: root)
        var reserved: UInt64 = 0
        try source.forEachRow(of: root, withValues: true, &report) { row, report throws(CoreDataImportError) in
            guard runs[root.index].append(row.key, row.entity.index) else {
                return report.add(.row, row.entity.name, key: Int64(row.key), "", "another row has the same key")
            }
            if row.key > reserved {
                reserved = max(lastKey, row.key + UInt64(limits.rowCount))
                try storing { () throws(StoreError) in try store.reserveKeys(upTo: reserved, for: root) }
            }
            var destinations: [ObjectID?] = []
            destinations.reserveCapacity(row.destinations.count)
            for (slot, key) in row.destinations.enumerated() {
                let relationship = row.entity.relationships[slot]
                if key == 0 {
                    destinations.append(nil)
                } else if isForward(relationship, key, from: row.key, of: root) {
                    leadsForward[root.index] = true
                    destinations.append(nil)
                } else {
                    destinations.append(destination(relationship, key, of: row, &report))
                }
            }
            let id = ObjectID(storeTag: storeTag, entityTag: row.entity.tag, key: row.key)
            batchByteCount += row.values.count * MemoryLayout<AttributeValue>.stride
            batchByteCount += destinations.count * MemoryLayout<ObjectID?>.stride
            batch.insertions.append(.init(id: id, values: row.values, destinations: destinations))
            objectCounts[row.entity.index] += 1
            for value in row.values { batchByteCount += value.contentByteCount }
            if batch.insertions.count >= limits.batchRowCount(after: rowCount) || batchByteCount >= limits.byteCount {
                try saveBatch(&report)
            }
        }
        try saveBatch(&report)
        try storing { () throws(StoreError) in try store.reserveKeys(upTo: lastKey, for: root) }
    }

    /// Whether a destination is written after its owner.
    private func isForward(_ relationship: Relationship, _ key: UInt64, from owner: UInt64, of root: Entity) -> Bool {
        let target = model.destinationRoot(of: relationship)
        return target === root ? key > owner : ranks[target.index] > ranks[root.index]
    }

    /// The ID of a destination; reports one that is not there.
    private func destination(
        _ relationship: Relationship, _ key: UInt64, of row: SourceRow, _ report: inout CoreDataImportReport
    ) -> ObjectID? {
        guard let id = id(ofKey: key, for: relationship) else {
            report.add(
                .destination, row.entity.name, key: Int64(row.key), relationship.name,
                "no \(model.destination(of: relationship).name) has the key \(key)")
            return nil
        }
        report.destinationCount += 1
        return id
    }

    /// The ID of the row with a key to which a relationship may lead; `nil` if there is none.
    func id(ofKey key: UInt64, for relationship: Relationship) -> ObjectID? {
        let target = model.destination(of: relationship)
        return id(ofKey: key, of: target)
    }

    /// The ID of the row of an entity, or one of its subentities, with a key; `nil` if there is none.
    func id(ofKey key: UInt64, of target: Entity) -> ObjectID? {
        guard let index = runs[target.root].entity(of: key), model.entities[index].isKind(of: target) else {
            return nil
        }
        return ObjectID(storeTag: storeTag, entityTag: model.entities[index].tag, key: key)
    }

    /// Writes what was collected.
    private func saveBatch(_ report: inout CoreDataImportReport) throws(CoreDataImportError) {
        guard !batch.insertions.isEmpty else { return }
        var request = SaveRequest()
        swap(&request, &batch)
        batchByteCount = 0
        let rowCount = request.insertions.count
        note(try storing { () throws(StoreError) in try saves.save(request) }, &report)
        try advance(by: rowCount)
    }

    /// Reports values that were left out, because other rows have them.
    private func note(_ shared: [SharedValue], _ report: inout CoreDataImportReport) {
        for value in shared {
            if case .relationship(let slot) = value.property {
                // `checkOneToOnes` reports a one-to-one relationship that does not lead where it should.
                guard let entity = model.entity(named: value.object.entityName),
                    !oneToOneSlots(of: entity).contains(slot)
                else { continue }
                report.destinationCount -= 1
            }
            report.add(
                .constraint, value.object.entityName, key: Int64(clamping: value.object.key), value.name, value.message)
        }
    }

    // MARK: Destinations that lead forward

    private func writeForwardDestinations(of root: Entity) throws(CoreDataImportError) {
        var updates: [SaveRequest.Update] = []
        try source.forEachRow(of: root, withValues: false, &report) { row, report throws(CoreDataImportError) in
            guard self.id(ofKey: row.key, of: row.entity) != nil else { return }
            var destinations: [(slot: Int, destination: ObjectID?)] = []
            for (slot, key) in row.destinations.enumerated() where key != 0 {
                let relationship = row.entity.relationships[slot]
                guard isForward(relationship, key, from: row.key, of: root),
                    let id = destination(relationship, key, of: row, &report)
                else { continue }
                destinations.append((slot, id))
            }
            guard !destinations.isEmpty else { return }
            let id = ObjectID(storeTag: storeTag, entityTag: row.entity.tag, key: row.key)
            updates.append(.init(id: id, expectedVersion: 0, destinations: destinations))
            guard updates.count >= limits.rowCount else { return }
            try save(updates, &report)
            updates = []
        }
        try save(updates, &report)
    }

    /// Sets destinations of rows at whatever version they are.
    private func save(
        _ updates: [SaveRequest.Update], _ report: inout CoreDataImportReport
    ) throws(CoreDataImportError) {
        guard !updates.isEmpty else { return }
        let rows = try rows(updates.map(\.id))
        var request = SaveRequest()
        for (update, row) in zip(updates, rows) {
            guard let row, let entity = model.entity(named: update.id.entityName) else { continue }
            var update = update
            update.expectedVersion = row.version
            var destinations: [(slot: Int, destination: ObjectID?)] = []
            for (slot, destination) in update.destinations {
                guard let inverse = model.inverse(of: entity.relationships[slot]), !inverse.isToMany, let destination
                else {
                    destinations.append((slot, destination))
                    continue
                }
                // The other end, which was written later, has set this one, unless both ends contradict each other:
                // then a present value is not replaced.
                guard row.destination(at: slot) == nil,
                    try self.rows([destination])[0]?.destination(at: inverse.slot) == nil
                else { continue }
                destinations.append((slot, destination))
            }
            update.destinations = destinations
            if !destinations.isEmpty { request.updates.append(update) }
        }
        guard !request.isEmpty else { return }
        note(try storing { () throws(StoreError) in try store.saveUnshared(request) }, &report)
        try advance(by: 0)
    }

    private func rows(_ ids: [ObjectID]) throws(CoreDataImportError) -> [ObjectSnapshot?] {
        try storing { () throws(StoreError) in try store.snapshot().snapshots(of: ids) }
    }

    // MARK: One-to-one relationships

    /// The slots of the one-to-one relationships of an entity.
    private func oneToOneSlots(of entity: Entity) -> [Int] {
        entity.relationships.filter { !$0.isToMany && model.inverse(of: $0)?.isToMany == false }.map(\.slot)
    }

    /// Reports each row whose one-to-one relationship leads elsewhere than the source says, because the source
    /// contradicts itself.
    private func checkOneToOnes(of root: Entity) throws(CoreDataImportError) {
        guard root.family.contains(where: { !oneToOneSlots(of: model.entities[$0]).isEmpty }) else { return }
        var expected: [(id: ObjectID, destinations: [UInt64])] = []
        func compare(_ report: inout CoreDataImportReport) throws(CoreDataImportError) {
            for (row, (id, destinations)) in zip(try rows(expected.map(\.id)), expected) {
                guard let row, let entity = model.entity(named: id.entityName) else { continue }
                for slot in oneToOneSlots(of: entity) where destinations[slot] != 0 {
                    let relationship = entity.relationships[slot]
                    guard let wanted = self.id(ofKey: destinations[slot], for: relationship) else { continue }
                    guard row.destination(at: slot) != wanted else { continue }
                    report.destinationCount -= 1
                    report.add(
                        .inverse, entity.name, key: Int64(clamping: id.key), relationship.name,
                        "the row leads to \(wanted.key), but another row leads there too")
                }
            }
            expected = []
        }
        try source.forEachRow(of: root, withValues: false, &report) { row, report throws(CoreDataImportError) in
            guard let id = self.id(ofKey: row.key, of: row.entity) else { return }
            expected.append((id, row.destinations))
            if expected.count >= limits.rowCount { try compare(&report) }
        }
        try compare(&report)
    }
}

extension AttributeValue {
    /// The number of bytes that a value of any length has beside its own; 0 for the others.
    fileprivate var contentByteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .binary(let data), .transformable(let data): data.count
        case .uri(let uri): uri.absoluteString.utf8.count
        // An import reads no composites.
        case .composite, .null, .integer, .decimal, .double, .float, .boolean, .date, .uuid, .objectID: 0
        }
    }
}
