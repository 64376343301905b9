// Look-up of objects by ID or reference, with the class that the caller expects (SD-15, SD-27).
//
// Invariants
//   1. The class is checked before an object is made: a look-up that fails registers nothing.

public import EspalierModel

extension ManagedObjectContext {
    /// The object with this ID, as a fault if it is not in memory (MC-24, SD-15); asks no store, as `object(with:)`.
    ///
    /// - Throws: `ContextError.wrongResultType` if objects of the ID's entity are not of this class; otherwise as
    ///   `object(with:)`.
    /// - Complexity: O(1).
    public func object<Object: ManagedObject>(
        with id: ObjectID, as type: Object.Type
    ) throws(ContextError) -> Object {
        try checkClass(of: id, is: type)
        return try checked(object(with: id))
    }

    /// The object with this ID, with its values in memory (MC-25, SD-15).
    ///
    /// - Throws: `ContextError.wrongResultType` if objects of the ID's entity are not of this class; otherwise as
    ///   `existingObject(with:)`.
    /// - Complexity: O(log n), with one look-up in the store if the row is not in memory.
    public func existingObject<Object: ManagedObject>(
        with id: ObjectID, as type: Object.Type
    ) throws(ContextError) -> Object {
        try checkClass(of: id, is: type)
        return try checked(existingObject(with: id))
    }

    /// The object to which a reference leads, as a fault if it is not in memory (F-1); asks no store, as
    /// `object(with:)`.
    ///
    /// - Throws: as `object(with:as:)`.
    /// - Complexity: O(1).
    public func object<Object: ManagedObject>(with ref: Ref<Object>) throws(ContextError) -> Object {
        try object(with: ref.id, as: Object.self)
    }

    /// The object to which a reference leads, with its values in memory (F-1).
    ///
    /// - Throws: as `existingObject(with:as:)`.
    /// - Complexity: O(log n), with one look-up in the store if the row is not in memory.
    public func existingObject<Object: ManagedObject>(with ref: Ref<Object>) throws(ContextError) -> Object {
        try existingObject(with: ref.id, as: Object.self)
    }

    /// The object to which a reference leads, if it is in memory (MC-23); `nil` also if it is of another class.
    ///
    /// - Complexity: O(1).
    public func registeredObject<Object: ManagedObject>(for ref: Ref<Object>) -> Object? {
        registeredObject(for: ref.id) as? Object
    }

    /// The object to which a reference leads, with its values in memory (SD-27): `try context[ref]`.
    ///
    /// Throws as `existingObject(with:as:)`.
    ///
    /// - Complexity: O(log n), with one look-up in the store if the row is not in memory.
    public subscript<Object: ManagedObject>(ref: Ref<Object>) -> Object {
        get throws(ContextError) { try existingObject(with: ref) }
    }

    /// References to the matching objects, in the request's order, without making the objects (FR-02, F-1).
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: as `fetchIDs(_:)`.
    public func fetchRefs<Object: ManagedObject>(
        _ request: FetchRequest<Object>
    ) throws(ContextError) -> [Ref<Object>] {
        guard let entity = model.entity(named: request.entityName) else {
            throw .unknownEntity(request.entityName, known: model.entities.map(\.name))
        }
        guard model.objectClass(of: entity) is Object.Type else {
            throw .wrongResultType(
                entity: entity.name, found: "\(model.objectClass(of: entity))", expected: "\(Object.self)")
        }
        return try fetchIDs(request).map { Ref($0) }
    }

    private func checkClass<Object: ManagedObject>(of id: ObjectID, is type: Object.Type) throws(ContextError) {
        // An entity that the model does not have is reported by the look-up.
        guard let shape = shape(ofTag: id.entityTag).object, !(shape.objectClass is Object.Type) else { return }
        throw .wrongResultType(entity: shape.entity.name, found: "\(shape.objectClass)", expected: "\(Object.self)")
    }

    /// The object, whose class was checked by its ID; an object that was made by another class of the same entity is
    /// refused here.
    private func checked<Object: ManagedObject>(_ object: ManagedObject) throws(ContextError) -> Object {
        if let object = object as? Object { return object }
        throw .wrongResultType(entity: object.entity.name, found: "\(type(of: object))", expected: "\(Object.self)")
    }
}
