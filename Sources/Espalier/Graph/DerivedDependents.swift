// The derived attributes of a model by the properties from which their values follow (MO-41).
//
// Invariants
//   1. A change of a property is a change of the derived attributes that `dependents` has for it, and of those that
//      follow from these; the model has no circle of derivations, so that this ends.
// The question is asked when something changes, not when a derived value is read: a read loads no source for it, and
// needs none to stay in memory.

import EspalierModel

/// The derived attributes of a model, by their sources.
struct DerivedDependents {
    /// A derived attribute whose value follows from a property.
    struct Dependent {
        /// The number of the attribute among the derived ones of the model.
        let number: Int
        /// The entity that declares the attribute.
        let entity: Entity
        let slot: Int
        /// The way to the object that changes; `nil` if it is the one with the attribute.
        let way: Way?
    }

    /// A relationship from the object with the attribute to the one that changes.
    struct Way {
        let relationship: Relationship
        let inverse: Relationship
    }

    /// For each entity: the attributes that follow from each property of its objects.
    private var byProperty: [[Entity.Property: [Dependent]]]
    /// For each entity: the attributes of other objects that follow from its objects, each once.
    private var ofOthers: [[Dependent]]

    /// - Complexity: O(attributes).
    init(_ model: ManagedObjectModel) {
        byProperty = model.entities.map { _ in [:] }
        ofOthers = model.entities.map { _ in [] }
        for (number, derivation) in model.derivations.enumerated() {
            let entity = model.entities[derivation.attribute.declaredBy]
            let own = Dependent(number: number, entity: entity, slot: derivation.attribute.slot, way: nil)
            switch derivation.source {
            // Only a save tells the time of a save.
            case .now: break
            case .own(let source, _): add(own, of: [.attribute(source)], entity)
            case .across(let relationship, let source, _):
                add(own, of: [.relationship(relationship.slot)], entity)
                add(own, across: relationship, of: [.attribute(source)], in: model)
            case .list(let list):
                add(own, of: [.relationship(list.relationship.slot)], entity)
                if !list.properties.isEmpty { add(own, across: list.relationship, of: list.properties, in: model) }
            }
        }
    }

    /// Adds an attribute that follows from properties at the other end of a relationship.
    private mutating func add(
        _ own: Dependent, across relationship: Relationship, of properties: Set<Entity.Property>,
        in model: ManagedObjectModel
    ) {
        guard let inverse = model.inverse(of: relationship) else { return }
        let way = Way(relationship: relationship, inverse: inverse)
        let dependent = Dependent(number: own.number, entity: own.entity, slot: own.slot, way: way)
        add(dependent, of: properties, model.destination(of: relationship))
    }

    private mutating func add(_ dependent: Dependent, of properties: Set<Entity.Property>, _ source: Entity) {
        for index in source.family {
            for property in properties { byProperty[index][property, default: []].append(dependent) }
            if dependent.way != nil { ofOthers[index].append(dependent) }
        }
    }

    /// The attributes that follow from a property of an object; without a property, those of other objects that follow
    /// from any.
    ///
    /// - Complexity: O(1).
    func dependents(on property: Entity.Property?, of entity: Entity) -> [Dependent] {
        property.map { byProperty[entity.index][$0] ?? [] } ?? ofOthers[entity.index]
    }

    /// Whether derived attributes follow from an entity's objects.
    func isSource(_ entity: Entity) -> Bool { !byProperty[entity.index].isEmpty }

    /// Whether other attributes follow from a derived one.
    func isSource(_ dependent: Dependent) -> Bool {
        !dependents(on: .attribute(dependent.slot), of: dependent.entity).isEmpty
    }
}
