// Compares the properties that each entity declares with the older properties that they continue, in whichever entity
// the older model declares those.

extension DifferenceBuilder {
    /// The place in the older model of the property that a newer property continues.
    private struct Origin {
        /// The older entity in which the property was found.
        let entity: EntityIndex
        let slot: Int
        /// The older entity that declares the property.
        let declaredBy: EntityIndex
    }

    mutating func compareProperties(of entity: Entity) {
        for attribute in entity.attributes where attribute.declaredBy == entity.index {
            let origins = origins(of: attribute.slot, in: entity, match.attributes) { $0.attributes[$1].declaredBy }
            compareAttribute(attribute, of: entity, origins)
        }
        for relationship in entity.relationships where relationship.declaredBy == entity.index {
            let origins = origins(of: relationship.slot, in: entity, match.relationships) {
                $0.relationships[$1].declaredBy
            }
            compareRelationship(relationship, of: entity, origins)
        }
    }

    /// One origin for each older entity that declares the property; the origin in `entity` itself comes first.
    private func origins(
        of slot: Int, in entity: Entity, _ slots: [[Int?]], _ declaredBy: (Entity, Int) -> EntityIndex
    ) -> [Origin] {
        var found: [Origin] = []
        for member in [entity.index] + entity.family where member != entity.index || found.isEmpty {
            guard let older = match.oldEntities[member], let oldSlot = slots[member][slot] else { continue }
            let declaring = declaredBy(old.entities[older], oldSlot)
            guard !found.contains(where: { $0.declaredBy == declaring }) else { continue }
            found.append(Origin(entity: older, slot: oldSlot, declaredBy: declaring))
        }
        return found
    }

    /// Adds a change if the property was declared by another entity; a renamed entity counts as the same.
    ///
    /// - Parameter isList: whether it is a to-many relationship, whose lists are one tree for each entity that declares
    ///   it, or one that changes such lists.
    private mutating func compareHome(_ name: String, of entity: Entity, _ origins: [Origin], isList: Bool = false) {
        guard origins.count > 1 || match.newEntities[origins[0].declaredBy] != entity.index else { return }
        let names = origins.map { old.entities[$0.declaredBy].name }
        let isWhole = origins.count == 1 && hasAllRows(of: old.entities[origins[0].declaredBy], entity)
        let cost: ModelChange.Cost = isList && !isWhole ? .rewrite : .constant
        changes.append(
            ModelChange(
                entity.name, name, .propertyMoved(from: names), cost, rows: cost == .constant ? [] : rows(of: entity)))
    }

    /// Whether all rows of an older entity's family belong to the family of `entity`.
    private func hasAllRows(of older: Entity, _ entity: Entity) -> Bool {
        older.family.allSatisfy { index in
            old.entities[index].isAbstract
                || match.newEntities[index].map { new.entities[$0].isKind(of: entity) } ?? false
        }
    }

    // MARK: Attributes

    private mutating func compareAttribute(_ attribute: Attribute, of entity: Entity, _ origins: [Origin]) {
        let (name, rows) = (attribute.name, rows(of: entity))
        let value = attribute.description
        guard let first = origins.first else {
            // The addition of an entity without older rows includes its properties.
            if match.oldEntities[entity.index] != nil || !rows.isEmpty {
                let kind = ModelChange.Kind.attributeAdded(attribute.type)
                let cost = costOfNew(value)
                changes.append(ModelChange(entity.name, name, kind, cost, rows: cost == .constant ? [] : rows))
            }
            return
        }
        compareHome(name, of: entity, origins)
        let older = old.entities[first.entity].attributes[first.slot].description
        func add(
            _ kind: ModelChange.Kind, _ cost: ModelChange.Cost = .constant, loss: MigrationLoss? = nil
        ) {
            changes.append(
                ModelChange(entity.name, name, kind, cost, rows: cost == .constant ? [] : rows, loss: loss))
        }
        if older.name != name { add(.propertyRenamed(from: older.name)) }
        if older.isTransient != value.isTransient {
            if value.isTransient {
                add(.madeTransient, loss: lossOfValues(of: first, value))
            } else {
                add(.madeStored, costOfNew(value))
            }
        }
        let isKept = !older.isTransient && !value.isTransient
        if older.type != value.type {
            add(.typeChanged(from: older.type, to: value.type), isKept ? .rewrite : .constant)
        } else if older.type == .composite {
            compareElements(
                AttributeConversion(from: older, to: value),
                CompositePlace(
                    entity: entity.name, path: name, formerPath: formerName(of: first), isStored: isKept, rows: rows))
        }
        if older.isOptional != value.isOptional {
            let fills = value.defaultValue.isNull ? ModelChange.Cost.check : .rewrite
            add(value.isOptional ? .madeOptional : .madeRequired, value.isOptional || !isKept ? .constant : fills)
        }
        if older.defaultValue != value.defaultValue {
            add(.defaultChanged(from: older.defaultValue, to: value.defaultValue))
        }
        if older.valueTransformerName != value.valueTransformerName {
            add(.transformerChanged(from: older.valueTransformerName, to: value.valueTransformerName))
        }
        if older.derivation != value.derivation {
            add(
                .derivationChanged(from: older.derivation?.expression, to: value.derivation?.expression),
                value.derivation == nil ? .constant : .rewrite, loss: lossOfValues(of: first, value))
        }
        for origin in origins.dropFirst() { addChanges(of: origin, beside: older, to: value, in: entity) }
    }

    /// Adds what one more older attribute that the newer one continues loses, and the work that its rows need and those
    /// of `named`, the first of these attributes, do not; other changes are named once.
    private mutating func addChanges(
        of origin: Origin, beside named: AttributeDescription, to value: AttributeDescription, in entity: Entity
    ) {
        let (former, rows) = (old.entities[origin.entity].attributes[origin.slot].description, rows(of: entity))
        if !former.isTransient, !value.isTransient {
            if former.type != value.type, former.type != named.type || named.isTransient {
                changes.append(
                    ModelChange(
                        entity.name, value.name, .typeChanged(from: former.type, to: value.type), .rewrite, rows: rows))
            }
            if former.isOptional, !value.isOptional, !named.isOptional || named.isTransient {
                let cost: ModelChange.Cost = value.defaultValue.isNull ? .check : .rewrite
                changes.append(ModelChange(entity.name, value.name, .madeRequired, cost, rows: rows))
            }
        }
        if let loss = lossOfValues(of: origin, value) {
            changes.append(
                value.isTransient
                    ? ModelChange(entity.name, value.name, .madeTransient, loss: loss)
                    : ModelChange(
                        entity.name, value.name, .derivationChanged(from: nil, to: value.derivation?.expression),
                        .rewrite, rows: rows, loss: loss))
        }
        guard !former.isTransient, !value.isTransient, !rows.isEmpty else { return }
        for path in AttributeConversion(from: former, to: value).lostElements {
            let loss = MigrationLoss.removal(of: ([formerName(of: origin)] + path).joined(separator: "."))
            changes.append(
                ModelChange(
                    entity.name, ([value.name] + path).joined(separator: "."), .attributeRemoved, .rewrite, rows: rows,
                    loss: loss))
        }
    }

    /// The name of an older attribute with the entity that declares it.
    private func formerName(of origin: Origin) -> String {
        let name = old.entities[origin.entity].attributes[origin.slot].name
        return "\(old.entities[origin.declaredBy].name).\(name)"
    }

    /// The loss of the values that an application has set, if the newer attribute does not keep them: rows have no
    /// field for it, or stores compute its values.
    ///
    /// The time of a save is computed for rows that are saved later; the others keep their values.
    private func lossOfValues(of origin: Origin, _ value: AttributeDescription) -> MigrationLoss? {
        let former = old.entities[origin.entity].attributes[origin.slot].description
        guard !former.isTransient, former.derivation == nil, value.isTransient || value.isComputed else { return nil }
        let family = old.entities[origin.declaredBy].family.filter { match.newEntities[$0] != nil }
        return names(of: family).isEmpty ? nil : .removal(of: formerName(of: origin))
    }

    /// The cost of an attribute that rows do not have.
    func costOfNew(_ attribute: AttributeDescription) -> ModelChange.Cost {
        if attribute.isTransient { return .constant }
        if attribute.derivation != nil { return .rewrite }
        // The layouts of older rows keep the default value of a new attribute.
        return attribute.defaultValue.isNull && !attribute.isOptional ? .check : .constant
    }

    mutating func compareRemoved(_ attribute: Attribute, of entity: Entity) {
        let lost = entity.family.filter {
            match.newEntities[$0] != nil && match.newAttribute(attribute.slot, of: $0) == nil
        }
        guard !lost.isEmpty else { return }
        // A derived value follows from others.
        let isLoss = !attribute.isTransient && !attribute.isDerived && !names(of: lost).isEmpty
        changes.append(
            ModelChange(
                entity.name, attribute.name, .attributeRemoved,
                loss: isLoss ? .removal(of: "\(entity.name).\(attribute.name)") : nil))
    }

    // MARK: Relationships

    private mutating func compareRelationship(
        _ relationship: Relationship, of entity: Entity, _ origins: [Origin]
    ) {
        let (name, rows) = (relationship.name, rows(of: entity))
        let value = relationship.description
        guard let first = origins.first else {
            guard match.oldEntities[entity.index] != nil || !rows.isEmpty else { return }
            let isDerived = new.inverse(of: relationship).map { isContinued($0, of: relationship.destination) } ?? false
            let cost: ModelChange.Cost = isDerived ? .rewrite : value.isOptional ? .constant : .check
            changes.append(
                ModelChange(
                    entity.name, name, .relationshipAdded(to: value.destination), cost,
                    rows: cost == .constant ? [] : rows))
            return
        }
        // Several relationships that lead back from lists give these other members.
        let changesLists = origins.count > 1 && new.inverse(of: relationship)?.isToMany == true
        compareHome(name, of: entity, origins, isList: value.cardinality != .toOne || changesLists)
        let former = old.entities[first.entity].relationships[first.slot]
        let older = former.description
        func add(
            _ kind: ModelChange.Kind, _ cost: ModelChange.Cost = .constant, loss: MigrationLoss? = nil
        ) {
            changes.append(
                ModelChange(entity.name, name, kind, cost, rows: cost == .constant ? [] : rows, loss: loss))
        }
        if older.name != name { add(.propertyRenamed(from: older.name)) }
        if older.cardinality != value.cardinality {
            add(
                .cardinalityChanged(from: older.cardinality, to: value.cardinality), .rewrite,
                loss: lossOfOrder(of: first, value))
        }
        if match.newEntities[former.destination] != relationship.destination {
            let isWider = old.entities[former.destination].family.allSatisfy { older in
                match.newEntities[older].map {
                    new.entities[$0].isKind(of: new.destination(of: relationship))
                } ?? true
            }
            add(.destinationChanged(from: older.destination, to: value.destination), isWider ? .constant : .rewrite)
        }
        if let kind = inverseChange(of: relationship, former) { add(kind, .rewrite) }
        if older.deleteRule != value.deleteRule {
            add(.deleteRuleChanged(from: older.deleteRule, to: value.deleteRule))
        }
        if older.isOptional != value.isOptional {
            add(value.isOptional ? .madeOptional : .madeRequired, value.isOptional ? .constant : .check)
        }
        if let cost = costOfCounts(of: value, replacing: older) { add(.countsChanged, cost) }
        for origin in origins.dropFirst() { addChanges(of: origin, beside: former, to: relationship, in: entity) }
    }

    /// Adds what one more older relationship that the newer one continues loses, and the work that its rows need and
    /// those of `first`, the first of these relationships, do not; other changes are named once.
    private mutating func addChanges(
        of origin: Origin, beside first: Relationship, to relationship: Relationship, in entity: Entity
    ) {
        let older = old.entities[origin.entity].relationships[origin.slot]
        let (former, named, value) = (older.description, first.description, relationship.description)
        let (rows, loss) = (rows(of: entity), lossOfOrder(of: origin, value))
        if former.cardinality != value.cardinality, loss != nil || former.cardinality != named.cardinality {
            changes.append(
                ModelChange(
                    entity.name, value.name, .cardinalityChanged(from: former.cardinality, to: value.cardinality),
                    .rewrite, rows: rows, loss: loss))
        }
        if former.isOptional, !value.isOptional, !named.isOptional {
            changes.append(ModelChange(entity.name, value.name, .madeRequired, .check, rows: rows))
        }
        let known = costOfCounts(of: value, replacing: named)
        if let cost = costOfCounts(of: value, replacing: former), known == nil || known == .constant && cost == .check {
            let rows = cost == .constant ? [] : rows
            changes.append(ModelChange(entity.name, value.name, .countsChanged, cost, rows: rows))
        }
        if let kind = inverseChange(of: relationship, older), kind != inverseChange(of: relationship, first) {
            changes.append(ModelChange(entity.name, value.name, kind, .rewrite, rows: rows))
        }
    }

    /// The cost of other counts of a relationship that keeps its cardinality; `nil` if the counts are the same.
    private func costOfCounts(
        of value: RelationshipDescription, replacing older: RelationshipDescription
    ) -> ModelChange.Cost? {
        guard older.cardinality == value.cardinality,
            (older.minCount, older.maxCount) != (value.minCount, value.maxCount)
        else { return nil }
        return CountLimit.limits(of: value, tighterThan: older).isEmpty ? .constant : .check
    }

    /// The loss of the order of an older list, if the newer one has none.
    private func lossOfOrder(of origin: Origin, _ value: RelationshipDescription) -> MigrationLoss? {
        let former = old.entities[origin.entity].relationships[origin.slot].description
        guard former.cardinality == .ordered, value.cardinality == .toMany else { return nil }
        return .order(of: "\(old.entities[origin.declaredBy].name).\(former.name)")
    }

    /// The change of the inverse of a relationship that continues `former`; `nil` if that has changed in no other way
    /// than the entities and properties that it names.
    private func inverseChange(of relationship: Relationship, _ former: Relationship) -> ModelChange.Kind? {
        let continued = former.inverse.flatMap { match.newRelationship($0, of: former.destination) }
        let isSame =
            relationship.inverse == nil
            ? former.inverse == nil
            : continued == relationship.inverse && match.newEntities[former.destination] == relationship.destination
        guard !isSame else { return nil }
        let (oldName, newName) = (former.description.inverse, relationship.description.inverse)
        // A renamed entity, or the same inverse on another destination, is reported by another change.
        guard continued != relationship.inverse || (oldName == nil) != (newName == nil) else { return nil }
        return .inverseChanged(from: oldName, to: newName)
    }

    /// Whether `relationship`, which `destination` declares, continues an older relationship in some entity.
    private func isContinued(_ relationship: Relationship, of destination: EntityIndex) -> Bool {
        new.entities[destination].family.contains { match.relationships[$0][relationship.slot] != nil }
    }

    mutating func compareRemoved(_ relationship: Relationship, of entity: Entity) {
        let lost = entity.family.filter {
            match.newEntities[$0] != nil && match.newRelationship(relationship.slot, of: $0) == nil
        }
        guard !lost.isEmpty else { return }
        let name = "\(entity.name).\(relationship.name)"
        // An inverse that is kept holds the same links; only their order is lost.
        let leadsBack = relationship.inverse.map { inverse in
            old.entities[relationship.destination].family.allSatisfy {
                match.newEntities[$0] == nil || match.newRelationship(inverse, of: $0) != nil
            } && match.newEntities[relationship.destination] != nil
        }
        let loss: MigrationLoss? =
            if names(of: lost).isEmpty {
                nil
            } else if leadsBack == true {
                relationship.isOrdered ? .order(of: name) : nil
            } else {
                .removal(of: name)
            }
        let rows = relationship.isToMany ? [] : names(of: lost)
        changes.append(
            ModelChange(
                entity.name, relationship.name, .relationshipRemoved, rows.isEmpty ? .constant : .rewrite, rows: rows,
                loss: loss))
    }
}
