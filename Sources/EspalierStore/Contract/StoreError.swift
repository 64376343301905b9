// What can go wrong between a context and a store: facts in cases, text in one place.

public import EspalierEngine
public import EspalierModel

/// Why a store could not do what it was asked.
public enum StoreError: Error, Sendable {
    /// A row was changed or deleted by somebody else since it was read; all such rows (MP-08).
    case conflict([VersionConflict])
    /// Values that must be unique are not; all such groups (MP-09).
    case constraint([ConstraintConflict])
    /// Relationships that the save would leave without the row they lead to, or that forbid a deletion; all of them.
    case references([ReferenceConflict])
    /// The store takes no writes.
    case readOnly(path: String?)
    /// The store was closed.
    case closed
    /// The file below failed or is damaged.
    case storage(StorageError, path: String?)
    /// The file's model is another one (134100).
    case incompatibleModel(path: String?, reason: String)
    /// The file's model is another one, and its rows stay as they are (134190): what would be lost, or is forbidden.
    case migrationRefused(path: String?, MigrationRefusal)
    /// The file's rows are in a format that cannot be read as it is: an older one that only opening to write brings up
    /// to date, or one of a newer library (134100).
    case otherFormat(path: String?, format: UInt16)
    /// The store's content breaks a rule above the engine's: which entity, row and what.
    case damagedContent(path: String?, entity: String, key: UInt64, reason: String)
    /// An ID that is not this store's, a slot that is not the entity's, a value of another type ...
    case invalidRequest(reason: String)
    /// A predicate that cannot be evaluated on this content: a pattern takes too many steps.
    case invalidPredicate(FetchPredicateError)
}

extension StoreError {
    /// Whether the snapshot that was read has been given up: a newer one can be read.
    public var isSnapshotExpired: Bool {
        if case .storage(.transaction(.snapshotExpired), _) = self { true } else { false }
    }
}

/// A row that is not at the version a save was based on.
public struct VersionConflict: Sendable {
    /// Which row.
    public let id: ObjectID
    /// The version the save was based on.
    public let expectedVersion: UInt64
    /// What the store holds now; `nil` = the row was deleted.
    public let stored: ObjectSnapshot?

    /// A row that is not at the version a save was based on.
    public init(id: ObjectID, expectedVersion: UInt64, stored: ObjectSnapshot?) {
        (self.id, self.expectedVersion, self.stored) = (id, expectedVersion, stored)
    }
}

/// Objects that share values which must be unique.
public struct ConstraintConflict: Sendable {
    /// The entity that declares the constraint.
    public let entityName: String
    /// The properties of the constraint.
    public let properties: [String]
    /// The values they share.
    public let values: [AttributeValue]
    /// The object of the request.
    public let object: ObjectID
    /// The other one: stored, or another object of the same request.
    public let other: ObjectID

    /// Objects that share values which must be unique.
    public init(
        entityName: String, properties: [String], values: [AttributeValue], object: ObjectID, other: ObjectID
    ) {
        self.entityName = entityName
        self.properties = properties
        self.values = values
        self.object = object
        self.other = other
    }
}
