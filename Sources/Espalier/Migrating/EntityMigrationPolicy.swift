// The hooks of the application around one mapping of entities.
//
// Order: three passes over all mappings, in the order of the mapping model.
//   1. begin, createDestinationInstances for each source object, endInstanceCreation
//   2. createRelationships for each object that the mapping made, endRelationshipCreation
//   3. performCustomValidation, end

import EspalierModel

/// The hooks of a mapping (Behaviour MG-09); each has a default, so that a policy implements only what it changes.
///
/// An error of a hook ends the migration, and the file stays as it was.
public protocol EntityMigrationPolicy: Sendable {
    /// Called before the first object of the mapping.
    func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Makes the objects of one source object, none, or several, or lets it join an object of earlier sources; call
    /// `MigrationSession.associate` for each object that `MigrationSession.createDestinationInstance` did not make from
    /// it.
    func createDestinationInstances(
        for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Called after the last source object.
    func endInstanceCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Sets the relationships of an object that the mapping made; the objects of all mappings exist now.
    func createRelationships(
        for destination: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Called after the relationships of the last object.
    func endRelationshipCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Called when all objects have their relationships; throws if the result is not what it should be.
    func performCustomValidation(_ mapping: EntityMapping, _ session: MigrationSession) throws
    /// Called last.
    func end(_ mapping: EntityMapping, _ session: MigrationSession) throws
}

extension EntityMigrationPolicy {
    /// Does nothing.
    public func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {}

    /// Makes one object, and sets its attributes by the rules of the mapping.
    public func createDestinationInstances(
        for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
    ) throws {
        try session.createDestinationInstance(for: source, mapping)
    }

    /// Does nothing.
    public func endInstanceCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws {}

    /// Sets the relationships by the rules of the mapping.
    public func createRelationships(
        for destination: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
    ) throws {
        try session.createRelationships(for: destination, mapping)
    }

    /// Does nothing.
    public func endRelationshipCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws {}
    /// Does nothing.
    public func performCustomValidation(_ mapping: EntityMapping, _ session: MigrationSession) throws {}
    /// Does nothing.
    public func end(_ mapping: EntityMapping, _ session: MigrationSession) throws {}
}

/// The policy of a mapping without hooks.
public struct PlainMigrationPolicy: EntityMigrationPolicy {
    /// A policy without hooks.
    public init() {}
}
