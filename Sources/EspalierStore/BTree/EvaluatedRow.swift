// A row as predicates, sort keys and computed columns see it: its bytes, and the way to the rows that it leads to.
//
// Invariants
//   1. The bytes were checked, and have at least everything before the variable part of the row.
//   2. Bytes and values belong to one row: `set` removes the values of the row before.

internal import EspalierModel

/// The bytes of a checked row, or their beginning if the row has pages of its own.
final class SharedBytes {
    private(set) var bytes: [UInt8]
    /// Whether `bytes` are the whole row.
    private(set) var isWhole: Bool
    /// The values behind `bytes` that were asked for, by slot.
    var others: [Int: AttributeValue] = [:]
    /// Whether a session keeps the bytes, and may take them away.
    var isKept = false

    /// A whole row, or none yet.
    init(_ bytes: [UInt8] = []) { (self.bytes, isWhole) = (bytes, !bytes.isEmpty) }

    /// Whether the bytes have to be read again.
    var isEvicted: Bool { bytes.isEmpty }

    /// Copies a row, or its beginning, into the memory of the row before.
    func set(_ row: RawSpan, isWhole: Bool) {
        assert(row.byteCount > 0, "a row without bytes")
        bytes.removeAll(keepingCapacity: true)
        bytes.append(copying: row)
        self.isWhole = isWhole
        if !others.isEmpty { others = [:] }
    }

    /// Gives the bytes and values back.
    func evict() { (bytes, isWhole, others, isKept) = ([], false, [:], false) }
}

/// A row as predicates and sort keys see it.
struct EvaluatedRow: PredicateSubject {
    let objectID: ObjectID
    let entity: Entity
    let row: SharedBytes
    /// Unowned, because the session keeps its rows and outlives them: a strong reference would be a cycle.
    unowned let session: ReadSession

    func value(at slot: Int) throws(StoreError) -> AttributeValue {
        if !row.isWhole {
            if row.isEvicted { try session.reload(self) }
            if !row.isWhole { return try session.value(at: slot, of: self) }
        }
        return row.bytes.withRawSpan { session.reader.value(at: slot, $0) }
    }

    func destination(at slot: Int) throws(StoreError) -> EvaluatedRow? {
        guard let id = try destinationID(at: slot) else { return nil }
        return try session.row(id)
    }

    func destinations(at slot: Int) throws(StoreError) -> [EvaluatedRow] {
        var rows: [EvaluatedRow] = []
        for id in try destinationIDs(at: slot) {
            if let row = try session.row(id) { rows.append(row) }
        }
        return rows
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        if row.isEvicted { try session.reload(self) }
        return row.bytes.withRawSpan { session.reader.destination(at: slot, $0) }
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return try session.transaction.links(of: objectID.key, entity.relationships[slot], session.catalog)
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }
}
