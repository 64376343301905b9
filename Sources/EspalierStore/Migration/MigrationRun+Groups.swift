// Indexes and constraints of the newer model: kept where no entry changes, else built; and the check of required values
// and of numbers of destinations.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    /// By position of a newer index or constraint: the older one with the same entries.
    func keptGroups() -> [Int?] {
        var taken: Set<Int> = []
        return schema.groups.map { group in
            let found = oldCatalog.schema.groups.indices.first { position in
                !taken.contains(position) && keeps(oldCatalog.schema.groups[position], as: group)
            }
            if let found { taken.insert(found) }
            return found
        }
    }

    private func keeps(_ old: KeyGroup, as new: KeyGroup) -> Bool {
        // Equal texts of conditions and expressions read properties of the same names.
        guard old.isUnique == new.isUnique, old.elements.count == new.elements.count,
            old.condition?.source == new.condition?.source,
            match.newEntities[old.entity] == new.entity
        else { return false }
        // Names and families of entities may be others now, although no property has changed.
        if new.condition?.source.readsEntityNames == true { return false }
        let members = members(of: old.entity)
        let owner = match.new.entities[new.entity]
        let newcomers = owner.family.filter { index in
            guard let older = match.oldEntities[index] else { return false }
            return !match.old.entities[older].isKind(of: match.old.entities[old.entity])
        }
        guard newcomers.isEmpty else { return false }
        return members.allSatisfy { entity, fate in
            guard let fate, fate.offset == 0, fate.entity.isKind(of: owner),
                let change = changes[Int(oldCatalog.numbering.entityNumbers[entity.index])]
            else { return false }
            let keepsSources = new.computedSources.allSatisfy { property in
                guard let former = entity.property(named: fate.entity.name(of: property)) else { return false }
                return change.keeps(property) && continues(former, of: entity, as: property, fate.entity)
            }
            guard keepsSources else { return false }
            return zip(old.elements, new.elements).allSatisfy { former, element in
                guard former.isAscending == element.isAscending, former.type == element.type,
                    former.path == element.path, former.folding == element.folding,
                    former.expression?.text == element.expression?.text
                else { return false }
                guard let formerProperty = former.property, let property = element.property else {
                    return former.property == element.property
                }
                return change.keeps(property) && continues(formerProperty, of: entity, as: property, fate.entity)
            }
        }
    }

    /// Whether a property of a newer entity is this one of the older entity.
    func continues(
        _ former: Entity.Property, of older: Entity, as property: Entity.Property, _ newer: Entity
    ) -> Bool {
        switch (former, property) {
        case (.attribute(let old), .attribute(let new)): return match.attributes[newer.index][new] == old
        case (.relationship(let old), .relationship(let new)):
            guard match.relationships[newer.index][new] == old else { return false }
            return keepsReferences(older.relationships[old], as: newer.relationships[new])
        case (.attribute, .relationship), (.relationship, .attribute): return false
        }
    }

    /// Fills the tree of an index or constraint; rows that share values are failures, unless they are checked later.
    func build(
        _ position: Int, checkingUnique: Bool, _ catalog: StoreCatalog,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(catalog.schema === schema, "an index of another model is built")
        let family = match.new.entities[schema.groups[position].entity].family
        // Without rows from the older model there are no entries.
        guard family.contains(where: { match.oldEntities[$0] != nil }) else { return }
        outcome.indexesBuilt += 1
        defer { notes.part("index \(StoreName.group(schema.groups[position], match.new))") }
        do throws(StoreError) {
            try catalog.build(position, checkingUnique: checkingUnique, in: &transaction, &units)
        } catch {
            try note(error, ofGroup: position, catalog)
        }
    }

    /// Notes the rows that share values in a constraint, whose tree has the entries of all rows.
    func checkUnique(
        _ position: Int, _ catalog: StoreCatalog, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        assert(schema.groups[position].isUnique, "rows may share values in \(schema.groups[position].name)")
        do throws(StoreError) { try catalog.checkUnique(position, in: transaction) } catch {
            try note(error, ofGroup: position, catalog)
        }
    }

    /// Adds the rows that share values in a constraint to the failures; throws any other error.
    private func note(_ error: StoreError, ofGroup position: Int, _ catalog: StoreCatalog) throws(StoreError) {
        guard case .constraint(let conflicts) = error else { throw error }
        let group = schema.groups[position]
        for conflict in conflicts {
            failures.add(
                match.new.entities[group.entity].name, .notUnique(group.properties), formerID(conflict.object, catalog))
        }
    }

    /// Notes rows without a value for a property that the newer model requires and the older one did not, and rows with
    /// a number of destinations that only the older one allowed.
    func checkRequired(
        _ catalog: StoreCatalog, in transaction: borrowing StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        var required: [ModelComparison.RequiredProperty] = []
        assert(catalog.schema === schema, "values of another model are required")
        for entity in match.new.entities {
            for attribute in entity.attributes where attribute.declaredBy == entity.index {
                if isNewlyRequired(attribute, of: entity) {
                    required.append(.init(entity: entity.name, name: attribute.name))
                }
                for path in newlyRequiredElements(of: attribute, of: entity) {
                    required.append(.init(entity: entity.name, name: attribute.name, elements: path))
                }
            }
            for relationship in entity.relationships where relationship.declaredBy == entity.index {
                if isNewlyRequired(relationship, of: entity) {
                    required.append(.init(entity: entity.name, name: relationship.name))
                }
                for limit in newLimits(of: relationship) {
                    required.append(.init(entity: entity.name, name: relationship.name, demand: .count(limit)))
                }
            }
        }
        let missing = try catalog.rowsWithout(
            required, objectCountMax: MigrationFailures.objectCountMax, in: transaction)
        for property in missing {
            let subject = "\(property.required.entity).\(property.required.path)"
            assert(property.rowCount >= property.objects.count, "\(property.objects.count) rows are named")
            assert(!property.objects.isEmpty, "\(property.rowCount) rows without \(subject) are not named")
            for (position, id) in property.objects.enumerated() {
                let count = position == 0 ? property.rowCount - property.objects.count + 1 : 1
                failures.add(subject, property.required.reason, formerID(id, catalog), count: count)
            }
        }
    }

    private func isNewlyRequired(_ attribute: Attribute, of entity: Entity) -> Bool {
        guard !attribute.isOptional, attribute.isStored, !attribute.isDerived else { return false }
        return entity.family.contains { index in
            guard let older = match.oldEntities[index] else { return false }
            guard let slot = match.attributes[index][attribute.slot] else { return attribute.defaultValue.isNull }
            let former = match.old.entities[older].attributes[slot]
            return (former.isOptional || !former.isStored) && attribute.defaultValue.isNull
        }
    }

    /// The paths of the elements of a composite that rows of the older model may lack and the newer one requires.
    private func newlyRequiredElements(of attribute: Attribute, of entity: Entity) -> [[String]] {
        guard attribute.type == .composite, attribute.isStored else { return [] }
        var paths: [[String]] = []
        for index in entity.family {
            guard let older = match.oldEntities[index], let slot = match.attributes[index][attribute.slot] else {
                continue
            }
            let former = match.old.entities[older].attributes[slot]
            guard former.isStored else { continue }
            let conversion = AttributeConversion(from: former.description, to: attribute.description)
            for path in conversion.requiredElements(isFilled: true) where !paths.contains(path) { paths.append(path) }
        }
        return paths
    }

    private func isNewlyRequired(_ relationship: Relationship, of entity: Entity) -> Bool {
        guard !relationship.isOptional else { return false }
        return entity.family.contains { index in
            guard let older = match.oldEntities[index] else { return false }
            guard let slot = match.relationships[index][relationship.slot] else { return true }
            let former = match.old.entities[older].relationships[slot]
            return former.isOptional || !keepsReferences(former, as: relationship)
        }
    }

    /// The limits to the number of destinations that rows of the older model may not meet.
    private func newLimits(of relationship: Relationship) -> [CountLimit] {
        let (description, origin) = (relationship.description, origins[relationship])
        let limits = CountLimit.limits(of: description)
        guard origin.reversed.isEmpty else { return limits }
        return limits.filter { limit in
            origin.relationships.contains { former in
                // Lists may be shorter than they were if objects are removed with their entities.
                if case .atLeast = limit, !keepsReferences(former, as: relationship) { return true }
                return CountLimit.limits(of: description, tighterThan: former.description).contains(limit)
            }
        }
    }

    private func formerID(_ id: ObjectID, _ catalog: StoreCatalog) -> ObjectID? {
        guard let entity = catalog.model.entity(named: id.entityName) else { return nil }
        return formerID(entityNumber: catalog.numbering.entityNumbers[entity.index], key: id.key)
    }
}

extension ModelComparison.RequiredProperty {
    /// The problem of rows that do not meet the demand.
    fileprivate var reason: MigrationFailure.Reason {
        switch demand {
        case .value: .noValue
        case .count(.atLeast(let count)): .tooFewDestinations(minimum: count)
        case .count(.atMost(let count)): .tooManyDestinations(maximum: count)
        }
    }
}
