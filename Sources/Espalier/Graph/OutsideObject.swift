// Objects that are made without a context, and join one later.
//
// Invariants
//   1. Such an object has an entity that its class alone describes. In it, as in a model, inherited properties come
//      first; its relationships lead nowhere.
//   2. When the object joins a context, its values move to the properties of the same names.

import EspalierModel
import EspalierStore
import Synchronization

extension ManagedObject {
    /// Makes an object that no context has yet (SD-02).
    ///
    /// Its attributes can be read and set. It joins a context by `insert(_:)`, which calls `awakeFromInsert()`, or when
    /// it is related to an object of a context. An object that never joins one is never saved.
    ///
    /// - Complexity: O(properties).
    public convenience init() {
        let shape = EntityShape(OutsideEntities.entity(of: Self.self), model: nil, objectClass: Self.self, in: nil)
        self.init(ObjectSeed(newOf: shape))
        withExtendedLifetime(shape) {}
    }

    /// Gets the shape of a context that it joins, and returns the violations of values that the context's model does
    /// not have.
    final func adopt(_ new: EntityShape) -> [Violation] {
        var violations: [Violation] = []
        if let values = newValues, !entity.hasLayout(of: new.entity) {
            let adopted = RowValues(new.defaultValues, relationshipCount: new.inverses.count)
            for attribute in entity.attributes {
                let value = values.attribute(at: attribute.slot)
                if case .attribute(let slot)? = new.entity.property(named: attribute.name) {
                    if new.attributeTypes[slot].canHold(value) {
                        adopted.setAttribute(value, at: slot)
                    } else {
                        let expected = new.attributeTypes[slot].name
                        violations.append(
                            Violation(self, attribute.name, .wrongType(found: value.typeName, expected: expected)))
                    }
                } else if value != attribute.defaultValue {
                    violations.append(
                        Violation(self, attribute.name, .unknownKey(known: new.entity.propertyNames)))
                }
            }
            newValues = adopted
        }
        shape = new
        return violations
    }
}

extension Entity {
    /// Whether both entities have the same properties in the same slots.
    func hasLayout(of other: Entity) -> Bool {
        self === other
            || attributes.elementsEqual(other.attributes) { $0.name == $1.name && $0.type == $1.type }
                && relationships.elementsEqual(other.relationships) {
                    $0.name == $1.name && $0.description.cardinality == $1.description.cardinality
                }
    }
}

/// The entities of classes outside of every model.
enum OutsideEntities {
    /// The entities that were made, by class; there are as many as classes.
    private static let known = Mutex<[ObjectIdentifier: Entity]>([:])

    /// The entity that a class and its superclasses describe.
    static func entity(of objectClass: ManagedObject.Type) -> Entity {
        if let entity = known.withLock({ $0[ObjectIdentifier(objectClass)] }) { return entity }
        // Made without the lock: the description is code of the application.
        let entity = describedEntity(of: objectClass)
        return known.withLock { known in
            let first = known[ObjectIdentifier(objectClass)] ?? entity
            known[ObjectIdentifier(objectClass)] = first
            return first
        }
    }

    private static func describedEntity(of objectClass: ManagedObject.Type) -> Entity {
        var description = objectClass.entityDescription
        description.name = objectClass.entityName
        var lines = [description]
        var above = _getSuperclass(objectClass) as? ManagedObject.Type
        while let current = above, current != ManagedObject.self {
            let inherited = current.entityDescription
            if inherited.name != lines[0].name { lines.insert(inherited, at: 0) }
            above = _getSuperclass(current) as? ManagedObject.Type
        }
        return Entity(
            description: description, index: 0, superentity: nil, root: 0, family: [0],
            attributes: lines.flatMap(\.attributes).enumerated().map {
                Attribute(description: $1, slot: $0, declaredBy: 0)
            },
            relationships: lines.flatMap(\.relationships).enumerated().map {
                Relationship(description: $1, slot: $0, declaredBy: 0, destination: 0, inverse: nil)
            },
            fetchedProperties: lines.flatMap(\.fetchedProperties), uniquenessConstraints: [], indexes: [])
    }
}
