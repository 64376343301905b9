// A row on its way up: the values of one object at one version, immutable and Sendable.
//
// Invariants
//   1. Slots are those of the concrete entity `id.entityName` in the store's model.
//   2. A transient attribute reads `.null`; a to-many relationship has no value here (`PersistentStore.destinations`).
//   3. A snapshot of encoded bytes decodes an attribute when it is read: making one costs no allocation, copying one
//      costs one reference count, whatever the row holds.

public import EspalierModel

/// The committed values of one object.
public struct ObjectSnapshot: Sendable {
    /// Which object.
    public let id: ObjectID
    let content: RowContent
    let place: RowPlace

    /// A snapshot of values that are decoded already.
    ///
    /// - Parameters:
    ///   - values: one for each attribute slot.
    ///   - destinations: one for each relationship slot; `nil` for to-many relationships and for empty to-one ones.
    public init(id: ObjectID, version: UInt64, values: [AttributeValue], destinations: [ObjectID?]) {
        self.init(
            id: id, content: .decoded(DecodedRow(version: version, values: values, destinations: destinations)),
            place: RowPlace(offset: 0, byteCount: 0))
    }

    /// A snapshot of a row that lies at `place` in `content`.
    init(id: ObjectID, content: RowContent, place: RowPlace) {
        (self.id, self.content, self.place) = (id, content, place)
    }

    /// How often the row has been saved; the first save makes it 1.
    public var version: UInt64 {
        switch content {
        case .chunk(let chunk): chunk.version(of: place)
        case .decoded(let row): row.version
        }
    }

    /// The value of the attribute in `slot`.
    ///
    /// - Complexity: O(1) in the number of attributes.
    public func value(at slot: Int) -> AttributeValue {
        switch content {
        case .chunk(let chunk): chunk.value(at: slot, of: place)
        case .decoded(let row): row.values[slot]
        }
    }

    /// The destination of the to-one relationship in `slot`.
    public func destination(at slot: Int) -> ObjectID? {
        switch content {
        case .chunk(let chunk): chunk.destination(at: slot, of: place)
        case .decoded(let row): row.destinations[slot]
        }
    }

    /// Replaces `row` by the encoded row; returns `false` if there is none.
    func copyRow(to row: inout [UInt8]) -> Bool {
        guard case .chunk(let chunk) = content else { return false }
        chunk.copyRow(at: place, to: &row)
        return true
    }
}

/// Where a row lies within what holds it.
struct RowPlace: Sendable {
    let offset: UInt32
    let byteCount: UInt32
}

/// What holds the values of one row or of many: one word, as every object in memory has a snapshot.
enum RowContent: Sendable {
    case chunk(RowChunk)
    case decoded(DecodedRow)
}

/// One row as values.
final class DecodedRow: Sendable {
    let version: UInt64
    let values: [AttributeValue]
    let destinations: [ObjectID?]

    init(version: UInt64, values: [AttributeValue], destinations: [ObjectID?]) {
        (self.version, self.values, self.destinations) = (version, values, destinations)
    }
}
