// The arguments of the marks of a property, as options of its description.
//
// Invariants
//   1. An argument that the compiler refuses where it stands is left out: its error in the description, whose place is
//      the end of the class, would be the second one.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelledProperty {
    /// The names that the labels of marks have in `PropertyOptions`.
    private static let labels = [
        "inverse": "inverse", "deleteRule": "deleteRule", "isRequired": "isRequired", "minimum": "minCount",
        "maximum": "maxCount", "originalName": "renamingIdentifier", "hashModifier": "versionHashModifier",
    ]

    /// The arguments of `PropertyOptions`, in the order of its parameters.
    func options(of className: String, in context: some MacroExpansionContext) -> [String] {
        if let relationshipMark, let other = attributeMark ?? transientMark {
            let wrong = AttributeKind(type.wrapped) == nil ? other : relationshipMark
            context.report(
                .contradictingMarks(name: name, other: other.attributeName.trimmedDescription), at: relationshipMark,
                fix: .removing(wrong))
            return []
        }
        if let relationshipMark, AttributeKind(type.wrapped) != nil {
            context.report(
                .relationshipMarkOnAttribute(name: name, type: type.wrapped.trimmedDescription), at: relationshipMark,
                fix: .removing(relationshipMark))
            return []
        }
        return attributeOptions(in: context) + relationshipOptions(of: className, in: context)
    }

    private func attributeOptions(in context: some MacroExpansionContext) -> [String] {
        var flags: Set<String> = []
        var (action, named): ([String], [String]) = ([], [])
        var rules: [AttributeRule] = []
        for argument in attributeMark?.labeledArguments ?? [] {
            let option = argument.expression
            if let label = argument.label.flatMap({ Self.labels[$0.text] }) {
                if option.isLiteral(otherThan: .text, .nothing) { continue }
                named.append("\(label): \(option.trimmedDescription)")
            } else if let name = option.as(MemberAccessExprSyntax.self)?.declName.baseName.text {
                flags.insert(name)
                checkTransient(name, option, in: context)
            } else if let call = option.as(FunctionCallExprSyntax.self),
                let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
            {
                // The compiler reports an argument that is missing.
                guard let value = call.arguments.first?.expression else { continue }
                if name == "unique" {
                    flags.insert("unique")
                    checkTransient(name, option, in: context)
                    if !value.isImplicitMember(otherThan: KeyPathGroups.actions) {
                        action = ["uniqueAction: \(value.trimmedDescription)"]
                    }
                } else if let rule = AttributeRule(name, call, value: value) {
                    rules.append(rule)
                }
            } else if Literal(option) == nil {
                context.report(.optionNotLiteral, at: option)
            }
        }
        check(rules, in: context)
        func flag(_ name: String, _ option: String) -> [String] { flags.contains(name) ? ["\(option): true"] : [] }
        let texts = rules.compactMap(\.text)
        let options = flag("indexed", "isIndexed") + flag("unique", "isUnique")
        return options + action + flag("externalStorage", "allowsExternalStorage")
            + (transientMark == nil ? [] : ["isTransient: true"])
            + (derivation(in: context).map { ["derivation: \($0)"] } ?? [])
            + (texts.isEmpty ? [] : ["rules: [\(texts.joined(separator: ", "))]"]) + named
    }

    /// Whether the mark says that no two objects have the same value.
    var isUnique: Bool {
        attributeMark?.labeledArguments.contains { argument in
            let option = argument.expression.as(FunctionCallExprSyntax.self)?.calledExpression ?? argument.expression
            return option.implicitMember == "unique"
        } ?? false
    }

    /// Reports an option that needs a store, of an attribute that has none.
    private func checkTransient(_ name: String, _ option: ExprSyntax, in context: some MacroExpansionContext) {
        guard transientMark != nil, ["indexed", "unique"].contains(name) else { return }
        context.report(.transientOption(name: self.name, option: name), at: option)
    }

    private func relationshipOptions(of className: String, in context: some MacroExpansionContext) -> [String] {
        let order = [
            "inverse", "deleteRule", "isRequired", "minCount", "maxCount", "renamingIdentifier", "versionHashModifier",
        ]
        var values: [String: String] = [:]
        var counts: [String: ExprSyntax] = [:]
        for argument in relationshipMark?.labeledArguments ?? [] {
            guard let label = argument.label.flatMap({ Self.labels[$0.text] }) else { continue }
            let value = argument.expression
            if label == "inverse" {
                values[label] = inverseName(value, of: className, in: context)
            } else if !Self.isRefused(value, as: label) {
                values[label] = value.trimmedDescription
            }
            guard let name = argument.label?.text, ["minimum", "maximum"].contains(name) else { continue }
            counts[name] = value
            if let number = Literal(value)?.number, number < 0 {
                context.report(.negativeCount(rule: name), at: value)
            } else if let least = counts["minimum"], let greatest = counts["maximum"], least.isLiteral(above: greatest),
                Literal(greatest) != .integer(0)
            {
                context.report(.limitsOutOfOrder(least: "minimum", greatest: "maximum"), at: value)
            }
        }
        return order.compactMap { label in values[label].map { "\(label): \($0)" } }
    }

    /// Whether the compiler refuses an argument of `@Relationship` where it stands.
    private static func isRefused(_ value: ExprSyntax, as option: String) -> Bool {
        switch option {
        case "deleteRule": value.isImplicitMember(otherThan: ["cascade", "deny", "noAction", "nullify"])
        case "isRequired": value.isLiteral(otherThan: .boolean)
        case "minCount": value.isLiteral(otherThan: .integer)
        case "maxCount": value.isLiteral(otherThan: .integer, .nothing)
        default: value.isLiteral(otherThan: .text, .nothing)
        }
    }

    /// The name of the property that a key path or a string names, as a literal; key paths have no names at run time.
    private func inverseName(
        _ expression: ExprSyntax, of className: String, in context: some MacroExpansionContext
    ) -> String? {
        if expression.is(NilLiteralExprSyntax.self) { return nil }
        guard let inverse = Self.inverse(in: expression) else {
            context.report(.inverseNotLiteral, at: expression)
            return nil
        }
        if inverse == name, let root = expression.as(KeyPathExprSyntax.self)?.root, root.trimmedDescription == className
        {
            let text = ExprSyntax("\(literal: name)").with(\.trailingTrivia, expression.trailingTrivia)
            context.report(
                .inverseOfItself(name: name), at: expression,
                fix: EntityFix("write '\"\(name)\"'", replacing: expression, by: text))
        }
        return "\"\(inverse)\""
    }

    /// The name in a string, or of the only property of a key path with a root.
    private static func inverse(in expression: ExprSyntax) -> String? {
        if let text = expression.as(StringLiteralExprSyntax.self)?.plainText { return text.isIdentifier ? text : nil }
        guard let path = expression.as(KeyPathExprSyntax.self), path.components.count == 1, path.root != nil,
            let component = path.components.first?.component.as(KeyPathPropertyComponentSyntax.self)
        else { return nil }
        return component.declName.baseName.text.trimmingBackticks
    }

    /// The class at the other end and the inverse that it must have; `nil` if the mark names none, or if the type does
    /// not spell out the class.
    var inverse: (owner: String, name: String)? {
        let argument = relationshipMark?.labeledArguments.first { $0.label?.text == "inverse" }
        guard let destination, let name = argument.flatMap({ Self.inverse(in: $0.expression) }) else { return nil }
        return (destination, name)
    }

    /// The class at the other end of a relationship, if the type spells it out.
    private var destination: String? {
        if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType.trimmedDescription }
        return (type.arrayElement ?? type.genericArgument)?.trimmedDescription
    }
}

extension AttributeSyntax {
    /// The arguments of the attribute; empty if it has no parentheses.
    var labeledArguments: LabeledExprListSyntax { arguments?.as(LabeledExprListSyntax.self) ?? [] }
}

extension StringLiteralExprSyntax {
    /// The text between the quotes; `nil` if the literal has an interpolation.
    var plainText: String? {
        guard segments.count == 1, case .stringSegment(let segment)? = segments.first else { return nil }
        return segment.content.text
    }
}

extension String {
    /// Whether the text can be the name of a property, if necessary in backticks, or of an entity.
    var isIdentifier: Bool {
        first?.isNumber == false && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
}
