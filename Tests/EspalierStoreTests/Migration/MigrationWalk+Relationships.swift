// Random changes of relationships, and their effects on plain values.

import EspalierModel
import EspalierStore

extension MigrationWalk {
    /// A random relationship of an untouched entity to an untouched destination; marks both as touched.
    private mutating func takeRelationship(
        where isGood: (RelationshipDescription) -> Bool = { _ in true }
    ) -> (entity: Int, slot: Int)? {
        guard let entity = takeEntity(where: { $0.relationships.contains(where: isGood) }) else { return nil }
        let free = entities[entity].relationships.indices.filter { isGood(entities[entity].relationships[$0]) }
        guard let slot = free.randomElement(using: &random) else { return nil }
        let destination = entities[entity].relationships[slot].destination
        guard destination == entities[entity].name || touch([destination]) else { return nil }
        return (entity, slot)
    }

    private func inverse(_ relationship: RelationshipDescription) -> (entity: Int, slot: Int)? {
        let entity = position(of: relationship.destination)
        return entities[entity].relationships.firstIndex { $0.name == relationship.inverse }.map { (entity, $0) }
    }

    mutating func renameRelationship() {
        guard let (entity, slot) = takeRelationship() else { return }
        let (old, new) = (entities[entity].relationships[slot].name, newName("r"))
        guard !isFormerName(old, around: entities[entity].name) else { return }
        if let (other, back) = inverse(entities[entity].relationships[slot]) {
            entities[other].relationships[back].inverse = new
        }
        entities[entity].relationships[slot].name = new
        entities[entity].relationships[slot].renamingIdentifier = old
        change(rowsOf: entities[entity].name) { row in
            if let list = row.lists.removeValue(forKey: old) { row.lists[new] = list }
            if let reference = row.references.removeValue(forKey: old) { row.references[new] = .some(reference) }
        }
        renameSource(old, to: new, in: entities[entity].name)
        log.append("rename \(old) to \(new)")
    }

    // MARK: In a hierarchy

    /// Moves a relationship without an inverse to the superentity.
    mutating func moveRelationshipUp() {
        let free = takeEntity { entity in
            entity.superentity != nil && entity.relationships.contains { $0.inverse == nil }
        }
        guard let entity = free, let parent = entities[entity].superentity, touch([parent]),
            let slot = entities[entity].relationships.firstIndex(where: {
                $0.inverse == nil && canMoveUp($0.name, formerly: $0.renamingIdentifier, to: parent)
            })
        else { return }
        let moved = entities[entity].relationships.remove(at: slot)
        entities[position(of: parent)].relationships.append(moved)
        change(rowsOf: parent) { row in
            if moved.cardinality == .toOne {
                if row.references[moved.name] == nil { row.references[moved.name] = .some(nil) }
            } else {
                row.lists[moved.name] = row.lists[moved.name] ?? []
            }
        }
        log.append("up \(moved.name)")
    }

    /// Moves a relationship without an inverse to all direct subentities.
    mutating func moveRelationshipDown() {
        let parents = Set(entities.compactMap(\.superentity))
        let free = takeEntity { entity in
            parents.contains(entity.name) && entity.relationships.contains { $0.inverse == nil }
        }
        guard let entity = free, let slot = entities[entity].relationships.firstIndex(where: { $0.inverse == nil })
        else { return }
        let name = entities[entity].name
        let children = entities.indices.filter { entities[$0].superentity == name }
        guard touch(children.map { entities[$0].name }) else { return }
        let moved = entities[entity].relationships.remove(at: slot)
        for child in children { entities[child].relationships.append(moved) }
        losses.insert(.removal(of: "\(name).\(moved.name)"))
        for serial in expected.rows.keys where expected.rows[serial]?.entity == name {
            expected.rows[serial]?.lists[moved.name] = nil
            expected.rows[serial]?.references.removeValue(forKey: moved.name)
        }
        log.append("down \(moved.name)")
    }

    // MARK: Other changes

    mutating func changeCardinality() {
        guard let (entity, slot) = takeRelationship() else { return }
        let relationship = entities[entity].relationships[slot]
        let (name, old) = (relationship.name, relationship.cardinality)
        let others = [RelationshipDescription.Cardinality.toOne, .toMany, .ordered].filter { $0 != old }
        guard let new = others.randomElement(using: &random) else { return }
        let family = family(entities[entity].name)
        let lists = expected.rows.values.filter { family.contains($0.entity) }.compactMap { $0.lists[name] }
        // Lists with several destinations would make the migration refuse to-one, which other tests cover.
        if new == .toOne, lists.contains(where: { $0.count > 1 }) { return }
        entities[entity].relationships[slot].cardinality = new
        entities[entity].relationships[slot].maxCount = new == .toOne ? 1 : 0
        if old == .ordered, new == .toMany { losses.insert(.order(of: "\(entities[entity].name).\(name)")) }
        if new == .ordered { newlyOrdered.insert(name) }
        change(rowsOf: entities[entity].name) { row in
            switch (old, new) {
            case (.toOne, _):
                row.lists[name] = (row.references.removeValue(forKey: name) ?? nil).map { [$0] } ?? []
            case (_, .toOne):
                row.references[name] = .some(row.lists.removeValue(forKey: name)?.first)
            default: row.lists[name]?.sort()
            }
        }
        log.append("\(name) from \(old) to \(new)")
    }

    private mutating func remove(_ slot: Int, of entity: Int) {
        let removed = entities[entity].relationships.remove(at: slot)
        change(rowsOf: entities[entity].name) { row in
            row.lists[removed.name] = nil
            row.references.removeValue(forKey: removed.name)
        }
        log.append("remove \(removed.name)")
    }

    mutating func removeRelationship() {
        guard let (entity, slot) = takeRelationship() else { return }
        let relationship = entities[entity].relationships[slot]
        losses.insert(.removal(of: "\(entities[entity].name).\(relationship.name)"))
        remove(slot, of: entity)
        guard let (other, back) = inverse(relationship) else { return }
        losses.insert(.removal(of: "\(entities[other].name).\(entities[other].relationships[back].name)"))
        remove(back, of: other)
    }

    mutating func removeInverse() {
        guard let (entity, slot) = takeRelationship(where: { $0.inverse != nil }) else { return }
        let relationship = entities[entity].relationships[slot]
        guard let (other, back) = inverse(relationship) else { return }
        entities[entity].relationships[slot].inverse = nil
        // The remaining side keeps all pairs, but not the order of the removed inverse.
        if entities[other].relationships[back].cardinality == .ordered {
            losses.insert(.order(of: "\(entities[other].name).\(entities[other].relationships[back].name)"))
        }
        remove(back, of: other)
    }

    mutating func addInverse() {
        guard let (entity, slot) = takeRelationship(where: { $0.inverse == nil }) else { return }
        let relationship = entities[entity].relationships[slot]
        let (name, other) = (newName("r"), position(of: relationship.destination))
        var owners: [Int64: [Int64]] = [:]
        for (serial, row) in expected.rows {
            let reference = (row.references[relationship.name] ?? nil).map { [$0] }
            for destination in row.lists[relationship.name] ?? reference ?? [] {
                owners[destination, default: []].append(serial)
            }
        }
        let isSingle = owners.values.allSatisfy { $0.count == 1 } && chance(2)
        let cardinality: RelationshipDescription.Cardinality = isSingle ? .toOne : chance(2) ? .toMany : .ordered
        if cardinality == .ordered { newlyOrdered.insert(name) }
        entities[entity].relationships[slot].inverse = name
        entities[other].relationships.append(
            RelationshipDescription(
                name, to: entities[entity].name, inverse: relationship.name, cardinality))
        let members = family(entities[other].name)
        for serial in expected.rows.keys where members.contains(expected.rows[serial]?.entity ?? "") {
            if isSingle {
                expected.rows[serial]?.references[name] = .some(owners[serial]?.first)
            } else {
                expected.rows[serial]?.lists[name] = (owners[serial] ?? []).sorted()
            }
        }
        log.append("inverse \(name)")
    }
}
