// Expressions of Foundation, as expressions of a fetch.

public import EspalierModel
public import FoundationEssentials

extension FetchExpression {
    /// The value that an expression of Foundation has for an object (PR-18).
    ///
    /// ```swift
    /// let total = try FetchExpression(#Expression<Track, Int> { $0.plays * $0.length })
    /// ```
    ///
    /// - Throws: `FetchPredicateError.Reason.untranslatable`, with `place`, for an expression without a counterpart.
    /// - Complexity: O(size of the expression).
    public init<Object: ManagedObject, Value>(
        _ expression: Expression<Object, Value>, fileID: String = #fileID, line: Int = #line
    ) throws(FetchPredicateError) {
        do {
            self = try PredicateTranslator.value(expression)
        } catch {
            throw FetchPredicateError(
                .untranslatable(error.expression, because: error.reason), subject: "expression", fileID: fileID,
                line: line)
        }
    }
}
