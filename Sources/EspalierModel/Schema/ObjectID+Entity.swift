// IDs for entities of a model: temporary ones, and those that stores of an application make.

public import FoundationEssentials

extension ObjectID {
    /// Makes a new temporary ID for an entity of a model, without looking up the entity's name.
    package init(temporaryFor entity: Entity) { self.init(temporaryForEntityTag: entity.tag) }

    /// The permanent ID of the row that a store knows as `reference` (PS-10, PS-15).
    ///
    /// For a store of an application. Equal arguments make equal IDs, in this process and, as URIs, in any other one. A
    /// reference that is no number from 1 to 2⁶³ - 1 is kept in memory as long as the process lives.
    ///
    /// - Parameter storeIdentifier: the UUID of the store.
    public init(_ reference: RowReference, of entity: Entity, inStore storeIdentifier: UUID) {
        let storeTag = Interned.stores.tag(of: storeIdentifier)
        self.init(
            storeTag: storeTag, entityTag: entity.tag, key: ReferenceTable.key(of: reference, inStore: storeTag))
    }

    /// The name of the row in its store; `nil` for a temporary ID (PS-15).
    public var reference: RowReference? {
        isTemporary ? nil : ReferenceTable.reference(of: key, inStore: storeTag)
    }
}
