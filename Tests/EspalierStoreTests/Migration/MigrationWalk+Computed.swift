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
        let lists = entities[entity].relationships.filter { $0.cardinality != .toOne }
        let sources = entities[entity].attributes.filter {
            $0.type.hasKeyOrder && $0.derivation == nil && !$0.name.hasPrefix("serial")
        }
        let name = newName("d")
        if let list = lists.randomElement(using: &random), chance(2) {
            entities[entity].attributes.append(
                AttributeDescription(name, .integer64, isIndexed: chance(3), derivation: .count(of: list.name)))
        } else if let source = sources.randomElement(using: &random) {
            let isLoud = source.type == .string && chance(2)
            entities[entity].attributes.append(
                AttributeDescription(
                    name, source.type, isIndexed: chance(3),
                    derivation: isLoud ? .uppercase(of: source.name) : .value(of: source.name)))
        } else {
            return
        }
        log.append("derive \(name)")
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

    /// Follows a new name of an attribute or relationship in the rules that read it.
    mutating func renameSource(_ old: String, to new: String, in entity: String) {
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
    private func visibleProperties(
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
