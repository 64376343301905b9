// The rules in `@Attribute`: which of them the description takes, and those that fit no value of the property.
//
// Invariants
//   1. Only what syntax alone tells is reported here: literals, and types that are attributes by their name. The
//      checker of the model finds the rest.

import SwiftSyntax
import SwiftSyntaxMacros

/// One rule, as the source has it.
struct AttributeRule {
    /// The labels of the rules.
    private static let names: Set = [
        "minimum", "maximum", "minimumLength", "maximumLength", "pattern", "predicate", "matching",
    ]

    let name: String
    /// The whole option, as in `.maximum(10)`.
    let option: ExprSyntax
    let arguments: LabeledExprListSyntax
    /// The first argument.
    let value: ExprSyntax

    /// The rule that an option is; `nil` for a name that no rule has, which the compiler reports.
    init?(_ name: String, _ call: FunctionCallExprSyntax, value: ExprSyntax) {
        guard Self.names.contains(name) else { return nil }
        (self.name, option, arguments, self.value) = (name, ExprSyntax(call), call.arguments, value)
    }

    /// The rule in the description; `nil` if the compiler refuses its argument where it stands.
    var text: String? {
        let isRefused =
            switch name {
            case "minimum", "maximum": value.isLiteral(otherThan: .boolean, .integer, .fraction, .text)
            case "minimumLength", "maximumLength": value.isLiteral(otherThan: .integer)
            case "matching": Literal(value) != nil
            default: value.isLiteral(otherThan: .text)
            }
        if arguments.contains(where: { ![nil, "message"].contains($0.label?.text) }) { return nil }
        return isRefused ? nil : ".\(name)(\(arguments.trimmedDescription))"
    }

    /// Whether the rule limits the length of values.
    private var isAboutLength: Bool { name.hasSuffix("Length") }

    /// The reason why the rule fits no value of a property.
    fileprivate func problem(of property: ModelledProperty) -> EntityDiagnostic? {
        let literal = Literal(value)
        if isAboutLength, let number = literal?.number, number < 0 { return .negativeCount(rule: name) }
        guard let kind = AttributeKind(property.type.wrapped) else { return nil }
        let type = property.type.wrapped.trimmedDescription
        let isFit =
            switch name {
            case "minimumLength", "maximumLength": kind == .text || kind == .bytes
            case "pattern": kind == .text
            case "minimum", "maximum": kind != .boolean
            default: true
            }
        if !isFit { return .ruleOnType(rule: name, name: property.name, type: type) }
        guard ["minimum", "maximum"].contains(name), let literal, text != nil, !kind.accepts(literal, asLimit: true)
        else { return nil }
        return .limitOfOtherType(rule: name, name: property.name, type: type, found: literal.kind)
    }
}

extension ModelledProperty {
    /// Reports the rules that fit no value of the property, and pairs of limits that no value fits.
    func check(_ rules: [AttributeRule], in context: some MacroExpansionContext) {
        for rule in rules {
            if let problem = rule.problem(of: self) { context.report(problem, at: rule.option) }
        }
        for (least, greatest) in [("minimum", "maximum"), ("minimumLength", "maximumLength")] {
            let ends = rules.filter { $0.name == least || $0.name == greatest }
            guard let low = ends.first(where: { $0.name == least })?.value, let last = ends.last,
                let high = ends.first(where: { $0.name == greatest })?.value
            else { continue }
            if low.isLiteral(above: high) {
                context.report(.limitsOutOfOrder(least: least, greatest: greatest), at: last.option)
            }
        }
    }
}

extension ExprSyntax {
    /// Whether both expressions are literals of numbers, and this one is the greater number.
    func isLiteral(above other: ExprSyntax) -> Bool {
        guard let number = Literal(self)?.number, let limit = Literal(other)?.number else { return false }
        return number > limit
    }
}
