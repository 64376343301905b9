// The values in the entries of one index, decoded from their codes, which a question may read instead of rows.
//
// Invariants
//   1. Each value compares as equal to that of the row, if the index does not fold the text; where `isFaithful` is
//      true, it is that of the row.
//   2. Consecutive entries with the same codes are decoded once.
// Not here: entries whose codes were cut, which only their rows can complete.

internal import EspalierModel

/// Decodes the entries of one index, one after another.
struct EntryDecoder {
    private let group: KeyGroup
    private let numbering: StoreNumbering
    /// The codes of the last entry.
    private var codes: [UInt8] = []
    /// For each element of the index, the offset after its code.
    private var ends: [Int] = []
    /// The values of the last entry, by element of the index.
    private(set) var values: [AttributeValue] = []
    /// For each element of the index, whether its value is that of the row and not only equal to it.
    private(set) var isFaithful: [Bool] = []

    init(_ group: KeyGroup, _ numbering: StoreNumbering) { (self.group, self.numbering) = (group, numbering) }

    /// Decodes the codes of an entry, which were not cut.
    ///
    /// - Throws: `.damaged` if they are not the codes of values of the index.
    /// - Complexity: O(bytes of the codes).
    mutating func decode(_ codes: RawSpan) throws(StoreError) {
        if !values.isEmpty, codes.byteCount == self.codes.count, self.codes.withRawSpan({ codes.begins(with: $0) }) {
            return
        }
        self.codes.removeAll(keepingCapacity: true)
        self.codes.append(copying: codes)
        values.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        isFaithful.removeAll(keepingCapacity: true)
        var reader = KeyReader(self.codes)
        for element in group.elements {
            guard let decoded = value(of: element, &reader) else { throw damage }
            values.append(decoded)
            ends.append(reader.offset)
            isFaithful.append(element.isPlain && reader.isFaithful)
        }
        guard reader.offset == self.codes.count else { throw damage }
        assert(values.count == ends.count && values.count == isFaithful.count, "\(values.count) values are decoded")
    }

    /// The next value of a key; `nil` if the bytes are not the code of one.
    private func value(of element: KeyGroup.Element, _ reader: inout KeyReader) -> AttributeValue? {
        guard element.type == .objectID else { return reader.next(as: element.type, isAscending: element.isAscending) }
        guard let reference = reader.nextReference(isAscending: element.isAscending) else { return nil }
        guard let (entity, key) = reference else { return .null }
        return numbering.id(entityNumber: entity, key: key).map { .objectID($0) } ?? .null
    }

    private var damage: StoreError { .damaged(reason: "an entry of an index is not the code of a value") }

    /// The value of a property in the last entry; null if the index does not have the property unchanged.
    func value(of property: Entity.Property) -> AttributeValue {
        let place = group.place(of: property)
        assert(place != nil, "the index does not have \(property)")
        return place.map { values[$0] } ?? .null
    }

    /// Appends the code that an ascending index has for the value of an element.
    func appendCode(at place: Int, to bytes: inout [UInt8]) {
        assert(place >= 0 && place < ends.count, "place \(place) of \(ends.count) values")
        let (first, start) = (place == 0 ? 0 : ends[place - 1], bytes.count)
        bytes += codes[first..<ends[place]]
        if !group.elements[place].isAscending { KeyCoding.invert(&bytes, from: start) }
    }
}

/// A row as the entry of an index shows it, to conditions and expressions that read properties of the index alone.
struct IndexedRow: PredicateSubject {
    let objectID: ObjectID
    let entity: Entity
    let entry: EntryDecoder

    func value(at slot: Int) throws(StoreError) -> AttributeValue { entry.value(of: .attribute(slot)) }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        guard case .objectID(let id) = entry.value(of: .relationship(slot)) else { return nil }
        return id
    }

    func destination(at slot: Int) throws(StoreError) -> IndexedRow? {
        assertionFailure("the entry of an index is asked for another row")
        return nil
    }

    func destinations(at slot: Int) throws(StoreError) -> [IndexedRow] {
        assertionFailure("the entry of an index is asked for other rows")
        return []
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }
}
