// The interface by which delete rules, checks and derived values read and change a store, within the transaction of one
// save.

internal import EspalierModel

/// Rows and lists in the state after the steps of a save so far.
protocol SaveState: ListSource, ~Copyable {
    /// The most destinations of a list, and rows that lead to deleted ones, that delete rules hold at a time: bounded
    /// if they are read from a file, and all of them if the store has them in memory anyway.
    static var heldCountMax: Int { get }
    /// The rows with these IDs, in this order; `nil` where there is none.
    func rows(_ ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?]
    /// Those of `ids` that have no row; `ids` ascend by entity and key.
    func missing(_ ids: [ObjectID]) throws(StoreError) -> [ObjectID]
    /// At most `countMax` destinations of a to-many relationship, from the first on.
    func destinations(
        of owner: ObjectID, _ relationship: Relationship, countMax: Int
    ) throws(StoreError) -> [ObjectID]
    /// Rows of the family of `entity`, from primary key `key` on, whose to-one relationship in `slot` leads into
    /// `gone`: at most `countMax`, and the key to continue from, `nil` at the end.
    func rows(
        of entity: Entity, from key: UInt64, leadingInto gone: RowSet, at slot: Int, countMax: Int
    ) throws(StoreError) -> (rows: [ObjectSnapshot], next: UInt64?)
    /// The row that has these values, none of them null, in the uniqueness constraint at a position in the schema's
    /// groups.
    func holder(of values: [AttributeValue], inGroup group: Int) throws(StoreError) -> ObjectID?
    /// Removes rows, with their entries in indexes; not their links.
    mutating func remove(_ rows: ArraySlice<ObjectSnapshot>) throws(StoreError)
    /// Sets or empties to-one relationships: each row gets its next version.
    mutating func setDestinations(
        _ changes: [(row: ObjectSnapshot, destinations: [(slot: Int, destination: ObjectID?)])]
    ) throws(StoreError)
    /// The changes of the save so far from which derived values follow.
    var derivedChanges: DerivedChanges { get }
    /// Sets derived values, all of one attribute: the rows keep their versions.
    mutating func setDerivedValues(
        _ changes: [(row: ObjectSnapshot, value: AttributeValue)], at slot: Int
    ) throws(StoreError)
    /// Removes a destination from the list of a to-many relationship, if the list has it.
    ///
    /// It is not in the list for any later question; the list may be written only by `settleLinks`.
    mutating func removeLink(
        of owner: ObjectID, to destination: ObjectID, _ relationship: Relationship
    ) throws(StoreError)
    /// Writes the lists from which `removeLink` has removed destinations, after the last of these calls.
    mutating func settleLinks() throws(StoreError)
}
