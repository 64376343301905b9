// The rules of the model for the values of single rows: that a property must have a value, and the validation rules of
// attributes. A context checks the same rules for its objects.

internal import EspalierModel

/// The rules of a model, prepared once for all rows of a command.
struct BatchRules {
    /// The most broken rules that an error reports.
    static let reportCountMax = 1000

    /// By index of the entity, then by slot of the attribute; entities that no row had are missing.
    private var rulesByEntity: [ManagedObjectModel.EntityIndex: [[PreparedRule]]] = [:]

    /// The rules that the value of an attribute breaks.
    mutating func broken(_ value: AttributeValue, at slot: Int, of entity: Entity) -> [BrokenRule.Kind] {
        if value.isNull { return requiresValue(at: slot, of: entity) ? [.missingValue] : [] }
        let rules = rules(of: entity)
        assert(rules.count == entity.attributes.count, "\(entity.name) has rules for \(rules.count) attributes")
        guard !rules[slot].isEmpty else { return [] }
        return rules[slot].filter { !$0.holds(for: value) }.map { .rule($0.rule, value: $0.part(of: value)) }
    }

    /// Whether a row breaks a rule if the attribute has no value.
    func requiresValue(at slot: Int, of entity: Entity) -> Bool {
        let attribute = entity.attributes[slot]
        return !attribute.isOptional && !attribute.isTransient && !attribute.isDerived
    }

    /// The rule that a to-one relationship breaks without a destination.
    func broken(_ destination: ObjectID?, at slot: Int, of entity: Entity) -> [BrokenRule.Kind] {
        destination == nil && !entity.relationships[slot].isOptional ? [.missingValue] : []
    }

    /// The rules that a new row breaks; to-many relationships have no destinations yet.
    mutating func broken(_ row: RowValues, at position: Int, of entity: Entity) -> [BrokenRule] {
        assert(row.attributeCount == entity.attributes.count, "\(row.attributeCount) values for \(entity.name)")
        assert(row.relationshipCount == entity.relationships.count, "a row at \(position) is of another entity")
        var broken: [BrokenRule] = []
        func note(_ kinds: [BrokenRule.Kind], _ property: String) {
            broken += kinds.map {
                BrokenRule($0, entityName: entity.name, property: property, position: position)
            }
        }
        for slot in entity.attributes.indices {
            note(self.broken(row.attribute(at: slot), at: slot, of: entity), entity.attributes[slot].name)
        }
        for slot in entity.relationships.indices where !entity.relationships[slot].isOptional {
            note(self.broken(row.destination(at: slot), at: slot, of: entity), entity.relationships[slot].name)
        }
        return broken
    }

    /// The validation rules of the attributes of an entity, by slot.
    mutating func rules(of entity: Entity) -> [[PreparedRule]] {
        if let rules = rulesByEntity[entity.index] { return rules }
        let rules = entity.attributes.map(\.description.preparedRules)
        rulesByEntity[entity.index] = rules
        return rules
    }
}
