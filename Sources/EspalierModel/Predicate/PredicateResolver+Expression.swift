// Expressions other than key paths: constants, lists, functions, SUBQUERY, TERNARY, CAST.
//
// Invariants
//   1. A function of constants becomes a constant, `now()` included: all rows are tested with one value.

import FoundationEssentials

extension PredicateResolver {
    mutating func resolve(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
        try nested { (resolver) throws(FetchPredicateError) in try resolver.resolveUnbounded(expression) }
    }

    private mutating func resolveUnbounded(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand {
        if let operand = try substitute(expression) { return operand }
        switch expression {
        case .value(let value): return Operand(expression: .value(value), family: Family(value))
        case .keyPath(let path): return try resolve(path)
        case .evaluatedObject: return try resolve(FetchKeyPath(["SELF"]))
        case .variable(let name): return try resolve(FetchKeyPath(["$" + name]))
        case .list(let elements): return try list(elements)
        case .function(let name, let arguments): return try function(name, arguments)
        case .conditional(let condition, let first, let second):
            let node = try resolve(condition)
            let (first, second) = (try resolve(first), try resolve(second))
            try requireSingle(first, in: "TERNARY")
            try requireSingle(second, in: "TERNARY")
            return Operand(
                expression: .conditional(
                    PredicateBox(source: condition, node: node), first.expression, second.expression),
                family: first.family == second.family ? first.family : .any)
        case .subquery(let keyPath, let variable, let condition): return try subquery(keyPath, variable, condition)
        }
    }

    /// The value that was computed before in place of an expression; `nil` if the parts of the expression are looked
    /// at.
    private func substitute(_ expression: FetchExpression) throws(FetchPredicateError) -> Operand? {
        guard let substitutes else { return nil }
        if let operand = substitutes[expression] { return operand }
        switch expression {
        case .keyPath(let path), .subquery(let path, _, _):
            throw located(.notGrouped("'\(path.components.joined(separator: "."))'"), at: path)
        case .evaluatedObject: throw FetchPredicateError(.notGrouped("SELF"))
        case .variable(let name):
            throw FetchPredicateError(
                .unboundVariable(name),
                suggestion: NameSuggestion.nearest(
                    to: name, among: substitutes.keys.compactMap(\.variableName).sorted()))
        case .value, .list, .function, .conditional: return nil
        }
    }

    private mutating func list(_ elements: [FetchExpression]) throws(FetchPredicateError) -> Operand {
        var constants: [AttributeValue] = []
        constants.reserveCapacity(elements.count)
        for case .value(let value) in elements { constants.append(value) }
        // Most lists, and all long ones, have constants only.
        if constants.count == elements.count {
            return Operand(expression: .values(constants), family: .any, isCollection: true)
        }
        constants.removeAll()
        var operands: [Operand] = []
        for element in elements { operands.append(try resolve(element)) }
        for operand in operands {
            try requireSingle(operand, in: "a list")
            if case .value(let value) = operand.expression { constants.append(value) }
        }
        let families = Set(operands.map(\.family)).subtracting([.any])
        let isConstant = constants.count == operands.count
        return Operand(
            expression: isConstant ? .values(constants) : .list(operands.map(\.expression)),
            // Constants are checked one by one when they are converted.
            family: families.count == 1 && !isConstant ? families.first ?? .any : .any, isCollection: true)
    }

    private mutating func subquery(
        _ keyPath: FetchKeyPath, _ variable: String, _ condition: FetchPredicate
    ) throws(FetchPredicateError) -> Operand {
        let collection = try resolve(keyPath)
        guard case .path(let path) = collection.expression, collection.isCollection, path.terminal == .object,
            let destination = path.steps.last?.destination
        else {
            throw located(
                .typeMismatch(found: collection.description, expected: "a to-many relationship in SUBQUERY"),
                at: keyPath)
        }
        variables.append((variable, destination))
        defer { variables.removeLast() }
        let node = try resolve(condition)
        return Operand(
            expression: .subquery(
                collection: path, variable: variables.count - 1, PredicateBox(source: condition, node: node)),
            family: .object, type: .objectID, isCollection: true, keyPath: keyPath)
    }

    private mutating func function(_ name: String, _ arguments: [FetchExpression]) throws(FetchPredicateError)
        -> Operand
    {
        guard let function = GrammarFunction.byName[GrammarFunction.normalized(name)] else {
            throw FetchPredicateError(
                .unknownFunction(name),
                suggestion: NameSuggestion.nearest(to: name, among: GrammarFunction.byName.keys.sorted()))
        }
        var operands: [Operand] = []
        for argument in arguments { operands.append(try resolve(argument)) }
        if let expected = function.argumentCount, expected != operands.count {
            throw FetchPredicateError(.argumentCount(function: name, found: operands.count, expected: expected))
        }
        switch function {
        case .now:
            dependsOnMoment = true
            return Operand(expression: .value(.date(Date())), family: .date, type: .date)
        case .refused(let instead): throw FetchPredicateError(.unsupported("function '\(name)'", instead: instead))
        case .aggregate(let aggregate):
            guard operands[0].isCollection else {
                throw located(
                    .typeMismatch(found: operands[0].description, expected: "a collection in function '\(name)'"),
                    at: operands[0].keyPath)
            }
            return try self.aggregate(aggregate, of: operands[0], named: name)
        case .scalar(let function, let kind, _): return try scalar(function, kind, operands, named: name)
        case .collection(let function, _):
            for operand in operands where !operand.isCollection {
                throw located(
                    .typeMismatch(found: operand.description, expected: "a collection in '\(name)'"),
                    at: operand.keyPath)
            }
            let family = operands.first { !$0.isList }?.family ?? .any
            return Operand(
                expression: .function(function, operands.map(\.expression)), family: family, isCollection: true,
                keyPath: operands[0].keyPath)
        case .element: return try element(of: operands[0], at: operands[1])
        case .entityFamily: return try entityFamily(of: operands[0])
        case .cast: return try cast(operands[0], to: operands[1])
        }
    }

    private func scalar(
        _ function: ResolvedFunction, _ kind: GrammarFunction.Operands, _ operands: [Operand], named name: String
    ) throws(FetchPredicateError) -> Operand {
        for operand in operands {
            try requireSingle(operand, in: "function '\(name)'")
            let expected: Set<Family> = kind == .numbers ? [.number, .any] : kind == .text ? [.text, .any] : []
            guard expected.isEmpty || expected.contains(operand.family) else {
                throw located(
                    .typeMismatch(
                        found: operand.description,
                        expected: (kind == .numbers ? "a number" : "text") + " in function '\(name)'"),
                    at: operand.keyPath)
            }
        }
        if function == .power, case .value(let exponent) = operands[1].expression,
            let number = exponent.number, !number.isWhole
        {
            throw FetchPredicateError(
                .unsupported("a power with a fractional exponent", instead: "use sqrt for the exponent 0.5"))
        }
        let expression = ResolvedExpression.function(function, operands.map(\.expression))
        let constants = operands.compactMap { if case .value(let value) = $0.expression { value } else { nil } }
        let family = try self.family(of: function, operands, named: name)
        guard constants.count == operands.count else {
            let type = type(of: function, family, operands)
            return Operand(expression: expression, family: family, type: type, keyPath: operands[0].keyPath)
        }
        return Operand(expression: .value(function(constants)), family: family)
    }

    /// The type to which constants are converted that are compared with the function's result, for example to make
    /// `price * 2 == 19.98` work for decimals; `nil` if results can be of several types.
    private func type(of function: ResolvedFunction, _ family: Family, _ operands: [Operand]) -> AttributeType? {
        switch function {
        case .noIndex: return operands[0].type
        case .add, .subtract, .multiply, .divide:
            return operands.contains { $0.type == .decimal } ? .decimal : nil
        default: return family == .text ? .string : nil
        }
    }

    private func family(
        of function: ResolvedFunction, _ operands: [Operand], named name: String
    ) throws(FetchPredicateError) -> Family {
        switch function {
        case .noIndex: return operands[0].family
        case .uppercase, .lowercase, .canonical: return .text
        case .add, .subtract:
            let families = operands.map(\.family)
            if families.allSatisfy({ $0 == .number || $0 == .any }) { return .number }
            if families == [.date, .date], function == .subtract { return .number }
            if families[0] == .date, families[1] == .number || families[1] == .any { return .date }
            let wrong = operands.first { $0.family != .number && $0.family != .any } ?? operands[0]
            throw located(
                .typeMismatch(found: wrong.description, expected: "numbers, or a date and seconds, for + and -"),
                at: wrong.keyPath)
        default: return .number
        }
    }

    private func element(of collection: Operand, at index: Operand) throws(FetchPredicateError) -> Operand {
        guard collection.isCollection else {
            throw located(
                .typeMismatch(found: collection.description, expected: "a collection before ["), at: collection.keyPath)
        }
        let position: Int
        switch index.expression {
        case .value(.string("SIZE")): return try aggregate(.count, of: collection, named: "[SIZE]")
        case .value(.string("FIRST")): position = 0
        case .value(.string("LAST")): position = -1
        case .value(.integer(let number)): position = Int(clamping: number)
        default:
            throw located(
                .typeMismatch(
                    found: index.isConstant ? index.description : "a computed index",
                    expected: "a number, FIRST, LAST or SIZE in [ ]"),
                at: collection.keyPath)
        }
        if case .path(let path) = collection.expression, path.steps.count(where: \.isToMany) > 1 {
            let name = collection.keyPath?.components.joined(separator: ".") ?? "the path"
            throw located(
                .unsupported(
                    "an element of '\(name)', which crosses several to-many relationships,", instead: "use SUBQUERY"),
                at: collection.keyPath)
        }
        if case .path(let path) = collection.expression, !isOrdered(path) {
            let name = collection.keyPath?.components.joined(separator: ".") ?? "the collection"
            throw located(
                .unsupported("an element of '\(name)', which has no order,", instead: "use an ordered relationship"),
                at: collection.keyPath)
        }
        return Operand(
            expression: .function(.element(position), [collection.expression]), family: collection.family,
            type: collection.type, keyPath: collection.keyPath)
    }

    /// The names of an entity and of all that inherit from it.
    private func entityFamily(of name: Operand) throws(FetchPredicateError) -> Operand {
        guard case .value(.string(let text)) = name.expression, let entity = model.entity(named: text) else {
            throw FetchPredicateError(
                .typeMismatch(found: name.description, expected: "the name of an entity in 'entityFamily'"))
        }
        let names = entity.family.map { AttributeValue.string(model.entities[$0].name) }
        return Operand(expression: .values(names), family: .text, isCollection: true)
    }

    /// Whether all the to-many relationships of a path are ordered.
    private func isOrdered(_ path: ResolvedKeyPath) -> Bool {
        path.steps.allSatisfy { !$0.isToMany || model.entities[$0.source].relationships[$0.slot].isOrdered }
    }

    private func cast(_ operand: Operand, to typeName: Operand) throws(FetchPredicateError) -> Operand {
        try requireSingle(operand, in: "CAST")
        guard case .value(.string(let name)) = typeName.expression else {
            throw FetchPredicateError(
                .typeMismatch(found: typeName.description, expected: "the name of a type in quotes"))
        }
        guard let type = GrammarFunction.castTypes[name] else {
            let names = GrammarFunction.castTypes.keys.sorted()
            throw FetchPredicateError(
                .typeMismatch(found: "the type '\(name)'", expected: "one of " + names.joined(separator: ", ")),
                suggestion: NameSuggestion.nearest(to: name, among: names))
        }
        if case .value(let value) = operand.expression {
            guard let constant = ResolvedFunction.cast(constant: value, to: type, named: name) else {
                throw FetchPredicateError(ResolvedFunction.castMismatch(of: value, to: type, named: name))
            }
            return Operand(expression: .value(constant), family: Family(type), type: type)
        }
        return Operand(
            expression: .function(.cast(type), [operand.expression]), family: Family(type), type: type,
            keyPath: operand.keyPath)
    }

    private func requireSingle(_ operand: Operand, in place: String) throws(FetchPredicateError) {
        guard operand.isCollection else { return }
        let path = operand.keyPath?.components.joined(separator: ".") ?? "a list"
        throw located(.toManyPath(path, advice: "\(place) takes single values"), at: operand.keyPath)
    }
}

extension FetchExpression {
    /// The name of a variable.
    fileprivate var variableName: String? {
        if case .variable(let name) = self { name } else { nil }
    }
}

extension GrammarFunction {
    /// The number of arguments of the function; `nil` if the function is refused anyway.
    var argumentCount: Int? {
        switch self {
        case .aggregate: 1
        case .scalar(_, _, let count), .collection(_, let count): count
        case .entityFamily: 1
        case .element, .cast: 2
        case .now: 0
        case .refused: nil
        }
    }
}
