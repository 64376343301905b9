// How delete rules and the check of destinations read and change an in-memory store.

internal import EspalierModel

extension MemoryState: SaveState {
    func destinations(of owner: ObjectID, _ relationship: Relationship) -> [ObjectID] {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        let list = lists[ListID(relationship, of: owner)] ?? []
        assert(relationship.isOrdered || list.isEmpty || list[0].key <= list[list.count - 1].key, "invariant 1")
        return list
    }

    func owners(leadingTo destination: ObjectID, _ relationship: Relationship) -> [ObjectID] {
        assert(relationship.isToMany && relationship.inverse == nil, "owners along \(relationship.name) are not known")
        return Array(owners[ListID(relationship, of: destination)] ?? [])
    }

    func rows(_ ids: [ObjectID]) -> [ObjectSnapshot?] { ids.map { row($0)?.snapshot } }

    func missing(_ ids: [ObjectID]) -> [ObjectID] { ids.filter { row($0) == nil } }

    func destinations(of owner: ObjectID, _ relationship: Relationship, countMax: Int) -> [ObjectID] {
        Array(destinations(of: owner, relationship).prefix(countMax))
    }

    func rows(
        of entity: Entity, from key: UInt64, leadingInto gone: RowSet, at slot: Int, countMax: Int
    ) -> (rows: [ObjectSnapshot], next: UInt64?) {
        assert(countMax > 0 && !entity.relationships[slot].isToMany, "\(countMax) rows by slot \(slot)")
        let family = Set(entity.family)
        let found = rows[entity.root].values.filter { row in
            guard row.id.key >= key, family.contains(row.entity), let destination = row.destinations[slot] else {
                return false
            }
            return gone.contains(destination)
        }.sorted { $0.id.key < $1.id.key }
        assert(
            found.allSatisfy { schema.roots[$0.entity] == entity.root }, "rows of another hierarchy than \(entity.name)"
        )
        return (found.prefix(countMax).map(\.snapshot), found.dropFirst(countMax).first?.id.key)
    }

    func holder(of values: [AttributeValue], inGroup group: Int) -> ObjectID? {
        assert(schema.groups[group].isUnique, "invariant 2: \(schema.groups[group].name) is no constraint")
        assert(!values.contains(where: \.isNull), "invariant 2: rows with null share values")
        return groups[group][values.map(UniqueValue.init)]?.min { $0.key < $1.key }
    }

    mutating func remove(_ deleted: ArraySlice<ObjectSnapshot>) {
        for case let old? in deleted.map({ row($0.id) }) {
            let root = schema.roots[old.entity]
            noteForDerivation(old)
            goneVersions[root] = max(goneVersions[root], old.version)
            for group in constraints(of: old) { remove(old, from: group) }
            rows[schema.roots[old.entity]][old.id.key] = nil
        }
    }

    mutating func setDestinations(
        _ changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])]
    ) throws(StoreError) {
        for (snapshot, destinations) in changes {
            guard var new = row(snapshot.id) else { continue }
            let old = new
            noteForDerivation(old)
            assert(destinations.allSatisfy { $0.slot < new.destinations.count }, "a relationship of another entity")
            new.version = try ObjectSnapshot.version(after: old.version, of: old.id)
            for (slot, destination) in destinations { new.destinations[slot] = destination }
            for group in constraints(of: new) where key(old, group) != key(new, group) {
                remove(old, from: group)
                if let values = key(new, group) { groups[group][values, default: []].insert(new.id) }
            }
            rows[schema.roots[new.entity]][new.id.key] = new
        }
    }

    mutating func setDerivedValues(_ changes: [(row: ObjectSnapshot, value: AttributeValue)], at slot: Int) {
        var changed: [(old: Row, new: Row)] = []
        for case let (old?, value) in changes.map({ (row($0.row.id), $0.value) }) {
            var new = old
            new.values[slot] = value
            noteForDerivation(old)
            changed.append((old, new))
            for group in constraints(of: new) where key(old, group) != key(new, group) { remove(old, from: group) }
        }
        for (old, new) in changed {
            for group in constraints(of: new) where key(old, group) != key(new, group) {
                guard let values = key(new, group) else { continue }
                deferred.add(new.id, in: group)
                groups[group][values, default: []].insert(new.id)
            }
            rows[schema.roots[new.entity]][new.id.key] = new
        }
    }

    /// Notes a row before it changes, if derived values may follow from the change.
    mutating func noteForDerivation(_ row: Row) {
        if schema.derivations.isNoted[row.entity] { derivedChanges.note(row.snapshot) }
    }

    mutating func removeLink(of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship) {
        let list = ListID(relationship, of: owner)
        if schema.derivations.isWatched(relationship), lists[list]?.contains(destination) == true {
            derivedChanges.noteLink(of: owner, to: destination, relationship, -1)
        }
        lists[list]?.removeAll { $0 == destination }
        if lists[list]?.isEmpty == true { lists[list] = nil }
        let back = ListID(relationship, of: destination)
        owners[back]?.remove(owner)
    }
}
