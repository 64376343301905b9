// How a fetch is answered: the tree and the range to read, the conditions that are left to test, the order of the rows.
//
// Invariants
//   1. A plan is a value. Making one reads no rows, and of an index at most a sample. Its execution decides three
//      things: with too many candidates to read one by one, it reads all rows; with a limit, it first looks for the
//      result among the first of all rows; and it leaves an index that has the order if too few rows along it pass.
//   2. The rows a plan finds are exactly those the fetch asks for; a plan only determines how to find them faster.

internal import EspalierModel

/// The plan of one fetch.
struct FetchPlan: Sendable {
    /// The source of the rows.
    enum Access: Sendable {
        /// Nothing can match.
        case nothing
        /// All rows of the hierarchy, by primary key.
        case rows
        /// Rows whose entries in one index begin with these bytes, by primary key.
        case oneValue(group: Int, beginningWith: [UInt8])
        /// Rows whose keys another source finds first, by primary key.
        case candidates(CandidateSource)
        /// A range of an index from one end to the other: the rows are read in the wanted order.
        case index(group: Int, EntryRange, isReversed: Bool)
    }

    /// The order of the result.
    enum Order: Sendable {
        /// Ascending primary key.
        case primaryKey
        /// The rows are read in the wanted order.
        case asRead
        /// By these keys, then by ascending primary key.
        case sorted([ResolvedSortKey])
    }

    /// The entity of the fetch.
    let entity: Entity
    /// By entity number: whether rows of exactly this entity are wanted.
    let isWanted: [Bool]
    /// The source of the rows.
    var access: Access
    /// Conditions that every row must still pass.
    var residual: [ResolvedPredicate.Node]
    /// The condition as a whole; `nil` = none.
    let predicate: ResolvedPredicate.Node?
    /// Whether all rows that `access` finds exist and pass the whole condition, so that no row is read to test it;
    /// `residual` is empty then.
    var isExact: Bool
    /// The order of the result.
    var order: Order
    /// The primary keys of the rows that are wanted.
    let keys: ClosedRange<UInt64>
    /// The number of matching rows that are skipped.
    var offset: Int
    /// The greatest number of rows.
    var limit: Int?
    /// The most candidates that are worth reading one by one: for more, reading all rows in order is cheaper.
    let candidateCountMax: Int
    /// The number of rows that `access` is expected to find.
    var estimate: RowEstimate
    /// The ways to the order, one of which is the plan's; `nil` if no index has the order.
    var orderChoice: OrderChoice?

    /// Takes the rows from a source.
    mutating func take(_ source: PricedSource) {
        assert(source.cost >= 0, "reading a source of rows costs \(source.cost)")
        assert(source.residual.isEmpty || !source.isExact, "an exact source leaves \(source.residual.count) conditions")
        (access, residual, isExact) = (source.access, source.residual, source.isExact)
        estimate = source.estimate
    }
}

/// The number of rows that a source of rows is expected to find, with the numbers of the sources it is made of.
struct RowEstimate: Sendable {
    var count: Double
    /// For a `.union`, one for each of its sources, in their order; for `.back`, the one of the source that it follows
    /// back.
    var parts: [RowEstimate] = []

    /// The number as a whole one.
    var wholeCount: Int { Int(min(max(0, count.rounded()), 0x1p62)) }
}

/// The source of the keys of candidate rows.
indirect enum CandidateSource: Sendable {
    /// These rows, if they exist.
    case keys([ObjectID])
    /// The entries of an index in some ranges.
    case index(group: Int, [EntryRange])
    /// The rows of an entity that pass a condition.
    case scan(Entity, ResolvedPredicate.Node)
    /// The objects from which a relationship leads to one of the candidates.
    case back(ResolvedKeyPath.Step, CandidateSource)
    /// All of these.
    case union([CandidateSource])
}

extension FetchPlan {
    /// Whether all rows are read by primary key, which is also the order of the result: reading can stop anywhere and
    /// continue later.
    var isScan: Bool {
        if case .rows = access, case .primaryKey = order { true } else { false }
    }

    /// Asserts that the parts of the plan fit each other and the schema; to be called in `assert`.
    func checkInvariants(_ schema: StoreSchema) -> Bool {
        assert(offset >= 0 && limit ?? 0 >= 0, "offset \(offset), limit \(limit ?? 0)")
        assert(residual.isEmpty || predicate != nil, "a plan without predicate leaves conditions")
        switch access {
        case .nothing: return true
        case .rows:
            assert(
                residual.count == condition.count,
                "rows that no index has chosen are not tested against all conditions")
        case .oneValue(let group, let prefix):
            assert(schema.groups.indices.contains(group), "there is no group \(group)")
            assert(!prefix.isEmpty && prefix.count <= GroupKey.valueByteCountMax, "a value of \(prefix.count) bytes")
        case .candidates(let source): assert(source.checkInvariants(schema))
        case .index(let group, let range, _):
            assert(schema.groups.indices.contains(group), "there is no group \(group)")
            assert(range.upper.map { range.lower.precedes($0) } ?? true, "a range ends where it begins")
        }
        assert(residual.count <= condition.count, "\(residual.count) conditions are left of \(condition.count)")
        if case .asRead = order, case .index = access { return true }
        if case .asRead = order { assertionFailure("rows come in another order than that of keys, and from no index") }
        return true
    }

    /// The whole condition in parts, tested instead of `residual` if the plan falls back from candidates to all rows.
    var condition: [ResolvedPredicate.Node] { predicate?.conditions ?? [] }

    /// Whether the number of the rows is that of all rows of some entities, which the store keeps.
    var isCountedWithoutRows: Bool {
        guard case .rows = access else { return false }
        return condition.isEmpty && keys == StoreFetch.allKeys
    }

    private func reading(as form: FetchForm) -> String {
        guard isExact else { return "read each row" }
        if form == .rows { return "exact: rows are read only for their values" }
        if case .sorted = order { return "exact: rows are read only for their order" }
        return "exact: no row is read"
    }

    /// One line for each step.
    func explanation(_ schema: StoreSchema, as form: FetchForm = .rows) -> [String] {
        if case .nothing = access { return [accessText(schema)] }
        var lines: [String]
        if case .candidates(let source) = access {
            lines = source.explanation(schema)
        } else {
            lines = [accessText(schema)]
        }
        if case .rows = access {} else { lines.append(reading(as: form)) }
        if !residual.isEmpty { lines.append(testText) }
        lines.append("order: " + orderText)
        lines += orderReason(schema)
        if keys != StoreFetch.allKeys { lines.append("primary keys \(keys.lowerBound) to \(keys.upperBound)") }
        if offset > 0 { lines.append("skip \(offset)") }
        if let limit { lines.append("stop after \(limit)") }
        return lines
    }

    /// The source of the rows, in words.
    func accessText(_ schema: StoreSchema) -> String { Self.text(of: access, of: entity, schema) }

    /// A source of rows of an entity, in words.
    static func text(of access: Access, of entity: Entity, _ schema: StoreSchema) -> String {
        switch access {
        case .nothing: "nothing can match"
        case .rows: "read all rows of \(schema.model.entities[entity.root].name)"
        case .oneValue(let group, let prefix):
            CandidateSource.index(group: group, [.beginning(with: prefix)]).ownExplanation(schema)
        case .candidates(let source): source.ownExplanation(schema)
        case .index(let group, let range, let isReversed):
            "\(CandidateSource.name(of: group, schema)), \(range.explanation)\(isReversed ? ", backwards" : "")"
        }
    }

    /// The conditions that are left, in words.
    var testText: String { "test \(residual.count) condition\(residual.count == 1 ? "" : "s") on each row" }

    /// The order of the result, in words.
    var orderText: String {
        switch order {
        case .primaryKey: return "primary key"
        case .asRead: return "by index"
        case .sorted(let keys): return sortText(keys)
        }
    }

    /// A sort by these keys, in words.
    func sortText(_ keys: [ResolvedSortKey]) -> String {
        assert(!keys.isEmpty, "rows are sorted by nothing")
        let names = keys.map { $0.source.text + ($0.isAscending ? "" : " descending") }
        let how =
            limit.map {
                "keep the first \(offset.addingReportingOverflow($0).overflow ? Int.max : offset + $0) by "
            } ?? "sort by "
        return how + names.joined(separator: ", ")
    }

    /// The last step, in words: the order and the part of the rows that is the result.
    var resultText: String {
        let order: String
        if case .sorted = self.order { order = orderText } else { order = "read rows in order: " + orderText }
        return order + (offset > 0 ? ", skip \(offset)" : "") + (limit.map { ", stop after \($0)" } ?? "")
    }
}

extension CandidateSource {
    /// Whether only entries of indexes are read.
    var isFoundInIndexes: Bool {
        switch self {
        case .index: true
        case .union(let sources): sources.allSatisfy(\.isFoundInIndexes)
        case .keys, .scan, .back: false
        }
    }

    /// The sources that this one is made of.
    var parts: [CandidateSource] {
        switch self {
        case .keys, .index, .scan: []
        case .back(_, let source): [source]
        case .union(let sources): sources
        }
    }

    /// One line for each step.
    func explanation(_ schema: StoreSchema) -> [String] {
        parts.flatMap { $0.explanation(schema) } + [ownExplanation(schema)]
    }

    /// The step without those before it.
    func ownExplanation(_ schema: StoreSchema) -> String {
        switch self {
        case .keys(let ids): return "\(ids.count) primary key\(ids.count == 1 ? "" : "s")"
        case .index(let group, let ranges):
            let first = ranges.first.map { ", " + $0.explanation } ?? ""
            return Self.name(of: group, schema) + (ranges.count == 1 ? first : ", \(ranges.count) ranges")
        case .scan(let entity, _):
            return "read all rows of \(schema.model.entities[entity.root].name), test each for \(entity.name)"
        case .back(let step, _):
            let relationship = schema.model.entities[step.source].relationships[step.slot]
            return "back across \(schema.model.entities[step.source].name).\(relationship.name)"
        case .union(let sources): return "all of these \(sources.count)"
        }
    }

    /// Asserts that groups exist and that ranges of entries ascend; to be called in `assert`.
    ///
    /// O(ranges).
    func checkInvariants(_ schema: StoreSchema) -> Bool {
        switch self {
        case .keys, .scan: break
        case .index(let group, let ranges):
            assert(schema.groups.indices.contains(group), "there is no group \(group)")
            for (range, next) in zip(ranges, ranges.dropFirst()) {
                assert(range.upper.map { !next.lower.precedes($0) } ?? false, "ranges of group \(group) overlap")
            }
        case .back(let step, let source):
            assert(schema.model.entities[step.source].relationships.indices.contains(step.slot), "slot \(step.slot)")
            assert(source.checkInvariants(schema))
        case .union(let sources): assert(sources.allSatisfy { $0.checkInvariants(schema) })
        }
        return true
    }

    static func name(of group: Int, _ schema: StoreSchema) -> String {
        "tree \"\(StoreName.group(schema.groups[group], schema.model))\""
    }
}

extension EntryRange {
    /// The range in words, with keys in hexadecimal.
    var explanation: String {
        func hexadecimal(_ bytes: [UInt8]) -> String {
            let digits = bytes.prefix(24).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            return bytes.count > 24 ? digits + "…" : digits
        }
        if lower.isEmpty, upper == nil { return "all keys" }
        guard let upper else { return "keys from \(hexadecimal(lower))" }
        return upper == lower.successor
            ? "keys that begin with \(hexadecimal(lower))"
            : "keys from \(hexadecimal(lower)) below \(hexadecimal(upper))"
    }
}
