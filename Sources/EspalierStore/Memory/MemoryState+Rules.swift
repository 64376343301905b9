// How delete rules and the check of destinations read and change an in-memory store.

internal import EspalierModel

extension MemoryState: SaveState {
    static var heldCountMax: Int { .max }

    func destinations(of owner: ObjectID, _ relationship: Relationship) -> [ObjectID] {
        destinations(of: owner, relationship, countMax: .max)
    }

    func pairs(
        leadingTo destinations: [ObjectID], _ relationship: Relationship
    ) -> [(owner: ObjectID, destination: ObjectID)] {
        assert(relationship.isToMany && relationship.inverse == nil, "owners along \(relationship.name) are not known")
        return destinations.flatMap { destination in
            (owners[ListID(relationship, of: destination)] ?? KeyTable()).map {
                (owner: $0.value, destination: destination)
            }
        }
    }

    func rows(_ ids: [ObjectID]) -> [ObjectSnapshot?] { ids.map { row($0)?.snapshot } }

    func missing(_ ids: [ObjectID]) -> [ObjectID] { ids.filter { row($0) == nil } }

    func destinations(of owner: ObjectID, _ relationship: Relationship, countMax: Int) -> [ObjectID] {
        assert(relationship.isToMany, "\(relationship.name) is no list")
        let id = ListID(relationship, of: owner)
        let list = lists[id] ?? []
        assert(relationship.isOrdered || list.isEmpty || list[0].key <= list[list.count - 1].key, "invariant 1")
        return removedLinks.left(of: list, in: id, countMax: countMax)
    }

    func rows(
        of entity: Entity, from key: UInt64, leadingInto gone: RowSet, at slot: Int, countMax: Int
    ) -> (rows: [ObjectSnapshot], next: UInt64?) {
        assert(countMax > 0 && !entity.relationships[slot].isToMany, "\(countMax) rows by slot \(slot)")
        let family = Set(entity.family)
        var found: [ObjectSnapshot] = []
        for (key, row) in rows[entity.root].values(from: key) where family.contains(row.entity) {
            guard let destination = row.destinations[slot], gone.contains(destination) else { continue }
            assert(schema.roots[row.entity] == entity.root, "a row of another hierarchy than \(entity.name)")
            guard found.count < countMax else { return (found, key) }
            found.append(row.snapshot)
        }
        return (found, nil)
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
                if let values = key(new, group) { insert(new.id, having: values, inGroup: group) }
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
                insert(new.id, having: values, inGroup: group)
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
        assert(relationship.isToMany, "\(relationship.name) is no list")
        if lists[list] != nil { removedLinks.insert(destination, in: list) }
        if relationship.inverse == nil { remove(owner: owner, leadingTo: destination, relationship) }
    }

    /// - Complexity: O(n) for lists of n destinations.
    mutating func settleLinks() {
        for (id, gone) in removedLinks.takeLists() {
            guard let list = lists[id] else { continue }
            assert(!list.isEmpty && !gone.isEmpty, "invariant 1: the list of \(id.owner)")
            assert(StepCount.note(list.count))
            let relationship = schema.model.entities[id.relationship.declaredBy].relationships[id.relationship.slot]
            if schema.derivations.isWatched(relationship) {
                for destination in list where gone.contains(destination) {
                    derivedChanges.noteLink(of: id.owner, to: destination, relationship, -1)
                }
            }
            let left = list.filter { !gone.contains($0) }
            lists[id] = left.isEmpty ? nil : left
        }
    }
}
