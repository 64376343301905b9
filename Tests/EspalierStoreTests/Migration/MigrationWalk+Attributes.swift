// Random changes of attributes and entities, and their effects on plain values.

import EspalierModel
import EspalierStore
import Foundation

extension MigrationWalk {
    /// A random attribute of an untouched entity, but neither a serial number nor derived; marks the entity as touched.
    mutating func takeAttribute(
        where isGood: (AttributeDescription) -> Bool = { _ in true }
    ) -> (entity: Int, attribute: Int)? {
        func isChosen(_ attribute: AttributeDescription) -> Bool {
            !attribute.name.hasPrefix("serial") && attribute.derivation == nil && isGood(attribute)
        }
        guard let entity = takeEntity(where: { $0.attributes.contains(where: isChosen) }) else { return nil }
        let free = entities[entity].attributes.indices.filter { isChosen(entities[entity].attributes[$0]) }
        return free.randomElement(using: &random).map { (entity, $0) }
    }

    mutating func addAttribute() {
        guard let entity = takeEntity() else { return }
        var added = newAttribute()
        let hasDefault = chance(2)
        if hasDefault { added.defaultValue = value(of: added) }
        added.isOptional = !hasDefault || chance(2)
        entities[entity].attributes.append(added)
        change(rowsOf: entities[entity].name) { $0.values[added.name] = added.defaultValue }
        log.append("add \(added.name) of type \(added.type)")
    }

    mutating func removeAttribute() {
        guard let (entity, attribute) = takeAttribute() else { return }
        let removed = entities[entity].attributes.remove(at: attribute)
        losses.insert(.removal(of: "\(entities[entity].name).\(removed.name)"))
        change(rowsOf: entities[entity].name) { $0.values[removed.name] = nil }
        log.append("remove \(removed.name)")
    }

    mutating func renameAttribute() {
        guard let (entity, attribute) = takeAttribute() else { return }
        rename(attribute, of: entity)
    }

    private mutating func rename(_ attribute: Int, of entity: Int) {
        let (old, new) = (entities[entity].attributes[attribute].name, newName("a"))
        guard !isFormerName(old, around: entities[entity].name) else { return }
        entities[entity].attributes[attribute].name = new
        entities[entity].attributes[attribute].renamingIdentifier = old
        change(rowsOf: entities[entity].name) { row in
            row.values[new] = row.values[old]
            row.values[old] = nil
        }
        renameSource(old, to: new, in: entities[entity].name)
        log.append("rename \(old) to \(new)")
    }

    mutating func retypeAttribute() {
        guard let (entity, attribute) = takeAttribute(where: { Self.wider[$0.type] != nil }) else { return }
        retype(attribute, of: entity)
    }

    private mutating func retype(_ attribute: Int, of entity: Int) {
        let old = entities[entity].attributes[attribute]
        guard let type = Self.wider[old.type]?.randomElement(using: &random) else { return }
        let name = old.name
        entities[entity].attributes[attribute].type = type
        entities[entity].attributes[attribute].defaultValue =
            old.defaultValue.isNull ? .null : Self.convert(old.defaultValue, type)
        if !type.hasKeyOrder { entities[entity].attributes[attribute].isIndexed = false }
        change(rowsOf: entities[entity].name) { $0.values[name] = $0.values[name].map { Self.convert($0, type) } }
        log.append("retype \(name) to \(type)")
    }

    /// Adds, removes, renames, requires or retypes an element of a composite.
    mutating func changeElements() {
        guard let (entity, position) = takeAttribute(where: { $0.type == .composite }) else { return }
        var attribute = entities[entity].attributes[position]
        let name = attribute.name
        let place = Int.random(in: attribute.elements.indices, using: &random)
        let element = attribute.elements[place]
        var change: (inout [String: AttributeValue]) -> Void = { _ in }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            let added = newElement(mayHaveDefault: true)
            attribute.elements.append(added)
            if !added.defaultValue.isNull {
                fillsElements = true
                change = { $0[added.name] = added.defaultValue }
            }
            log.append("add \(name).\(added.name)")
        case 2 where attribute.elements.count > 1:
            attribute.elements.remove(at: place)
            losses.insert(.removal(of: "\(entities[entity].name).\(name).\(element.name)"))
            change = { $0[element.name] = nil }
            log.append("remove \(name).\(element.name)")
        case 3:
            let newName = newName("e")
            (attribute.elements[place].name, attribute.elements[place].renamingIdentifier) = (newName, element.name)
            change = { $0[newName] = $0.removeValue(forKey: element.name) }
            log.append("rename \(name).\(element.name) to \(newName)")
        case 4:
            // A composite in a composite has no default here, so rows without it would be refused.
            guard !element.isOptional || element.type != .composite else { return }
            attribute.elements[place].isOptional.toggle()
            log.append("\(element.isOptional ? "" : "do not ")require \(name).\(element.name)")
            guard element.isOptional else { break }
            let replacement = value(of: element)
            attribute.elements[place].defaultValue = replacement
            fillsElements = true
            change = { $0[element.name] = $0[element.name] ?? replacement }
        default:
            guard let type = Self.wider[element.type]?.randomElement(using: &random) else { return }
            attribute.elements[place].type = type
            attribute.elements[place].defaultValue =
                element.defaultValue.isNull ? .null : Self.convert(element.defaultValue, type)
            change = { $0[element.name] = $0[element.name].map { Self.convert($0, type) } }
            log.append("retype \(name).\(element.name) to \(type)")
        }
        func changed(_ value: AttributeValue) -> AttributeValue {
            guard case .composite(var parts) = value else { return value }
            change(&parts)
            return .composite(parts)
        }
        attribute.defaultValue = changed(attribute.defaultValue)
        entities[entity].attributes[position] = attribute
        self.change(rowsOf: entities[entity].name) { $0.values[name] = $0.values[name].map(changed) }
    }

    mutating func requireAttribute() {
        guard let (entity, attribute) = takeAttribute() else { return }
        require(attribute, of: entity)
    }

    /// Makes an attribute required with a default, or optional.
    private mutating func require(_ attribute: Int, of entity: Int) {
        let name = entities[entity].attributes[attribute].name
        let wasOptional = entities[entity].attributes[attribute].isOptional
        entities[entity].attributes[attribute].isOptional.toggle()
        guard wasOptional else { return }
        let replacement = value(of: entities[entity].attributes[attribute])
        entities[entity].attributes[attribute].defaultValue = replacement
        change(rowsOf: entities[entity].name) { if $0.values[name] == .null { $0.values[name] = replacement } }
        log.append("require \(name)")
    }

    /// Gives one attribute another type and another name, makes it required or optional, and renames its entity, each
    /// of it or some of it, in one version.
    mutating func changeAttributeAtOnce() {
        guard let (entity, attribute) = takeAttribute() else { return }
        if chance(2) { retype(attribute, of: entity) }
        if !chance(3) { rename(attribute, of: entity) }
        if chance(2) { require(attribute, of: entity) }
        if chance(3) { rename(entity) }
    }

    mutating func indexAttribute() {
        guard let (entity, attribute) = takeAttribute(where: \.type.hasKeyOrder) else { return }
        entities[entity].attributes[attribute].isIndexed.toggle()
        let serial = entities[entity].attributes.first { $0.name.hasPrefix("serial") }
        guard let serial, chance(2) else { return }
        entities[entity].uniquenessConstraints = entities[entity].uniquenessConstraints.isEmpty ? [[serial.name]] : []
        log.append("index \(entities[entity].attributes[attribute].name)")
    }

    // MARK: Entities

    mutating func renameEntity() {
        guard let entity = takeEntity() else { return }
        rename(entity)
    }

    private mutating func rename(_ entity: Int) {
        let (old, new) = (entities[entity].name, newName("E"))
        _ = touch([new])
        for index in entities.indices {
            if entities[index].superentity == old { entities[index].superentity = new }
            for slot in entities[index].relationships.indices
            where entities[index].relationships[slot].destination == old {
                entities[index].relationships[slot].destination = new
            }
        }
        (entities[entity].name, entities[entity].renamingIdentifier) = (new, old)
        for serial in expected.rows.keys where expected.rows[serial]?.entity == old {
            expected.rows[serial]?.entity = new
        }
        log.append("rename \(old) to \(new)")
    }

    mutating func removeEntity() {
        let parents = Set(entities.compactMap(\.superentity))
        guard entities.count > 2, let entity = takeEntity(where: { !parents.contains($0.name) }) else { return }
        let name = entities[entity].name
        let related = entities.filter { $0.relationships.contains { $0.destination == name } }.map(\.name)
        guard touch(related.filter { $0 != name }) else { return }
        losses.insert(.removal(of: name))
        for index in entities.indices {
            let gone = entities[index].relationships.filter { $0.destination == name }.map(\.name)
            entities[index].relationships.removeAll { gone.contains($0.name) }
            losses.formUnion(gone.map { .removal(of: "\(entities[index].name).\($0)") })
            change(rowsOf: entities[index].name) { row in
                for relationship in gone {
                    row.lists[relationship] = nil
                    row.references.removeValue(forKey: relationship)
                }
            }
        }
        // Relationships to its superentities may have a relationship of the removed entity as inverse: they lose it.
        let own = Set(entities[entity].relationships.map(\.name))
        for index in entities.indices where index != entity {
            for slot in entities[index].relationships.indices
            where entities[index].relationships[slot].inverse.map(own.contains) == true {
                entities[index].relationships[slot].inverse = nil
            }
        }
        let serials = Set(expected.rows.filter { $0.value.entity == name }.keys)
        entities.remove(at: entity)
        forget(serials)
        log.append("remove \(name)")
    }

    mutating func forget(_ serials: Set<Int64>) {
        for serial in serials { expected.rows[serial] = nil }
        for (serial, row) in expected.rows {
            var row = row
            row.lists = row.lists.mapValues { $0.filter { !serials.contains($0) } }
            row.references = row.references.mapValues { $0.flatMap { serials.contains($0) ? nil : $0 } }
            expected.rows[serial] = row
        }
    }

    mutating func addParent() {
        guard let first = takeEntity(where: { $0.superentity == nil }) else { return }
        let second = takeEntity { $0.superentity == nil }
        let (name, attribute) = (newName("E"), newName("a"))
        _ = touch([name])
        // Its own rows may lose all subentities one day, and need a serial number then.
        let serial = AttributeDescription(newName("serial"), .integer64)
        entities.append(
            EntityDescription(
                name, isAbstract: chance(2),
                attributes: [serial, AttributeDescription(attribute, .string, isIndexed: chance(2))]))
        for entity in [first, second].compactMap(\.self) {
            entities[entity].superentity = name
            change(rowsOf: entities[entity].name) { $0.values[attribute] = .null }
        }
        log.append("parent \(name)")
    }

    mutating func moveAttributeUp() {
        guard let entity = takeEntity(where: { $0.superentity != nil }), let parent = entities[entity].superentity,
            touch([parent]),
            let attribute = entities[entity].attributes.firstIndex(where: {
                $0.isOptional && $0.defaultValue.isNull && $0.derivation == nil && !$0.name.hasPrefix("serial")
                    && canMoveUp($0.name, formerly: $0.renamingIdentifier, to: parent)
            })
        else { return }
        let moved = entities[entity].attributes.remove(at: attribute)
        entities[position(of: parent)].attributes.append(moved)
        change(rowsOf: parent) { $0.values[moved.name] = $0.values[moved.name] ?? .null }
        log.append("up \(moved.name)")
    }

    mutating func moveAttributesDown() {
        let parents = Set(entities.compactMap(\.superentity))
        guard let entity = takeEntity(where: { parents.contains($0.name) }) else { return }
        let name = entities[entity].name
        let children = entities.indices.filter { entities[$0].superentity == name }
        guard touch(children.map { entities[$0].name }),
            let attribute = entities[entity].attributes.firstIndex(where: {
                !$0.name.hasPrefix("serial") && $0.derivation == nil
            })
        else { return }
        let moved = entities[entity].attributes.remove(at: attribute)
        for child in children { entities[child].attributes.append(moved) }
        losses.insert(.removal(of: "\(name).\(moved.name)"))
        for serial in expected.rows.keys where expected.rows[serial]?.entity == name {
            expected.rows[serial]?.values[moved.name] = nil
        }
        log.append("down \(moved.name)")
    }
}
