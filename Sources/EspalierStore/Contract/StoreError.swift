// The errors that a store reports to a context: facts in cases, text in one place (StoreError+Description).

public import EspalierEngine
public import EspalierModel

/// The reason why a store did not carry out a call.
public enum StoreError: Error, Sendable {
    /// Another writer has changed or deleted a row since it was read; all such rows (MP-08).
    case conflict([VersionConflict])
    /// Values that must be unique are not; all such groups (MP-09).
    case constraint([ConstraintConflict])
    /// Relationships that the save would leave without their destination, or that forbid a deletion; all of them.
    case references([ReferenceConflict])
    /// Values of new or changed rows that the model does not allow: those of the first rows of the command that have
    /// any.
    case brokenRules([BrokenRule])
    /// A save to a parent context was not made: hooks of the parent change its objects again in each round.
    case unsettledSave(rounds: Int)
    /// The store is read-only.
    case readOnly(path: String?)
    /// The store was closed.
    case closed
    /// The engine reports that the file failed or is damaged.
    case storage(StorageError, path: String?)
    /// The file has another model (134100).
    case incompatibleModel(path: String?, reason: String)
    /// The file has another model than when this store was opened (134100): another store of this process or the
    /// process that writes the file has changed it.
    case modelChanged(path: String?)
    /// The file has another model and was not migrated (134190): the data that would be lost, or the rows that are
    /// forbidden.
    case migrationRefused(path: String?, MigrationRefusal)
    /// The migration was cancelled by its `MigrationProgress` (134120); the file is as it was.
    case migrationCancelled(path: String?)
    /// The command was cancelled by its `BatchProgress` (3072); the store is as it was.
    case commandCancelled(path: String?)
    /// The fetch was cancelled while the store was reading (3072).
    case fetchCancelled
    /// The file's rows are in a format that cannot be read directly: an older one, which only opening to write
    /// converts, or one of a newer library (134100).
    case otherFormat(path: String?, format: UInt16)
    /// The store's content breaks a rule above the engine's: the entity, the key of the row, and the problem.
    case damagedContent(path: String?, entity: String, key: UInt64, reason: String)
    /// The code of a store of an application has thrown this error.
    case outside(path: String?, underlying: any Error)
    /// A store of an application has answered what no store may: its kind, and the rule that it breaks.
    case brokenContract(path: String?, store: String, reason: String)
    /// No store of this kind has been registered.
    case unknownStoreType(StoreType)
    /// The kind of store has no such option, or the option no such value.
    case invalidOption(String, store: String, reason: String)
    /// The file is not what its kind of store writes: the place, and the problem.
    case malformedFile(path: String?, place: String, reason: String)
    /// An ID that is not this store's, a slot that is not the entity's, a value of another type ...
    case invalidRequest(reason: String)
    /// A predicate that cannot be evaluated on this content: a pattern takes too many steps.
    case invalidPredicate(FetchPredicateError)
}

extension StoreError {
    /// Whether the snapshot that was read has expired: a newer one can be read.
    public var isSnapshotExpired: Bool {
        if case .storage(.transaction(.snapshotExpired), _) = self { true } else { false }
    }

    /// Whether rows that others have saved refuse a save: a context resolves it by their policies, and saves again.
    var isRefusal: Bool {
        switch self {
        case .conflict, .constraint, .references: true
        default: false
        }
    }
}

/// A row that is not at the version a save was based on.
public struct VersionConflict: Sendable {
    /// The ID of the row.
    public let id: ObjectID
    /// The version the save was based on; 0 if the save inserts the row, under an ID that it had before.
    public let expectedVersion: UInt64
    /// The row that the store has now; `nil` = the row was deleted.
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
    /// The other object: a stored one, or another one of the same request.
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
