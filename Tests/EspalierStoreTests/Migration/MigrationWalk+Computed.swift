// Derived attributes and indexes with conditions and expressions, and their effects on plain values.
//
// Invariants
//   1. A source is an attribute or a list of the same entity or of one that it inherits from, and is not derived.

import EspalierModel
import EspalierStore

extension MigrationWalk {
    /// A value that an index can compute from an attribute of this type, as text; `nil` if there is none.
    private static func expression(of name: String, _ type: AttributeType) -> String? {
        switch type {
        case .string: "uppercase(\(name))"
        case .integer16, .integer32, .integer64, .double: "\(name) + 1"
        case .boolean, .date, .decimal, .float, .binary, .uuid, .uri, .transformable, .composite, .objectID, .undefined:
            nil
        }
    }

    mutating func addDerivation() {
        guard let entity = takeEntity() else { return }
        derive(in: entity)
    }

    mutating func addComputedIndex() {
        guard let entity = takeEntity() else { return }
        indexComputed(in: entity)
    }

    /// Adds an attribute that is derived from an attribute or a list of the entity, if there is one.
    mutating func derive(in entity: Int) {
        let name = newName("d")
        guard let rule = rule(in: entity) else { return }
        entities[entity].attributes.append(
            AttributeDescription(name, rule.type, isIndexed: chance(3), derivation: rule.derivation))
        log.append("derive \(name)")
    }

    /// A rule for an attribute of the entity, and the type of its values; `nil` if there is nothing to derive from.
    private mutating func rule(
        in entity: Int, exceptFor name: String = ""
    ) -> (derivation: Derivation, type: AttributeType)? {
        let lists = entities[entity].relationships.filter { $0.cardinality != .toOne }
        let sources = entities[entity].attributes.filter {
            $0.type.hasKeyOrder && $0.derivation == nil && !$0.name.hasPrefix("serial") && $0.name != name
        }
        if let list = lists.randomElement(using: &random), chance(2) { return (.count(of: list.name), .integer64) }
        guard let source = sources.randomElement(using: &random) else { return nil }
        let isLoud = source.type == .string && chance(2)
        return (isLoud ? .uppercase(of: source.name) : .value(of: source.name), source.type)
    }

    /// Lets stores compute an attribute that the application has set until now and that no rule reads.
    mutating func deriveAttribute() {
        let read = entities.flatMap(\.attributes).compactMap { $0.derivation.flatMap(Self.source) }
        let sources = Set(read).union(indexSources.values)
        let taken = takeAttribute { $0.type.hasKeyOrder && !sources.contains($0.name) }
        guard let (entity, slot) = taken else { return }
        let name = entities[entity].attributes[slot].name
        guard let rule = rule(in: entity, exceptFor: name) else { return }
        entities[entity].attributes[slot] = AttributeDescription(
            name, rule.type, isIndexed: entities[entity].attributes[slot].isIndexed,
            renamingIdentifier: entities[entity].attributes[slot].renamingIdentifier, derivation: rule.derivation)
        losses.insert(.removal(of: "\(entities[entity].name).\(name)"))
        log.append("derive \(name) by \(rule.derivation.expression)")
    }

    /// Gives a derived attribute another rule, and the type of its values.
    mutating func changeRule() {
        guard let entity = takeEntity(where: { $0.attributes.contains { $0.derivation != nil } }),
            let slot = entities[entity].attributes.firstIndex(where: { $0.derivation != nil }),
            let rule = rule(in: entity)
        else { return }
        (entities[entity].attributes[slot].type, entities[entity].attributes[slot].derivation) =
            (rule.type, rule.derivation)
        log.append("derive \(entities[entity].attributes[slot].name) by \(rule.derivation.expression)")
    }

    /// Lets the application set an attribute that stores have computed until now.
    mutating func freeAttribute() {
        guard let entity = takeEntity(where: { $0.attributes.contains { $0.derivation != nil } }),
            let slot = entities[entity].attributes.firstIndex(where: { $0.derivation != nil })
        else { return }
        entities[entity].attributes[slot].derivation = nil
        log.append("set \(entities[entity].attributes[slot].name)")
    }

    /// Adds an index with a condition or of an expression, if the entity has an attribute for it.
    mutating func indexComputed(in entity: Int) {
        let sources = entities[entity].attributes.filter {
            $0.type.hasKeyOrder && $0.derivation == nil && !$0.name.hasPrefix("serial")
        }
        guard let source = sources.randomElement(using: &random) else { return }
        let name = newName("i")
        if let expression = Self.expression(of: source.name, source.type), chance(2) {
            entities[entity].indexes.append(EntityDescription.Index(name, on: [.init(expression: expression)]))
        } else {
            entities[entity].indexes.append(
                EntityDescription.Index(name, on: [.init(source.name)], predicateFormat: "\(source.name) != nil"))
        }
        indexSources[name] = source.name
        log.append("compute index \(name) of \(source.name)")
    }

    /// Follows a new name of an attribute or relationship in the rules and constraints that read it.
    mutating func renameSource(_ old: String, to new: String, in entity: String) {
        renameInConstraints(old, to: new, in: entity)
        for position in entities.indices where family(entity).contains(entities[position].name) {
            for slot in entities[position].attributes.indices {
                guard let derivation = entities[position].attributes[slot].derivation,
                    Self.source(of: derivation) == old
                else { continue }
                entities[position].attributes[slot].derivation = Self.derivation(like: derivation, of: new)
            }
        }
    }

    private static func source(of derivation: Derivation) -> String? {
        switch derivation {
        case .value(let name), .uppercase(let name), .count(let name, _): name
        case .canonical, .lowercase, .sum, .average, .minimum, .maximum, .now: nil
        }
    }

    private static func derivation(like derivation: Derivation, of name: String) -> Derivation {
        switch derivation {
        case .uppercase: .uppercase(of: name)
        case .count: .count(of: name)
        case .value, .canonical, .lowercase, .sum, .average, .minimum, .maximum, .now: .value(of: name)
        }
    }

    /// Removes rules whose source is gone, gives others the type of their source, and computes the derived values.
    mutating func settleComputed() {
        let sources = indexSources
        for position in entities.indices {
            let (name, visible) = (entities[position].name, visibleProperties(of: position))
            entities[position].indexes.removeAll { index in
                guard let source = sources[index.name] else { return false }
                guard let attribute = visible.attributes.first(where: { $0.name == source }) else { return true }
                guard let text = index.elements.first?.expressionFormat else { return !attribute.type.hasKeyOrder }
                return text != Self.expression(of: source, attribute.type)
            }
            for attribute in entities[position].attributes {
                guard let derivation = attribute.derivation, let source = Self.source(of: derivation) else { continue }
                let found = visible.attributes.first { $0.name == source }
                let list = visible.relationships.first { $0.name == source && $0.cardinality != .toOne }
                let isLoud = if case .uppercase = derivation { true } else { false }
                let slot = entities[position].attributes.firstIndex { $0.name == attribute.name } ?? 0
                if let found, found.type.hasKeyOrder, !isLoud || found.type == .string {
                    entities[position].attributes[slot].type = found.type
                    change(rowsOf: name) { row in
                        let value = row.values[source] ?? .null
                        row.values[attribute.name] = isLoud ? Self.loud(value) : value
                    }
                } else if list != nil {
                    change(rowsOf: name) { row in
                        row.values[attribute.name] = .integer(Int64(row.lists[source]?.count ?? 0))
                    }
                } else {
                    entities[position].attributes.remove(at: slot)
                    change(rowsOf: name) { $0.values[attribute.name] = nil }
                    log.append("drop \(attribute.name)")
                }
            }
        }
    }

    private static func loud(_ value: AttributeValue) -> AttributeValue {
        if case .string(let text) = value { .string(text.uppercased()) } else { value }
    }

    /// The properties that an entity declares or inherits.
    func visibleProperties(
        of position: Int
    ) -> (attributes: [AttributeDescription], relationships: [RelationshipDescription]) {
        var (attributes, relationships) = (entities[position].attributes, entities[position].relationships)
        var next = entities[position].superentity
        while let name = next {
            let entity = entities[self.position(of: name)]
            attributes += entity.attributes
            relationships += entity.relationships
            next = entity.superentity
        }
        return (attributes, relationships)
    }
}
