// Arithmetic, and the greatest and smallest of constants.

import EspalierModel
import FoundationEssentials

extension PredicateExpressions.Arithmetic: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let name =
            switch op {
            case .add: "add:to:"
            case .subtract: "from:subtract:"
            case .multiply: "multiply:by:"
            @unknown default: "add:to:"
            }
        return .value(try translator.arithmetic(name, lhs, rhs, Output.self))
    }
}

extension PredicateExpressions.UnaryMinus: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .value(.function("from:subtract:", [.value(.integer(0)), try translator.value(wrapped)]))
    }
}

extension PredicateExpressions.IntDivision: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .value(try translator.arithmetic("divide:by:", lhs, rhs, Output.self))
    }
}

extension PredicateExpressions.IntRemainder: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .value(try translator.arithmetic("modulus:by:", lhs, rhs, Output.self))
    }
}

extension PredicateExpressions.FloatDivision: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .value(try translator.arithmetic("divide:by:", lhs, rhs, Output.self))
    }
}

extension PredicateTranslator {
    /// A function of two numbers.
    ///
    /// The store computes with doubles; rounding each result to a float gives what Swift's `Float` gives.
    fileprivate mutating func arithmetic(
        _ function: String, _ left: any PredicateExpression, _ right: any PredicateExpression, _ type: Any.Type
    ) throws(TranslationProblem) -> FetchExpression {
        let result = FetchExpression.function(function, [try value(left), try value(right)])
        guard type == Float.self else { return result }
        return .function("castObject:toType:", [result, .value(.string("float"))])
    }
}

extension PredicateExpressions.SequenceMaximum: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(elements)
        guard case .constant(let values as Elements.Output) = term else { throw .extremum("max()", of: term) }
        return .constant(values.max() as Any)
    }
}

extension PredicateExpressions.SequenceMinimum: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let term = try translator.term(elements)
        guard case .constant(let values as Elements.Output) = term else { throw .extremum("min()", of: term) }
        return .constant(values.min() as Any)
    }
}

extension TranslationProblem {
    fileprivate static func extremum(_ name: String, of term: QueryTerm) -> TranslationProblem {
        TranslationProblem(
            "\(name) of \(PredicateTranslator.description(of: term))",
            "only constants have it here; for a relationship, write 'tracks.@max.length' in a format")
    }
}
