// A row as a store returns it: the values of one object at one version, immutable and Sendable.
//
// Invariants
//   1. Slots are those of the concrete entity `id.entityName` in the store's model.
//   2. A transient attribute reads `.null`; a to-many relationship has no value here (`StoreSnapshot.destinations`).
//   3. A snapshot of encoded bytes decodes an attribute when it is read: creating one costs no allocation, copying one
//      costs one reference count, whatever the row holds.
// Not here: a row that differs from another one in a few values (ChangedRow).

public import EspalierModel

/// The committed values of one object.
public struct ObjectSnapshot: Sendable {
    /// The ID of the object.
    public let id: ObjectID
    package let content: RowContent
    package let place: RowContent.Place

    /// A snapshot of decoded values.
    ///
    /// - Parameters:
    ///   - values: one for each attribute slot.
    ///   - destinations: one for each relationship slot; `nil` for to-many relationships and for empty to-one ones.
    public init(id: ObjectID, version: UInt64, values: [AttributeValue], destinations: [ObjectID?]) {
        self.init(
            id: id,
            content: RowContent(
                .values(DecodedValues(version: version, values: values, destinations: destinations))),
            place: .none)
    }

    /// A snapshot of the row at `place` in `content`.
    package init(id: ObjectID, content: RowContent, place: RowContent.Place) {
        assert(content.holds(place), "the place of \(id) is outside of the memory")
        (self.id, self.content, self.place) = (id, content, place)
    }

    /// The version of the row: 1 in a new row, or greater if its ID was used before; each change of the row adds 1.
    public var version: UInt64 { content.version(of: place) }

    /// The versions that a row can have: more than any number of changes needs.
    ///
    /// Rows of applications and files, in which any number may stand, are refused at other ones.
    static let versions: ClosedRange<UInt64> = 1...UInt64(Int64.max)

    /// The version of a row after a change.
    ///
    /// - Throws: `.damagedContent` if there is none: no row has come that far by changes.
    static func version(after version: UInt64, of id: ObjectID) throws(StoreError) -> UInt64 {
        assert(!id.isTemporary, "\(id) is no row, and has no version")
        guard version < versions.upperBound else {
            throw .damaged(
                entity: id.entityName, key: id.key, reason: "its version is stated to be \(version), the greatest one")
        }
        return version + 1
    }

    /// The value of the attribute in `slot`.
    ///
    /// - Complexity: O(1) in the number of attributes.
    public func value(at slot: Int) -> AttributeValue { content.value(at: slot, of: place) }

    /// The destination of the to-one relationship in `slot`.
    public func destination(at slot: Int) -> ObjectID? { content.destination(at: slot, of: place) }

    /// Replaces `row` by the encoded row; returns `false` if there is none.
    func copyRow(to row: inout [UInt8]) -> Bool { content.copyRow(at: place, to: &row) }
}
