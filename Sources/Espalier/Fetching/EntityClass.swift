// The members of a class of managed objects whose types name that class: its request and its references; also its
// entity (MO-03).
//
// They are in a protocol, because there `Self` is the class that the caller names. A method of `ManagedObject` itself
// could not return `FetchRequest<Self>`.

public import EspalierModel

/// The class of an entity; `ManagedObject` and all its subclasses conform (MO-03).
public protocol EntityClass: ManagedObject {}

extension ManagedObject: EntityClass {}

extension EntityClass {
    /// A request for the objects of this class: `try context.fetch(Track.fetchRequest())` (MO-03).
    public static func fetchRequest(
        _ predicate: FetchPredicate? = nil, sortedBy sortKeys: [SortKey] = []
    ) -> FetchRequest<Self> {
        FetchRequest(predicate, sortedBy: sortKeys)
    }

    /// The entity of this class in `model` (MO-03).
    ///
    /// - Throws: `ContextError.unknownEntity` if the model has no entity of this name; `.wrongResultType` if its
    ///   objects are of another class.
    public static func entity(in model: ManagedObjectModel) throws(ContextError) -> Entity {
        guard let entity = model.entity(named: entityName) else {
            throw .unknownEntity(entityName, known: model.entities.map(\.name))
        }
        let objectClass = model.objectClass(of: entity)
        guard objectClass == Self.self else {
            throw .wrongResultType(entity: entityName, found: "\(objectClass)", expected: "\(Self.self)")
        }
        return entity
    }

    /// A reference to this object that may go to other contexts (F-1).
    public var ref: Ref<Self> { Ref(self) }
}
