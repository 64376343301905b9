// Random requests to the stores of a world, and their answers by a naive evaluator: rows in an order, within offset and
// limit, their IDs, their number, their lists, and values of them (RandomQuestion+Values).

import EspalierModel
import EspalierStore
import TestSupport

/// The answers to one request.
struct QuestionOutcome {
    /// The fault of an answer of a store; `nil` = all are those of the naive evaluator.
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
            matching: condition.map { all.filter($0.holds) } ?? all)
        let isForValues = random.oneIn(4)
        var outcome = try isForValues ? askForValues(selection) : askForRows(selection, explains: explains)
        (outcome.matchCount, outcome.allCount) = (selection.matching.count, all.count)
        return outcome
    }

    // MARK: Stores

    /// The tree, and one of the other stores: a request to all of them would cost as much as two others.
    mutating func askedStores() -> [RequestStore] {
        [world.stores[0], random.pick(Array(world.stores.dropFirst()))]
    }

    /// The condition of a selection with the IDs of a store.
    func condition(of selection: Selection, in store: RequestStore) throws -> ResolvedPredicate? {
        try selection.predicate.map {
            try ResolvedPredicate(store.bound($0), for: world.entity(selection.entity), in: world.model)
        }
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
        let sorted = order.isEmpty ? selection.matching : Self.sorted(selection.matching, order)
        let expected = Array(sorted.dropFirst(offset).prefix(limit ?? .max))
        let form = random.next() % 8
        var outcome = QuestionOutcome()
        for store in askedStores() {
            let fetch = StoreFetch(
                entity: entity, includesSubentities: selection.includesSubentities,
                predicate: try condition(of: selection, in: store),
                sort: try order.map { try ResolvedSortKey($0.key, for: entity, in: world.model) }, offset: offset,
                limit: limit)
            let problem: String? =
                switch form {
                case 0: try countProblem(fetch, expected.count, in: store)
                case 1: try rowProblem(fetch, expected, selection.entity, in: store)
                case 2: try listProblem(expected, selection.entity, in: store)
                default: try idProblem(fetch, expected, in: store)
                }
            if let problem {
                let plan = try store.snapshot.explain(fetch)
                outcome.problem =
                    "\(selection.text), by \(order.map(\.key)), \(offset), \(limit ?? -1): \(store.kind) \(problem), "
                    + "by \(plan)"
            }
            guard explains, store.kind == .tree else { continue }
            // The line of the costs also names an index that is not read.
            let lines = try store.snapshot.explain(fetch).filter { !$0.hasPrefix("cost:") }
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
            let position = random.pick(
                world.attributes(of: isOfOwner ? 4 : entity).filter { world.attribute($0).kind != .opaque })
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

    private func idProblem(_ fetch: StoreFetch, _ expected: [Int], in store: RequestStore) throws -> String? {
        let found = try store.snapshot.fetchIDs(fetch).map { store.numbers[$0] ?? -1 }
        return found == expected ? nil : "\(found), expected \(expected)"
    }

    private func countProblem(_ fetch: StoreFetch, _ expected: Int, in store: RequestStore) throws -> String? {
        let count = try store.snapshot.count(fetch)
        return count == expected ? nil : "\(count), expected \(expected) rows"
    }

    /// Compares rows with all of their values.
    private func rowProblem(
        _ fetch: StoreFetch, _ expected: [Int], _ entity: Int, in store: RequestStore
    ) throws -> String? {
        let found = try store.snapshot.fetch(fetch)
        guard found.count == expected.count else { return "\(found.count) of \(expected.count) rows" }
        for (row, number) in zip(found, expected) {
            guard row.id == store.ids[number] else { return "\(row.id) instead of row \(number)" }
            for position in world.attributes(of: entity) {
                let value = try world.value(position, of: row, in: store)
                let wanted = world.rows[number].values[position]
                guard !value.isSame(as: wanted) else { continue }
                return "row \(number) has \(value) as \(world.attribute(position).name) instead of \(wanted)"
            }
        }
        return nil
    }

    /// Compares the to-many relationships of rows, in their order if stores keep one.
    private func listProblem(_ expected: [Int], _ entity: Int, in store: RequestStore) throws -> String? {
        let name = world.isThing(entity) ? "tags" : "things"
        guard let relationship = try world.entity(entity).relationship(named: name) else { return "no \(name)" }
        let found = try store.snapshot.destinations(of: relationship, for: expected.map { store.ids[$0] })
        for (ids, number) in zip(found, expected) {
            let (list, wanted) = (ids.map { store.numbers[$0] ?? -1 }, world.list(number))
            guard world.keepsOrder(entity) ? list != wanted : list.sorted() != wanted.sorted() else { continue }
            return "row \(number) leads to \(list) instead of \(wanted)"
        }
        return found.count == expected.count ? nil : "\(found.count) of \(expected.count) lists"
    }
}
