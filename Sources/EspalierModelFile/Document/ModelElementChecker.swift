// Checks a tree of elements against the rules of model files: places, missing attributes, invalid values.
//
// Invariants
//   1. Attributes with unknown names are not a problem here: they are kept, and reported when a model is made of the
//      document.

import EspalierModel

struct ModelElementChecker {
    /// The maximum number of problems kept.
    static let problemCountMax = 100

    private(set) var problems: [ModelFileError.Problem] = []
    /// The labels of the elements on the path to the current one.
    private var labels: [String] = []

    /// Checks an element and its descendants.
    ///
    /// The recursion is at most as deep as the rules allow, which is 4 levels: misplaced elements are not checked
    /// further.
    mutating func check(_ element: ModelElement) {
        if element.kind != .model { labels.append(element.label) }
        defer { if element.kind != .model { labels.removeLast() } }
        let rule = element.kind.rule
        for name in rule.required.sorted() where element[name] == nil {
            report(.missingAttribute, element.line, "the required attribute '\(name)' is missing; add it")
        }
        for attribute in element.attributes { check(attribute, of: element, rule) }
        var seen: Set<ModelElement.Kind> = []
        for child in element.children {
            let name = child.kind.rawValue
            guard rule.children.contains(child.kind) else {
                let names = rule.children.map(\.rawValue).sorted()
                let right =
                    names.isEmpty ? "no element is allowed here" : "allowed here are \(names.joined(separator: ", "))"
                report(.unknownElement, child.line, "the element '\(name)' is not allowed here; \(right)")
                continue
            }
            if !seen.insert(child.kind).inserted, ModelElement.Kind.singular.contains(child.kind) {
                report(.unknownElement, child.line, "a second element '\(name)' is here; merge the two")
            }
            check(child)
        }
    }

    private mutating func check(_ attribute: ModelElement.Attribute, of element: ModelElement, _ rule: ModelElementRule)
    {
        guard let word = rule.attributes[attribute.name], !word.allows(attribute.value) else { return }
        var hint = ""
        if case .choice(let values) = word, let near = NameSuggestion.nearest(to: attribute.value, among: values) {
            hint = "did you mean '\(near)'? "
        }
        let text = "\(attribute.name)=\"\(attribute.value.shortened)\""
        report(.invalidValue, element.line, "\(text) is not valid: \(hint)\(word.expectation)")
    }

    private mutating func report(_ kind: ModelFileError.Kind, _ line: Int?, _ message: String) {
        guard problems.count < Self.problemCountMax else { return }
        let element = labels.isEmpty ? "model" : labels.joined(separator: ", ")
        problems.append(ModelFileError.Problem(kind, line: line, element: element, message))
    }
}
