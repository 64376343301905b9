// Random changes of hierarchies and of constraints that exist, and their effects on plain values.
//
// Invariants
//   1. An entity that leaves superentities declares what it had inherited from them, so nothing is lost.
//   2. In a line of superentities each name, each former name and each constraint occurs once.

import EspalierModel
import EspalierStore

extension MigrationWalk {
    /// The names of the entities from which one inherits, the nearest first.
    func line(above name: String) -> [String] {
        var line: [String] = []
        var next = entities[position(of: name)].superentity
        while let name = next {
            line.append(name)
            next = entities[position(of: name)].superentity
        }
        return line
    }

    /// The descriptions of entities.
    private func descriptions(of names: some Sequence<String>) -> [EntityDescription] {
        names.map { entities[position(of: $0)] }
    }

    private static func names(of properties: EntityDescription) -> [String] {
        properties.attributes.map(\.name) + properties.relationships.map(\.name)
    }

    private static func formerNames(of properties: EntityDescription) -> [String] {
        properties.attributes.compactMap(\.renamingIdentifier)
            + properties.relationships.compactMap(\.renamingIdentifier)
    }

    /// Whether a property of an entity, of those from which it inherits or of those that inherit from it, had a name.
    func isFormerName(_ name: String, around entity: String) -> Bool {
        descriptions(of: line(above: entity) + family(entity)).flatMap(Self.formerNames).contains(name)
    }

    /// Whether an entity can declare a property that one of its subentities declares now: no other one has its name or
    /// its former name.
    func canMoveUp(_ name: String, formerly formerName: String?, to entity: String) -> Bool {
        let properties = descriptions(of: line(above: entity) + family(entity))
        let formerNames = properties.flatMap(Self.formerNames)
        return properties.flatMap(Self.names).count { $0 == name } == 1
            && formerName.map { former in formerNames.count { $0 == former } == 1 } ?? true
    }

    // MARK: Superentities

    /// Moves an entity, with those that inherit from it, below another entity or out of its hierarchy.
    mutating func changeParent() {
        guard let entity = takeEntity() else { return }
        let name = entities[entity].name
        let (family, former) = (family(name), line(above: name))
        let others = entities.map(\.name).filter { !family.contains($0) && $0 != former.first }
        var candidates = others.map { Optional($0) }
        if !former.isEmpty { candidates.append(nil) }
        guard let parent = candidates.randomElement(using: &random) else { return }
        let present = parent.map { [$0] + line(above: $0) } ?? []
        let left = descriptions(of: former.filter { !present.contains($0) })
        let joined = descriptions(of: present.filter { !former.contains($0) })
        guard touch(family.subtracting([name]) + (left + joined).map(\.name)), canLeave(left),
            canJoin(joined, descriptions(of: family) + left)
        else { return }
        entities[entity].superentity = parent
        entities[entity].attributes = left.flatMap(\.attributes) + entities[entity].attributes
        for ancestor in joined { inherit(ancestor, name) }
        log.append("move \(name) below \(parent ?? "none")")
    }

    /// Whether an entity can leave superentities: what they relate stays with them.
    private func canLeave(_ left: [EntityDescription]) -> Bool {
        let names = Set(left.map(\.name))
        return left.allSatisfy(\.relationships.isEmpty)
            && entities.allSatisfy { $0.relationships.allSatisfy { !names.contains($0.destination) } }
    }

    /// Whether the properties and constraints of entities can be in a line with those of others.
    private func canJoin(_ joined: [EntityDescription], _ own: [EntityDescription]) -> Bool {
        func areApart(_ parts: (EntityDescription) -> [String]) -> Bool {
            Set(joined.flatMap(parts)).isDisjoint(with: own.flatMap(parts))
        }
        return areApart(Self.names) && areApart(Self.formerNames) && areApart { $0.indexes.map(\.name) }
    }

    /// Gives the rows of an entity the values and lists of a superentity that is new for it.
    private mutating func inherit(_ ancestor: EntityDescription, _ name: String) {
        change(rowsOf: name) { row in
            for attribute in ancestor.attributes where !attribute.name.hasPrefix("serial") {
                row.values[attribute.name] = attribute.defaultValue
            }
            for relationship in ancestor.relationships {
                if relationship.cardinality == .toOne {
                    row.references[relationship.name] = .some(nil)
                } else {
                    row.lists[relationship.name] = []
                }
            }
        }
    }

    /// Removes a superentity with its own rows.
    mutating func removeParent() {
        let parents = Set(entities.compactMap(\.superentity))
        guard entities.count > 2,
            let entity = takeEntity(where: { parents.contains($0.name) && $0.relationships.isEmpty })
        else { return }
        let removed = entities[entity]
        let children = entities.indices.filter { entities[$0].superentity == removed.name }
        guard touch(children.map { entities[$0].name }), canLeave([removed]) else { return }
        for child in children {
            entities[child].superentity = removed.superentity
            entities[child].attributes = removed.attributes + entities[child].attributes
        }
        if !removed.isAbstract { losses.insert(.removal(of: removed.name)) }
        let serials = Set(expected.rows.filter { $0.value.entity == removed.name }.keys)
        entities.remove(at: entity)
        forget(serials)
        log.append("remove superentity \(removed.name)")
    }

    // MARK: Constraints

    /// Makes the values of an attribute unique together with the serial number, or no longer.
    mutating func changeConstraint() {
        guard let entity = takeEntity() else { return }
        if let place = entities[entity].uniquenessConstraints.firstIndex(where: { $0.count > 1 }) {
            let constraint = entities[entity].uniquenessConstraints.remove(at: place)
            return log.append("do not constrain \(constraint.joined(separator: ", "))")
        }
        let visible = visibleProperties(of: entity).attributes
        let free = entities[entity].attributes.filter {
            $0.type.hasKeyOrder && $0.derivation == nil && !$0.name.hasPrefix("serial")
        }
        guard let serial = visible.first(where: { $0.name.hasPrefix("serial") }),
            let attribute = free.randomElement(using: &random)
        else { return }
        let constraint = chance(2) ? [attribute.name, serial.name] : [serial.name, attribute.name]
        let around = descriptions(of: line(above: entities[entity].name) + family(entities[entity].name))
        guard !around.flatMap(\.uniquenessConstraints).contains(where: { Set($0) == Set(constraint) }) else { return }
        entities[entity].uniquenessConstraints.append(constraint)
        log.append("constrain \(constraint.joined(separator: ", "))")
    }

    /// Follows a new name of a property in the constraints that have it.
    mutating func renameInConstraints(_ old: String, to new: String, in entity: String) {
        for name in family(entity) {
            let position = position(of: name)
            entities[position].uniquenessConstraints = entities[position].uniquenessConstraints.map { constraint in
                constraint.map { $0 == old ? new : $0 }
            }
        }
    }

    /// Removes the constraints whose properties are gone, are derived or have values without an order now, and those
    /// that a superentity has too.
    mutating func settleConstraints() {
        for position in entities.indices {
            let visible = visibleProperties(of: position).attributes.filter {
                $0.type.hasKeyOrder && $0.derivation == nil
            }
            let above = descriptions(of: line(above: entities[position].name)).flatMap(\.uniquenessConstraints)
            entities[position].uniquenessConstraints.removeAll { constraint in
                above.contains { Set($0) == Set(constraint) }
                    || !constraint.allSatisfy { name in visible.contains { $0.name == name } }
            }
        }
    }
}
