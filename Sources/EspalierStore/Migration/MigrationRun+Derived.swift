// Derived values in a migration: those that follow from the same values by the same rule are kept, all others are
// computed anew.
//
// Invariants
//   1. A derived value that is kept is the one that its rule would compute.
//   2. A change of models that leaves the rules and their sources alone reads no row for derived values.

internal import EspalierEngine
internal import EspalierModel

extension MigrationRun {
    /// The derived attributes whose values may differ now in rows of the older model, each after those from which it is
    /// derived.
    ///
    /// Times of saves are not among them: no rule computes them anew.
    func changedDerivations() -> [DerivationPlan.Member] {
        var changed: [DerivationPlan.Member] = []
        for member in schema.derivations.members {
            if case .now = member.derivation.source { continue }
            if !keepsValues(of: member, changed) { changed.append(member) }
        }
        return changed
    }

    /// The constraints whose rows get values that are computed anew, as positions in the schema's groups.
    ///
    /// They are checked after the computation: rows may share the values that they have before.
    func constraints(of changed: [DerivationPlan.Member]) -> Set<Int> {
        Set(
            schema.constraints.filter { position in
                let group = schema.groups[position]
                return group.sources.contains { isChanged($0, of: match.new.entities[group.entity], changed) }
            })
    }

    /// Computes derived values anew, and writes those that differ; the caller checks the constraints with such values.
    func computeDerivedValues(
        of members: [DerivationPlan.Member], _ catalog: StoreCatalog,
        in transaction: inout StoreTransaction<WriteTransaction>
    ) throws(StoreError) {
        guard !members.isEmpty else { return }
        assert(catalog.schema === schema, "\(members.count) derived attributes of another model are computed")
        let count = try catalog.recomputeDerivedValues(
            of: members, checkingUnique: false, in: &transaction, &units)
        outcome.derivedValuesWritten += count
        notes.part("derived values", count)
    }

    // MARK: Rules and sources that stay

    private func keepsValues(of member: DerivationPlan.Member, _ changed: [DerivationPlan.Member]) -> Bool {
        assert(
            !isChanged(.attribute(member.slot), of: member.entity, changed),
            "\(member.entity.name).\(member.derivation.attribute.name) is judged twice")
        return changes.indices.allSatisfy { position in
            let number = UInt16(position)
            guard let fate = fates[number], fate.entity.isKind(of: member.entity) else { return true }
            guard let change = changes[position], let older = oldCatalog.numbering.entity(number),
                change.keeps(.attribute(member.slot)),
                let slot = match.attributes[fate.entity.index][member.slot],
                let former = oldCatalog.schema.derivations.byEntity[older.index].first(where: { $0.slot == slot })
            else { return false }
            return keepsSource(of: member, former, older, fate.entity, change, changed)
        }
    }

    /// Whether a rule does the same as an older one, with values that are the same as before.
    private func keepsSource(
        of member: DerivationPlan.Member, _ former: DerivationPlan.Member, _ older: Entity, _ newer: Entity,
        _ change: EntityChange, _ changed: [DerivationPlan.Member]
    ) -> Bool {
        assert(
            newer.isKind(of: member.entity) && older.isKind(of: former.entity),
            "rules of \(former.entity.name) and \(member.entity.name) are compared for \(older.name) and \(newer.name)")
        switch (former.derivation.source, member.derivation.source) {
        case (.own(let oldSlot, let oldFunction), .own(let slot, let function)):
            let source = Entity.Property.attribute(slot)
            return oldFunction == function && !isChanged(source, of: newer, changed) && change.keeps(source)
                && continues(.attribute(oldSlot), of: older, as: source, newer)
        case (.across(let old, let oldSlot, let oldFunction), .across(let relationship, let slot, let function)):
            let reference = Entity.Property.relationship(relationship.slot)
            return oldFunction == function && change.keeps(reference)
                && continues(.relationship(old.slot), of: older, as: reference, newer)
                && keepsDestinations(.attribute(slot), of: relationship, as: .attribute(oldSlot), of: old, changed)
        case (.list(let old), .list(let list)):
            guard old.aggregate == list.aggregate, old.condition?.source == list.condition?.source,
                let kept = keptLinks(of: list.relationship), RelationshipID(kept) == RelationshipID(old.relationship)
            else { return false }
            let (oldHome, home) = (match.old.destination(of: kept), match.new.destination(of: list.relationship))
            guard (old.slot == nil) == (list.slot == nil) else { return false }
            // Names and families of entities may be others now, although no property has changed.
            if list.condition?.source.readsEntityNames == true { return false }
            return list.properties.allSatisfy { property in
                // Equal conditions read properties of the same names.
                let named = oldHome.property(named: home.name(of: property))
                guard let oldProperty = old.slot.map({ Entity.Property.attribute($0) }) ?? named else { return false }
                return keepsDestinations(property, of: list.relationship, as: oldProperty, of: kept, changed)
            }
        case (.own, _), (.across, _), (.list, _), (.now, _): return false
        }
    }

    /// Whether all rows to which an older relationship may lead keep the values of a property.
    private func keepsDestinations(
        _ property: Entity.Property, of relationship: Relationship, as formerProperty: Entity.Property,
        of former: Relationship, _ changed: [DerivationPlan.Member]
    ) -> Bool {
        guard !isChanged(property, of: match.new.destination(of: relationship), changed) else { return false }
        return members(of: former.destination).allSatisfy { older, fate in
            guard let fate, let change = changes[Int(oldCatalog.numbering.entityNumbers[older.index])],
                fate.entity.isKind(of: match.new.destination(of: relationship))
            else { return false }
            return change.keeps(property) && continues(formerProperty, of: older, as: property, fate.entity)
        }
    }

    /// Whether the property is an attribute whose values are computed anew.
    private func isChanged(
        _ property: Entity.Property, of entity: Entity, _ changed: [DerivationPlan.Member]
    ) -> Bool {
        guard case .attribute(let slot) = property else { return false }
        return changed.contains { $0.slot == slot && $0.entity.index == entity.attributes[slot].declaredBy }
    }
}

extension Entity {
    /// The name of one of its properties.
    func name(of property: Property) -> String {
        switch property {
        case .attribute(let slot): attributes[slot].name
        case .relationship(let slot): relationships[slot].name
        }
    }
}
