// The rule of a derived attribute: `.derived(.count(of: \Album.tracks))` as an expression of the model's `Derivation`.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelledProperty {
    /// Whether stores compute the value.
    var isDerived: Bool { derivedRule != nil }

    /// The rule as written in the mark.
    private var derivedRule: ExprSyntax? {
        for argument in attributeMark?.labeledArguments ?? [] {
            guard let call = argument.expression.as(FunctionCallExprSyntax.self),
                call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "derived"
            else { continue }
            return call.arguments.first?.expression
        }
        return nil
    }

    /// The expression of the model's rule; reports a rule that is no literal, and a default.
    func derivation(in context: some MacroExpansionContext) -> String? {
        guard let rule = derivedRule else { return nil }
        if let defaultValue {
            context.report(.derivedDefault(name: name), at: defaultValue, fix: EntityFix.removingDefault(of: binding))
        }
        if let member = rule.as(MemberAccessExprSyntax.self) {
            // The compiler reports the arguments that any other rule lacks.
            return member.declName.baseName.text == "now" ? ".now" : nil
        }
        guard let call = rule.as(FunctionCallExprSyntax.self),
            let member = call.calledExpression.as(MemberAccessExprSyntax.self)
        else {
            if Literal(rule) == nil { context.report(.optionNotLiteral, at: rule) }
            return nil
        }
        var arguments: [String] = []
        for argument in call.arguments {
            let label = argument.label.map { "\($0.text): " } ?? ""
            if ["of", "in"].contains(argument.label?.text) {
                guard let path = argument.expression.propertyPath else {
                    // The compiler refuses a literal, which is no key path.
                    if Literal(argument.expression) == nil {
                        context.report(.derivedPathNotLiteral, at: argument.expression)
                    }
                    return nil
                }
                arguments.append("\(label)\"\(path.joined(separator: "."))\"")
            } else {
                arguments.append("\(label)\(argument.expression.trimmedDescription)")
            }
        }
        return ".\(member.declName.baseName.text)(\(arguments.joined(separator: ", ")))"
    }
}

extension ExprSyntax {
    /// The names of the properties in a key path literal, across optional ones; `nil` if it has other parts.
    var propertyPath: [String]? {
        guard let path = self.as(KeyPathExprSyntax.self) else { return nil }
        var names: [String] = []
        for component in path.components {
            switch component.component {
            case .property(let property): names.append(property.declName.baseName.text.trimmingBackticks)
            case .optional: continue
            default: return nil
            }
        }
        return names.isEmpty ? nil : names
    }
}
