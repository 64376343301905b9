// A row on its way up: the values of one object at one version, immutable and Sendable.
//
// Invariants
//   1. Slots are those of the concrete entity `id.entityName` in the store's model.
//   2. A transient attribute reads `.null`; a to-many relationship has no value here (`PersistentStore.destinations`).
//   3. A snapshot of encoded bytes decodes an attribute when it is read: making one costs no allocation.

public import EspalierModel

/// The committed values of one object.
public struct ObjectSnapshot: Sendable {
    /// Which object.
    public let id: ObjectID
    /// How often the row has been saved; the first save makes it 1.
    public let version: UInt64
    private let storage: Storage

    private enum Storage: Sendable {
        case values([AttributeValue], destinations: [ObjectID?])
        case encoded(EncodedRow)
    }

    /// A snapshot of values that are decoded already.
    ///
    /// - Parameters:
    ///   - values: one for each attribute slot.
    ///   - destinations: one for each relationship slot; `nil` for to-many relationships and for empty to-one ones.
    public init(id: ObjectID, version: UInt64, values: [AttributeValue], destinations: [ObjectID?]) {
        (self.id, self.version, storage) = (id, version, .values(values, destinations: destinations))
    }

    /// A snapshot of the bytes of a row.
    init(id: ObjectID, version: UInt64, row: EncodedRow) {
        (self.id, self.version, storage) = (id, version, .encoded(row))
    }

    /// The value of the attribute in `slot`.
    ///
    /// - Complexity: O(1) in the number of attributes.
    public func value(at slot: Int) -> AttributeValue {
        switch storage {
        case .values(let values, _): values[slot]
        case .encoded(let row): row.value(at: slot)
        }
    }

    /// The destination of the to-one relationship in `slot`.
    public func destination(at slot: Int) -> ObjectID? {
        switch storage {
        case .values(_, let destinations): destinations[slot]
        case .encoded(let row): row.destination(at: slot)
        }
    }
}
