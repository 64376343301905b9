// Rows that have pages of their own, in a fetch that does not need all rows whole.
//
// Invariants
//   1. The first page of such a row is read, and the rest only if a condition, a sort key or a column needs a value in
//      it, or if the row passes and the result or the sort needs its bytes.
//   2. Conditions that the first page answers are tested before any that it does not.

internal import EspalierModel

extension FetchExecution {
    /// The attributes that are read in the bytes of a row; others are read by an `EvaluatedRow`, which reads the rest
    /// of the row if it has to.
    struct OwnSlots {
        /// For each of the tests.
        var tests: [[Int]]
        /// The sort keys.
        var sort: [Int] = []
        /// The columns of the result; `nil` if the result has whole rows.
        var result: [Int]?

        /// All of them.
        var all: [Int] { tests.flatMap(\.self) + sort + (result ?? []) }
    }

    /// The attributes that are read in the bytes of long rows; `nil` if long rows are read whole, because each of them
    /// is in the result, or because nothing else in them can be long.
    func slotsOfLongRows() -> OwnSlots? {
        // So a count from an index allocates nothing for rows.
        if readsNoRow { return nil }
        let columns = sink.slots
        if columns == nil, residual.isEmpty, sortBuffer == nil || plan.limit == nil { return nil }
        var slots = OwnSlots(tests: tests.map(\.slots), result: columns)
        if case .sorted(let keys) = plan.order, sortBuffer != nil {
            for key in keys where key.isOfOwnValue {
                if case .attribute(let slot, _, _)? = key.path?.terminal { slots.sort.append(slot) }
            }
        }
        var needed = slots.all
        for node in evaluated {
            for case .attribute(let slot) in node.ownProperties ?? [] { needed.append(slot) }
        }
        let (entities, family) = (catalog.model.entities, plan.entity.family)
        let hasOthers = entities[plan.entity.root].family.contains { index in
            // Of rows of other entities nothing is needed, and a slot means another attribute in them.
            let isAsked = family.contains(index)
            return entities[index].attributes.contains { attribute in
                !(isAsked && needed.contains(attribute.slot)) && attribute.canBeLong
            }
        }
        return hasOthers ? slots : nil
    }

    /// Tests a row of `byteCount` bytes of which the first page was read, and accepts it if it passes; returns whether
    /// more rows are wanted.
    @inline(never)
    mutating func testLong(
        _ beginning: RawSpan, of byteCount: Int, key: UInt64, _ slots: OwnSlots
    ) throws(StoreError) -> Bool {
        guard let number = try catalog.check(beginning, of: byteCount, in: plan.entity, key: key) else {
            // Only the whole row tells whether it is damaged.
            let whole = try session.wholeRow(key, in: plan.entity)
            return try whole.withRawSpan { row throws(StoreError) in try test(row, key: key) }
        }
        assert(StepCount.note(rows: 1))
        assert(slots.tests.count == tests.count, "\(tests.count) tests read \(slots.tests.count) lists of attributes")
        guard plan.isWanted[Int(number)], let entity = catalog.numbering.entity(number) else { return true }
        let id = ObjectID(storeTag: storeTag, entityTag: entity.tag, key: key)
        if !excluded.isEmpty, excluded.contains(id) { return true }
        let shape = reader.shape(of: beginning)
        let offsets = reader.offsets(of: beginning, shape)
        var isKnown = true
        for (test, own) in zip(tests, slots.tests) {
            guard reader.isWithin(beginning, slots: own, shape, offsets) else {
                isKnown = false
                continue
            }
            switch reader.verdict(test, beginning, shape, offsets, &foldedText) {
            case .passes: break
            case .fails: return true
            case .unknown: isKnown = false
            }
        }
        let others = isKnown ? evaluated : residual
        if !others.isEmpty {
            let row = subject(beginning, id, entity)
            for node in others {
                guard try ResolvedPredicate.evaluate(node, on: row, memo: session.memo) else { return true }
            }
        }
        if case .sorted(let keys) = plan.order, sortBuffer != nil {
            if sortsByOwnValues, reader.isWithin(beginning, slots: slots.sort, shape, offsets) {
                SortBuffer.write(&sortBytes, of: beginning, id, keys, reader)
            } else {
                sortBytes = try SortBuffer.key(of: subject(beginning, id, entity), keys)
            }
            guard sortBuffer?.isWanted(sortBytes) == true else { return true }
        }
        if isEnough(beginning, slots, shape, offsets) { return try take(beginning, id) }
        let whole = try session.wholeRow(key, in: plan.entity)
        return try whole.withRawSpan { row throws(StoreError) in try take(row, id) }
    }

    /// A long row as conditions and sort keys see it.
    private mutating func subject(_ beginning: RawSpan, _ id: ObjectID, _ entity: Entity) -> EvaluatedRow {
        scratch.set(beginning, isWhole: false)
        return EvaluatedRow(objectID: id, entity: entity, row: scratch, session: session)
    }

    /// Whether the result, or the sort, needs no more than the first page of a row that has passed.
    private func isEnough(
        _ beginning: RawSpan, _ slots: OwnSlots, _ shape: RowLayout.Shape, _ offsets: RowOffsets
    ) -> Bool {
        if !sink.needsRow || sortBuffer == nil && sink.isSkipping { return true }
        guard let columns = slots.result else { return false }
        assert(sink.kind == .values, "a result of \(sink.kind) has columns")
        return reader.isWithin(beginning, slots: columns, shape, offsets)
    }

    /// Adds a row that has passed, or its beginning, to the result, or to the rows that are sorted.
    private mutating func take(_ row: RawSpan, _ id: ObjectID) throws(StoreError) -> Bool {
        guard sortBuffer != nil else { return sink.accept(id, row) }
        try addToSortBuffer(row, id)
        return true
    }
}

extension Attribute {
    /// Whether a value of the attribute can be so long that its row has pages of its own.
    fileprivate var canBeLong: Bool {
        !isTransient && RowLayout.Content.attribute(type).home.part == .variable
    }
}

extension ResolvedSortKey {
    /// Whether the sort key is an attribute of the sorted row itself.
    var isOfOwnValue: Bool {
        guard let path, path.base == .evaluatedObject, path.steps.isEmpty,
            case .attribute(_, _, elements: []) = path.terminal
        else { return false }
        return true
    }
}
