// Random requests to both stores of a world, and their answers by a naive evaluator: rows in an order, within offset
// and limit, their IDs, their number, and values of them (RandomQuestion+Values).

import EspalierModel
import EspalierStore
import TestSupport

/// The answers to one request.
struct QuestionOutcome {
    /// The fault of an answer of a store; `nil` = both are those of the naive evaluator.
    var problem: String?
    /// The number of rows that pass the condition, and of all rows that were asked for.
    var matchCount = 0
    var allCount = 0
    /// Whether the B-tree store has planned to read an index; `nil` = it was not asked.
    var usesIndex: Bool?
}

/// Makes requests and compares the answers.
struct RandomQuestion {
    /// The rows of a request.
    struct Selection {
        let entity: Int
        let includesSubentities: Bool
        let predicate: FetchPredicate?
        let resolved: ResolvedPredicate?
        /// The rows that pass, in the order of their creation.
        let matching: [Int]

        var text: String {
            "\(RequestWorld.names[entity])\(includesSubentities ? "" : " alone") where "
                + "\(predicate.map { "\($0)" } ?? "anything")"
        }
    }

    /// One criterion of an order.
    struct Criterion {
        let key: SortKey
        let fold: PlainFold
        let value: (Int) -> PlainValue
    }

    let world: RequestWorld
    private var maker: ConditionMaker
    var random: SeededGenerator {
        get { maker.random }
        set { maker.random = newValue }
    }

    init(_ world: RequestWorld, _ random: SeededGenerator) {
        (self.world, maker) = (world, ConditionMaker(world: world, random: random))
    }

    /// Asks one request.
    ///
    /// - Parameter explains: whether the store tells its plan, if the request is one for rows.
    mutating func ask(explains: Bool) throws -> QuestionOutcome {
        let entity = random.pick([0, 0, 0, 0, 1, 2, 3, 4, 5])
        let includesSubentities = !random.oneIn(5)
        let condition = random.oneIn(12) ? nil : maker.condition(on: entity, depth: random.pick([0, 0, 0, 0, 1, 1, 2]))
        let all = world.living(includesSubentities ? RequestWorld.families[entity] : [entity])
        let selection = Selection(
            entity: entity, includesSubentities: includesSubentities, predicate: condition?.predicate,
            resolved: try condition.map {
                try ResolvedPredicate($0.predicate, for: try world.entity(entity), in: world.model)
            }, matching: condition.map { all.filter($0.holds) } ?? all)
        let isForValues = random.oneIn(4)
        var outcome = try isForValues ? askForValues(selection) : askForRows(selection, explains: explains)
        (outcome.matchCount, outcome.allCount) = (selection.matching.count, all.count)
        return outcome
    }

    // MARK: Rows

    private mutating func askForRows(_ selection: Selection, explains: Bool) throws -> QuestionOutcome {
        let order = random.oneIn(2) ? [] : self.order(selection.entity)
        let offset = random.oneIn(3) ? Int(random.next() % 5) : 0
        let limit = random.oneIn(2) ? Int(random.next() % 8) : nil
        let entity = try world.entity(selection.entity)
        if let accepted = acceptedObjectKey(entity) {
            var outcome = QuestionOutcome()
            outcome.problem = "\(entity.name) can be sorted by the objects of \(accepted)"
            return outcome
        }
        let fetch = StoreFetch(
            entity: entity, includesSubentities: selection.includesSubentities, predicate: selection.resolved,
            sort: try order.map { try ResolvedSortKey($0.key, for: entity, in: world.model) }, offset: offset,
            limit: limit)
        let sorted = order.isEmpty ? selection.matching : Self.sorted(selection.matching, order)
        let expected = sorted.dropFirst(offset).prefix(limit ?? .max)
        let problem: String? =
            switch random.next() % 6 {
            case 0: try countProblem(fetch, expected.count)
            case 1: try rowProblem(fetch, Array(expected), selection.entity)
            default: try idProblem(fetch, expected.map { world.rows[$0].id })
            }
        var outcome = QuestionOutcome()
        outcome.problem = problem.map { problem in
            "\(selection.text), by \(order.map(\.key)), \(offset), \(limit ?? -1): \(problem)"
        }
        if explains {
            // The line of the costs also names an index that is not read.
            let lines = try world.tree.explain(fetch).filter { !$0.hasPrefix("cost:") }
            outcome.usesIndex = lines.contains { $0.contains("\"index:") }
        }
        return outcome
    }

    /// A sort key that leads to objects, which have no order in any store, and is accepted nevertheless; now and then
    /// one is tried.
    private mutating func acceptedObjectKey(_ entity: Entity) -> String? {
        guard random.oneIn(16) else { return nil }
        let name = random.pick(["SELF", "objectID"] + entity.relationships.map(\.name))
        let key = SortKey(name, ascending: random.oneIn(2))
        return (try? ResolvedSortKey(key, for: entity, in: world.model)) == nil ? nil : name
    }

    /// One or two criteria: properties of the rows, or of their owners.
    private mutating func order(_ entity: Int) -> [Criterion] {
        let world = world
        return (0..<1 + random.next() % 2).map { _ in
            let isOfOwner = world.isThing(entity) && random.oneIn(6)
            let position = random.pick(world.attributes(of: isOfOwner ? 4 : entity))
            let attribute = world.attribute(position)
            let fold = attribute.kind == .text ? random.pick(PlainFold.allCases) : .plain
            let key = SortKey(
                isOfOwner ? "owner." + attribute.name : attribute.name, ascending: random.oneIn(2),
                options: fold.options)
            return Criterion(key: key, fold: fold) { row in
                guard isOfOwner else { return world.rows[row].values[position] }
                return world.rows[row].owner.map { world.rows[$0].values[position] } ?? .null
            }
        }
    }

    /// Rows in an order; equal ones stay as they are.
    static func sorted(_ rows: [Int], _ order: [Criterion]) -> [Int] {
        let keyed = rows.map { row in (row: row, values: order.map { $0.value(row) }) }
        return keyed.sorted { left, right in
            for (position, criterion) in order.enumerated() {
                let order = left.values[position].order(right.values[position], criterion.fold)
                if order != 0 { return (order < 0) == criterion.key.isAscending }
            }
            return left.row < right.row
        }.map(\.row)
    }

    private func idProblem(_ fetch: StoreFetch, _ expected: [ObjectID]) throws -> String? {
        let (tree, memory) = (try world.tree.fetchIDs(fetch), try world.memory.fetchIDs(fetch))
        if tree == expected, memory == expected { return nil }
        func keys(_ ids: [ObjectID]) -> [UInt64] { ids.map(\.key) }
        let plan = try world.tree.explain(fetch)
        return "trees \(keys(tree)), memory \(keys(memory)), expected \(keys(expected)), by \(plan)"
    }

    private func countProblem(_ fetch: StoreFetch, _ expected: Int) throws -> String? {
        let (tree, memory) = (try world.tree.count(fetch), try world.memory.count(fetch))
        return tree == expected && memory == expected
            ? nil : "trees \(tree), memory \(memory), expected \(expected) rows"
    }

    /// Compares rows with all of their values.
    private func rowProblem(_ fetch: StoreFetch, _ expected: [Int], _ entity: Int) throws -> String? {
        for (name, snapshot) in [("trees", world.tree), ("memory", world.memory)] {
            let found = try snapshot.fetch(fetch)
            guard found.count == expected.count else { return "\(name): \(found.count) of \(expected.count) rows" }
            for (row, number) in zip(found, expected) {
                guard row.id == world.rows[number].id else { return "\(name): \(row.id) instead of row \(number)" }
                for position in world.attributes(of: entity) {
                    guard let slot = fetch.entity.attribute(named: world.attribute(position).name)?.slot else {
                        continue
                    }
                    let (value, wanted) = (world.plain(row.value(at: slot)), world.rows[number].values[position])
                    if !value.isSame(as: wanted) { return "\(name): row \(number) has \(value) instead of \(wanted)" }
                }
            }
        }
        return nil
    }
}
