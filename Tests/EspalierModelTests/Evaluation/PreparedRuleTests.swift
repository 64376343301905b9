// Rules of attributes on single values: the values for which a pattern has no answer.

import EspalierModel
import Testing

@Suite struct PreparedRuleTests {
    /// Each of 3,300 positions of `b` counts 3,300 steps at once for the repetition of the group, which differs there.
    @Test func `a value for which a pattern takes too many steps breaks the rule, also under NOT`() throws {
        let slow = AttributeValue.string(String(repeating: "a", count: 3_300) + String(repeating: "b", count: 6_600))
        let pattern = "(a+)b+\\1"
        let format = "SELF MATCHES '(a+)b+\\\\1'"
        let conditions: [ValidationRule.Condition] = [
            .pattern(pattern), .predicate(format), .predicate("NOT \(format)"),
        ]
        for condition in conditions {
            let rule = try PreparedRule(ValidationRule(condition), of: .string)
            #expect(!rule.holds(for: slow), "\(condition)")
        }
        let rule = try PreparedRule(ValidationRule(.predicate("NOT \(format)")), of: .string)
        #expect(rule.holds(for: .string("aab")) && !rule.holds(for: .string("aabaa")))
    }
}
