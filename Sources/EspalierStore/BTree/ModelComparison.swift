// Whether a file's model and the application's store the same rows, and if not, where they differ.
//
// Allowed differences: the order of entities, properties and elements, default values and delete rules, which do not
// change the contents of a file; renaming identifiers, as long as every name stands for the same part; indexes and
// uniqueness constraints, whose trees are built and dropped on opening; and whether a value is optional and how many
// destinations are allowed, which is checked on opening. A migration does all that, and the adoption of a model
// (ModelAdoption) where a file is not migrated.
//
// Invariants
//   1. Models without differences give every name of an entity and of a property the same rows and values: two
//      properties of one type that exchange their names are a difference.

package import EspalierModel

/// The comparison of a file's model with another one.
package enum ModelComparison {
    /// The differences between the stored and the given model, a sentence for each entity; empty = compatible.
    ///
    /// - Complexity: O(properties of both models, including inherited ones).
    package static func differences(stored: ManagedObjectModel, given: ManagedObjectModel) -> [String] {
        let storedEntities = stored.descriptions
        guard !StoredModel.isSame(storedEntities, given.storedDescriptions) else { return [] }
        let match = ModelMatch(from: stored, to: given)
        let storedByName = byName(storedEntities.map { ($0.name, $0) })
        var reasons: [String] = []
        for entity in given.entities {
            guard let old = storedByName[entity.name] else {
                reasons.append("entity \(entity.name) is not in the file")
                continue
            }
            if let former = match.oldEntities[entity.index].map({ stored.entities[$0] }), former.name != entity.name {
                reasons.append("entity \(entity.name) was called \(former.name)")
                continue
            }
            let parts = differences(old, entity.description) + otherNames(in: entity, match)
            if !parts.isEmpty { reasons.append("entity \(entity.name): " + parts.joined(separator: ", ")) }
        }
        let givenNames = Set(given.entities.map(\.name))
        for entity in storedEntities where !givenNames.contains(entity.name) {
            reasons.append("entity \(entity.name) of the file is not in the model")
        }
        assert(
            !reasons.isEmpty || storedEntities.count == given.entities.count,
            "\(storedEntities.count) entities of the file store the same rows as \(given.entities.count)")
        return reasons
    }

    /// The properties that the older entity has under the same name, but that continue another one of it.
    private static func otherNames(in entity: Entity, _ match: ModelMatch) -> [String] {
        guard let older = match.oldEntities[entity.index].map({ match.old.entities[$0] }) else { return [] }
        var parts: [String] = []
        for attribute in entity.attributes where older.attribute(named: attribute.name) != nil {
            guard let slot = match.attributes[entity.index][attribute.slot] else { continue }
            let former = older.attributes[slot]
            if former.name != attribute.name { parts.append("attribute \(attribute.name) was called \(former.name)") }
            let conversion = AttributeConversion(from: former.description, to: attribute.description)
            parts += conversion.renamedElements.map {
                "element \(attribute.name).\($0.path) was called \($0.formerName)"
            }
        }
        for relationship in entity.relationships where older.relationship(named: relationship.name) != nil {
            guard let slot = match.relationships[entity.index][relationship.slot] else { continue }
            let former = older.relationships[slot].name
            if former != relationship.name { parts.append("relationship \(relationship.name) was called \(former)") }
        }
        return parts
    }

    private static func differences(_ old: EntityDescription, _ new: EntityDescription) -> [String] {
        var parts: [String] = []
        func compare<Part: Equatable>(_ what: String, _ old: [String: Part], _ new: [String: Part]) {
            for name in Set(old.keys).union(new.keys).sorted() where old[name] != new[name] {
                let how = old[name] == nil ? "is new" : new[name] == nil ? "is missing" : "differs"
                parts.append("\(what) \(name) \(how)")
            }
        }
        if old.superentity != new.superentity {
            parts.append(
                "its superentity is \(old.superentity ?? "none") in the file, but \(new.superentity ?? "none") in the "
                    + "model"
            )
        }
        if old.isAbstract != new.isAbstract {
            parts.append(
                "it is \(old.isAbstract ? "" : "not ")abstract in the file, but \(old.isAbstract ? "not " : "")in the "
                    + "model"
            )
        }
        compare(
            "attribute", byName(old.attributes.map { ($0.name, stored($0)) }),
            byName(new.attributes.map { ($0.name, stored($0)) }))
        compare(
            "relationship", byName(old.relationships.map { ($0.name, stored($0)) }),
            byName(new.relationships.map { ($0.name, stored($0)) }))
        return parts
    }

    /// A property of which one model demands more than the other.
    struct RequiredProperty {
        /// The demands on a property.
        enum Demand {
            /// A value, or at least one destination.
            case value
            /// A number of destinations, of rows that have any.
            case count(CountLimit)
        }

        let entity: String
        let name: String
        /// The path to the element of a composite that is meant; empty = the property as a whole.
        var elements: [String] = []
        var demand = Demand.value

        /// The name of the property, or the path of the element: `home.zip`.
        var path: String { ([name] + elements).joined(separator: ".") }
    }

    /// The attributes and relationships of which the given model demands more than the stored one.
    static func newlyRequired(stored: [EntityDescription], given: [EntityDescription]) -> [RequiredProperty] {
        let storedByName = byName(stored.map { ($0.name, $0) })
        return given.flatMap { entity -> [RequiredProperty] in
            guard let old = storedByName[entity.name] else { return [] }
            let attributes = entity.attributes.filter { attribute in
                !attribute.isOptional && !attribute.isTransient && attribute.derivation == nil
                    && old.attributes.contains { $0.name == attribute.name && $0.isOptional }
            }
            let relationships = entity.relationships.filter { relationship in
                !relationship.isOptional
                    && old.relationships.contains { $0.name == relationship.name && $0.isOptional }
            }
            var required = (attributes.map(\.name) + relationships.map(\.name)).map {
                RequiredProperty(entity: entity.name, name: $0)
            }
            for attribute in entity.attributes where !attribute.isTransient {
                guard let older = old.attributes.first(where: { $0.name == attribute.name }) else { continue }
                for path in AttributeConversion(from: older, to: attribute).requiredElements(isFilled: false) {
                    required.append(RequiredProperty(entity: entity.name, name: attribute.name, elements: path))
                }
            }
            for relationship in entity.relationships {
                guard let older = old.relationships.first(where: { $0.name == relationship.name }) else { continue }
                for limit in CountLimit.limits(of: relationship, tighterThan: older) {
                    required.append(
                        RequiredProperty(entity: entity.name, name: relationship.name, demand: .count(limit)))
                }
            }
            return required
        }
    }

    private static func byName<Part>(_ parts: [(String, Part)]) -> [String: Part] {
        Dictionary(parts, uniquingKeysWith: { first, _ in first })
    }

    /// The attribute, reduced to the parts that determine stored bytes.
    private static func stored(_ attribute: AttributeDescription) -> AttributeDescription {
        AttributeDescription(
            attribute.name, attribute.type, isTransient: attribute.isTransient,
            elements: attribute.elements.map(stored).sorted { $0.name < $1.name }, derivation: attribute.derivation)
    }

    /// The relationship, reduced to the parts that determine stored bytes.
    private static func stored(_ relationship: RelationshipDescription) -> RelationshipDescription {
        RelationshipDescription(
            relationship.name, to: relationship.destination, inverse: relationship.inverse, relationship.cardinality)
    }
}
