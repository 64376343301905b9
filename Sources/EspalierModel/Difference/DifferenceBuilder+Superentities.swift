// Compares the superentities of an entity with those that it had, and tells what its rows cost there.
//
// Not here: the properties of new superentities, which are changes of their own (DifferenceBuilder+Properties).

extension DifferenceBuilder {
    /// Adds a change if an entity inherits from another one, or from none, or did so before.
    mutating func compareSuperentity(of entity: Entity, _ older: Entity) {
        guard
            older.superentity.flatMap({ match.newEntities[$0] }) != entity.superentity
                || (older.superentity == nil) != (entity.superentity == nil)
        else { return }
        let moved = names(of: older.family.filter { movedRows.contains($0) })
        let cost = moved.isEmpty ? costOfLine(of: entity, older) : .rewrite
        changes.append(
            ModelChange(
                entity.name, nil,
                .superentityChanged(
                    from: older.superentity.map { old.entities[$0].name },
                    to: entity.superentity.map { new.entities[$0].name }), cost,
                rows: cost == .constant ? [] : moved.isEmpty ? rows(of: entity) : moved))
    }

    /// The cost for rows that stay in their tree: of the properties that they inherit from another entity now, of the
    /// indexes and constraints that they join and leave, and of references to entities to which they do not belong any
    /// more.
    private func costOfLine(of entity: Entity, _ older: Entity) -> ModelChange.Cost {
        let left = old.entities.filter { ancestor in
            older.isKind(of: ancestor)
                && match.newEntities[ancestor.index].map { !entity.isKind(of: new.entities[$0]) } ?? false
        }
        let joined = new.entities.filter { ancestor in
            entity.isKind(of: ancestor)
                && match.oldEntities[ancestor.index].map { !older.isKind(of: old.entities[$0]) } ?? false
        }
        let leftNow = left.compactMap { match.newEntities[$0.index] }
        let isLedTo = new.entities.contains { entity in
            entity.relationships.contains { leftNow.contains($0.destination) }
        }
        if isLedTo { return .rewrite }
        let homes = joined.map(\.index)
        var costs: [ModelChange.Cost] = [.constant]
        for attribute in entity.attributes where homes.contains(attribute.declaredBy) {
            if match.attributes[entity.index][attribute.slot] == nil { costs.append(costOfNew(attribute.description)) }
        }
        for relationship in entity.relationships where homes.contains(relationship.declaredBy) {
            if match.relationships[entity.index][relationship.slot] == nil, !relationship.isOptional {
                costs.append(.check)
            }
        }
        let groups = (left + joined).contains { ancestor in
            !Self.indexes(of: ancestor.description).isEmpty || !ancestor.description.uniquenessConstraints.isEmpty
        }
        if groups { costs.append(.indexBuild) }
        return costs.max { $0.rank < $1.rank } ?? .constant
    }
}

extension ModelChange.Cost {
    /// The place in the order of costs.
    fileprivate var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
