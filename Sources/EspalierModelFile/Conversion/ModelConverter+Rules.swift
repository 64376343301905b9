// Converts the rules of properties. A rule that no description says is noted with its word and text.

import EspalierModel

extension ModelConverter {
    /// The rules of an attribute, in the order of its words in the file.
    mutating func rules(
        of attribute: AttributeDescription, _ element: ModelElement, in path: [ModelElement]
    ) -> [ValidationRule] {
        var rules: [ValidationRule] = []
        for (name, text) in element.attributes.map({ ($0.name, $0.value) }) where !text.isEmpty {
            guard let word = ModelRuleWord(rawValue: name) else { continue }
            do throws(ModelRuleError) {
                rules.append(ValidationRule(try ValidationRule.Condition(word, text, of: attribute)))
            } catch {
                note(
                    .validationRules, element, in: path,
                    "has the rule \(name)=\"\(text.shortened)\", which Espalier does not check: \(error.reason)")
            }
        }
        return rules
    }

    /// Notes the rules of a relationship, which in a description has none but its limits.
    mutating func noteRules(ofRelationship element: ModelElement, in path: [ModelElement]) {
        for word in [ModelRuleWord.validationPredicates, .validationWarnings] {
            guard let text = element.text(word.rawValue) else { continue }
            note(
                .validationRules, element, in: path,
                "has the rule \(word.rawValue)=\"\(text.shortened)\", which Espalier does not check: a relationship "
                    + "has only limits of its count; check it in code")
        }
    }
}
