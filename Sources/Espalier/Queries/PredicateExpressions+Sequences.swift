// Lists and texts: contains, allSatisfy, filter, starts(with:), and regular expressions.

import EspalierModel
import FoundationEssentials

extension PredicateExpressions.SequenceContains: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (sequence, element) = (try translator.term(sequence), try translator.term(element))
        if case .constant(let sequence as LHS.Output) = sequence, case .constant(let element as RHS.Output) = element {
            return .condition(.constant(sequence.contains(element)), present: nil)
        }
        return .condition(try translator.contains(sequence, element, in: LHS.Output.self), present: nil)
    }
}

extension PredicateTranslator {
    /// The condition that a list or text contains an element.
    fileprivate mutating func contains(
        _ sequence: QueryTerm, _ element: QueryTerm, in type: Any.Type
    ) throws(TranslationProblem) -> FetchPredicate {
        let value = try value(of: element)
        switch sequence {
        case .objects(let members):
            guard let filter = members.filter else {
                return .comparison(.init(.path(members.path), .equal, value, modifier: .any))
            }
            let isElement = compare(.path(["$" + filter.variable]), .equal, value)
            return isAny(of: members, isElement, filter.variable)
        case .constant(let constant):
            if let range = try QueryConstant.range(constant) { return isWithin(range, value) }
            if let constants = try QueryConstant.values(constant) { return isOne(value, of: constants) }
        case .range(let range): return isWithin(range, value)
        case .value(let text) where type == String.self:
            return compare(text, .contains, value, options: .wholeCharacters)
        case .value, .condition, .object: break
        }
        throw TranslationProblem(
            "contains on \(Self.description(of: sequence))", "only relationships, constants and texts contain something"
        )
    }
}

extension PredicateExpressions.SequenceContainsWhere: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let sequence = try translator.term(sequence)
        if case .objects(let members) = sequence {
            let (name, condition) = try translator.condition(of: test, for: members, variable.key)
            return .condition(translator.isAny(of: members, condition, name), present: nil)
        }
        var result = FetchPredicate.constant(false)
        for element in try translator.constants(of: sequence, "contains(where:)") {
            translator.bind(variable.key, to: .constant(element))
            result = .either(result, try translator.condition(test))
        }
        return .condition(result, present: nil)
    }
}

extension PredicateExpressions.SequenceAllSatisfy: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let sequence = try translator.term(sequence)
        if case .objects(let members) = sequence {
            let (name, condition) = try translator.condition(of: test, for: members, variable.key)
            return .condition(translator.areAll(of: members, condition, name), present: nil)
        }
        var result = FetchPredicate.constant(true)
        for element in try translator.constants(of: sequence, "allSatisfy") {
            translator.bind(variable.key, to: .constant(element))
            result = .both(result, try translator.condition(test))
        }
        return .condition(result, present: nil)
    }
}

extension PredicateExpressions.Filter: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        guard case .objects(var members) = try translator.term(sequence) else {
            throw TranslationProblem("filter", "only relationships can be filtered; filter a constant before")
        }
        let (name, condition) = try translator.condition(of: filter, for: members, variable.key)
        members.filter = (name, .both(members.filter?.condition ?? .constant(true), condition))
        return .objects(members)
    }
}

extension PredicateTranslator {
    /// The elements of a constant list.
    fileprivate func constants(of term: QueryTerm, _ function: String) throws(TranslationProblem) -> [Any] {
        if case .constant(let value) = term, let members = QueryConstant.members(value) { return members }
        throw TranslationProblem(
            "\(function) on \(Self.description(of: term))", "only relationships and constants have elements to test")
    }

    /// The condition on a member of a list, and the variable that stands for the member in it.
    fileprivate mutating func condition(
        of test: any PredicateExpression, for members: QueryMembers, _ variable: PredicateExpressions.VariableID
    ) throws(TranslationProblem) -> (variable: String, condition: FetchPredicate) {
        let name = members.filter?.variable ?? newVariable()
        bind(variable, to: .object(["$" + name]))
        return (name, try condition(test))
    }

    /// The condition that `condition` holds for one of the members at least.
    fileprivate func isAny(
        of members: QueryMembers, _ condition: FetchPredicate, _ variable: String
    ) -> FetchPredicate {
        let all = FetchPredicate.both(members.filter?.condition ?? .constant(true), condition)
        if all.isConstant(false) { return all }
        if let comparison = all.quantified(.any, over: members.path, variable) { return .comparison(comparison) }
        var found = members
        found.filter = all.isConstant(true) ? nil : (variable, all)
        return .comparison(.init(found.count, .greaterThan, .value(.integer(0))))
    }

    /// The condition that `condition` holds for all members.
    fileprivate func areAll(
        of members: QueryMembers, _ condition: FetchPredicate, _ variable: String
    ) -> FetchPredicate {
        if members.filter == nil, let comparison = condition.quantified(.all, over: members.path, variable) {
            return .comparison(comparison)
        }
        return .opposite(isAny(of: members, .opposite(condition), variable))
    }
}

extension FetchPredicate {
    /// A comparison of a property of a member as ANY or ALL over the path to the members, which a planner can follow
    /// backward; `nil` if the condition has another form.
    fileprivate func quantified(
        _ modifier: Comparison.Modifier, over path: [String], _ variable: String
    ) -> Comparison? {
        guard case .comparison(let comparison) = self,
            comparison.modifier == .direct || comparison.modifier == modifier,
            case .keyPath(let left) = comparison.left, left.components.first == "$" + variable,
            !left.components.contains(where: { $0.hasPrefix("@") }), comparison.right.isConstantValue
        else { return nil }
        return Comparison(
            .path(path + left.components.dropFirst()), comparison.operator, comparison.right, modifier: modifier,
            options: comparison.options)
    }
}

extension FetchExpression {
    /// Whether the expression is a constant or a list of constants.
    fileprivate var isConstantValue: Bool {
        switch self {
        case .value: true
        case .list(let elements): elements.allSatisfy(\.isConstantValue)
        case .keyPath, .evaluatedObject, .variable, .function, .conditional, .subquery: false
        }
    }
}

extension PredicateExpressions.CollectionContainsCollection: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (base, other) = (try translator.term(base), try translator.term(other))
        if case .constant(let base as Base.Output) = base, case .constant(let other as Other.Output) = other {
            return .condition(.constant(base.contains(other)), present: nil)
        }
        guard Base.Output.Element.self == Character.self else {
            throw TranslationProblem(
                "contains on \(PredicateTranslator.description(of: base)) with a list",
                "only texts contain one another; use allSatisfy and contains for lists")
        }
        let condition = translator.compare(
            try translator.value(of: base), .contains, try translator.value(of: other), options: .wholeCharacters)
        return .condition(condition, present: nil)
    }
}

extension PredicateExpressions.SequenceStartsWith: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (base, prefix) = (try translator.term(base), try translator.term(prefix))
        if case .constant(let base as Base.Output) = base, case .constant(let prefix as Prefix.Output) = prefix {
            return .condition(.constant(base.starts(with: prefix)), present: nil)
        }
        guard Base.Output.Element.self == Character.self else {
            throw TranslationProblem(
                "starts(with:) on \(PredicateTranslator.description(of: base))", "only texts have a beginning here")
        }
        let (text, beginning) = (try translator.value(of: base), try translator.value(of: prefix))
        // The first condition is for the planner: an index finds beginnings, but not where characters end.
        return .condition(
            .both(
                translator.compare(text, .beginsWith, beginning),
                translator.compare(text, .beginsWith, beginning, options: .wholeCharacters)),
            present: nil)
    }
}

extension PredicateExpressions.StringContainsRegex: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let text = try translator.value(subject)
        guard case .constant(let pattern as PredicateExpressions.PredicateRegex) = try translator.term(regex) else {
            throw TranslationProblem("a regular expression", "it must be a constant")
        }
        let whole = "(?s:.*)(?:\(pattern.stringRepresentation))(?s:.*)"
        return .condition(.comparison(.init(text, .matches, .value(.string(whole)))), present: nil)
    }
}
