// The unique values of the new and changed objects of a context, while there is an observer of broken constraints
// (F-6).
//
// Invariants
//   1. After each event an object is listed under the values of a constraint exactly if it is new, or if it has
//      changed a property of the constraint, and if none of the values is missing.
//   2. Only changed objects are retained.
// Not here: which events are checked, and against which rows (+EventConstraints).

import EspalierModel
import EspalierStore

/// The new and changed objects by their unique values.
final class UniqueValueCheck {
    /// The values of one constraint.
    struct Key: Hashable {
        let name: ConstraintName
        let values: [UniqueValue]
    }

    /// The constraints that hold for each entity, with their properties.
    let constraints: [[(name: ConstraintName, slots: [Entity.Property])]]
    /// Keeps the observation of events.
    private let token: ObservationToken
    private var holders: [Key: Set<ManagedObject>] = [:]
    private var keys: [ManagedObject: [Key]] = [:]

    init(_ model: ManagedObjectModel, _ token: ObservationToken) {
        constraints = model.entities.map { model.uniquenessConstraints(of: $0) }
        self.token = token
    }

    /// The changed objects that have these values.
    func objects(with key: Key) -> Set<ManagedObject> { holders[key] ?? [] }

    /// Lists an object under its present values; returns those under which it was not listed before.
    func enter(_ object: ManagedObject) -> [Key] {
        let (former, present) = (keys[object] ?? [], keys(of: object))
        if former == present { return [] }
        remove(object)
        if present.isEmpty { return [] }
        keys[object] = present
        for key in present { holders[key, default: []].insert(object) }
        return present.filter { !former.contains($0) }
    }

    /// Removes an object, if it is listed.
    func remove(_ object: ManagedObject) {
        for key in keys.removeValue(forKey: object) ?? [] {
            holders[key]?.remove(object)
            if holders[key]?.isEmpty == true { holders[key] = nil }
        }
    }

    /// Lists just the new and changed objects that a context has now, without a report.
    func renew(_ context: ManagedObjectContext) {
        (holders, keys) = ([:], [:])
        for object in Array(context.memory.inserted) + Array(context.memory.updated) { _ = enter(object) }
    }

    private func keys(of object: ManagedObject) -> [Key] {
        assert(StepCount.note())
        let index = object.entity.index
        guard constraints.indices.contains(index) else { return [] }
        return constraints[index].compactMap { name, slots in
            guard object.isInserted || slots.contains(where: object.hasChange) else { return nil }
            let values = slots.map { object.uniqueValue(of: $0) }
            return values.contains(.null) ? nil : Key(name: name, values: values.map(UniqueValue.init))
        }
    }
}

extension ManagedObjectModel {
    /// The uniqueness constraints that hold for an entity, also those that it inherits, with their properties.
    func uniquenessConstraints(of entity: Entity) -> [(name: ConstraintName, slots: [Entity.Property])] {
        var all: [(name: ConstraintName, slots: [Entity.Property])] = []
        var next: Entity? = entity
        while let declaring = next {
            for properties in declaring.description.uniquenessConstraints {
                all.append(
                    (ConstraintName(declaring.name, properties), properties.compactMap(entity.property(named:))))
            }
            next = declaring.superentity.map { entities[$0] }
        }
        return all
    }
}

extension ManagedObject {
    /// The value of an attribute or to-one relationship, as a constraint compares it.
    func uniqueValue(of property: Entity.Property) -> AttributeValue {
        switch property {
        case .attribute(let slot): attributeValue(at: slot)
        case .relationship(let slot): shownDestinationID(at: slot).map { .objectID($0) } ?? .null
        }
    }
}
