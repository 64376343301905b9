// Compares two matched models entity by entity and names each change, its cost and its loss.
//
// Not here: superentities (DifferenceBuilder+Superentities), properties (DifferenceBuilder+Properties), elements of
// composites (DifferenceBuilder+Elements), indexes and constraints (DifferenceBuilder+Groups), the parts that no store
// keeps (DifferenceBuilder+Unstored).

struct DifferenceBuilder {
    typealias EntityIndex = ManagedObjectModel.EntityIndex

    let match: ModelMatch
    private let scope: ModelDifference.Scope
    /// The older entities whose rows move to another tree.
    let movedRows: Set<EntityIndex>
    var changes: [ModelChange] = []

    var old: ManagedObjectModel { match.old }
    var new: ManagedObjectModel { match.new }

    init(_ match: ModelMatch, comparing scope: ModelDifference.Scope) {
        (self.match, self.scope) = (match, scope)
        var homes: [EntityIndex: EntityIndex] = [:]
        for hierarchy in match.hierarchies where hierarchy.takesOver {
            homes[hierarchy.sources[0]] = hierarchy.root
        }
        movedRows = Set(
            match.old.entities.indices.filter { older in
                guard !match.old.entities[older].isAbstract, let newer = match.newEntities[older] else { return false }
                return homes[match.old.entities[older].root] != match.new.entities[newer].root
            })
    }

    mutating func compare() {
        for entity in new.entities {
            if let older = match.oldEntities[entity.index] {
                compare(entity, old.entities[older])
            } else {
                changes.append(ModelChange(entity.name, nil, .entityAdded))
            }
            compareProperties(of: entity)
            compareGroups(of: entity)
            if scope == .whole { compareUnstored(entity) }
        }
        for entity in old.entities { compareRemoved(entity) }
        if scope == .whole { compareUnstoredParts() }
    }

    private mutating func compare(_ entity: Entity, _ older: Entity) {
        func add(_ kind: ModelChange.Kind, _ cost: ModelChange.Cost = .constant, rows: [String] = []) {
            changes.append(ModelChange(entity.name, nil, kind, cost, rows: rows))
        }
        if entity.name != older.name { add(.entityRenamed(from: older.name)) }
        compareSuperentity(of: entity, older)
        guard entity.isAbstract != older.isAbstract else { return }
        let rows = entity.isAbstract ? [older.name] : []
        add(.abstractnessChanged(isAbstract: entity.isAbstract), rows.isEmpty ? .constant : .check, rows: rows)
    }

    private mutating func compareRemoved(_ entity: Entity) {
        if match.newEntities[entity.index] == nil {
            let rows = entity.isAbstract ? [] : [entity.name]
            changes.append(
                ModelChange(
                    entity.name, nil, .entityRemoved, rows.isEmpty ? .constant : .rewrite, rows: rows,
                    loss: rows.isEmpty ? nil : .removal(of: entity.name)))
        }
        // If no entity of the family remains, the removals of the entities are sufficient.
        guard entity.family.contains(where: { match.newEntities[$0] != nil }) else { return }
        for attribute in entity.attributes where attribute.declaredBy == entity.index {
            compareRemoved(attribute, of: entity)
        }
        for relationship in entity.relationships where relationship.declaredBy == entity.index {
            compareRemoved(relationship, of: entity)
        }
    }

    /// The names of those older entities that can have rows.
    func names(of older: some Sequence<EntityIndex>) -> [String] {
        older.filter { !old.entities[$0].isAbstract }.map { old.entities[$0].name }
    }

    /// The names of the older entities whose rows become rows of `entity` or of its descendants.
    func rows(of entity: Entity) -> [String] { names(of: entity.family.compactMap { match.oldEntities[$0] }) }
}
