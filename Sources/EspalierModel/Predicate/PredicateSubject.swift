// What a predicate is evaluated on: a row of a store, an object of a context, a test's table.

/// An object seen by predicates and sort keys.
///
/// Attribute and relationship slots are those of the entity the predicate was resolved for, which `entity` is or
/// inherits from. Reading may fail (a row has to be fetched); evaluation then stops and throws the same error.
public protocol PredicateSubject {
    /// Why reading can fail; `Never` for objects in memory.
    associatedtype Failure: Error

    /// Which object this is.
    var objectID: ObjectID { get }
    /// The concrete entity of the object.
    var entity: Entity { get }
    /// The value of the attribute in `slot`.
    func value(at slot: Int) throws(Failure) -> AttributeValue
    /// The destination of the to-one relationship in `slot`.
    func destination(at slot: Int) throws(Failure) -> Self?
    /// The destinations of the to-many relationship in `slot`.
    func destinations(at slot: Int) throws(Failure) -> [Self]

    /// Ends an evaluation that takes longer than it may, by throwing what this kind of subject throws.
    ///
    /// Only a subject that cannot fail may return: the pattern then counts as not matched.
    func stopEvaluation(_ error: FetchPredicateError) throws(Failure)

    /// The ID of the destination of the to-one relationship in `slot`; to be given if it is cheaper than the object.
    func destinationID(at slot: Int) throws(Failure) -> ObjectID?
    /// The IDs of the destinations of the to-many relationship in `slot`; to be given if they are cheaper.
    func destinationIDs(at slot: Int) throws(Failure) -> [ObjectID]
}

extension PredicateSubject {
    /// The ID of the object that `destination(at:)` gives.
    public func destinationID(at slot: Int) throws(Failure) -> ObjectID? { try destination(at: slot)?.objectID }
    /// The IDs of the objects that `destinations(at:)` gives.
    public func destinationIDs(at slot: Int) throws(Failure) -> [ObjectID] {
        try destinations(at: slot).map(\.objectID)
    }
}

extension PredicateSubject where Failure == Never {
    /// Nothing: evaluation goes on.
    public func stopEvaluation(_ error: FetchPredicateError) {}
}
