// The check of index and unique entries: one pass over the tree, then an exact comparison of the parts that differ.

internal import EspalierEngine
internal import EspalierModel

/// An entry in an exact comparison: its hash and the key of its row.
private struct EntryItem: Comparable {
    let mark: UInt64
    let key: UInt64

    static func < (left: EntryItem, right: EntryItem) -> Bool {
        left.mark != right.mark ? left.mark < right.mark : left.key < right.key
    }
}

extension StoreCheck {
    /// The most entries or links that an exact comparison holds at a time, of both sides together: 8 MiB.
    static let itemCountMax = 1 << 19

    /// Checks the entries of a group.
    mutating func checkEntries(_ index: Int) throws(StoreError) {
        let (group, tree) = (catalog.schema.groups[index], catalog.groupTrees[index])
        let entity = model.entities[group.entity]
        var run = UniqueRun()
        var malformed: [[UInt8]] = []
        try forEachEntry(in: tree) { key, value throws(StoreError) in
            guard let (number, primaryKey) = entryParts(key, value) else {
                note(entity, tree, Self.hexadecimal(key), "the entry refers to no row")
                if mender != nil { malformed.append(key.copy(0..<key.byteCount)) }
                try removeMalformed(&malformed, tree, isLast: false)
                return countStep()
            }
            report.indexEntryCount += 1
            groupSketches[index].find(hash.mark(key, number.number))
            if group.isUnique {
                let codes = key.extracting(0..<key.byteCount - 8)
                if !run.continues(codes) {
                    try checkUniqueness(run, group, index)
                    run.begin(codes)
                }
                run.append(primaryKey, isCut: number.isCut)
            }
            return countStep()
        }
        guard !isCancelled else { return }
        try checkUniqueness(run, group, index)
        try removeMalformed(&malformed, tree, isLast: true)
        assert(malformed.isEmpty, "\(malformed.count) malformed entries remain")
        for buckets in groupSketches[index].unbalancedBuckets(entryCountMax: Self.itemCountMax) {
            try compareEntries(index, in: buckets)
        }
        let cuts = expectedCuts[index]
        try checkCounter(Counter.cutEntries(tree.id), cuts) { check, counted in
            check.note(entity, tree, "", "the counter states \(counted) cut entries, but there are \(cuts)")
        }
    }

    /// Whether a sound row has an entry in a group.
    func hasEntry(_ row: RawSpan, _ key: UInt64, _ number: UInt16, in index: Int) -> Bool {
        plans[Int(number)]?.groups.contains(index) == true
            && catalog.schema.groups[index].hasEntry(of: row, key: key, entityNumber: number, session.reader)
    }

    /// The value and the primary key of an entry; `nil` if it cannot be an entry of a row.
    @inline(__always)
    private func entryParts(_ key: RawSpan, _ value: RawSpan) -> (GroupEntryValue, UInt64)? {
        guard key.byteCount > 8, let number = GroupEntryValue(value),
            catalog.numbering.isKnown(entityNumber: number.entityNumber)
        else { return nil }
        let primaryKey = key.bigEndianKey(at: key.byteCount - 8)
        return primaryKey == 0 ? nil : (number, primaryKey)
    }

    private func removeMalformed(_ keys: inout [[UInt8]], _ tree: Tree<[UInt8]>, isLast: Bool) throws(StoreError) {
        assert(keys.isEmpty || mender != nil, "a check without a mender removes \(keys.count) entries")
        guard isLast || keys.count >= 1024 else { return }
        for key in keys { try mender?.remove(key, from: tree) }
        keys.removeAll()
    }

    // MARK: Exact comparison

    /// Compares the entries in some buckets with those that the rows require, one by one.
    private mutating func compareEntries(_ index: Int, in buckets: BucketSet) throws(StoreError) {
        let (group, tree) = (catalog.schema.groups[index], catalog.groupTrees[index])
        let root = model.entities[model.entities[group.entity].root]
        var (expected, found): ([EntryItem], [EntryItem]) = ([], [])
        var entry: [UInt8] = []
        try forEachRow(of: root) { key, row in
            guard let number = session.entityNumber(of: row, key, root), hasEntry(row, key, number, in: index) else {
                return countStep()
            }
            let (value, _) = GroupKey.encode(
                group, row, key: key, entityNumber: number, session.reader, into: &entry)
            let mark = entry.withRawSpan { hash.mark($0, value.number) }
            if buckets.contains(mark) { expected.append(EntryItem(mark: mark.low, key: key)) }
            return countStep()
        }
        try forEachEntry(in: tree) { key, value in
            guard let (number, primaryKey) = entryParts(key, value) else { return countStep() }
            let mark = hash.mark(key, number.number)
            if buckets.contains(mark) { found.append(EntryItem(mark: mark.low, key: primaryKey)) }
            return countStep()
        }
        guard !isCancelled else { return }
        expected.sort()
        found.sort()
        let missing = expected.surplus(over: found)
        let extra = found.surplus(over: expected)
        (expected, found) = ([], [])
        if !extra.isEmpty {
            try forEachEntry(in: tree) { key, value throws(StoreError) in
                guard let (number, primaryKey) = entryParts(key, value) else { return true }
                let mark = hash.mark(key, number.number)
                if buckets.contains(mark), Self.contains(extra, EntryItem(mark: mark.low, key: primaryKey)) {
                    try refuse(key, number, of: primaryKey, index, root)
                }
                return countStep()
            }
        }
        for item in missing { try add(item.key, to: index, root) }
    }

    private static func contains(_ items: [EntryItem], _ item: EntryItem) -> Bool {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle] < item { low = middle + 1 } else { high = middle }
        }
        return low < items.count && items[low] == item
    }

    /// Reports an entry that no row requires, and removes it.
    private mutating func refuse(
        _ key: RawSpan, _ value: GroupEntryValue, of primaryKey: UInt64, _ index: Int, _ root: Entity
    ) throws(StoreError) {
        assert(key.byteCount > 8, "an entry of \(key.byteCount) bytes is malformed, not wrong")
        let (group, tree) = (catalog.schema.groups[index], catalog.groupTrees[index])
        var entry: [UInt8] = []
        var isExcluded = false
        let rowNumber = try withRow(primaryKey, of: root) { row, number in
            // Rows of other entities of the hierarchy do not have the group's properties.
            guard plans[Int(number)]?.groups.contains(index) == true else { return number }
            isExcluded = !hasEntry(row, primaryKey, number, in: index)
            _ = GroupKey.encode(group, row, key: primaryKey, entityNumber: number, session.reader, into: &entry)
            return number
        }
        var problem = "the entry refers to no row"
        if let rowNumber {
            let isMember = plans[Int(rowNumber)]?.groups.contains(index) == true
            if !isMember {
                problem = "the entry refers to a row of \(catalog.numbering.entity(rowNumber)?.name ?? "")"
            } else if isExcluded {
                problem = "the entry refers to a row that does not meet the condition of the index"
            } else if entry.withRawSpan({ $0.isEqual(to: key) }) {
                // The row requires the same key with another value, which replaces this one.
                return note(
                    model.entities[group.entity], tree, Self.hexadecimal(key),
                    "the entry of row \(primaryKey) has the wrong entity number or flag")
            } else {
                problem = "the entry differs from the one that its row \(primaryKey) requires"
            }
        }
        note(model.entities[group.entity], tree, Self.hexadecimal(key), problem)
        try mender?.remove(key.copy(0..<key.byteCount), from: tree)
    }

    /// Reports that a row lacks its entry, and adds the entry.
    private mutating func add(_ key: UInt64, to index: Int, _ root: Entity) throws(StoreError) {
        let (group, tree) = (catalog.schema.groups[index], catalog.groupTrees[index])
        var entry: [UInt8] = []
        let made = try withRow(key, of: root) { row, number in
            let (value, hasNull) = GroupKey.encode(
                group, row, key: key, entityNumber: number, session.reader, into: &entry)
            return (value: value, hasNull: hasNull, number: number)
        }
        guard let made else { return }
        assert(entry.count > 8, "the entry of row \(key) has no values")
        let isThere = isNew(tree) ? false : try session.transaction.get(entry, from: tree) != nil
        if !isThere {
            note(catalog.numbering.entity(made.number), tree, "\(key)", "the row has no entry")
            if group.isUnique, !made.hasNull { try findHolder(of: Array(entry.dropLast(8)), key, made.number, index) }
        }
        try mender?.put(made.value.bytes, for: entry, in: tree, replacing: isThere)
    }

    // MARK: Uniqueness

    /// Looks for other rows with the unique values of a row that has no entry.
    private mutating func findHolder(
        of codes: [UInt8], _ key: UInt64, _ entityNumber: UInt16, _ index: Int
    ) throws(StoreError) {
        assert(catalog.schema.groups[index].isUnique, "rows may share values in \(catalog.schema.groups[index].name)")
        var run = UniqueRun()
        codes.withRawSpan { run.begin($0) }
        try forEachEntry(in: catalog.groupTrees[index], from: codes) { entry, value in
            guard let (number, primaryKey) = entryParts(entry, value) else { return true }
            guard run.continues(entry.extracting(0..<entry.byteCount - 8)) else { return false }
            run.append(primaryKey, isCut: number.isCut)
            return true
        }
        run.append(key, isCut: codes.count >= GroupKey.valueByteCountMax)
        try checkUniqueness(run, catalog.schema.groups[index], index)
    }

    /// Reports rows that share unique values, among those whose entries begin with the same bytes.
    private mutating func checkUniqueness(_ run: UniqueRun, _ group: KeyGroup, _ index: Int) throws(StoreError) {
        guard run.keys.count > 1 else { return }
        assert(group.isUnique, "rows may share values in \(group.name)")
        // If no values are cut, the bytes show whether one is null, and null equals nothing.
        if !run.isCut, run.codes.withRawSpan({ GroupKey.hasNull($0, group) }) { return }
        let root = model.entities[model.entities[group.entity].root]
        var holders: [(hash: UInt64, key: UInt64)] = []
        for key in run.keys {
            // Entries may be wrong: the values of the rows decide.
            let mark =
                try withRow(key, of: root) { row, number -> UInt64? in
                    guard plans[Int(number)]?.groups.contains(index) == true else { return nil }
                    return session.hasNull(group, row)
                        ? nil : GroupKey.codes(group, row, session.reader).withRawSpan { hash.mark($0, 0).low }
                } ?? nil
            if let mark { holders.append((mark, key)) }
        }
        assert(holders.count <= run.keys.count, "\(holders.count) rows of \(run.keys.count) entries")
        holders.sort { $0.hash != $1.hash ? $0.hash < $1.hash : $0.key < $1.key }
        for (first, second) in zip(holders, holders.dropFirst())
        where first.hash == second.hash && first.key != second.key {
            guard let firstID = try id(of: first.key, root), let secondID = try id(of: second.key, root) else {
                continue
            }
            note(
                StoreDuplicate(
                    entity: model.entities[group.entity].name, properties: group.properties, first: firstID,
                    second: secondID))
        }
    }

    private func id(of key: UInt64, _ root: Entity) throws(StoreError) -> ObjectID? {
        try withRow(key, of: root) { _, number in catalog.numbering.id(entityNumber: number, key: key) } ?? nil
    }
}

extension ReadSession {
    /// Whether one of a group's values in a checked row is null.
    fileprivate func hasNull(_ group: KeyGroup, _ row: RawSpan) -> Bool {
        group.elements.contains { element in
            switch element.property {
            case .attribute(let slot)?: reader.value(at: slot, row).isNull
            case .relationship(let slot)?: reader.reference(at: slot, row) == nil
            case nil: element.expression?.value(of: row, reader).isNull ?? true
            }
        }
    }
}

/// Successive entries of a unique tree whose keys begin with the same bytes.
private struct UniqueRun {
    private(set) var codes: [UInt8] = []
    private(set) var keys: [UInt64] = []
    private(set) var isCut = false

    /// Whether an entry with these codes is of the same run.
    @inline(__always)
    func continues(_ other: RawSpan) -> Bool { codes.withRawSpan { $0.isEqual(to: other) } }

    @inline(__always)
    mutating func begin(_ codes: RawSpan) {
        self.codes.removeAll(keepingCapacity: true)
        self.codes.append(copying: codes)
        keys.removeAll(keepingCapacity: true)
        isCut = false
    }

    @inline(__always)
    mutating func append(_ key: UInt64, isCut: Bool) {
        keys.append(key)
        if isCut { self.isCut = true }
    }
}

extension RawSpan {
    /// Whether both have the same bytes.
    @inline(__always)
    fileprivate func isEqual(to other: RawSpan) -> Bool { byteCount == other.byteCount && begins(with: other) }
}
