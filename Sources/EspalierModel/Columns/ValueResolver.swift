// Binds a request for values to an entity.
//
// The steps: read the columns and find their aggregates; decide whether rows belong to objects or to groups; choose
// what is kept of each object; give each aggregate a slot; resolve columns, condition on groups and order against
// slots.
//
// Invariants
//   1. An error has the column, group, condition or sort key as its subject.

struct ValueResolver {
    typealias Operand = PredicateResolver.Operand

    /// A value that is read of each object.
    struct Input {
        let expression: ResolvedExpression
        let type: AttributeType?
    }

    let entity: Entity
    let model: ManagedObjectModel
    private(set) var inputs: [Input] = []
    private(set) var keptCount = 0
    private(set) var aggregations: [ResolvedValues.Aggregation] = []
    private var positions: [ResolvedExpression: Int] = [:]
    /// The slots, by the expression that each stands for.
    private var substitutes: PredicateResolver.Substitutes = [:]

    init(entity: Entity, model: ManagedObjectModel) { (self.entity, self.model) = (entity, model) }

    mutating func resolve(_ request: ValueRequest) throws(FetchPredicateError) -> ResolvedValues {
        let columns = try columns(of: request)
        let groups = groups(of: request, columns)
        if request.havingPredicate != nil, groups.isEmpty {
            throw FetchPredicateError(.havingWithoutGroups).about("condition on groups")
        }
        var (hasAggregates, hasOthers) = (false, false)
        for column in columns {
            try about(column) { (resolver) throws(FetchPredicateError) in
                if try resolver.hasAggregate(column.expression) { hasAggregates = true }
                if try resolver.readsObject(column.expression) { hasOthers = true }
            }
        }
        let isDistinct = request.returnsDistinctResults
        let isDistinctObjects = isDistinct && groups.isEmpty && !hasAggregates
        let isGrouped = !groups.isEmpty || isDistinctObjects || hasAggregates && !hasOthers
        for group in groups { try keep(group, isGroup: true) }
        if isDistinctObjects { for column in columns { try keep(column, isGroup: true) } }
        if !isGrouped { for column in columns { try keepParts(of: column) } }
        let objectOrder = isGrouped ? nil : try keepOrder(request, columns)
        keptCount = inputs.count
        for column in columns {
            try about(column) { (r) throws(FetchPredicateError) in try r.aggregate(column.expression) }
        }
        if let having = request.havingPredicate { try aggregate(having) }
        var outputs: [String: (operand: Operand, output: ResolvedValues.Output)] = [:]
        var resolved: [ResolvedValues.Column] = []
        for column in columns {
            let (operand, output) = try about(column) { (resolver) throws(FetchPredicateError) in
                try resolver.output(column)
            }
            outputs[column.name] = (operand, output)
            resolved.append(.init(name: column.name, output: output, resultType: column.resultType))
        }
        return ResolvedValues(
            self, isGrouped: isGrouped, columns: resolved,
            having: try having(request.havingPredicate, outputs.mapValues(\.operand)),
            isDistinct: isDistinct && !isDistinctObjects,
            order: try order(request.terms.sortKeys, outputs, isDistinct: isDistinct), objectOrder: objectOrder,
            request.terms)
    }

    /// Runs `body`, whose errors become errors of a column.
    private mutating func about<Result>(
        _ column: FetchColumn, _ body: (inout ValueResolver) throws(FetchPredicateError) -> Result
    ) throws(FetchPredicateError) -> Result {
        do { return try body(&self) } catch { throw error.about("column '\(column.name)'") }
    }

    // MARK: Columns and groups

    /// The columns of the request, with the operators of the grammar in front of paths as aggregates: `@sum.price`.
    private func columns(of request: ValueRequest) throws(FetchPredicateError) -> [FetchColumn] {
        var columns = request.propertiesToFetch
        if columns.isEmpty { columns = request.propertiesToGroupBy }
        if columns.isEmpty {
            let attributes = entity.attributes.filter { !$0.isTransient }.map(\.name)
            columns = (attributes + entity.relationships.filter { !$0.isToMany }.map(\.name)).map { FetchColumn($0) }
        }
        var names = Set<String>()
        for column in columns where !names.insert(column.name).inserted {
            throw FetchPredicateError(.repeatedColumn(column.name)).about("column '\(column.name)'")
        }
        return columns.map { FetchColumn($0.name, $0.expression.withLeadingAggregates, type: $0.resultType) }
    }

    /// The groups of the request: the name of a column stands for its expression.
    private func groups(of request: ValueRequest, _ columns: [FetchColumn]) -> [FetchColumn] {
        request.propertiesToGroupBy.map { group in
            let isName = group.expression == FetchExpression(dotted: group.name)
            let named = isName ? columns.first { $0.name == group.name } : nil
            return FetchColumn(group.name, named?.expression ?? group.expression)
        }
    }

    // MARK: Kept values

    /// Keeps the value of an expression in a slot.
    @discardableResult
    private mutating func keep(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
        if let known = substitutes[expression] { return known }
        var resolver = PredicateResolver(entity: entity, model: model)
        let operand = try resolver.resolve(expression)
        try requireSingle(operand)
        if operand.isConstant { return operand }
        let slot = operand.inSlot(input(operand))
        substitutes[expression] = slot
        return slot
    }

    private mutating func keep(_ column: FetchColumn, isGroup: Bool) throws(FetchPredicateError) {
        do throws(FetchPredicateError) {
            if try hasAggregate(column.expression) {
                throw FetchPredicateError(.misplacedAggregate("'\(column.name)'"))
            }
            try keep(column.expression)
        } catch {
            throw error.about("group by '\(column.name)'")
        }
    }

    /// Keeps what a column that may have aggregates reads of its own object.
    private mutating func keepParts(of column: FetchColumn) throws(FetchPredicateError) {
        try about(column) { (resolver) throws(FetchPredicateError) in
            try column.expression.forEachPart { part throws(FetchPredicateError) in
                if try resolver.isAggregate(part) { return false }
                if try resolver.hasAggregate(part) { return true }
                try resolver.keep(part)
                return false
            }
        }
    }

    /// Keeps the sort keys that are no columns; returns the order as one of objects.
    private mutating func keepOrder(
        _ request: ValueRequest, _ columns: [FetchColumn]
    ) throws(FetchPredicateError) -> [ResolvedSortKey]? {
        var order: [ResolvedSortKey]? = []
        for key in request.terms.sortKeys {
            let column = key.expression == nil ? columns.first { $0.name == key.text } : nil
            var ownKey = key
            if let column {
                guard column.resultType == nil else {
                    order = nil
                    continue
                }
                if case .keyPath(let path) = column.expression {
                    ownKey.keyPath = path
                } else {
                    ownKey.expression = column.expression
                }
            }
            let isSortable = column == nil || (try? ResolvedSortKey(ownKey, for: entity, in: model)) != nil
            guard isSortable else {
                order = nil
                continue
            }
            let resolved = try ResolvedSortKey(ownKey, for: entity, in: model)
            order?.append(resolved)
            if column == nil { try keep(key.value) }
        }
        return order
    }

    /// The position of a value among the inputs.
    private mutating func input(_ operand: Operand) -> Int {
        if let position = positions[operand.expression] { return position }
        inputs.append(Input(expression: operand.expression, type: operand.type))
        positions[operand.expression] = inputs.count - 1
        return inputs.count - 1
    }

    private func requireSingle(_ operand: Operand) throws(FetchPredicateError) {
        guard operand.isCollection else { return }
        let path = operand.keyPath?.components.joined(separator: ".") ?? "a list"
        throw FetchPredicateError(
            .toManyPath(path, advice: "a column has one value for each object: use @count or another operator"))
    }

    // MARK: Aggregates

    /// Whether an expression is an aggregate of single values of objects.
    private func isAggregate(_ expression: FetchExpression) throws(FetchPredicateError) -> Bool {
        guard case .function(let name, let arguments) = expression, arguments.count == 1,
            case .aggregate? = GrammarFunction.byName[GrammarFunction.normalized(name)]
        else { return false }
        if try hasAggregate(arguments[0]) {
            throw FetchPredicateError(.misplacedAggregate("the argument of '\(name)'"))
        }
        var resolver = PredicateResolver(entity: entity, model: model)
        return try !resolver.resolve(arguments[0]).isCollection
    }

    private func hasAggregate(_ expression: FetchExpression) throws(FetchPredicateError) -> Bool {
        var found = false
        try expression.forEachPart { part throws(FetchPredicateError) in
            if !found { found = try isAggregate(part) }
            return !found
        }
        return found
    }

    /// Whether an expression reads its object outside of aggregates.
    private func readsObject(_ expression: FetchExpression) throws(FetchPredicateError) -> Bool {
        var found = false
        try expression.forEachPart { part throws(FetchPredicateError) in
            guard !found, try !isAggregate(part) else { return false }
            switch part {
            case .keyPath, .evaluatedObject, .subquery: found = true
            case .value, .list, .variable, .function, .conditional: break
            }
            return !found
        }
        return found
    }

    /// Gives each aggregate in an expression a slot.
    private mutating func aggregate(_ expression: FetchExpression) throws(FetchPredicateError) {
        try expression.forEachPart { part throws(FetchPredicateError) in
            guard substitutes[part] == nil, try isAggregate(part) else { return true }
            try addAggregate(part)
            return false
        }
    }

    private mutating func aggregate(_ having: FetchPredicate) throws(FetchPredicateError) {
        do {
            try having.forEachExpression { expression throws(FetchPredicateError) in
                try aggregate(expression.withLeadingAggregates)
            }
        } catch {
            throw error.about("condition on groups")
        }
    }

    private mutating func addAggregate(_ expression: FetchExpression) throws(FetchPredicateError) {
        guard case .function(let name, let arguments) = expression, let argument = arguments.first,
            case .aggregate(let aggregate)? = GrammarFunction.byName[GrammarFunction.normalized(name)]
        else { return }
        var resolver = PredicateResolver(entity: entity, model: model)
        let operand = try resolver.resolve(argument)
        if !operand.family.hasOrder, [.min, .max, .median, .mode].contains(aggregate) {
            throw FetchPredicateError(
                .typeMismatch(found: operand.description, expected: "values with an order in '\(name)'"))
        }
        let isObject = operand.expression == .path(.init(base: .evaluatedObject, steps: [], terminal: .object))
        let result = try resolver.aggregate(aggregate, of: operand, named: name)
        let counted = aggregate == .count && isObject
        aggregations.append(.init(aggregate: aggregate, input: counted ? nil : input(operand)))
        substitutes[expression] = result.inSlot(keptCount + aggregations.count - 1)
    }

    // MARK: Columns, condition and order of slots

    private func output(
        _ column: FetchColumn
    ) throws(FetchPredicateError) -> (operand: Operand, output: ResolvedValues.Output) {
        var resolver = PredicateResolver(entity: entity, model: model)
        resolver.substitutes = substitutes
        var operand = try resolver.resolve(column.expression)
        try requireSingle(operand)
        if let type = column.resultType {
            let family = PredicateResolver.Family(type)
            guard [operand.family, .any].contains(family) || operand.family == .any else {
                throw FetchPredicateError(
                    .typeMismatch(found: operand.description, expected: "\(type.valueDescription) for type \(type)"))
            }
            let expression = ResolvedExpression.function(.cast(type), [operand.expression])
            (operand.expression, operand.type, operand.family) = (expression, type, family)
        }
        return (operand, operand.slot.map { .slot($0) } ?? .computed(operand.expression))
    }

    private func having(
        _ predicate: FetchPredicate?, _ columns: [String: Operand]
    ) throws(FetchPredicateError) -> ResolvedPredicate? {
        guard let predicate else { return nil }
        var resolver = PredicateResolver(entity: entity, model: model)
        var known = substitutes
        for (name, operand) in columns {
            known[.variable(name)] = operand
            for path in [FetchKeyPath([name]), FetchKeyPath(["$" + name])] where known[.keyPath(path)] == nil {
                known[.keyPath(path)] = operand
            }
        }
        resolver.substitutes = known
        do {
            let source = predicate.mappingExpressions(\.withLeadingAggregates)
            return ResolvedPredicate(try resolver.resolve(source), of: entity, from: source)
        } catch {
            throw error.about("condition on groups")
        }
    }

    private func order(
        _ keys: [SortKey], _ outputs: [String: (operand: Operand, output: ResolvedValues.Output)], isDistinct: Bool
    ) throws(FetchPredicateError) -> [ResolvedValues.Criterion] {
        var order: [ResolvedValues.Criterion] = []
        for key in keys {
            let column = key.expression == nil ? outputs[key.text] : nil
            guard let operand = column?.operand ?? substitutes[key.value] else {
                let name = "'\(key.text)'"
                throw FetchPredicateError(isDistinct ? .notFetched(name) : .notGrouped(name)).inSortKey(key)
            }
            guard operand.family.hasOrder else {
                throw FetchPredicateError(
                    .typeMismatch(found: operand.description, expected: "a sort key whose values have an order")
                ).inSortKey(key)
            }
            guard !key.options.contains(.localeSensitive) else {
                throw FetchPredicateError(.unsupported("order by locale, [l],", instead: "use the option natural"))
                    .inSortKey(key)
            }
            let output = column?.output ?? operand.slot.map { .slot($0) } ?? .computed(operand.expression)
            order.append(.init(output: output, isAscending: key.isAscending, options: key.options))
        }
        return order
    }
}

extension SortKey {
    /// The value by which rows are sorted.
    fileprivate var value: FetchExpression { expression ?? .keyPath(keyPath) }
}

extension PredicateResolver.Operand {
    /// The same value, read from a slot.
    fileprivate func inSlot(_ slot: Int) -> Self {
        var operand = self
        let terminal = ResolvedKeyPath.Terminal.attribute(slot, type: type ?? .undefined, elements: [])
        operand.expression = .path(ResolvedKeyPath(base: .evaluatedObject, steps: [], terminal: terminal))
        return operand
    }

    /// The slot from which the value is read; `nil` if it is computed.
    fileprivate var slot: Int? {
        guard case .path(let path) = expression, case .attribute(let slot, _, _) = path.terminal else { return nil }
        return slot
    }
}
