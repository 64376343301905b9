// Reads the values of a request from the bytes of rows, or from the entries of an index that has all of them, and puts
// rows into groups by the bytes of their codes.
//
// Invariants
//   1. Only the attributes that the request names are decoded; the values of a group's properties once for each group.
//   2. Two rows belong to one group exactly if the codes of their properties are equal: codes are equal for values that
//      compare as equal, and no code is a prefix of another. Those of rows and of entries are the same.
//   3. A composite has no such code: its bytes tell equal parts apart, such as 0 and -0. Rows with one among the
//      properties of their group are grouped by values.

internal import EspalierEngine
internal import EspalierModel

/// The values that a fetch reads of rows.
struct ColumnReader {
    /// The place of one value.
    private enum Source {
        case attribute(slot: Int, AttributeType)
        case destination(slot: Int)
        case id
        case computed(ResolvedExpression)

        init(_ expression: ResolvedExpression) {
            self = .computed(expression)
            guard case .path(let path) = expression, path.base == .evaluatedObject else { return }
            switch path.terminal {
            case .attribute(let slot, let type, elements: []) where path.steps.isEmpty:
                self = .attribute(slot: slot, type)
            case .object where path.steps.isEmpty: self = .id
            case .object where path.steps.count == 1 && !path.steps[0].isToMany:
                self = .destination(slot: path.steps[0].slot)
            default: break
            }
        }

        /// The property of the row that is the value; `nil` if it is none.
        var property: Entity.Property? {
            switch self {
            case .attribute(let slot, _): .attribute(slot)
            case .destination(let slot): .relationship(slot)
            case .id, .computed: nil
            }
        }

        /// Whether the value is read from the row alone, and has a code.
        var hasCode: Bool {
            switch self {
            case .attribute(_, let type): type.hasKeyOrder
            case .destination: true
            case .id, .computed: false
            }
        }
    }

    private(set) var collector: ValueCollector
    /// The error that has ended the reading.
    private(set) var failure: StoreError?
    private let sources: [Source]
    private let keptCount: Int
    private let session: ReadSession
    private let reader: RowReader
    /// Whether groups are found by the codes of their properties.
    private let groupsByCode: Bool
    private let needsCopy: Bool
    /// The elements of the index that have the values, if entries are read; by position of the source.
    private let places: [Int?]
    private var scratch = SharedBytes()
    private var code: [UInt8] = []
    /// The groups by code, and the last one that was found.
    private var groups: [CodeKey: Int] = [:]
    private var last: (code: [UInt8], group: Int)?

    /// - Parameter group: The index whose entries are read.
    init(_ values: ResolvedValues, _ session: ReadSession, entriesOf group: KeyGroup? = nil) {
        collector = ValueCollector(values)
        sources = values.inputs.map(Source.init)
        keptCount = values.keptCount
        (self.session, reader) = (session, session.reader)
        groupsByCode = values.isGrouped && keptCount > 0 && sources.prefix(keptCount).allSatisfy(\.hasCode)
        needsCopy = sources.contains { if case .computed = $0 { true } else { false } }
        places = sources.map { source in source.property.flatMap { group?.place(of: $0) } }
        assert(keptCount <= sources.count, "\(keptCount) of \(sources.count) inputs are kept")
        assert(
            group == nil || zip(sources, places).allSatisfy { source, place in source.property == nil || place != nil },
            "index \(group?.name ?? "") lacks one of the properties of \(sources.count) inputs")
    }

    /// Whether nothing is read but the ID.
    var needsNoRow: Bool { sources.allSatisfy { if case .id = $0 { true } else { false } } }

    /// The attributes that are read in the bytes of each row, and not by expressions.
    var slots: [Int] { sources.compactMap { if case .attribute(let slot, _) = $0 { slot } else { nil } } }

    /// Whether a row is added by the values of all inputs, and not by a code and the values of aggregates.
    private var addsAllValues: Bool { needsCopy || !groupsByCode && (keptCount > 0 || !collector.values.isGrouped) }

    /// Adds a checked row, or the beginning of one that has `slots`; returns `false` if reading has failed.
    mutating func add(_ id: ObjectID, _ row: RawSpan) -> Bool {
        if addsAllValues { return addByValues(id, row) }
        let (sources, reader) = (sources, reader)
        let group = groupsByCode ? group(of: row, id) : collector.count == 0 ? collector.group([]) : 0
        collector.addToAggregates(of: group) { input in Self.value(of: sources[input], id, row, reader) }
        return true
    }

    /// Adds a row by its entry, which has the row's own values in all columns and aggregates.
    ///
    /// - Returns: Whether it was added: a group that begins with the row gets its values from the row if the entry only
    ///   has equal ones.
    mutating func add(_ id: ObjectID, of entity: Entity, _ entry: EntryDecoder) throws(StoreError) -> Bool {
        let (values, places) = (entry.values, places)
        func value(_ input: Int) -> AttributeValue { places[input].map { values[$0] } ?? .objectID(id) }
        if addsAllValues {
            var inputs: [AttributeValue] = []
            inputs.reserveCapacity(sources.count)
            for (position, source) in sources.enumerated() {
                if case .computed(let expression) = source {
                    inputs.append(try expression.value(on: IndexedRow(objectID: id, entity: entity, entry: entry)))
                } else {
                    inputs.append(value(position))
                }
            }
            collector.add(id, inputs)
            return true
        }
        guard let number = group(of: entry) else { return false }
        collector.addToAggregates(of: number) { input in value(input) }
        return true
    }

    private mutating func addByValues(_ id: ObjectID, _ row: RawSpan) -> Bool {
        do {
            let subject = needsCopy ? copy(of: row, id) : nil
            var inputs: [AttributeValue] = []
            inputs.reserveCapacity(sources.count)
            for source in sources {
                if case .computed(let expression) = source {
                    guard let subject else { return true }
                    inputs.append(try expression.value(on: subject))
                } else {
                    inputs.append(Self.value(of: source, id, row, reader))
                }
            }
            collector.add(id, inputs)
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// The row as expressions see it.
    private func copy(of row: RawSpan, _ id: ObjectID) -> EvaluatedRow? {
        guard let entity = session.catalog.numbering.entity(reader.entityNumber(of: row)) else { return nil }
        scratch.set(row, isWhole: reader.isWhole(row))
        return EvaluatedRow(objectID: id, entity: entity, row: scratch, session: session)
    }

    @inline(__always)
    private static func value(
        of source: Source, _ id: ObjectID, _ row: RawSpan, _ reader: RowReader
    ) -> AttributeValue {
        switch source {
        case .attribute(let slot, _): reader.value(at: slot, row)
        case .destination(let slot): reader.destination(at: slot, row).map { .objectID($0) } ?? .null
        case .id: .objectID(id)
        case .computed: .null
        }
    }

    /// The group of a row.
    private mutating func group(of row: RawSpan, _ id: ObjectID) -> Int {
        assert(groupsByCode && keptCount > 0, "\(id) is in a group by \(keptCount) codes")
        code.removeAll(keepingCapacity: true)
        for position in 0..<keptCount {
            switch sources[position] {
            case .attribute(let slot, let type):
                SortBuffer.append(slot, type, of: row, reader, options: [], isAscending: true, to: &code)
            case .destination(let slot): KeyCoding.append(reference: reader.reference(at: slot, row), to: &code)
            case .id, .computed: assertionFailure("invariant 2: a value without code identifies groups")
            }
        }
        return knownGroup() ?? beginGroup(key(of: row, id))
    }

    /// The group of the row of an entry; `nil` if there is none, and only the row has the values that it begins with.
    private mutating func group(of entry: EntryDecoder) -> Int? {
        guard groupsByCode else { return collector.count == 0 ? collector.group([]) : 0 }
        let kept = places.prefix(keptCount).compactMap(\.self)
        assert(kept.count == keptCount, "the index has \(kept.count) of \(keptCount) properties of groups")
        code.removeAll(keepingCapacity: true)
        for place in kept { entry.appendCode(at: place, to: &code) }
        if let known = knownGroup() { return known }
        guard kept.allSatisfy({ entry.isFaithful[$0] }) else { return nil }
        return beginGroup(kept.map { entry.values[$0] })
    }

    /// The group whose code is in `code`, if it has begun.
    private mutating func knownGroup() -> Int? {
        if let last, last.code == code { return last.group }
        guard let known = groups[CodeKey(code: code)] else { return nil }
        last = (code, known)
        return known
    }

    private mutating func beginGroup(_ key: [AttributeValue]) -> Int {
        assert(key.count == keptCount, "\(key.count) values of a group by \(keptCount)")
        let group = collector.addGroup(key)
        groups[CodeKey(code: code)] = group
        last = (code, group)
        return group
    }

    private func key(of row: RawSpan, _ id: ObjectID) -> [AttributeValue] {
        sources.prefix(keptCount).map { Self.value(of: $0, id, row, reader) }
    }
}

/// The codes of a group's properties, hashed as a whole.
private struct CodeKey: Hashable {
    let code: [UInt8]

    func hash(into hasher: inout Hasher) {
        // SAFETY: the buffer does not leave the closure.
        unsafe code.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}
