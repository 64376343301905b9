// Whether a row has an entry in an index with a condition, and the values of expressions in entries.
//
// Invariants
//   1. Conditions and expressions read nothing but the row's own values and the IDs of its to-one destinations;
//      expressions read neither the ID nor the entity of the row.
//   2. `OwnValues` and `OwnBytes` need no error for an evaluation that is stopped: the model has refused regular
//      expressions, and in the file of an older library they keep the answers that it has given.

internal import EspalierEngine
internal import EspalierModel

extension KeyGroup {
    /// Whether a row with these values has an entry.
    func hasEntry(of id: ObjectID, _ entity: Entity, _ source: ValueSource) -> Bool {
        assert(id.entityTag == entity.tag, "\(id) is no \(entity.name)")
        guard let condition else { return true }
        return condition.evaluate(on: OwnValues(source: source, entity: entity, objectID: id))
    }

    /// Whether a checked row has an entry.
    func hasEntry(of row: RawSpan, key: UInt64, entityNumber: UInt16, _ reader: RowReader) -> Bool {
        guard let condition else { return true }
        guard let entity = reader.numbering.entity(entityNumber),
            let id = reader.numbering.id(entityNumber: entityNumber, key: key)
        else { return false }
        return condition.evaluate(
            on: OwnBytes(bytes: row.copy(0..<row.byteCount), reader: reader, entity: entity, objectID: id))
    }
}

extension IndexExpression {
    /// The value for a checked row.
    func value(of row: RawSpan, _ reader: RowReader) -> AttributeValue {
        value(on: OwnBytes(bytes: row.copy(0..<row.byteCount), reader: reader, entity: entity, objectID: noID))
    }

    /// The ID of no object, in the place of one that is not read.
    fileprivate var noID: ObjectID { ObjectID(storeTag: 0, entityTag: entity.tag, key: 1) }
}

/// The values of a row, as conditions and expressions on nothing else see it.
struct OwnValues: PredicateSubject {
    let source: ValueSource
    let entity: Entity
    let objectID: ObjectID

    init(source: ValueSource, entity: Entity, objectID: ObjectID) {
        (self.source, self.entity, self.objectID) = (source, entity, objectID)
    }

    /// The values of a row for an expression.
    init(_ source: ValueSource, of expression: IndexExpression) {
        self.init(source: source, entity: expression.entity, objectID: expression.noID)
    }

    func value(at slot: Int) -> AttributeValue { source.value(of: .attribute(slot)) }
    func destinationID(at slot: Int) -> ObjectID? {
        guard case .objectID(let id) = source.value(of: .relationship(slot)) else { return nil }
        return id
    }
    func destination(at slot: Int) -> OwnValues? { nil }
    func destinations(at slot: Int) -> [OwnValues] { [] }
}

/// The bytes of a row, in the same way.
struct OwnBytes: PredicateSubject {
    let bytes: [UInt8]
    let reader: RowReader
    let entity: Entity
    let objectID: ObjectID

    func value(at slot: Int) -> AttributeValue { bytes.withRawSpan { reader.value(at: slot, $0) } }
    func destinationID(at slot: Int) -> ObjectID? { bytes.withRawSpan { reader.destination(at: slot, $0) } }
    func destination(at slot: Int) -> OwnBytes? { nil }
    func destinations(at slot: Int) -> [OwnBytes] { [] }
}
