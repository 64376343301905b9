// ObjectFormat.md, sections 6 and 8: reads all rows of a store in sequence, and computes the entries and links that
// they require in other trees. Rules 112 to 118 and, for long values, 122.
//
// Invariants
//   1. Only two structures grow with the rows: `KeySet`s, by about one bit per row, and `cutValues`, by some bytes per
//      cut unique value.

/// The results of reading the rows of one hierarchy.
struct HierarchyState {
    /// Whether every row could be read.
    var isWhole = false
    var greatestKey: UInt64 = 0
}

/// The check of rows.
///
/// It is a class because the entries of all other trees are checked against the same instance.
final class RowCheck {
    /// The most references kept until all rows have been read; if more distinct ones exist, the rows are read a second
    /// time.
    private static let pendingCountMax = 1 << 17
    /// The limit of groups, fields and references together in the cached plans.
    private static let planSizeMax = 1 << 18

    let schema: ObjectSchema
    /// By index of the root entity.
    var hierarchies: [Int: HierarchyState] = [:]
    /// By entity number.
    private(set) var keys: [UInt16: KeySet] = [:]
    private(set) var counts: [UInt16: UInt64] = [:]
    /// The number of cut entries by position of the group.
    private(set) var cutCounts: [Int: UInt64] = [:]
    /// By position of the group: the hash of the whole codes of each cut unique value, and the key of its row.
    private(set) var cutValues: [Int: [(hash: ContentHash, key: UInt64)]] = [:]
    /// Whether the rows must be read again to find references that lead nowhere.
    private(set) var mustReadAgain = false
    private var pending: [RowReference] = []
    private var plans: [UInt16: RowPlan] = [:]
    private var planSize = 0
    // The buffer for one entry, reused for every row.
    private var entry: [UInt8] = []

    init(_ schema: ObjectSchema) { self.schema = schema }

    // MARK: One row

    /// Decodes the bytes of an entry as a row in the tree of a hierarchy.
    func row(_ bytes: [UInt8], key: UInt64, root: Int) throws(Breach) -> RowBytes {
        guard key > 0 else { throw Breach(112, 0, "a row has the primary key 0") }
        guard let number = RowBytes.layoutNumber(bytes, format: schema.format), let plan = plan(number),
            schema.model.entities[plan.entity].root == root,
            !schema.model.entities[plan.entity].description.isAbstract
        else {
            throw Breach(
                113, 1, "the row's layout does not exist, or belongs to an entity that has no rows in this tree")
        }
        return try RowBytes(bytes, plan, format: schema.format)
    }

    /// The plan of a layout, cached; `nil` if there is no such layout or the model lacks its entity.
    private func plan(_ number: UInt16) -> RowPlan? {
        if let plan = plans[number] { return plan }
        guard Int(number) < schema.layouts.count, let layout = schema.layouts[Int(number)],
            let entity = schema.entity(layout.entityNumber)
        else { return nil }
        let plan = RowPlan(number, layout, entity: entity, defaultRow: try? defaultRow(of: layout), schema)
        planSize += plan.fields.count + plan.groups.count + plan.references.count
        if planSize > Self.planSizeMax { (plans, planSize) = ([:], 0) }
        plans[number] = plan
        return plan
    }

    /// The default row of a layout, which names another layout of the same entity; `nil` if there is none.
    private func defaultRow(of layout: LayoutRecord) throws(Breach) -> RowBytes? {
        guard !layout.defaultRow.isEmpty, let entity = schema.entity(layout.entityNumber) else { return nil }
        guard let number = RowBytes.layoutNumber(layout.defaultRow, format: schema.format),
            Int(number) < schema.layouts.count, let other = schema.layouts[Int(number)],
            other.entityNumber == layout.entityNumber
        else { throw Breach(104, 0, "the default row names no layout of its entity") }
        let plan = RowPlan(number, other, entity: entity, defaultRow: nil, schema)
        let row = try RowBytes(layout.defaultRow, plan, format: schema.format)
        guard plan.references.allSatisfy({ row.isNull($0.field) }) else {
            throw Breach(104, 0, "the default row has a reference")
        }
        return row
    }

    /// Reports default rows that are not possible.
    func checkDefaultRows(_ report: (_ layout: Int, Breach) -> Void) {
        for case let (number, layout?) in schema.layouts.enumerated() {
            do throws(Breach) {
                _ = try defaultRow(of: layout)
            } catch {
                report(number, Breach(104, 0, "layout \(number): \(error.text)"))
            }
        }
    }

    /// Notes that the row exists; reports references to a wrong entity or to key 0.
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
                            + "\(found.entityNumber), but must lead to "
                            + schema.model.entities[reference.destination].name))
                continue
            }
            remember(found)
        }
    }

    /// Calls `body` with each entry that the row requires in the tree of a group: the key, followed by the value.
    func forEachEntry(
        of row: RowBytes, key: UInt64, _ body: (_ group: Int, _ entry: [UInt8]) -> Void
    ) {
        for use in row.plan.groups {
            _ = encode(use, row, key)
            body(use.number, entry)
        }
    }

    /// Like `forEachEntry`; also counts cut entries and keeps cut unique values.
    ///
    /// Must be called once for each row.
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

    /// Writes the entry of a row to `entry`.
    ///
    /// Returns the hash of the whole codes if they were cut, otherwise `nil`.
    private func encode(
        _ use: RowPlan.Group, _ row: RowBytes, _ key: UInt64
    ) -> (whole: ContentHash, hasNull: Bool)? {
        entry.removeAll(keepingCapacity: true)
        var hasNull = false
        for (position, element) in schema.groups[use.number].elements.enumerated() {
            let isAscending = element.isAscending
            let isNull =
                if let field = use.defaults[position], let defaultRow = row.plan.defaultRow {
                    KeyCode.append(field, of: defaultRow, isAscending: isAscending, to: &entry)
                } else {
                    KeyCode.append(use.fields[position], of: row, isAscending: isAscending, to: &entry)
                }
            if isNull { hasNull = true }
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

    /// Calls `body` with each link that the row requires in a list: the list, the key of the owner, the hash of the
    /// link.
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

    /// Whether a row exists.
    ///
    /// In a hierarchy that could not be read completely every row counts as existing.
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

    /// Completes the key sets after all rows have been read, and checks the kept references.
    func finish() {
        for number in keys.keys { keys[number]?.finish() }
        if pending.contains(where: { !exists($0) }) { mustReadAgain = true }
        pending = []
    }

    /// Reports the references of a row to rows that do not exist.
    func reportDangling(_ row: RowBytes, _ report: (Breach) -> Void) {
        for reference in row.plan.references where !row.isNull(reference.field) {
            let found = row.reference(reference.field)
            // `note` has already reported references to a wrong entity or to key 0.
            guard found.key > 0, schema.isConcrete(found.entityNumber, kindOf: reference.destination), !exists(found)
            else { continue }
            let entity = schema.entity(found.entityNumber).map { schema.model.entities[$0].name } ?? ""
            report(
                Breach(
                    118, row.range(reference.field).lowerBound,
                    "\(row.plan.fields[reference.field].name) leads to \(entity) \(found.key), which does not exist"))
        }
    }

    /// The pairs of rows that have the same whole codes in a unique group.
    func sharedCutValues(of group: Int) -> [(key: UInt64, other: UInt64)] {
        let sorted = (cutValues[group] ?? []).sorted {
            ($0.hash.low, $0.hash.high, $0.key) < ($1.hash.low, $1.hash.high, $1.key)
        }
        return zip(sorted, sorted.dropFirst()).filter { $0.hash == $1.hash }.map { ($1.key, $0.key) }
    }
}
