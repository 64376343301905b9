// Sections 6 and 8 of the document of object stores: all rows of a store, one after the other, and what they ask of
// other trees. Rules 112 to 118 and, for long values, 122.
//
// Invariants
//   1. Memory grows with the rows only in `KeySet`s: about a bit for each, and some bytes for each cut unique value.

/// What the rows of one hierarchy came to.
struct HierarchyState {
    /// Whether all rows could be read.
    var isWhole = false
    var greatestKey: UInt64 = 0
}

/// The check of rows: a class, because every entry of other trees asks it too.
final class RowCheck {
    /// References that are kept until all rows were seen; beyond that the rows are read once more.
    private static let pendingCountMax = 1 << 17
    /// What the cached plans may hold of groups, fields and references together.
    private static let planSizeMax = 1 << 18

    let schema: ObjectSchema
    /// By index of the root.
    var hierarchies: [Int: HierarchyState] = [:]
    /// By entity number.
    private(set) var keys: [UInt16: KeySet] = [:]
    private(set) var counts: [UInt16: UInt64] = [:]
    /// Cut entries by position of the group.
    private(set) var cutCounts: [Int: UInt64] = [:]
    /// By position of the group: the whole codes of values that were cut and must be unique, and the row.
    private(set) var cutValues: [Int: [(hash: ContentHash, key: UInt64)]] = [:]
    /// Whether references have to be looked for in the rows once more.
    private(set) var mustReadAgain = false
    private var pending: [RowReference] = []
    private var plans: [UInt16: RowPlan] = [:]
    private var planSize = 0
    // Reused for every row and entry.
    private var entry: [UInt8] = []

    init(_ schema: ObjectSchema) { self.schema = schema }

    // MARK: One row

    /// The row that these bytes are in the tree of a hierarchy.
    func row(_ bytes: [UInt8], key: UInt64, root: Int) throws(Breach) -> RowBytes {
        guard key > 0 else { throw Breach(112, 0, "a row with the primary key 0") }
        guard let number = RowBytes.layoutNumber(bytes, format: schema.format), let plan = plan(number),
            schema.model.entities[plan.entity].root == root,
            !schema.model.entities[plan.entity].description.isAbstract
        else { throw Breach(113, 1, "no layout of an entity that can be here") }
        return try RowBytes(bytes, plan, format: schema.format)
    }

    /// The plan of a layout.
    private func plan(_ number: UInt16) -> RowPlan? {
        if let plan = plans[number] { return plan }
        guard Int(number) < schema.layouts.count, let layout = schema.layouts[Int(number)],
            let entity = schema.entity(layout.entityNumber)
        else { return nil }
        let plan = RowPlan(number, layout, entity: entity, schema)
        planSize += plan.fields.count + plan.groups.count + plan.references.count
        if planSize > Self.planSizeMax { (plans, planSize) = ([:], 0) }
        plans[number] = plan
        return plan
    }

    /// Notes that a row is there; reports references that cannot be.
    func note(_ row: RowBytes, key: UInt64, _ report: (Breach) -> Void) {
        keys[row.plan.entityNumber, default: KeySet()].append(key)
        counts[row.plan.entityNumber, default: 0] += 1
        for reference in row.plan.references where !row.isNull(reference.field) {
            let found = row.reference(reference.field)
            guard found.key > 0, schema.isConcrete(found.entityNumber, kindOf: reference.destination) else {
                report(
                    Breach(
                        117, row.range(reference.field).lowerBound,
                        "\(row.plan.fields[reference.field].name) leads to key \(found.key) of entity number "
                            + "\(found.entityNumber), where it must lead to "
                            + schema.model.entities[reference.destination].name))
                continue
            }
            remember(found)
        }
    }

    /// Calls `body` with each entry that a row must have in the tree of a group: key, then value.
    func forEachEntry(
        of row: RowBytes, key: UInt64, _ body: (_ group: Int, _ entry: [UInt8]) -> Void
    ) {
        for use in row.plan.groups {
            _ = encode(use, row, key)
            body(use.number, entry)
        }
    }

    /// The same once for each row of the store: counts what is cut, and keeps what must be unique.
    func noteEntries(of row: RowBytes, key: UInt64, _ body: (_ group: Int, _ entry: [UInt8]) -> Void) {
        for use in row.plan.groups {
            let cut = encode(use, row, key)
            body(use.number, entry)
            guard let cut else { continue }
            cutCounts[use.number, default: 0] += 1
            if schema.groups[use.number].isUnique, !cut.hasNull {
                cutValues[use.number, default: []].append((cut.whole, key))
            }
        }
    }

    /// Makes `entry` that of a row; what was cut, if something was.
    private func encode(
        _ use: RowPlan.Group, _ row: RowBytes, _ key: UInt64
    ) -> (whole: ContentHash, hasNull: Bool)? {
        entry.removeAll(keepingCapacity: true)
        var hasNull = false
        for (element, field) in zip(schema.groups[use.number].elements, use.fields)
        where KeyCode.append(field, of: row, isAscending: element.isAscending, to: &entry) {
            hasNull = true
        }
        var cut: (whole: ContentHash, hasNull: Bool)?
        if entry.count > KeyCode.byteCountMax {
            cut = (ContentHash(entry), hasNull)
            entry.removeLast(entry.count - KeyCode.byteCountMax)
        }
        KeyCode.append(key, to: &entry)
        entry.append(UInt8(truncatingIfNeeded: row.plan.entityNumber))
        entry.append(UInt8(row.plan.entityNumber >> 8))
        entry.append(cut == nil ? 0 : 1)
        return cut
    }

    /// Calls `body` with each link that a row must have in a list: the list, and the hash of the link.
    func forEachLink(
        of row: RowBytes, key: UInt64, _ body: (_ list: Int, _ owner: UInt64, _ hash: ContentHash) -> Void
    ) {
        for reference in row.plan.references where !row.isNull(reference.field) {
            guard let list = reference.list else { continue }
            let owner = row.reference(reference.field).key
            body(list, owner, ContentHash(owner, key, row.plan.entityNumber))
        }
    }

    // MARK: References

    /// Whether a row is there; a hierarchy that could not be read as a whole may have any.
    func exists(_ reference: RowReference) -> Bool {
        guard let entity = schema.entity(reference.entityNumber) else { return false }
        if hierarchies[schema.model.entities[entity].root]?.isWhole != true { return true }
        return keys[reference.entityNumber]?.contains(reference.key) == true
    }

    private func remember(_ reference: RowReference) {
        guard !mustReadAgain, pending.last != reference else { return }
        pending.append(reference)
        guard pending.count == Self.pendingCountMax else { return }
        pending = Array(Set(pending))
        mustReadAgain = pending.count > Self.pendingCountMax / 2
        if mustReadAgain { pending = [] }
    }

    /// Ends the reading of all rows.
    func finish() {
        for number in keys.keys { keys[number]?.finish() }
        if pending.contains(where: { !exists($0) }) { mustReadAgain = true }
        pending = []
    }

    /// Reports the references of a row that lead nowhere.
    func reportDangling(_ row: RowBytes, _ report: (Breach) -> Void) {
        for reference in row.plan.references where !row.isNull(reference.field) {
            let found = row.reference(reference.field)
            // What cannot be was reported when the row was read.
            guard found.key > 0, schema.isConcrete(found.entityNumber, kindOf: reference.destination), !exists(found)
            else { continue }
            let entity = schema.entity(found.entityNumber).map { schema.model.entities[$0].name } ?? ""
            report(
                Breach(
                    118, row.range(reference.field).lowerBound,
                    "\(row.plan.fields[reference.field].name) leads to \(entity) \(found.key), which does not exist"))
        }
    }

    /// Rows that share whole values which must be unique, in pairs.
    func sharedCutValues(of group: Int) -> [(key: UInt64, other: UInt64)] {
        let sorted = (cutValues[group] ?? []).sorted {
            ($0.hash.low, $0.hash.high, $0.key) < ($1.hash.low, $1.hash.high, $1.key)
        }
        return zip(sorted, sorted.dropFirst()).filter { $0.hash == $1.hash }.map { ($1.key, $0.key) }
    }
}
