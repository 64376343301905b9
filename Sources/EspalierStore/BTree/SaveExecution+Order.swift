// Writes the edits of an ordered list: only the entries of destinations that have joined, left or moved, and of
// neighbors of those where there is no room between two positions.
//
// Invariants
//   1. All that the edits name is found before anything is written. If something is not where the sender of the request
//      has read it, or if the lists of the plan say something else than the edits, nothing is written here, and the
//      whole order is (`writeWhole`).
//   2. A destination that joins is not in the list already.
//   3. The owner's row is at the version that the sender expects (`PreparedSave`).

internal import EspalierEngine
internal import EspalierModel

/// The entries that the edits of one list are about.
struct LocatedEdits {
    /// Adjacent destinations of the new order that are new or have moved.
    struct Run {
        /// The entry after which they are put; `nil` = at the front.
        let predecessor: ListPositions.Entry?
        var ids: [ObjectID]
    }

    fileprivate var removed: [ListPositions.Entry] = []
    fileprivate var moved: [ListPositions.Entry] = []
    /// In the order of the list.
    fileprivate var runs: [Run] = []
    fileprivate var added = Set<ObjectID>()
}

extension SaveExecution {
    /// Finds the entries that the edits of an ordered list are about; `nil` if there are no edits, or if the list is
    /// not the one for which they were made.
    ///
    /// - Complexity: O(k log n) for k edits of a list of n destinations. If the inverse is ordered too, the list of
    ///   each destination that joins is read.
    func locate(_ edit: ListEdit, of owner: ObjectID) throws(StoreError) -> LocatedEdits? {
        guard let edits = edit.order?.edits, Set(edit.added) == Set(edits.added),
            Set(edit.removed) == Set(edits.removed)
        else { return nil }
        var search = try search(owner, edit.relationship, edits.list)
        var located = LocatedEdits()
        located.added = Set(edits.added)
        for id in edits.added where try isListed(id, of: owner, edit.relationship) { return nil }
        for id in edits.removed {
            guard let entry = try search.entry(of: id) else { return nil }
            located.removed.append(entry)
        }
        for id in edits.moved {
            guard let entry = try search.entry(of: id) else { return nil }
            located.moved.append(entry)
        }
        for (id, predecessor) in edits.placed {
            if let predecessor, located.runs.last?.ids.last == predecessor {
                located.runs[located.runs.count - 1].ids.append(id)
            } else if let predecessor {
                guard let entry = try search.entry(of: predecessor) else { return nil }
                located.runs.append(.init(predecessor: entry, ids: [id]))
            } else {
                located.runs.append(.init(predecessor: nil, ids: [id]))
            }
        }
        return located
    }

    /// The place of a destination in an ordered list, if the request has edits of that list.
    func position(
        of destination: ObjectID, in relationship: Relationship, of owner: ObjectID
    ) throws(StoreError) -> UInt64? {
        guard let list = editedLists[ListID(relationship, of: owner)] else {
            return nil
        }
        var search = try search(owner, relationship, list)
        return try search.entry(of: destination)?.position
    }

    private func search(
        _ owner: ObjectID, _ relationship: Relationship, _ list: OrderedIDs
    ) throws(StoreError) -> ListSearch {
        let tree = catalog.linkTree(of: relationship)
        return try ListSearch(
            try transaction.cursor(over: tree), over: tree, owner: owner.key, list, of: relationship, catalog)
    }

    /// Whether a list has a destination.
    ///
    /// A list with a to-one inverse does not have one that joins it.
    private func isListed(
        _ id: ObjectID, of owner: ObjectID, _ relationship: Relationship
    ) throws(StoreError) -> Bool {
        if let tree = catalog.ownerTree(of: relationship) {
            return try transaction.get(LinkKey.unordered(id.key, owner.key), from: tree) != nil
        }
        guard let inverse = catalog.model.inverse(of: relationship), inverse.isToMany else { return false }
        if inverse.isOrdered { return try transaction.links(of: id.key, inverse, catalog).contains(owner) }
        return try transaction.get(LinkKey.unordered(id.key, owner.key), from: catalog.linkTree(of: inverse)) != nil
    }

    // MARK: Writing

    /// Writes edits whose entries were found.
    ///
    /// - Complexity: O(k log n) for k edits of a list of n destinations. Where there is no room for one, its neighbors
    ///   get new positions: few for each edit, on average, and all n in the worst case.
    mutating func write(_ located: LocatedEdits, _ edit: ListEdit, of owner: ObjectID) throws(StoreError) {
        assert(
            located.removed.allSatisfy { !located.added.contains($0.id) },
            "some of \(located.removed.count) destinations join the list of \(owner) and leave it")
        for entry in located.removed + located.moved {
            try removeLink(
                at: LinkKey.ordered(owner.key, position: entry.position, entry.id.key), of: owner, to: entry.id,
                edit.relationship)
        }
        for entry in located.removed { try removeOwner(owner, of: entry.id, edit.relationship) }
        // The new positions of neighbors, which may be the predecessors of later runs.
        var moved: [ObjectID: UInt64] = [:]
        for run in located.runs {
            let predecessor = run.predecessor.map { (position: moved[$0.id] ?? $0.position, id: $0.id) }
            guard let neighbors = try put(run.ids, after: predecessor, in: edit.relationship, of: owner) else {
                return try writeWhole(edit, of: owner, besides: located.moved.map(\.id))
            }
            for entry in neighbors { moved[entry.id] = entry.position }
        }
        for id in located.added { try putOwner(owner, of: id, edit.relationship) }
    }

    /// Puts destinations after an entry, and gives new positions to as many entries after them as is necessary; twice
    /// as many with each try, as `ListPositions` does.
    ///
    /// - Returns: The entries with new positions; `nil` if there are not enough positions up to the end.
    private mutating func put(
        _ ids: [ObjectID], after predecessor: ListPositions.Entry?, in relationship: Relationship, of owner: ObjectID
    ) throws(StoreError) -> [ListPositions.Entry]? {
        assert(!ids.isEmpty, "nothing is put into \(relationship.name) of \(owner)")
        var (neighborCount, room): (Int, UInt64) = (0, 1)
        while true {
            let next = try links(of: owner, relationship, after: predecessor, countMax: neighborCount + 1)
            let neighbors = Array(next.prefix(neighborCount))
            let right = next.count > neighborCount ? next[neighborCount].position : nil
            let all = ids + neighbors.map(\.id)
            if let (first, step) = ListPositions.positions(
                UInt64(all.count), between: predecessor?.position, right, room)
            {
                assert(
                    predecessor.map { first > $0.position } ?? true,
                    "\(all.count) destinations from \(first) on are before \(predecessor?.position ?? 0)")
                assert(
                    right.map { first + UInt64(all.count - 1) * step < $0 } ?? true,
                    "\(all.count) destinations from \(first) on reach \(right ?? 0) with steps of \(step)")
                let entries = all.enumerated().map { (position: first + UInt64($0.offset) * step, id: $0.element) }
                try replace(neighbors, by: entries, in: relationship, of: owner)
                return Array(entries.dropFirst(ids.count))
            }
            if right == nil { return nil }
            (neighborCount, room) = (2 * neighborCount + ids.count, ListPositions.roomMin)
        }
    }

    /// The entries of a list after `predecessor`, or the first ones.
    private func links(
        of owner: ObjectID, _ relationship: Relationship, after predecessor: ListPositions.Entry?, countMax: Int
    ) throws(StoreError) -> [ListPositions.Entry] {
        var entries: [ListPositions.Entry] = []
        assert(countMax > 0, "\(countMax) entries of \(relationship.name) of \(owner) are read")
        var start = LinkKey.ordered(owner.key, position: predecessor?.position ?? 0, predecessor?.id.key ?? 0)
        // The first key after that of the predecessor.
        if predecessor != nil { start.append(0) }
        let tree = catalog.linkTree(of: relationship)
        try transaction.forEach(in: tree, from: start, below: nil) { key, value throws(StoreError) in
            assert(StepCount.note())
            guard let entry = try catalog.orderedLink(key, value, of: owner.key, in: tree, relationship.declaredBy)
            else { return false }
            entries.append(entry)
            return entries.count < countMax
        }
        return entries
    }

    private mutating func replace(
        _ old: [ListPositions.Entry], by new: [ListPositions.Entry], in relationship: Relationship, of owner: ObjectID
    ) throws(StoreError) {
        assert(new.count > old.count, "\(new.count) entries replace \(old.count) in the list of \(owner)")
        for entry in old {
            try removeLink(
                at: LinkKey.ordered(owner.key, position: entry.position, entry.id.key), of: owner, to: entry.id,
                relationship)
        }
        for (position, id) in new { try putOrdered(id, at: position, of: owner, relationship) }
    }
}
