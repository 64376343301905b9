// Random questions for values, of things with and without indexes: each store, also one in memory, has the same answer,
// and many of the questions are answered by an index alone (FR-11).

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct CoveringWalkTests {
    @Test func `random questions have the same values with indexes, without them and in memory`() throws {
        let seed = testSeed(default: 1_906)
        for round in 0..<UInt64(campaignCount("ESPALIER_COVERING_ROUNDS", default: 1)) {
            var random = SeededGenerator(seed: seed + round)
            let boards = try [
                Board(.treeInFile, isIndexed: true), Board(.treeInMemory, isIndexed: false),
                Board(.memory, isIndexed: true),
            ]
            try Board.fill(boards, &random)
            if random.oneIn(2) { try boards[0].fixture.reopen() }
            var aloneCount = 0
            for number in 0..<60 {
                let question = Question(&random)
                let place = "seed \(seed + round), question \(number): \(question)"
                let answers = try boards.map { try $0.answer(question) }
                for (board, answer) in zip(boards, answers).dropLast() {
                    #expect(
                        question.isSame(answer, answers[2]),
                        "\(place), \(board.fixture.kind): \(answer) instead of \(answers[2])")
                }
                if try boards[0].isAnsweredAlone(question) { aloneCount += 1 }
            }
            #expect(aloneCount > 5, "seed \(seed + round): an index answered \(aloneCount) of 60 questions alone")
        }
    }
}

/// One store with its things and owners, by the order in which they were inserted.
private final class Board {
    let fixture: StoreFixture
    private var owners: [ObjectID] = []
    private var things: [ObjectID] = []
    /// The position of each object among those of its kind.
    private var numbers: [ObjectID: Int64] = [:]

    init(_ kind: StoreKind, isIndexed: Bool) throws {
        fixture = try StoreFixture(kind, CoveringModel.make(isIndexed: isIndexed))
    }

    /// Saves the same things in each store, changes some and deletes others.
    static func fill(_ boards: [Board], _ random: inout SeededGenerator) throws {
        for board in boards {
            board.owners = try (0..<3).map { try board.fixture.insert("Owner", ["name": .string("owner \($0)")]) }
        }
        var rows: [(entity: String, values: [String: AttributeValue], owner: Int?)] = []
        for _ in 0..<60 {
            var row = (entity: random.pick(["Thing", "Thing", "Tool"]), values: random.thing(), owner: Int?.none)
            if row.entity == "Tool" { row.values["weight"] = random.thingValue("weight") }
            if !random.oneIn(5) { row.owner = Int(random.next() % 3) }
            rows.append(row)
        }
        var changes: [(number: Int, values: [String: AttributeValue])] = []
        for _ in 0..<12 { changes.append((Int(random.next() % 50), random.thing())) }
        for board in boards {
            var request = SaveRequest()
            for row in rows {
                let owner = row.owner.map { ["owner": board.owners[$0]] } ?? [:]
                request.insertions.append(try board.fixture.insertion(row.entity, row.values, to: owner))
            }
            board.things = try board.fixture.store.save(request).inserted.map(\.id)
            for (number, values) in changes { try board.fixture.change(board.things[number], values) }
            for id in board.things[50..<55] { try board.fixture.delete(id) }
            for (number, id) in board.things.enumerated() { board.numbers[id] = Int64(number) }
            for (number, id) in board.owners.enumerated() { board.numbers[id] = Int64(number) }
        }
    }

    private func fetch(_ question: Question) throws -> StoreValueFetch {
        var predicate = question.predicate
        if let owner = question.owner {
            let wanted: AttributeValue = owner < 3 ? .objectID(owners[owner]) : .null
            let isOwned = FetchPredicate.comparison(
                .init(.keyPath(FetchKeyPath(["owner"])), .equal, .value(wanted)))
            predicate = predicate.map { FetchPredicate.and([$0, isOwned]) } ?? isOwned
        }
        var fetch = try CoveringModel.fetch(
            fixture, question.columns, predicate, by: question.groups, sort: question.sort, limit: question.limit,
            distinct: question.isDistinct, of: question.entityName, subentities: question.includesSubentities)
        fetch.excluded = Set(question.excluded.map { things[$0] })
        return fetch
    }

    /// The values of the rows, with positions instead of IDs.
    func answer(_ question: Question) throws -> [[AttributeValue]] {
        try fixture.store.values(fetch(question)).rows().map { row in
            row.values.map { value in
                if case .objectID(let id) = value { .integer(numbers[id] ?? -1) } else { value }
            }
        }
    }

    func isAnsweredAlone(_ question: Question) throws -> Bool {
        try fixture.store.explain(fetch(question)).contains { $0.hasPrefix("read entries alone") }
    }
}

/// A question about the properties of one index, and sometimes another property.
private struct Question: CustomStringConvertible {
    var entityName = "Thing"
    var columns: [FetchColumn] = []
    var groups: [FetchColumn] = []
    var sort: [SortKey] = []
    var limit = 0
    var isDistinct = false
    var predicate: FetchPredicate?
    /// The owner whose things are wanted: 3 stands for none.
    var owner: Int?
    var includesSubentities = true
    var excluded: [Int] = []

    init(_ random: inout SeededGenerator) {
        let index = random.pick(CoveringModel.indexes)
        var properties = index.properties.map(\.property)
        if random.oneIn(6) { properties.append(random.pick(["number", "note", "flag", "small"])) }
        let names = properties.filter { _ in random.oneIn(2) }
        columns = Set(names.isEmpty ? [properties[0]] : names).sorted().map { FetchColumn($0) }
        switch random.next() % 4 {
        case 0: isDistinct = true
        case 1: group(&random, among: properties)
        default: order(&random, index)
        }
        conditions(&random, index, properties)
        if random.oneIn(5) { entityName = "Tool" }
        includesSubentities = !random.oneIn(4)
        if random.oneIn(3) { excluded = (0..<4).map { _ in Int(random.next() % 50) } }
    }

    /// Makes the columns groups, with aggregates of a number.
    private mutating func group(_ random: inout SeededGenerator, among properties: [String]) {
        groups = columns
        let numbers = properties.filter { ["number", "ratio", "small", "half"].contains($0) }
        columns.append(.count())
        guard !numbers.isEmpty else { return }
        let number = random.pick(numbers)
        columns += [.sum(number, as: "sum"), .max(number, as: "max"), .count(number, as: "values")]
    }

    /// Sorts along the index, in either direction, or by one property, or not at all.
    private mutating func order(_ random: inout SeededGenerator, _ index: CoveringModel.Index) {
        if random.oneIn(3) { columns.append("objectID") }
        if random.oneIn(4), index.name == "byNumber" {
            columns.append(FetchColumn("twice", CoveringModel.twice))
        }
        let isReversed = random.oneIn(2)
        let keys = index.properties.filter { $0.property != "owner" }.map { element in
            SortKey(element.property, ascending: element.isAscending != isReversed, options: element.folding)
        }
        sort = random.pick([keys, keys, Array(keys.suffix(1)), []])
        if random.oneIn(3) { limit = 1 + Int(random.next() % 9) }
    }

    private mutating func conditions(
        _ random: inout SeededGenerator, _ index: CoveringModel.Index, _ properties: [String]
    ) {
        var parts: [FetchPredicate] = []
        if index.condition != nil, !random.oneIn(3) {
            let flag = FetchExpression.keyPath(FetchKeyPath(["flag"]))
            parts.append(.comparison(.init(flag, .equal, .value(.boolean(true)))))
        }
        if index.name == "byTwice", !random.oneIn(4) {
            let number = AttributeValue.integer(2 * Int64(random.next() % 6))
            parts.append(.comparison(.init(CoveringModel.twice, random.pick([.equal, .lessThan]), .value(number))))
        }
        for _ in 0..<random.next() % 3 {
            let property = random.pick(properties)
            if property == "owner" { owner = Int(random.next() % 4) } else { parts.append(random.condition(property)) }
        }
        guard !parts.isEmpty else { return }
        let whole: FetchPredicate = random.oneIn(4) ? .or(parts) : .and(parts)
        predicate = parts.count == 1 ? parts[0] : whole
    }

    /// Whether two answers are the same: rows have the bits that were saved, and groups have any of their equal values.
    func isSame(_ left: [[AttributeValue]], _ right: [[AttributeValue]]) -> Bool {
        guard left.count == right.count else { return false }
        let takesEqual = isDistinct || !groups.isEmpty
        return zip(left, right).allSatisfy { left, right in
            zip(left, right).allSatisfy { left, right in
                guard left.isNull == right.isNull, left.compare(right) == .orderedSame else { return false }
                if case .decimal = left { return true }
                return takesEqual || Self.bits(left) == Self.bits(right)
            }
        }
    }

    private static func bits(_ value: AttributeValue) -> [UInt8] {
        var bytes: [UInt8] = []
        TaggedValue.append(value, to: &bytes)
        return bytes
    }

    var description: String {
        "\(entityName)\(includesSubentities ? "" : " alone"), \(columns.map(\.name))\(isDistinct ? " distinct" : ""), "
            + "by \(groups.map(\.name)), sorted \(sort), limit \(limit), owner \(owner ?? -1), "
            + "without \(excluded), where \(predicate.map(String.init(describing:)) ?? "anything")"
    }
}

extension SeededGenerator {
    /// A condition on a property of a thing.
    fileprivate mutating func condition(_ property: String) -> FetchPredicate {
        typealias Operator = FetchPredicate.Comparison.Operator
        let path = FetchExpression.keyPath(FetchKeyPath([property]))
        let isText = property == "name" || property == "note"
        let equality: [Operator] = [.equal, .equal, .notEqual, .in]
        let order: [Operator] = [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual]
        var operators = equality
        if !["flag", "code"].contains(property) { operators += order }
        if isText { operators += [.beginsWith, .contains] }
        let operation = pick(operators)
        let options: ComparisonOptions = isText && oneIn(3) ? [.caseInsensitive, .diacriticInsensitive] : []
        if operation == .in {
            let list = (0..<3).map { _ in FetchExpression.value(thingValue(property)) }
            return .comparison(.init(path, .in, .list(list), options: options))
        }
        var value = thingValue(property)
        if ![.equal, .notEqual].contains(operation), value.isNull { value = isText ? .string("a") : .integer(1) }
        if property == "day", case .integer = value { value = .date(Date(timeIntervalSinceReferenceDate: 1)) }
        return .comparison(.init(path, operation, .value(value), options: options))
    }
}
