// Makes a model from classes: each `@Entity` class describes its entity, class inheritance is entity inheritance, and
// relationships lead to further classes.

public import EspalierModel

extension ManagedObjectModel {
    /// A model of these classes, of the entity classes from which they inherit, and of all classes to which their
    /// relationships lead (SD-13).
    ///
    /// A subclass is not found in this way unless a relationship leads to it: name it. A class that describes its
    /// entity without `@Entity` does not say to which classes its relationships lead: name these, too.
    ///
    /// - Parameter classes: `@Entity` classes, in the order of their entities in the model; the classes that are found
    ///   follow.
    /// - Throws: `ModelError` with every problem: a class that describes no entity, a destination whose class is
    ///   neither among `classes` nor found, two classes of one entity, and any problem of the descriptions themselves.
    /// - Complexity: O(classes * properties).
    public convenience init(for classes: [ManagedObject.Type], versionIdentifiers: [String] = []) throws(ModelError) {
        var collector = ClassCollector()
        for objectClass in classes { collector.add(objectClass) }
        collector.addDestinations()
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
    /// The classes to which relationships lead, in the order in which they were found.
    private var destinations: [ManagedObject.Type] = []

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
        for property in objectClass._entityProperties {
            switch property {
            case .relationship(_, let destination), .fetched(_, let destination): destinations.append(destination)
            case .attribute: continue
            }
        }
    }

    /// Adds the classes to which relationships lead, and those to which their relationships lead.
    mutating func addDestinations() {
        var next = 0
        while next < destinations.count {
            add(destinations[next])
            next += 1
        }
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
