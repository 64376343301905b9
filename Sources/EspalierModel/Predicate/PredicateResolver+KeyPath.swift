// Resolves key paths: property names, `SELF`, variables, `entity`, `objectID` and the collection operators (Behaviour
// PR-11).

extension PredicateResolver {
    /// The collection operators with their aggregates; `nil` for an operator that is not an aggregate.
    private static let operators: [String: ResolvedExpression.Aggregate?] = [
        "@count": .count, "@sum": .sum, "@avg": .average, "@min": .min, "@max": .max,
        "@distinctUnionOfObjects": nil, "@unionOfObjects": nil,
        // A path across several to-many relationships is one collection already.
        "@distinctUnionOfArrays": nil, "@unionOfArrays": nil, "@distinctUnionOfSets": nil, "@unionOfSets": nil,
    ]

    /// The value by which a sort key sorts, and its type.
    mutating func resolve(
        sortKey key: SortKey
    ) throws(FetchPredicateError) -> (expression: ResolvedExpression, type: AttributeType) {
        if let expression = key.expression { return try resolve(expression, options: key.options) }
        let operand = try resolve(key.keyPath)
        let name = key.keyPath.components.joined(separator: ".")
        guard case .path(let path) = operand.expression, !path.isToMany else {
            throw located(.toManyPath(name, advice: "a sort key must have one value for each object"), at: key.keyPath)
        }
        guard operand.family.hasOrder, let type = path.terminal.keyType else {
            throw located(
                .typeMismatch(found: operand.description, expected: "a sort key whose values have an order"),
                at: key.keyPath)
        }
        guard !key.options.contains(.localeSensitive) else {
            throw located(.unsupported("order by locale, [l],", instead: "use the option natural"), at: key.keyPath)
        }
        return (.path(path), type)
    }

    /// The expression of a sort key, and the type of its values.
    private mutating func resolve(
        _ expression: FetchExpression, options: ComparisonOptions
    ) throws(FetchPredicateError) -> (expression: ResolvedExpression, type: AttributeType) {
        let operand = try resolve(expression)
        guard !operand.isCollection else {
            throw located(
                .toManyPath("\(expression)", advice: "a sort key must have one value for each object"),
                at: operand.keyPath)
        }
        guard !operand.isConstant, let type = operand.family.keyType, try mixedPart(of: expression) == nil else {
            throw located(
                .typeMismatch(
                    found: operand.isConstant ? "a constant" : operand.description,
                    expected: "a sort key whose values have one type and an order"),
                at: operand.keyPath)
        }
        guard !options.contains(.localeSensitive) else {
            throw located(
                .unsupported("order by locale, [l],", instead: "use the option natural"), at: operand.keyPath)
        }
        guard case .path(let path) = operand.expression else { return (operand.expression, type) }
        return (operand.expression, path.terminal.keyType ?? type)
    }

    /// The first part of an expression whose values may be of several types, so that they have no common order.
    func mixedPart(of expression: FetchExpression) throws(FetchPredicateError) -> FetchExpression? {
        var mixed: FetchExpression?
        try expression.forEachPart { part throws(FetchPredicateError) in
            guard mixed == nil else { return false }
            if case .list = part { return true }
            var resolver = PredicateResolver(entity: entity, model: model, readsTransients: readsTransients)
            let operand = try resolver.resolve(part)
            if operand.family == .any, !operand.isConstant, !operand.isCollection { mixed = part }
            return mixed == nil
        }
        return mixed
    }

    /// Resolves a key path, including its collection operator if it has one.
    func resolve(_ keyPath: FetchKeyPath) throws(FetchPredicateError) -> Operand {
        guard let position = keyPath.components.firstIndex(where: \.isOperator) else {
            return try resolve(keyPath, keyPath.components.indices)
        }
        let name = keyPath.components[position]
        guard let aggregate = PredicateResolver.operators[name] else {
            throw located(
                .collectionOperator(name, problem: "there is no such operator"), at: keyPath, component: position,
                suggestion: NameSuggestion.nearest(to: name, among: PredicateResolver.operators.keys.sorted()))
        }
        let remaining = keyPath.components.indices.filter { $0 != position }
        guard !remaining.contains(where: { keyPath.components[$0].isOperator }) else {
            let problem = "a key path can have only one operator; use SUBQUERY for more"
            throw located(.collectionOperator(name, problem: problem), at: keyPath, component: position)
        }
        if aggregate == .count, position != keyPath.components.count - 1 {
            throw located(
                .collectionOperator(name, problem: "must be the last component"), at: keyPath, component: position)
        }
        let collection = try resolve(keyPath, remaining)
        guard collection.isCollection else {
            let problem = "there is no to-many relationship in '\(keyPath.components.joined(separator: "."))'"
            throw located(.collectionOperator(name, problem: problem), at: keyPath, component: position)
        }
        guard let aggregate else {
            // A set has each of its members once.
            guard name.hasPrefix("@distinct") || name == "@unionOfSets" else { return collection }
            var distinct = collection
            distinct.expression = .function(.distinct, [collection.expression])
            return distinct
        }
        return try self.aggregate(aggregate, of: collection, named: name)
    }

    /// The operand for an aggregate of a collection.
    func aggregate(
        _ aggregate: ResolvedExpression.Aggregate, of collection: Operand, named name: String
    ) throws(FetchPredicateError) -> Operand {
        let expression = ResolvedExpression.aggregate(aggregate, collection.expression)
        switch aggregate {
        case .count:
            return Operand(expression: expression, family: .number, type: .integer64, keyPath: collection.keyPath)
        case .min, .max, .mode:
            return Operand(
                expression: expression, family: collection.family, type: collection.type, keyPath: collection.keyPath)
        case .sum, .average, .median, .stddev:
            guard collection.family == .number || collection.family == .any else {
                throw located(
                    .collectionOperator(name, problem: "needs numbers, found \(collection.description)"),
                    at: collection.keyPath)
            }
            let type = collection.type == .decimal && aggregate != .stddev ? AttributeType.decimal : nil
            return Operand(expression: expression, family: .number, type: type, keyPath: collection.keyPath)
        }
    }

    /// Resolves the components at `positions` against the model.
    private func resolve(_ keyPath: FetchKeyPath, _ positions: some Collection<Int>) throws(FetchPredicateError)
        -> Operand
    {
        var base = ResolvedKeyPath.Base.evaluatedObject
        var current = entity
        var steps: [ResolvedKeyPath.Step] = []
        for position in positions {
            let name = keyPath.components[position]
            if position == 0, name.utf8.first == UInt8(ascii: "$") {
                guard let number = variables.lastIndex(where: { "$" + $0.name == name }) else {
                    throw located(.unboundVariable(String(name.dropFirst())), at: keyPath)
                }
                (base, current) = (.variable(number), model.entities[variables[number].entity])
                continue
            }
            switch current.property(named: name) {
            case .relationship(let slot)?:
                let relationship = current.relationships[slot]
                steps.append(
                    .init(
                        source: current.index, slot: slot, destination: relationship.destination,
                        isToMany: relationship.isToMany))
                current = model.entities[relationship.destination]
            case .attribute(let slot)?:
                let rest = positions.drop { $0 <= position }.map { keyPath.components[$0] }
                let (type, elements) = try attribute(current.attributes[slot], rest, keyPath, position, in: current)
                return operand(
                    base, steps, .attribute(slot, type: type, elements: elements), Family(type), type, keyPath)
            case nil:
                let isLast = positions.allSatisfy { $0 <= position }
                if name.uppercased() == "SELF" { continue }
                if name == "objectID", isLast { continue }
                if name == "entity", positions.allSatisfy({ $0 <= position || keyPath.components[$0] == "name" }) {
                    return operand(base, steps, .entityName, .text, .string, keyPath)
                }
                throw unknown(name, in: current, keyPath, position)
            }
        }
        return operand(base, steps, .object, .object, .objectID, keyPath)
    }

    private func operand(
        _ base: ResolvedKeyPath.Base, _ steps: [ResolvedKeyPath.Step], _ terminal: ResolvedKeyPath.Terminal,
        _ family: Family, _ type: AttributeType, _ keyPath: FetchKeyPath
    ) -> Operand {
        let path = ResolvedKeyPath(base: base, steps: steps, terminal: terminal)
        return Operand(
            expression: .path(path), family: family, type: type, isCollection: path.isToMany, keyPath: keyPath)
    }

    /// The type at the end of a path into an attribute, and the names of the composite elements on that path (MD-26).
    private func attribute(
        _ attribute: Attribute, _ rest: [String], _ keyPath: FetchKeyPath, _ position: Int, in entity: Entity
    ) throws(FetchPredicateError) -> (AttributeType, [String]) {
        guard readsTransients || !attribute.isTransient else {
            throw located(
                .transientProperty(attribute.name, entity: entity.name), at: keyPath, component: position)
        }
        var description = attribute.description
        for (index, name) in rest.enumerated() {
            let next = position + 1 + index
            if description.type == .string, name == "length" {
                throw located(
                    .unsupported(
                        "the length of a text",
                        instead: "use LIKE with one ? for each character: \(description.name) LIKE '???*'"),
                    at: keyPath, component: next)
            }
            guard description.type == .composite else {
                throw located(
                    .pathBeyondAttribute(description.name, next: name), at: keyPath, component: next)
            }
            guard let element = description.elements.first(where: { $0.name == name }) else {
                throw located(
                    .pathBeyondAttribute(description.name, next: name), at: keyPath, component: next,
                    suggestion: NameSuggestion.nearest(to: name, among: description.elements.map(\.name)))
            }
            description = element
        }
        return (description.type, rest)
    }

    private func unknown(_ name: String, in entity: Entity, _ keyPath: FetchKeyPath, _ position: Int)
        -> FetchPredicateError
    {
        for index in entity.family where model.entities[index].property(named: name) != nil {
            let subentity = model.entities[index].name
            return located(
                .propertyOfSubentity(name, entity: entity.name, subentity: subentity), at: keyPath,
                component: position)
        }
        guard entity.fetchedProperty(named: name) == nil else {
            return located(.fetchedProperty(name, entity: entity.name), at: keyPath, component: position)
        }
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        return located(
            .unknownProperty(name, entity: entity.name), at: keyPath, component: position,
            suggestion: NameSuggestion.nearest(to: name, among: names))
    }
}

extension ResolvedKeyPath.Terminal {
    /// The type of the codes of the values in sorted rows; `nil` for objects, which have no order.
    fileprivate var keyType: AttributeType? {
        switch self {
        case .attribute(_, let type, _): type
        case .entityName: .string
        case .object: nil
        }
    }
}

extension String {
    /// Whether a component of a key path is a collection operator.
    fileprivate var isOperator: Bool { utf8.first == UInt8(ascii: "@") }
}
