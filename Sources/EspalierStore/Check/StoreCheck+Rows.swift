// The check of rows: structure, content, references and required values, and the entries that they require elsewhere.

internal import EspalierEngine
internal import EspalierModel

/// The checks of each row of one entity.
struct EntityCheckPlan {
    /// A to-one relationship.
    struct ToOne {
        let relationship: Relationship
        /// By entity number: whether the relationship may lead to that entity.
        let isPossible: [Bool]
        /// The to-many relationship that is its inverse, as a position in the check's lists.
        let list: Int?
    }

    let entity: Entity
    /// The groups that the rows belong to, as positions in `schema.groups`.
    let groups: [Int]
    let toOnes: [ToOne]
    /// The attributes that must have a value: a derived one may follow from something without a value.
    let required: [Attribute]

    /// The plans of all entities by their numbers.
    static func all(_ catalog: StoreCatalog) -> [EntityCheckPlan?] {
        let lists = catalog.toManyLists()
        return catalog.numbering.entities.map { entity in
            guard let entity else { return nil }
            let toOnes = entity.relationships.filter { !$0.isToMany }.map { relationship in
                let inverse = catalog.model.inverse(of: relationship)
                return ToOne(
                    relationship: relationship,
                    isPossible: catalog.numbering.isWanted(
                        catalog.model.destination(of: relationship), includesSubentities: true),
                    list: inverse.flatMap { inverse in
                        lists.firstIndex { RelationshipID($0.relationship) == RelationshipID(inverse) }
                    })
            }
            return EntityCheckPlan(
                entity: entity, groups: catalog.schema.groupsByEntity[entity.index], toOnes: toOnes,
                required: entity.attributes.filter { !$0.isOptional && !$0.isTransient && !$0.isDerived })
        }
    }
}

extension StoreCheck {
    /// Collects the keys of the rows of a hierarchy.
    mutating func collectKeys(_ root: Entity) throws(StoreError) {
        try forEachRow(of: root) { key, row in
            if let number = session.entityNumber(of: row, key, root) { presence.append(key, entityNumber: number) }
            return countStep()
        }
    }

    /// Checks the rows of a hierarchy and its counters of rows.
    mutating func checkRows(_ root: Entity) throws(StoreError) {
        let tree = catalog.rowTree(of: root)
        var counts = [Int](repeating: 0, count: catalog.numbering.entities.count)
        var entry: [UInt8] = []
        try forEachRow(of: root) { key, row throws(StoreError) in
            greatestKeys[root.index] = max(greatestKeys[root.index], key)
            if let number = session.entityNumber(of: row, key, root), let plan = plans[Int(number)] {
                assert(
                    plan.entity.root == root.index, "a row of \(plan.entity.name) is sound in the tree of \(root.name)")
                counts[Int(number)] += 1
                try checkContent(of: row, key, plan, tree)
                expectEntries(of: row, key, number, plan, &entry)
            } else {
                noteDamage(of: row, key, root, tree)
            }
            return countStep()
        }
        guard !isCancelled else { return }
        for index in root.family {
            let (entity, number) = (model.entities[index], catalog.numbering.entityNumbers[index])
            let count = counts[Int(number)]
            if count > 0 { report.rowCounts[entity.name, default: 0] += count }
            try checkCounter(Counter.rows(entityNumber: number), UInt64(count)) { check, counted in
                check.note(entity, tree, "", "the counter states \(counted) rows, but there are \(count)")
            }
        }
    }

    private mutating func noteDamage(of row: RawSpan, _ key: UInt64, _ root: Entity, _ tree: Tree<UInt64>) {
        var reason = "the row cannot be read"
        do throws(StoreError) { try catalog.check(row, in: root, key: key) } catch {
            if case .damagedContent(_, _, _, let found) = error { reason = found }
        }
        note(root, tree, "\(key)", reason)
    }

    private mutating func checkContent(
        of row: RawSpan, _ key: UInt64, _ plan: EntityCheckPlan, _ tree: Tree<UInt64>
    ) throws(StoreError) {
        if let field = session.reader.contentProblem(row) {
            note(plan.entity, tree, "\(key)", "the bytes of \(field) are not a value of its type")
        }
        for attribute in plan.required where session.reader.isNull(at: attribute.slot, row) {
            let problem = "\(attribute.name) has no value, but requires one"
            note(plan.entity, tree, "\(key)", problem, in: .unset)
        }
        for toOne in plan.toOnes {
            let relationship = toOne.relationship
            guard let reference = session.reader.reference(at: relationship.slot, row) else {
                if !relationship.isOptional {
                    note(
                        plan.entity, tree, "\(key)", "\(relationship.name) has no destination, but requires one",
                        in: .unset)
                }
                continue
            }
            if let list = toOne.list {
                lists[list].sketch.expect(hash.mark(Link(owner: reference.key, destination: key)))
            }
            let name = catalog.numbering.entity(reference.entity)?.name ?? ""
            if !toOne.isPossible[Int(reference.entity)] {
                let wanted = model.destination(of: relationship).name
                note(plan.entity, tree, "\(key)", "\(relationship.name) leads to \(name), not to \(wanted)")
            } else if try !presence.contains(reference.key, entityNumber: reference.entity) {
                noteReference(to: reference)
                let problem = "\(relationship.name) leads to \(name)/\(reference.key), which does not exist"
                note(plan.entity, tree, "\(key)", problem, in: .dangling)
            }
        }
    }

    /// Notes that a reference names this row, which does not exist: its key must not be allocated again.
    mutating func noteReference(to reference: (entity: UInt16, key: UInt64)) {
        // A greater key is the result of damage; a counter raised to it would have hardly any keys left.
        guard reference.key < 1 << 48, let root = catalog.numbering.root(ofEntity: reference.entity) else { return }
        assert(model.entities[root].root == root, "keys of \(model.entities[root].name) belong to its root")
        greatestKeys[root] = max(greatestKeys[root], reference.key)
    }

    private mutating func expectEntries(
        of row: RawSpan, _ key: UInt64, _ number: UInt16, _ plan: EntityCheckPlan, _ entry: inout [UInt8]
    ) {
        for group in plan.groups {
            let keyGroup = session.catalog.schema.groups[group]
            guard keyGroup.hasEntry(of: row, key: key, entityNumber: number, session.reader) else { continue }
            let (value, _) = GroupKey.encode(
                keyGroup, row, key: key, entityNumber: number, session.reader, into: &entry)
            if value.isCut { expectedCuts[group] += 1 }
            groupSketches[group].expect(entry.withRawSpan { hash.mark($0, value.number) })
        }
    }

    // MARK: Counters

    /// Compares a counter; if it is wrong, calls `note` with its value, and mends it.
    mutating func checkCounter(
        _ counter: UInt64, _ expected: UInt64, _ note: (inout StoreCheck, UInt64) -> Void
    ) throws(StoreError) {
        let bytes = isNew(catalog.counters) ? nil : try session.transaction.get(counter, from: catalog.counters)
        let counted: UInt64? = bytes.flatMap { $0.count == 8 ? $0.number(at: 0) : nil }
        // A counter that was never written counts nothing.
        if counted == expected || bytes == nil && expected == 0 { return }
        note(&self, counted ?? 0)
        try mender?.setCounter(counter, to: expected, was: bytes, catalog)
    }

    /// Checks that no row and no reference has a key above the last allocated one.
    mutating func checkLastKey(_ root: Entity) throws(StoreError) {
        assert(root.root == root.index, "\(root.name) allocates no keys")
        let counter = Counter.lastKey(rootNumber: catalog.numbering.entityNumbers[root.index])
        let greatest = greatestKeys[root.index]
        let given = isNew(catalog.counters) ? 0 : try session.transaction.counter(counter, catalog)
        guard !isCancelled, given < greatest else { return }
        let problem =
            "the last allocated key is \(given), but a row or a reference to one has key \(greatest)"
        note(root, catalog.rowTree(of: root), "", problem)
        let bytes = isNew(catalog.counters) ? nil : try session.transaction.get(counter, from: catalog.counters)
        try mender?.setCounter(counter, to: greatest, was: bytes, catalog)
    }
}
