// The subject of a predicate's evaluation: a row of a store, an object of a context, a table of a test.

/// An object, as predicates and sort keys read it.
///
/// Attribute and relationship slots are those of the entity the predicate was resolved for, which `entity` is or
/// inherits from. Reading may fail, for example when a row has to be fetched; evaluation then stops and throws the same
/// error.
public protocol PredicateSubject {
    /// The error of a failed read; `Never` for objects in memory.
    associatedtype Failure: Error

    /// The ID of the object.
    var objectID: ObjectID { get }
    /// The concrete entity of the object.
    var entity: Entity { get }
    /// The value of the attribute in `slot`.
    func value(at slot: Int) throws(Failure) -> AttributeValue
    /// The destination of the to-one relationship in `slot`.
    func destination(at slot: Int) throws(Failure) -> Self?
    /// The destinations of the to-many relationship in `slot`.
    func destinations(at slot: Int) throws(Failure) -> [Self]

    /// Stops an evaluation that exceeds its limit of steps, by throwing this subject's kind of error.
    ///
    /// Only a subject that cannot fail may return: the pattern then counts as not matched.
    func stopEvaluation(_ error: FetchPredicateError) throws(Failure)

    /// The ID of the destination of the to-one relationship in `slot`.
    ///
    /// Implement it if the ID can be read faster than the object.
    func destinationID(at slot: Int) throws(Failure) -> ObjectID?
    /// The IDs of the destinations of the to-many relationship in `slot`.
    ///
    /// Implement it if the IDs can be read faster than the objects.
    func destinationIDs(at slot: Int) throws(Failure) -> [ObjectID]
}

extension PredicateSubject {
    /// The ID of the object that `destination(at:)` returns.
    public func destinationID(at slot: Int) throws(Failure) -> ObjectID? { try destination(at: slot)?.objectID }
    /// The IDs of the objects that `destinations(at:)` returns.
    public func destinationIDs(at slot: Int) throws(Failure) -> [ObjectID] {
        try destinations(at: slot).map(\.objectID)
    }
}

extension PredicateSubject where Failure == Never {
    /// Does nothing: evaluation continues.
    public func stopEvaluation(_ error: FetchPredicateError) {}
}
