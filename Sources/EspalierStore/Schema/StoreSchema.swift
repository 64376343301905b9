// The parts that every store derives from a model: key groups, links, and tables to find them for a row.
//
// Invariants
//   1. Computed from the model alone: two stores with the same model have the same schema.
//   2. A key group or link belongs to the entity that declares it and covers the rows of that entity's family.
// Not here: names and numbers of trees (StoreCatalog), encoding of keys (KeyCoding).

package import EspalierModel

/// One relationship, the same in all entities that inherit it.
package struct RelationshipID: Hashable, Sendable {
    /// The entity that declares it.
    package let declaredBy: ManagedObjectModel.EntityIndex
    /// Its slot there and in all subentities.
    package let slot: Int

    init(_ relationship: Relationship) { (declaredBy, slot) = (relationship.declaredBy, relationship.slot) }
}

/// Properties whose values together are an ordered key: an index or a uniqueness constraint.
///
/// A class, because saves and plans pass one on for every row and condition.
package final class KeyGroup: Sendable {
    /// The part of an element that each entry of a row needs: copying it counts no reference.
    struct Coding: Sendable, Hashable {
        /// The property, if its value as a whole is meant; `nil` for a part of a composite and for an expression.
        let wholeProperty: Entity.Property?
        let type: AttributeType
        let isAscending: Bool
        let folding: ComparisonOptions
    }
    /// One property of a group, or an expression in its place.
    package struct Element: Sendable, Hashable {
        /// The attribute or to-one relationship; `nil` for an expression.
        package let property: Entity.Property?
        /// The path from a composite attribute to one of its elements; empty if the property as a whole is meant.
        package let path: [String]
        /// The expression, which only an index can have; `nil` for a property.
        package let expression: IndexExpression?
        /// How its values become codes.
        let coding: Coding

        /// The type of the attribute, element or expression; `objectID` for a to-one relationship, `undefined` for
        /// numbers of all types, which only expressions have.
        package var type: AttributeType { coding.type }
        /// Whether smaller values come first.
        package var isAscending: Bool { coding.isAscending }
        /// The differences between texts that are ignored.
        package var folding: ComparisonOptions { coding.folding }

        init(
            _ property: Entity.Property, path: [String] = [], type: AttributeType,
            like description: EntityDescription.Index.Element
        ) {
            (self.property, self.path, expression) = (property, path, nil)
            coding = Coding(
                wholeProperty: path.isEmpty ? property : nil, type: type, isAscending: description.isAscending,
                folding: type == .objectID ? [] : description.folding)
        }

        init(_ expression: IndexExpression, like description: EntityDescription.Index.Element) {
            (property, path, self.expression) = (nil, [], expression)
            coding = Coding(
                wholeProperty: nil, type: expression.type, isAscending: description.isAscending,
                folding: description.folding)
        }

        /// Whether the values are those of the property, unchanged.
        var isPlain: Bool { expression == nil && path.isEmpty && folding.isEmpty }

        /// The properties from which the values follow.
        fileprivate var sources: Set<Entity.Property> { expression?.properties ?? Set([property].compactMap(\.self)) }
    }
    /// The name: of the index, or the properties joined by commas.
    package let name: String
    /// The entity that declares it; the rows of its family belong to the group.
    package let entity: ManagedObjectModel.EntityIndex
    /// The properties, most significant first.
    package let elements: [Element]
    /// The codings of the elements.
    let codings: [Coding]
    /// The names of the properties, and expressions in the normal form of the predicate grammar.
    package let properties: [String]
    /// Whether no two rows may share values (MD-12).
    ///
    /// Rows with a null among the values are exempt, as in SQL.
    package let isUnique: Bool
    /// The condition for a row to have an entry; `nil` = every row has one.
    package let condition: ResolvedPredicate?
    /// Whether the rows with an entry are exactly those that pass the condition.
    ///
    /// Not so if an older library has kept answers that cannot be kept: no fetch relies on them.
    let isReliable: Bool
    /// The properties that decide which entry a row has, and whether it has one.
    let sources: Set<Entity.Property>
    /// The properties of which an element or the condition computes something: it can tell values apart that are equal,
    /// such as 0 and -0.
    let computedSources: Set<Entity.Property>

    init(
        name: String, entity: ManagedObjectModel.EntityIndex, elements: [Element], properties: [String],
        isUnique: Bool, condition: ResolvedPredicate? = nil
    ) {
        assert(!elements.isEmpty && elements.count == properties.count, "\(name) has \(elements.count) properties")
        assert(!isUnique || condition == nil && elements.allSatisfy(\.isPlain), "\(name) is a plain constraint")
        (self.name, self.entity, self.elements, codings) = (name, entity, elements, elements.map(\.coding))
        (self.properties, self.isUnique, self.condition) = (properties, isUnique, condition)
        isReliable = condition?.source.canBeKept ?? true
        let conditionSources = condition?.root.ownProperties ?? []
        computedSources = elements.reduce(conditionSources) { $0.union($1.expression?.properties ?? []) }
        sources = elements.reduce(conditionSources) { $0.union($1.sources) }
    }

    /// Whether every row has an entry with the values of the properties unchanged.
    var isPlain: Bool { condition == nil && elements.allSatisfy(\.isPlain) }

    /// The position of the element that has the values of a property unchanged; `nil` if there is none.
    func place(of property: Entity.Property) -> Int? {
        elements.firstIndex { $0.property == property && $0.isPlain }
    }
}

/// Everything that a store keeps for a model besides rows.
package final class StoreSchema: Sendable {
    /// The model.
    package let model: ManagedObjectModel
    /// All indexes and uniqueness constraints.
    package let groups: [KeyGroup]
    /// For each entity, the groups that rows of exactly this entity belong to, as positions in `groups`.
    package let groupsByEntity: [[Int]]
    /// For each entity, by slot: the one group that begins with the attribute; `nil` if there is none, or several.
    private let groupsByFirstAttribute: [[Int?]]
    /// For each entity, the to-many relationships without inverse that may lead to its rows.
    package let oneWayLinksTo: [[Relationship]]
    /// For each entity, the to-one relationships without inverse that may lead to its rows.
    private let oneWayToOnes: [[Relationship]]
    /// For each entity, the to-one relationships whose inverse is to-one as well.
    let oneToOnes: [[(relationship: Relationship, inverse: Relationship)]]
    /// Whether any entity has one.
    let hasOneToOnes: Bool
    /// For each entity, the to-one relationships that lead to an owner's list: slot, and the to-many inverse.
    let listedToOnes: [[(slot: Int, inverse: Relationship)]]
    /// For each entity, by slot: the type of a stored attribute, if the type alone determines which values it accepts.
    let plainTypes: [[AttributeType?]]
    /// For each entity, by slot: the tag of the entity that a to-one relationship leads to; `nil` for to-many ones.
    let plainDestinations: [[UInt32?]]
    /// For each entity, by slot: whether a group has the attribute, or the relationship.
    private let indexedAttributes: [[Bool]]
    private let indexedRelationships: [[Bool]]
    /// By index of the entity: the index of its root.
    let roots: [ManagedObjectModel.EntityIndex]
    private let entityByTag: EntityTagTable<ManagedObjectModel.EntityIndex>
    /// The derived attributes.
    let derivations: DerivationPlan
    /// The uniqueness constraints on values that follow from other rows, as positions in `groups`.
    let lateConstraints: [Int]

    /// Names of trees that the file has for another model; a store opened read-only leaves them alone.
    let unusedTreeNames: Set<String>

    package convenience init(model: ManagedObjectModel) {
        self.init(model: model, withoutGroups: [], unusedTreeNames: [])
    }

    /// - Parameter withoutGroups: indexes and constraints whose trees a file does not have, as positions among all.
    init(model: ManagedObjectModel, withoutGroups: Set<Int>, unusedTreeNames: Set<String>) {
        (self.model, self.unusedTreeNames) = (model, unusedTreeNames)
        var all: [KeyGroup] = []
        for entity in model.entities { all += Self.groups(declaredBy: entity, in: model) }
        let groups = all.indices.filter { !withoutGroups.contains($0) }.map { all[$0] }
        self.groups = groups
        groupsByEntity = model.entities.map { entity in
            groups.indices.filter { entity.isKind(of: model.entities[groups[$0].entity]) }
        }
        groupsByFirstAttribute = zip(model.entities, groupsByEntity).map { entity, positions in
            entity.attributes.indices.map { slot in
                let found = positions.filter {
                    groups[$0].elements.first?.property == .attribute(slot) && groups[$0].isPlain
                }
                return found.count == 1 ? found[0] : nil
            }
        }
        func isIndexed(_ property: Entity.Property, in entity: Entity) -> Bool {
            groups.contains { group in
                entity.isKind(of: model.entities[group.entity]) && group.sources.contains(property)
            }
        }
        indexedAttributes = model.entities.map { entity in
            entity.attributes.indices.map { isIndexed(.attribute($0), in: entity) }
        }
        indexedRelationships = model.entities.map { entity in
            entity.relationships.indices.map { isIndexed(.relationship($0), in: entity) }
        }
        plainTypes = model.entities.map { entity in
            entity.attributes.map { $0.isTransient || $0.type == .composite ? nil : $0.type }
        }
        plainDestinations = model.entities.map { entity in
            entity.relationships.map { $0.isToMany ? nil : model.destination(of: $0).tag }
        }
        func withoutInverse(isToMany: Bool) -> [[Relationship]] {
            let all = model.entities.flatMap { entity in
                entity.relationships.filter {
                    $0.declaredBy == entity.index && $0.isToMany == isToMany && $0.inverse == nil
                }
            }
            return model.entities.map { entity in all.filter { entity.isKind(of: model.entities[$0.destination]) } }
        }
        (oneWayLinksTo, oneWayToOnes) = (withoutInverse(isToMany: true), withoutInverse(isToMany: false))
        oneToOnes = model.entities.map { entity in
            entity.relationships.compactMap { relationship in
                guard !relationship.isToMany, let inverse = model.inverse(of: relationship), !inverse.isToMany
                else { return nil }
                return (relationship, inverse)
            }
        }
        hasOneToOnes = oneToOnes.contains { !$0.isEmpty }
        listedToOnes = model.entities.map { entity in
            entity.relationships.compactMap { relationship in
                guard !relationship.isToMany, let inverse = model.inverse(of: relationship), inverse.isToMany
                else { return nil }
                return (relationship.slot, inverse)
            }
        }
        let derivations = DerivationPlan(model)
        self.derivations = derivations
        lateConstraints = groups.indices.filter { position in
            let group = groups[position]
            return group.isUnique && group.sources.contains { derivations.isLate($0, of: group.entity) }
        }
        roots = model.entities.map(\.root)
        entityByTag = EntityTagTable(model.entities.map { ($0.tag, $0.index) })
        assert(checkInvariants())
    }

    /// All uniqueness constraints, as positions in `groups`.
    var constraints: [Int] { groups.indices.filter { groups[$0].isUnique } }

    /// The entity of the row with this ID, if the model has it.
    package func entity(of id: ObjectID) -> Entity? { entityByTag[id.entityTag].map { model.entities[$0] } }

    /// The to-one relationships without inverse that may lead to some of these rows.
    func oneWayToOnes(leadingTo rows: RowSet) -> [Relationship] {
        var found: [Relationship] = []
        for case let entity? in rows.entityTags.map({ entityByTag[$0] }) {
            for relationship in oneWayToOnes[entity]
            where !found.contains(where: { RelationshipID($0) == RelationshipID(relationship) }) {
                found.append(relationship)
            }
        }
        return found
    }

    /// The one group of `entity` that begins with the attribute in `slot`; `nil` if there is none, or several.
    func groupBeginning(with slot: Int, of entity: Entity) -> Int? {
        assert(model.entities[entity.index] === entity, "\(entity.name) is of another model")
        return groupsByFirstAttribute[entity.index][slot]
    }

    /// The index of the entity of a row of this store.
    @inline(__always)
    func entityIndex(of id: ObjectID) -> ManagedObjectModel.EntityIndex {
        guard let index = entityByTag[id.entityTag] else { preconditionFailure("\(id) does not belong to this store") }
        return index
    }

    /// Whether some group has one of these properties of an entity.
    func isIndexed(
        _ values: [(slot: Int, value: AttributeValue)], _ destinations: [(slot: Int, destination: ObjectID?)],
        of entity: ManagedObjectModel.EntityIndex
    ) -> Bool {
        for (slot, _) in values where indexedAttributes[entity][slot] { return true }
        for (slot, _) in destinations where indexedRelationships[entity][slot] { return true }
        return false
    }

    /// Asserts invariant 2, and that each table has a place for each entity; to be called in `assert`.
    private func checkInvariants() -> Bool {
        let count = model.entities.count
        assert(groupsByEntity.count == count && roots.count == count, "\(roots.count) of \(count) entities")
        assert(
            plainTypes.count == count && plainDestinations.count == count, "\(plainTypes.count) of \(count) entities")
        assert(hasOneToOnes || oneToOnes.allSatisfy(\.isEmpty), "one-to-one relationships are not known")
        for entity in model.entities {
            let own = groupsByEntity[entity.index].map { model.entities[groups[$0].entity] }
            assert(
                own.allSatisfy { entity.isKind(of: $0) }, "invariant 2: a group of another family than \(entity.name)")
            assert(entityByTag[entity.tag] == entity.index, "the tag of \(entity.name) is another entity's")
            assert(roots[roots[entity.index]] == roots[entity.index], "the root of \(entity.name) is below another one")
            assert(plainTypes[entity.index].count == entity.attributes.count, "slots of \(entity.name)")
            assert(plainDestinations[entity.index].count == entity.relationships.count, "slots of \(entity.name)")
        }
        return true
    }

    private static func groups(declaredBy entity: Entity, in model: ManagedObjectModel) -> [KeyGroup] {
        let description = entity.description
        let single = description.attributes.filter(\.isIndexed).map {
            EntityDescription.Index($0.name, on: [.init($0.name)])
        }
        let indexes = (single + description.indexes).map { index in
            let elements = index.elements.compactMap { element($0, in: entity, of: model) }
            return KeyGroup(
                name: index.name, entity: entity.index, elements: elements,
                properties: zip(elements, index.elements).map { $0.expression?.text ?? $1.property }, isUnique: false,
                // The model has checked the condition.
                condition: index.predicateFormat.flatMap { format in
                    try? ResolvedPredicate(FetchPredicate(format: format), for: entity, in: model)
                })
        }
        let constraints = description.uniquenessConstraints.map { properties in
            KeyGroup(
                name: properties.joined(separator: ","), entity: entity.index,
                elements: properties.compactMap { element(.init($0), in: entity, of: model) },
                properties: properties, isUnique: true)
        }
        return indexes + constraints
    }

    private static func element(
        _ element: EntityDescription.Index.Element, in entity: Entity, of model: ManagedObjectModel
    ) -> KeyGroup.Element? {
        if let format = element.expressionFormat {
            // The model has checked the expression.
            return (try? IndexExpression(format: format, for: entity, in: model)).map {
                KeyGroup.Element($0, like: element)
            }
        }
        let names = element.property.split(separator: ".").map(String.init)
        switch names.first.flatMap(entity.property(named:)) {
        case .attribute(let slot)?:
            var end = entity.attributes[slot].description
            for name in names.dropFirst() {
                guard let next = end.elements.first(where: { $0.name == name }) else { return nil }
                end = next
            }
            return KeyGroup.Element(
                .attribute(slot), path: Array(names.dropFirst()), type: end.type, like: element)
        case .relationship(let slot)?: return KeyGroup.Element(.relationship(slot), type: .objectID, like: element)
        case nil: return nil
        }
    }
}
