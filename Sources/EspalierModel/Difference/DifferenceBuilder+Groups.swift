// Compares the indexes and uniqueness constraints that entities declare.

extension DifferenceBuilder {
    mutating func compareGroups(of entity: Entity) {
        let rows = rows(of: entity)
        let older = match.oldEntities[entity.index].map { old.entities[$0] }
        let (oldIndexes, newIndexes) = (older.map(renamedIndexes) ?? [], Self.indexes(of: entity.description))
        for index in newIndexes where !oldIndexes.contains(index) {
            if older == nil && rows.isEmpty { continue }
            let cost: ModelChange.Cost = rows.isEmpty ? .constant : .indexBuild
            changes.append(ModelChange(entity.name, nil, .indexAdded(index.name), cost, rows: rows))
        }
        for index in oldIndexes where !newIndexes.contains(index) {
            changes.append(ModelChange(entity.name, nil, .indexRemoved(index.name)))
        }
        let oldConstraints = older.map(renamedConstraints) ?? []
        let newConstraints = entity.description.uniquenessConstraints
        for constraint in newConstraints where !oldConstraints.contains(constraint) {
            if older == nil && rows.isEmpty { continue }
            let cost: ModelChange.Cost = rows.isEmpty ? .constant : .indexBuild
            changes.append(ModelChange(entity.name, nil, .constraintAdded(constraint), cost, rows: rows))
        }
        for constraint in oldConstraints where !newConstraints.contains(constraint) {
            changes.append(ModelChange(entity.name, nil, .constraintRemoved(constraint)))
        }
    }

    /// The indexes that an entity declares, with property names translated to the newer model.
    private func renamedIndexes(_ entity: Entity) -> [EntityDescription.Index] {
        Self.indexes(of: entity.description).map { index in
            // The index of a single attribute is named after the attribute.
            let isOwn = entity.description.attributes.contains { $0.isIndexed && $0.name == index.name }
            return EntityDescription.Index(
                isOwn ? newName(index.name, in: entity) : index.name,
                on: index.elements.map { element in
                    var element = element
                    if element.expressionFormat == nil { element.property = newName(element.property, in: entity) }
                    return element
                }, predicateFormat: index.predicateFormat)
        }
    }

    /// The constraints that an entity declares, with property names translated to the newer model.
    func renamedConstraints(_ entity: Entity) -> [[String]] {
        entity.description.uniquenessConstraints.map { $0.map { newName($0, in: entity) } }
    }

    /// The name that a property of an older entity has now, or the path of an element of a composite.
    func newName(_ name: String, in entity: Entity) -> String {
        guard let newer = match.newEntities[entity.index] else { return name }
        let path = name.split(separator: ".").map(String.init)
        if path.count > 1 {
            let elements = newPath(Array(path.dropFirst()), of: path[0], in: entity)
            return ([newName(path[0], in: entity)] + elements).joined(separator: ".")
        }
        switch entity.property(named: name) {
        case .attribute(let slot)?:
            return match.newAttribute(slot, of: entity.index).map { new.entities[newer].attributes[$0].name } ?? name
        case .relationship(let slot)?:
            return match.newRelationship(slot, of: entity.index).map { new.entities[newer].relationships[$0].name }
                ?? name
        case nil: return name
        }
    }

    /// The path that leads, in the composite that continues an older one, to the element at an older path.
    private func newPath(_ path: [String], of name: String, in entity: Entity) -> [String] {
        guard let newer = match.newEntities[entity.index], case .attribute(let slot)? = entity.property(named: name),
            let newSlot = match.newAttribute(slot, of: entity.index)
        else { return path }
        var conversion: AttributeConversion? = AttributeConversion(
            from: entity.attributes[slot].description, to: new.entities[newer].attributes[newSlot].description)
        return path.map { name in
            let element = conversion?.elements.first { $0.former?.name == name }
            conversion = element?.conversion
            return element?.description.name ?? name
        }
    }

    /// The indexes that an entity declares, those of single attributes first.
    static func indexes(of entity: EntityDescription) -> [EntityDescription.Index] {
        entity.attributes.filter(\.isIndexed).map { .init($0.name, on: [.init($0.name)]) } + entity.indexes
    }
}
