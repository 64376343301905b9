// Random requests for values: totals, groups, distinct rows and columns, with their answers by a naive evaluator.

import EspalierModel
import EspalierStore
import TestSupport

extension RandomQuestion {
    /// A column that reads each row.
    private struct Column {
        let name: String
        let isNumber: Bool
        let hasOrder: Bool
        let value: (Int) -> PlainValue
    }

    /// An aggregate, and the same of plain values.
    private struct Aggregate {
        let column: FetchColumn
        let value: ([Int]) -> PlainValue
    }

    /// The rows of an answer, with the numbers by which those that are equal in the order follow each other.
    private struct Answer {
        var rows: [[PlainValue]]
        var isAscending: Bool?
        /// The column of the order.
        var column = 0
        /// The columns by which rows can be sorted.
        let sortable: [Int]

        /// The rows in the order, within offset and limit; equal ones stay as they are.
        func shown(_ offset: Int, _ limit: Int) -> [[PlainValue]] {
            var numbered = Array(rows.enumerated())
            if let isAscending {
                numbered.sort { left, right in
                    let order = left.element[column].order(right.element[column])
                    return order == 0 ? left.offset < right.offset : (order < 0) == isAscending
                }
            }
            return numbered.dropFirst(offset).prefix(limit > 0 ? limit : .max).map(\.element)
        }
    }

    /// Asks for values of the selected rows.
    mutating func askForValues(_ selection: Selection) throws -> QuestionOutcome {
        var request = ValueRequest(entityName: RequestWorld.names[selection.entity])
        var answer: Answer
        switch random.next() % 4 {
        case 0: answer = totals(selection, &request)
        case 1: answer = groups(selection, &request)
        case 2: answer = distinct(selection, &request)
        default: answer = columns(selection, &request)
        }
        if !answer.sortable.isEmpty, !answer.rows.isEmpty, random.oneIn(3) {
            let (place, isAscending) = (random.pick(answer.sortable), random.oneIn(2))
            answer.isAscending = isAscending
            answer.column = place
            request.sortKeys = [SortKey(request.propertiesToFetch[place].name, ascending: isAscending)]
        }
        if random.oneIn(3) {
            request.fetchOffset = Int(random.next() % 3)
            request.fetchLimit = Int(random.next() % 6)
        }
        let expected = answer.shown(request.fetchOffset, request.fetchLimit)
        let entity = try world.entity(selection.entity)
        var outcome = QuestionOutcome()
        for store in askedStores() {
            let fetch = StoreValueFetch(
                try ResolvedValues(request, for: entity, in: world.model),
                includesSubentities: selection.includesSubentities,
                predicate: try condition(of: selection, in: store))
            let found = try store.snapshot.values(fetch).rows().map { row in row.values.map { store.plain($0) } }
            guard !Self.isSame(found, expected) else { continue }
            let plan = try store.snapshot.explain(fetch)
            outcome.problem =
                "\(selection.text), \(request.propertiesToFetch.map { "\($0.expression)" }) by "
                + "\(request.propertiesToGroupBy.map(\.name)), distinct \(request.returnsDistinctResults), sorted "
                + "\(request.sortKeys), \(request.fetchOffset), \(request.fetchLimit): \(store.kind) \(found), "
                + "expected \(expected), by \(plan)"
        }
        return outcome
    }

    private static func isSame(_ left: [[PlainValue]], _ right: [[PlainValue]]) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
            }
    }

    // MARK: Shapes

    private mutating func totals(_ selection: Selection, _ request: inout ValueRequest) -> Answer {
        let aggregates = (0..<1 + random.next() % 3).map { aggregate(selection.entity, "a\($0)") }
        request.propertiesToFetch = aggregates.map(\.column)
        return Answer(rows: [aggregates.map { $0.value(selection.matching) }], sortable: Array(aggregates.indices))
    }

    private mutating func groups(_ selection: Selection, _ request: inout ValueRequest) -> Answer {
        let columns = someColumns(selection.entity)
        let aggregates = [aggregate(selection.entity, "n", isCount: true), aggregate(selection.entity, "a")]
        request.propertiesToGroupBy = columns.map { FetchColumn($0.name) }
        request.propertiesToFetch = request.propertiesToGroupBy + aggregates.map(\.column)
        let least = random.oneIn(3) ? 1 : 0
        if least > 0 {
            request.havingPredicate = .comparison(
                .init(.keyPath(FetchKeyPath(["n"])), .greaterThan, .value(.integer(Int64(least)))))
        }
        let groups = Self.classes(selection.matching, columns).filter { $0.members.count > least }
        return Answer(
            rows: groups.map { group in group.key + aggregates.map { $0.value(group.members) } },
            sortable: Self.sortable(columns) + [columns.count, columns.count + 1])
    }

    private mutating func distinct(_ selection: Selection, _ request: inout ValueRequest) -> Answer {
        let columns = someColumns(selection.entity)
        (request.propertiesToFetch, request.returnsDistinctResults) = (columns.map { FetchColumn($0.name) }, true)
        return Answer(
            rows: Self.classes(selection.matching, columns).map(\.key), sortable: Self.sortable(columns))
    }

    private mutating func columns(_ selection: Selection, _ request: inout ValueRequest) -> Answer {
        let columns = someColumns(selection.entity)
        request.propertiesToFetch = columns.map { FetchColumn($0.name) }
        return Answer(
            rows: selection.matching.map { row in columns.map { $0.value(row) } }, sortable: Self.sortable(columns))
    }

    private static func sortable(_ columns: [Column]) -> [Int] { columns.indices.filter { columns[$0].hasOrder } }

    /// One or two properties.
    private mutating func someColumns(_ entity: Int) -> [Column] {
        let world = world
        var columns = world.attributes(of: entity).map { attributeColumn($0) }
        if world.isThing(entity) {
            columns.append(
                Column(name: "owner", isNumber: false, hasOrder: false) { row in
                    world.rows[row].owner.map { .row($0) } ?? .null
                })
        }
        columns.shuffle(using: &random)
        return Array(columns.prefix(random.oneIn(2) ? 1 : 2))
    }

    private func attributeColumn(_ position: Int) -> Column {
        let (world, attribute) = (world, world.attribute(position))
        let (isNumber, hasOrder) = (attribute.kind == .number, attribute.kind != .opaque)
        return Column(name: attribute.name, isNumber: isNumber, hasOrder: hasOrder) { row in
            world.rows[row].values[position]
        }
    }

    private mutating func aggregate(_ entity: Int, _ name: String, isCount: Bool = false) -> Aggregate {
        let column = attributeColumn(random.pick(world.attributes(of: entity)))
        let value = column.value
        func known(_ rows: [Int]) -> [PlainValue] { rows.map(value).filter { !$0.isNull } }
        func named(_ function: String) -> FetchColumn {
            let path = FetchKeyPath(column.name.split(separator: ".").map(String.init))
            return FetchColumn(name, .function(function, [.keyPath(path)]))
        }
        switch random.next() % 9 {
        case 0 where !isCount && column.hasOrder:
            return Aggregate(column: .min(column.name, as: name)) { known($0).min { $0.order($1) < 0 } ?? .null }
        case 1 where !isCount && column.hasOrder:
            return Aggregate(column: .max(column.name, as: name)) { known($0).max { $0.order($1) < 0 } ?? .null }
        case 2 where !isCount && column.isNumber:
            return Aggregate(column: .sum(column.name, as: name)) { Self.sum(known($0)) }
        case 3 where !isCount && column.isNumber:
            return Aggregate(column: .average(column.name, as: name)) { rows in
                let numbers = known(rows)
                guard !numbers.isEmpty, case .number(let sum) = Self.sum(numbers) else { return .null }
                return .number(sum / Double(numbers.count))
            }
        case 4 where !isCount:
            return Aggregate(column: .count(column.name, as: name)) { .number(Double(known($0).count)) }
        case 5 where !isCount && column.hasOrder:
            return Aggregate(column: named("mode")) { Self.mode(known($0)) }
        case 6 where !isCount && column.isNumber:
            return Aggregate(column: named("median")) { Self.median(known($0)) }
        case 7 where !isCount && column.isNumber:
            return Aggregate(column: named("stddev")) { Self.deviation(known($0)) }
        default: return Aggregate(column: .count(as: name)) { .number(Double($0.count)) }
        }
    }

    /// The sum of numbers; null with a NaN.
    private static func sum(_ numbers: [PlainValue]) -> PlainValue {
        var sum = 0.0
        for case .number(let number) in numbers { sum += number }
        return sum.isNaN ? .null : .number(sum)
    }

    /// The value that most others equal; of several, the least one.
    private static func mode(_ values: [PlainValue]) -> PlainValue {
        func frequency(_ value: PlainValue) -> Int { values.count { $0.order(value) == 0 } }
        let most = values.map(frequency).max() ?? 0
        return values.filter { frequency($0) == most }.min { $0.order($1) < 0 } ?? .null
    }

    /// The middle number, or the average of both in the middle; null if that is no number.
    private static func median(_ numbers: [PlainValue]) -> PlainValue {
        let sorted = numbers.sorted { $0.order($1) < 0 }
        guard !sorted.isEmpty else { return .null }
        let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
        guard sorted.count.isMultiple(of: 2), case .number(let sum) = Self.sum([low, high]) else {
            return sorted.count.isMultiple(of: 2) ? .null : high
        }
        return .number(sum / 2)
    }

    /// The standard deviation of all; it is added up in ascending order, as rounding depends on it.
    private static func deviation(_ numbers: [PlainValue]) -> PlainValue {
        let sorted = numbers.sorted { $0.order($1) < 0 }
        guard !sorted.isEmpty, case .number(let sum) = Self.sum(sorted) else { return .null }
        let (count, mean) = (Double(sorted.count), sum / Double(sorted.count))
        var squares = 0.0
        for case .number(let number) in sorted { squares += (number - mean) * (number - mean) }
        let deviation = (squares / count).squareRoot()
        return deviation.isNaN ? .null : .number(deviation)
    }

    /// The classes of rows that are equal in all columns, in the order of their values.
    private static func classes(_ rows: [Int], _ columns: [Column]) -> [(key: [PlainValue], members: [Int])] {
        var classes: [(key: [PlainValue], members: [Int])] = []
        for row in rows {
            let key = columns.map { $0.value(row) }
            let place = classes.firstIndex { known in zip(known.key, key).allSatisfy { $0.order($1) == 0 } }
            if let place { classes[place].members.append(row) } else { classes.append((key, [row])) }
        }
        return classes.sorted { left, right in
            for (left, right) in zip(left.key, right.key) {
                let order = left.order(right)
                if order != 0 { return order < 0 }
            }
            return false
        }
    }
}
