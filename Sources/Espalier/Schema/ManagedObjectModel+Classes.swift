// Makes a model from classes: each `@Entity` class describes its entity, and class inheritance is entity inheritance.

public import EspalierModel

extension ManagedObjectModel {
    /// A model of these classes and of the entity classes from which they inherit.
    ///
    /// - Parameter classes: `@Entity` classes, in the order of their entities in the model.
    /// - Throws: `ModelError` with every problem: a class that describes no entity, a destination whose class is not
    ///   among `classes`, and any problem of the descriptions themselves.
    public convenience init(for classes: [ManagedObject.Type], versionIdentifiers: [String] = []) throws(ModelError) {
        var collector = ClassCollector()
        for objectClass in classes { collector.add(objectClass) }
        collector.checkDestinations()
        guard collector.problems.isEmpty else { throw ModelError(problems: collector.problems) }
        try self.init(
            entities: collector.descriptions.completingInverses(), versionIdentifiers: versionIdentifiers,
            classes: collector.classes)
    }

    /// The class of the objects of `entity`: its own, else that of the nearest superentity that has one.
    func objectClass(of entity: Entity) -> ManagedObject.Type {
        var line: Entity? = entity
        while let entity = line {
            if let objectClass = classes[entity.name] as? ManagedObject.Type { return objectClass }
            line = entity.superentity.map { entities[$0] }
        }
        return ManagedObject.self
    }
}

/// Collects the descriptions of classes and of their superclasses.
private struct ClassCollector {
    var descriptions: [EntityDescription] = []
    var classes: [String: AnyClass] = [:]
    var problems: [ModelError.Problem] = []

    mutating func add(_ objectClass: ManagedObject.Type) {
        var description = objectClass.entityDescription
        guard !description.name.isEmpty, description.name == objectClass.entityName else {
            problems.append(
                .init(entity: nil, "the class \(objectClass) does not describe its own entity; mark it with @Entity"))
            return
        }
        if let known = classes[description.name] {
            if known != objectClass {
                problems.append(
                    .init(
                        entity: description.name,
                        "two classes, \(String(reflecting: known)) and \(String(reflecting: objectClass)), "
                            + "describe this entity; remove one of them"))
            }
            return
        }
        classes[description.name] = objectClass
        if let above = _getSuperclass(objectClass) as? ManagedObject.Type, above != ManagedObject.self {
            add(above)
            if description.superentity == nil { description.superentity = above.entityName }
        }
        descriptions.append(description)
    }

    mutating func checkDestinations() {
        for description in descriptions {
            for relationship in description.relationships where classes[relationship.destination] == nil {
                problems.append(
                    .init(
                        entity: description.name, property: relationship.name,
                        "the class of its destination \(relationship.destination) is not among the model's classes; "
                            + "add \(relationship.destination).self"))
            }
        }
    }
}
