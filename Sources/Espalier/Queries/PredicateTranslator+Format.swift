// Typed conditions as the texts that descriptions of models have: a description is a value that model files keep, too.
//
// Invariants
//   1. The text means what the condition means, because a predicate's description can be parsed again.
//   2. A condition without a counterpart becomes a text that the model refuses, with the reason.

import EspalierModel
import FoundationEssentials

extension PredicateTranslator {
    /// The condition that a predicate is for the objects of its class.
    static func format<Object: ManagedObject>(_ predicate: Predicate<Object>) -> String {
        text { () throws(TranslationProblem) in try condition(predicate).description }
    }

    /// The condition of a fetched property, whose second variable is the object that has the property.
    static func format<Object: ManagedObject, Source: ManagedObject>(_ predicate: Predicate<Object, Source>) -> String {
        text { () throws(TranslationProblem) in
            var translator = PredicateTranslator()
            translator.bind(predicate.variable.0.key, to: .object([]))
            translator.bind(predicate.variable.1.key, to: .object(["$FETCH_SOURCE"]))
            return try translator.condition(predicate.expression).description
        }
    }

    /// The condition that a predicate is for values of an attribute.
    static func format<Value: AttributeConvertible>(ofRule predicate: Predicate<Value>) -> String {
        text { () throws(TranslationProblem) in
            var translator = PredicateTranslator()
            translator.bind(predicate.variable.key, to: .value(.evaluatedObject))
            return try translator.condition(predicate.expression).description
        }
    }

    /// The value that an expression has for the objects of its class.
    static func format<Object: ManagedObject, Value>(_ expression: Expression<Object, Value>) -> String {
        text { () throws(TranslationProblem) in try value(expression).description }
    }

    private static func text(_ translate: () throws(TranslationProblem) -> String) -> String {
        do throws(TranslationProblem) {
            return try translate()
        } catch {
            return FetchPredicateError.format(ofUntranslatable: error.expression, because: error.reason)
        }
    }
}
