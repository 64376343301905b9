// Finds the keys of candidate rows from the source that a plan names; sorts them and removes duplicates.

internal import EspalierEngine
internal import EspalierModel

/// A row that may match.
struct Candidate {
    let key: UInt64
    let entityNumber: UInt16
}

struct CandidateCollector {
    let session: ReadSession
    /// The largest number of candidates: with more of them it is cheaper to read all rows in order.
    let countMax: Int

    /// The candidates of `source` by ascending key; `nil` if there are too many.
    func candidates(_ source: CandidateSource) throws(StoreError) -> [Candidate]? {
        var found: [Candidate] = []
        return try collect(source, into: &found) ? Self.ordered(found) : nil
    }

    /// The candidates whose entries in an index begin with `prefix`, by ascending key; `nil` if there are more than
    /// `countMax`.
    static func candidates(
        _ group: Int, beginningWith prefix: [UInt8], atMost countMax: Int,
        _ transaction: borrowing StoreTransaction<ReadSource>, _ catalog: StoreCatalog
    ) throws(StoreError) -> [Candidate]? {
        assert(countMax >= 0, "at most \(countMax) candidates")
        var found: [Candidate] = []
        let tree = catalog.groupTrees[group]
        try transaction.forEach(in: tree, beginningWith: prefix) { key, value throws(StoreError) in
            assert(StepCount.note())
            found.append(try catalog.candidate(key, value, tree))
            return found.count <= countMax
        }
        return found.count <= countMax ? ordered(found) : nil
    }

    private static func ordered(_ candidates: consuming [Candidate]) -> [Candidate] {
        // The candidates of one value of an index are sorted already.
        var found = candidates
        if zip(found, found.dropFirst()).allSatisfy({ $0.key < $1.key }) { return found }
        found.sort { $0.key < $1.key }
        var count = 0
        for candidate in found where count == 0 || found[count - 1].key != candidate.key {
            found[count] = candidate
            count += 1
        }
        found.removeLast(found.count - count)
        return found
    }

    private var catalog: StoreCatalog { session.catalog }

    /// Appends the candidates of `source`; returns `false` as soon as there are too many, or if no index or list leads
    /// back to them.
    private func collect(_ source: CandidateSource, into found: inout [Candidate]) throws(StoreError) -> Bool {
        switch source {
        case .keys(let ids):
            for id in ids {
                assert(catalog.numbering.isOwn(id), "\(id) is no row of this store")
                found.append(Candidate(key: id.key, entityNumber: catalog.numbering.reference(id).entity))
            }
        case .index(let group, let ranges):
            return try collect(group, ranges, into: &found)
        case .scan(let entity, let node):
            try scan(entity, node, into: &found)
        case .back(let step, let far):
            guard let destinations = try candidates(far), let access = InverseAccess(step, catalog.schema) else {
                return false
            }
            let family = catalog.model.entities[step.destination]
            // An index of a superentity also lists rows of other entities, to which the relationship cannot lead.
            var steps = FetchSteps(session.isCancelled)
            for destination in destinations
            where catalog.numbering.entity(destination.entityNumber)?.isKind(of: family) == true {
                try steps.count()
                try collect(access, from: destination, into: &found)
                guard found.count <= countMax else { return false }
            }
        case .union(let sources):
            for source in sources {
                guard try collect(source, into: &found) else { return false }
            }
        }
        return found.count <= countMax
    }

    /// Appends the candidates of the entries in ascending ranges; returns `false` as soon as there are too many.
    private func collect(_ group: Int, _ ranges: [EntryRange], into found: inout [Candidate]) throws(StoreError) -> Bool
    {
        let tree = catalog.groupTrees[group]
        // One lookup for all ranges: the next range may begin in the leaf in which the last one ended.
        var entries = try session.transaction.lookup(in: tree)
        var steps = FetchSteps(session.isCancelled)
        for range in ranges {
            try entries.forEach(from: range.lower) { key, value throws(StoreError) in
                if let upper = range.upper, !upper.withRawSpan({ key.precedes($0) }) { return false }
                assert(StepCount.note())
                try steps.count()
                found.append(try catalog.candidate(key, value, tree))
                return found.count <= countMax
            }
            guard found.count <= countMax else { return false }
        }
        return true
    }

    private func collect(
        _ access: InverseAccess, from far: Candidate, into found: inout [Candidate]
    ) throws(StoreError) {
        func append(_ ids: [ObjectID]) {
            for id in ids {
                found.append(Candidate(key: id.key, entityNumber: catalog.numbering.reference(id).entity))
            }
        }
        switch access {
        case .links(let inverse):
            assert(inverse.isToMany, "\(inverse.name) is no list")
            append(try session.transaction.links(of: far.key, inverse, catalog))
        case .owners(let relationship):
            append(try session.transaction.owners(leadingTo: far.key, relationship, catalog))
        case .inline(let inverse):
            assert(!inverse.isToMany, "\(inverse.name) is a list")
            guard let id = catalog.numbering.id(entityNumber: far.entityNumber, key: far.key),
                let row = try session.row(id), let owner = try row.destinationID(at: inverse.slot)
            else { return }
            append([owner])
        case .index(let group):
            assert(
                catalog.schema.groups[group].elements[0].type == .objectID,
                "an index does not begin with a relationship")
            var prefix: [UInt8] = []
            let isAscending = catalog.schema.groups[group].elements[0].isAscending
            KeyCoding.append(reference: (far.entityNumber, far.key), isAscending: isAscending, to: &prefix)
            _ = try collect(group, [.beginning(with: prefix)], into: &found)
        }
    }

    /// Appends the rows of `entity` that pass `node`.
    private func scan(_ entity: Entity, _ node: ResolvedPredicate.Node, into found: inout [Candidate])
        throws(StoreError)
    {
        let test = ByteCondition.make(node)
        let slots = test?.slots ?? []
        let reader = session.reader
        let scratch = SharedBytes()
        var foldedText: [UInt8] = []
        var steps = FetchSteps(session.isCancelled)
        var cursor = try session.transaction.cursor(over: catalog.rowTree(of: entity))
        guard try cursor.first() else { return }
        try cursor.forEachBeginning { key, row, byteCount throws(StoreError) in
            assert(StepCount.note(rows: 1))
            try steps.count()
            guard let number = try catalog.check(row, of: byteCount, in: entity, key: key) else {
                // Only the whole row tells whether it is damaged; if it is not, it is tested by its ID.
                let whole = try session.wholeRow(key, in: entity)
                let own = whole.withRawSpan { reader.entityNumber(of: $0) }
                if let rowEntity = catalog.numbering.entity(own), rowEntity.isKind(of: entity),
                    let id = catalog.numbering.id(entityNumber: own, key: key), let row = try session.row(id),
                    try ResolvedPredicate.evaluate(node, on: row, memo: session.memo)
                {
                    found.append(Candidate(key: key, entityNumber: own))
                }
                return true
            }
            guard let rowEntity = catalog.numbering.entity(number), rowEntity.isKind(of: entity),
                let id = catalog.numbering.id(entityNumber: number, key: key)
            else { return true }
            let isWhole = row.byteCount == byteCount
            var verdict = ByteCondition.Verdict.unknown
            if let test {
                let shape = reader.shape(of: row)
                let offsets = reader.offsets(of: row, shape)
                if isWhole || reader.isWithin(row, slots: slots, shape, offsets) {
                    verdict = reader.verdict(test, row, shape, offsets, &foldedText)
                }
            }
            if verdict == .unknown {
                scratch.set(row, isWhole: isWhole)
                let passes = try ResolvedPredicate.evaluate(
                    node, on: EvaluatedRow(objectID: id, entity: rowEntity, row: scratch, session: session),
                    memo: session.memo)
                verdict = passes ? .passes : .fails
            }
            if verdict == .passes { found.append(Candidate(key: key, entityNumber: number)) }
            return true
        }
    }
}

extension StoreCatalog {
    /// The row to which an index entry leads.
    func candidate(_ key: RawSpan, _ value: RawSpan, _ tree: Tree<[UInt8]>) throws(StoreError) -> Candidate {
        guard key.byteCount > 8, value.byteCount == 3,
            case let candidate = Candidate(
                key: key.bigEndianKey(at: key.byteCount - 8), entityNumber: value.number(at: 0)),
            numbering.id(entityNumber: candidate.entityNumber, key: candidate.key) != nil
        else {
            throw .damaged(
                reason: "an entry of tree \"\(tree.name)\" is not the key of a row")
        }
        return candidate
    }

    /// The error for an entry of an index whose row does not exist.
    func missingRow(of candidate: Candidate) -> StoreError {
        .damaged(
            entity: numbering.entity(candidate.entityNumber)?.name ?? "", key: candidate.key,
            reason: "an index has an entry for it, but there is no such row; rebuild the indexes")
    }
}
