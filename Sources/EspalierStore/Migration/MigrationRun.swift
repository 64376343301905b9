// Migrates a store from its model to another one, in one transaction.
//
// Order: names of trees; records; pairs of objects from the older rows and links; rows; counters; dropped trees;
// indexes and constraints; derived values; constraints with derived values that were computed; required values.
//
// Invariants
//   1. One transaction: after a crash the file has the older model with its rows, or the newer one with all of its
//      own.
//   2. The memory does not depend on the number of rows: rows and links are read one by one, and changes that do not
//      fit into the cache are written to the log.
//   3. Every row is checked before it is used. Rows that the newer model forbids are collected; then nothing is
//      committed.
//   4. Rows whose values do not change are not written. Their layouts get the new names of their fields; the field of a
//      removed property gets a name that no property can have, so that it never reappears under an old name.
// Not here: whether the losses are allowed (BTreeStore+Migration).

internal import EspalierEngine
internal import EspalierModel

/// One migration while it runs.
final class MigrationRun {
    typealias EntityIndex = ManagedObjectModel.EntityIndex

    let match: ModelMatch
    let schema: StoreSchema
    let origins: PairOrigins
    let oldCatalog: StoreCatalog
    let fates: EntityFates
    let changes: [EntityChange?]
    var trees = MigrationTrees()
    var failures = MigrationFailures()
    var outcome = MigrationPlan.Outcome()
    var units: MigrationUnits
    let notes: MigrationNotes
    /// The trees and numbers of the newer model, once they are recorded.
    private(set) var catalog: StoreCatalog?

    private init(
        _ match: ModelMatch, _ schema: StoreSchema, _ oldCatalog: StoreCatalog, _ fates: EntityFates,
        _ units: MigrationUnits, _ notes: MigrationNotes
    ) {
        (self.units, self.notes) = (units, notes)
        (self.match, self.schema, self.oldCatalog, self.fates) = (match, schema, oldCatalog, fates)
        let origins = PairOrigins(match)
        self.origins = origins
        changes = fates.byNumber.enumerated().map { number, fate in
            guard let fate, let older = oldCatalog.numbering.entity(UInt16(number)) else { return nil }
            return EntityChange(from: older, to: fate.entity, match, origins) { former, relationship in
                Self.movesReferences(former, to: relationship, match, fates, oldCatalog)
            }
        }
        assert(changes.count == oldCatalog.numbering.entities.count, "\(changes.count) changes of entities")
    }

    /// Migrates the store; the transaction is not committed.
    ///
    /// - Returns: the numbers of the writes.
    /// - Throws: `.migrationRefused` if the newer model forbids rows; `.migrationCancelled`.
    static func run(
        _ match: ModelMatch, _ schema: StoreSchema, storeTag: UInt32, _ progress: MigrationProgress?,
        _ notes: MigrationNotes, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> MigrationPlan.Outcome {
        let run = try begin(match, schema, storeTag: storeTag, MigrationUnits(progress), notes, in: &transaction)
        try run.finish(in: transaction)
        return run.outcome
    }

    /// Makes all changes; the rows must be checked by `finish`.
    static func begin(
        _ match: ModelMatch, _ schema: StoreSchema, storeTag: UInt32, _ units: MigrationUnits,
        _ notes: MigrationNotes, in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> MigrationRun {
        let oldCatalog = try StoreCatalog.load(StoreSchema(model: match.old), storeTag: storeTag, from: transaction)
        let fates = try EntityFates(match, oldCatalog, in: transaction)
        let run = MigrationRun(match, schema, oldCatalog, fates, units, notes)
        guard run.origins.obstacles.isEmpty else {
            throw .migrationRefused(path: nil, MigrationRefusal(obstacles: run.origins.obstacles))
        }
        let kept = run.keptGroups()
        try run.nameTrees(keeping: kept, in: &transaction)
        try run.writeRecords(in: &transaction)
        var catalog = try StoreCatalog.load(schema, storeTag: storeTag, from: transaction)
        if try run.fillLayouts(catalog, in: &transaction) {
            catalog = try StoreCatalog.load(schema, storeTag: storeTag, from: transaction)
        }
        run.catalog = catalog
        let derived = run.changedDerivations()
        try run.expectUnits(catalog, keeping: kept, computing: derived, in: transaction)
        notes.part("trees and records")
        let pairs = try run.gatherPairs(catalog, in: &transaction)
        notes.part("relationships", run.outcome.linksWritten)
        try run.changeRows(catalog, pairs, in: &transaction)
        try run.writeCounters(catalog, in: &transaction)
        try run.trees.dropLeaving(counters: catalog.counters, in: &transaction)
        notes.part("counters and trees that are dropped")
        let late = run.constraints(of: derived)
        for position in schema.groups.indices where kept[position] == nil {
            try run.build(position, checkingUnique: !late.contains(position), catalog, in: &transaction)
        }
        try run.computeDerivedValues(of: derived, catalog, in: &transaction)
        for position in late.sorted() { try run.checkUnique(position, catalog, in: transaction) }
        return run
    }

    /// Refuses the migration if rows are forbidden.
    func finish(in transaction: borrowing StoreTransaction<WriteTransaction>) throws(StoreError) {
        assert(catalog != nil, "rows of \(match.new.entities.count) entities are checked that were not changed")
        if let catalog { try checkRequired(catalog, in: transaction) }
        notes.part("required values")
        guard failures.isEmpty else {
            throw .migrationRefused(path: nil, MigrationRefusal(failures: failures.all))
        }
        try units.finish()
    }

    // MARK: Consequences of both models

    /// The entities of the older model that have rows of `entity`'s family, with the fates of these rows.
    func members(of entity: EntityIndex) -> [(entity: Entity, fate: EntityFate?)] {
        Self.members(of: entity, match, fates, oldCatalog)
    }

    private static func members(
        of entity: EntityIndex, _ match: ModelMatch, _ fates: EntityFates, _ oldCatalog: StoreCatalog
    ) -> [(entity: Entity, fate: EntityFate?)] {
        match.old.entities[entity].family.compactMap { index in
            let member = match.old.entities[index]
            return member.isAbstract ? nil : (member, fates[oldCatalog.numbering.entityNumbers[index]])
        }
    }

    /// Whether references of an older relationship change in the newer model, or lead nowhere.
    private static func movesReferences(
        _ former: Relationship, to relationship: Relationship, _ match: ModelMatch, _ fates: EntityFates,
        _ oldCatalog: StoreCatalog
    ) -> Bool {
        let destination = match.new.destination(of: relationship)
        return !members(of: former.destination, match, fates, oldCatalog).allSatisfy { _, fate in
            fate.map { $0.offset == 0 && !$0.entity.isAbstract && $0.entity.isKind(of: destination) } ?? false
        }
    }

    /// Whether references of an older relationship are valid in a newer one without a change.
    func keepsReferences(_ former: Relationship, as relationship: Relationship) -> Bool {
        !Self.movesReferences(former, to: relationship, match, fates, oldCatalog)
    }

    /// Whether the lists of an older relationship are those of a newer one, entry by entry.
    func keepsLinks(_ former: Relationship, as relationship: Relationship) -> Bool {
        guard former.isToMany, former.isOrdered == relationship.isOrdered,
            keepsReferences(former, as: relationship)
        else { return false }
        return members(of: former.declaredBy).allSatisfy { _, fate in
            guard let fate, fate.offset == 0, !fate.entity.isAbstract,
                fate.entity.isKind(of: match.new.entities[relationship.declaredBy])
            else { return false }
            return match.relationships[fate.entity.index][relationship.slot] == former.slot
        }
    }

    /// The older relationship whose lists are those of a newer one, if there is one.
    func keptLinks(of relationship: Relationship) -> Relationship? {
        assert(relationship.isToMany, "\(relationship.name) has no lists")
        let origin = origins[relationship]
        guard origin.reversed.isEmpty, origin.relationships.count == 1 else { return nil }
        return keepsLinks(origin.relationships[0], as: relationship) ? origin.relationships[0] : nil
    }

    /// The ID that a row had before the migration, from its entity number and its new key.
    func formerID(entityNumber: UInt16, key: UInt64) -> ObjectID? {
        oldCatalog.numbering.id(entityNumber: entityNumber, key: key &- (fates[entityNumber]?.offset ?? 0))
    }
}

/// The rows that a newer model forbids: the first of each kind.
struct MigrationFailures {
    private struct Kind: Hashable {
        let subject: String
        let reason: MigrationFailure.Reason
    }

    /// The most objects that a failure names.
    static let objectCountMax = 100

    private var order: [Kind] = []
    private var found: [Kind: (count: Int, objects: [ObjectID], last: ObjectID?)] = [:]

    var isEmpty: Bool { order.isEmpty }

    /// Adds rows; a row that fails several times in succession, as with each object that it leads to, is one.
    mutating func add(_ subject: String, _ reason: MigrationFailure.Reason, _ object: ObjectID?, count: Int = 1) {
        assert(count > 0, "\(count) rows fail")
        let kind = Kind(subject: subject, reason: reason)
        if let object, found[kind]?.last == object { return }
        if found[kind] == nil { order.append(kind) }
        found[kind, default: (0, [], nil)].count += count
        found[kind]?.last = object
        assert(found[kind].map { $0.objects.count < $0.count } ?? false, "more rows are named than were counted")
        guard let object, found[kind]?.objects.count ?? 0 < Self.objectCountMax else { return }
        found[kind]?.objects.append(object)
    }

    var all: [MigrationFailure] {
        assert(order.count == found.count, "\(order.count) of \(found.count) kinds of failures are told")
        return order.compactMap { kind in
            found[kind].map {
                MigrationFailure(
                    subject: kind.subject, reason: kind.reason, rowCount: $0.count, objects: $0.objects)
            }
        }
    }
}
