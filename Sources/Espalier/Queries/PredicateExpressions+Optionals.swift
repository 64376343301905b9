// Optionals: chains, `??`, `!`, and checks and casts of types.

import EspalierModel
import FoundationEssentials

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let content = try translator.term(wrapped)
        let present: FetchPredicate
        switch content {
        case .constant(let value):
            guard let value = QueryConstant.unwrapped(value) else { return .constant(Result?.none as Any) }
            translator.bind(variable.key, to: .constant(value))
            return try translator.term(transform)
        case .objects(var members):
            present = members.present ?? .constant(true)
            members.present = nil
            translator.bind(variable.key, to: .objects(members))
        case .range: throw TranslationProblem("a chain after a range", "a range is no optional")
        case .condition(let condition, let isPresent):
            present = isPresent ?? .constant(true)
            translator.bind(variable.key, to: .condition(condition, present: nil))
        case .value, .object:
            present = try translator.value(of: content).isPresent
            translator.bind(variable.key, to: content)
        }
        let result = try translator.term(transform)
        return try translator.term(result, present: present, after: content)
    }
}

extension PredicateTranslator {
    /// The result of a chain: nil unless `present` holds, which says that `content` is not nil.
    fileprivate func term(
        _ result: QueryTerm, present: FetchPredicate, after content: QueryTerm
    ) throws(TranslationProblem) -> QueryTerm {
        switch result {
        case .condition(let condition, let inner):
            return .condition(condition, present: .both(present, inner ?? .constant(true)))
        case .objects(var members):
            members.present = .both(present, members.present ?? .constant(true))
            return .objects(members)
        case .object(let path):
            if case .object(let beginning) = content, path.starts(with: beginning) { return result }
        case .range: return result
        case .value, .constant: break
        }
        let value = try value(of: result)
        if case .objects = content {} else if value.isNull(where: try self.value(of: content)) { return .value(value) }
        return .value(present.isConstant(true) ? value : .conditional(present, value, .value(.null)))
    }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (first, second) = (try translator.term(lhs), try translator.term(rhs))
        switch first {
        case .constant(let value): return QueryConstant.unwrapped(value).map { .constant($0) } ?? second
        case .condition(let condition, let present):
            return .condition(
                translator.choice(present ?? .constant(true), condition, try translator.condition(of: second)),
                present: nil)
        case .objects(var members):
            guard case .constant(let value) = second, QueryConstant.members(value)?.isEmpty == true else {
                throw TranslationProblem(
                    "a choice of two lists", "write '?? []', because only an empty list can take the place of nil")
            }
            // The path of an object that does not exist leads to no members.
            members.present = nil
            return .objects(members)
        case .range: return first
        case .value, .object:
            let value = try translator.value(of: first)
            return .value(.conditional(value.isPresent, value, try translator.value(of: second)))
        }
    }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(inner)
        guard case .constant(let value) = term else { return term }
        guard let content = QueryConstant.unwrapped(value) else {
            throw TranslationProblem("a constant with '!'", "the constant is nil")
        }
        return .constant(content)
    }
}

extension PredicateExpressions.ConditionalCast: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(input)
        if case .constant(let value) = term { return .constant((value as? Desired) as Any) }
        return try translator.cast(term, from: Input.Output.self, to: Desired.self)
    }
}

extension PredicateExpressions.ForceCast: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(input)
        guard case .constant(let value) = term else {
            return try translator.cast(term, from: Input.Output.self, to: Desired.self)
        }
        guard let result = value as? Desired else {
            throw TranslationProblem("a constant with 'as! \(Desired.self)'", "it is of type \(type(of: value))")
        }
        return .constant(result)
    }
}

extension PredicateExpressions.TypeCheck: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(input)
        if case .constant(let value) = term { return .condition(.constant(value is Desired), present: nil) }
        if case .object(let path) = term, let desired = Desired.self as? ManagedObject.Type {
            let names = FetchExpression.function("entityFamily", [.value(.string(desired.entityName))])
            let isOne = FetchPredicate.Comparison(.keyPath(FetchKeyPath(path + ["entity"])), .in, names)
            return .condition(.comparison(isOne), present: nil)
        }
        _ = try translator.cast(term, from: Input.Output.self, to: Desired.self)
        let truth = try translator.truth(of: term)
        return .condition(truth.present, present: nil)
    }
}

extension PredicateTranslator {
    /// A cast that changes nothing; other casts are refused.
    fileprivate func cast(
        _ term: QueryTerm, from type: Any.Type, to desired: Any.Type
    ) throws(TranslationProblem) -> QueryTerm {
        let content = (type as? any OptionalType.Type)?.content ?? type
        if content == desired || type == desired { return term }
        if let objectClass = content as? ManagedObject.Type, let superclass = desired as? ManagedObject.Type,
            objectClass.isSubclass(of: superclass)
        {
            return term
        }
        throw TranslationProblem(
            "a cast from \(type) to \(desired)",
            "values keep their type, and for objects of a subclass fetch the subclass, or check with 'is'")
    }
}

extension ManagedObject {
    fileprivate static func isSubclass(of other: ManagedObject.Type) -> Bool {
        var line: AnyClass? = self
        while let current = line {
            if current == other { return true }
            line = _getSuperclass(current)
        }
        return false
    }
}
