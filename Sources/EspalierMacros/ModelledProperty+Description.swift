// The code for one property in the entity's description, including the arguments of its marks.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelledProperty {
    /// The names of types that are certainly attributes; for all others the compiler decides.
    private static let attributeTypes: Set = [
        "Bool", "Data", "Date", "Decimal", "Double", "Float", "Int", "Int16", "Int32", "Int64", "String", "UUID", "URL",
    ]

    /// The names that the labels of marks have in `PropertyOptions`.
    private static let labels = [
        "inverse": "inverse", "deleteRule": "deleteRule", "isRequired": "isRequired", "minimum": "minCount",
        "maximum": "maxCount", "originalName": "renamingIdentifier", "hashModifier": "versionHashModifier",
    ]

    /// The expression for the name of the transformer, if the property is transformable.
    var transformer: ExprSyntax? {
        for argument in attributeMark?.labeledArguments ?? [] {
            guard let call = argument.expression.as(FunctionCallExprSyntax.self),
                call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "transformable"
            else { continue }
            return call.arguments.first?.expression.trimmed
        }
        return nil
    }

    /// The expression that the property reads as while it has no value; `nil` if its type decides.
    var unset: String? { Self.attributeTypes.contains(type.trimmedDescription) ? nil : type.needsUnset(defaultValue) }

    /// The runtime call that describes the property of `className`; reports contradictions between its marks.
    func description(of className: String, in context: some MacroExpansionContext) -> String {
        if let fetchedMark { return fetchedDescription(fetchedMark, in: context) }
        var arguments = ["\"\(name)\"", "\(typeName).self"]
        if let transformer {
            arguments.append("by: \(transformer)")
            if let defaultValue { context.report(.transformableDefault(name: name), at: defaultValue) }
        } else if let defaultValue, !defaultValue.is(NilLiteralExprSyntax.self) {
            reportMomentary(defaultValue, in: context)
            arguments.append("defaultValue: \(defaultValue.trimmedDescription)")
        }
        let options = options(of: className, in: context)
        if !options.isEmpty { arguments.append("options: PropertyOptions(\(options.joined(separator: ", ")))") }
        let call = transformer == nil ? "_property" : "_transformable"
        return "EntityDescription.\(call)(\(arguments.joined(separator: ", ")))"
    }

    /// The runtime call that describes a fetched property.
    private func fetchedDescription(_ mark: AttributeSyntax, in context: some MacroExpansionContext) -> String {
        if let other = attributeMark ?? relationshipMark ?? transientMark {
            context.report(.fetchedWithMark(name: name, other: other.attributeName.trimmedDescription), at: other)
        }
        if let defaultValue { context.report(.fetchedDefault(name: name), at: defaultValue) }
        let options = mark.labeledArguments.map { argument in
            (argument.label.map { "\($0.text): " } ?? "") + argument.expression.trimmedDescription
        }
        let arguments = ["\"\(name)\"", "\(typeName).self"] + options
        return "EntityDescription._fetched(\(arguments.joined(separator: ", ")))"
    }

    /// The type in a form that is valid in a value expression.
    private var typeName: String {
        let isPlain =
            type.is(IdentifierTypeSyntax.self) || type.is(OptionalTypeSyntax.self) || type.is(ArrayTypeSyntax.self)
        return isPlain ? type.trimmedDescription : "(\(type.trimmedDescription))"
    }

    /// Reports a default that depends on the current moment: a default is computed once for the model, not for each
    /// object.
    private func reportMomentary(_ value: ExprSyntax, in context: some MacroExpansionContext) {
        let momentary: Set = ["Date()", "Date.now", "Date.init()", "UUID()", "UUID.init()", ".now", ".init()"]
        let bare = type.as(OptionalTypeSyntax.self)?.wrappedType ?? type
        guard ["Date", "UUID"].contains(bare.trimmedDescription), momentary.contains(value.trimmedDescription) else {
            return
        }
        context.report(.momentaryDefault(name: name), at: value)
    }

    /// The arguments of `PropertyOptions`, in the order of its parameters.
    private func options(of className: String, in context: some MacroExpansionContext) -> [String] {
        if let relationshipMark, let other = attributeMark ?? transientMark {
            context.report(
                .contradictingMarks(name: name, other: other.attributeName.trimmedDescription), at: relationshipMark)
            return []
        }
        let bare = (type.as(OptionalTypeSyntax.self)?.wrappedType ?? type).trimmedDescription
        if let relationshipMark, Self.attributeTypes.contains(bare) {
            context.report(.relationshipMarkOnAttribute(name: name, type: bare), at: relationshipMark)
            return []
        }
        return attributeOptions(in: context) + relationshipOptions(of: className, in: context)
    }

    private func attributeOptions(in context: some MacroExpansionContext) -> [String] {
        var flags: Set<String> = []
        var (action, rules, named): ([String], [String], [String]) = ([], [], [])
        for argument in attributeMark?.labeledArguments ?? [] {
            if let label = argument.label.flatMap({ Self.labels[$0.text] }) {
                named.append("\(label): \(argument.expression.trimmedDescription)")
            } else if let option = argument.expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text {
                flags.insert(option)
            } else if let call = argument.expression.as(FunctionCallExprSyntax.self),
                let option = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text,
                let value = call.arguments.first
            {
                if option == "transformable" || option == "derived" { continue }
                if option == "unique" {
                    flags.insert("unique")
                    action = ["uniqueAction: \(value.expression.trimmedDescription)"]
                } else {
                    rules.append(".\(option)(\(call.arguments.trimmedDescription))")
                }
            } else {
                context.report(.optionNotLiteral, at: argument.expression)
            }
        }
        func flag(_ name: String, _ option: String) -> [String] { flags.contains(name) ? ["\(option): true"] : [] }
        let options = flag("indexed", "isIndexed") + flag("unique", "isUnique")
        return options + action + flag("externalStorage", "allowsExternalStorage")
            + (transientMark == nil ? [] : ["isTransient: true"])
            + (derivation(in: context).map { ["derivation: \($0)"] } ?? [])
            + (rules.isEmpty ? [] : ["rules: [\(rules.joined(separator: ", "))]"]) + named
    }

    private func relationshipOptions(of className: String, in context: some MacroExpansionContext) -> [String] {
        let order = [
            "inverse", "deleteRule", "isRequired", "minCount", "maxCount", "renamingIdentifier", "versionHashModifier",
        ]
        var values: [String: String] = [:]
        for argument in relationshipMark?.labeledArguments ?? [] {
            guard let label = argument.label.flatMap({ Self.labels[$0.text] }) else { continue }
            values[label] =
                label == "inverse"
                ? inverseName(argument.expression, of: className, in: context) : argument.expression.trimmedDescription
        }
        return order.compactMap { label in values[label].map { "\(label): \($0)" } }
    }

    /// An expression for the name of the property that a key path or a string names; key paths have no names at run
    /// time.
    private func inverseName(
        _ expression: ExprSyntax, of className: String, in context: some MacroExpansionContext
    ) -> String? {
        if expression.is(NilLiteralExprSyntax.self) { return nil }
        if let text = expression.as(StringLiteralExprSyntax.self)?.plainText, text.isIdentifier {
            guard let destination else { return "\"\(text)\"" }
            // The generated key path makes the compiler check that the property exists; here it causes no circular
            // reference.
            return "EntityDescription._inverse(\"\(text)\", at: \\\(destination).`\(text)`)"
        }
        guard let path = expression.as(KeyPathExprSyntax.self), path.components.count == 1, let root = path.root,
            let component = path.components.first?.component.as(KeyPathPropertyComponentSyntax.self)
        else {
            context.report(.inverseNotLiteral, at: expression)
            return nil
        }
        let inverse = component.declName.baseName.text.trimmingBackticks
        if inverse == name, root.trimmedDescription == className {
            let text = ExprSyntax("\(literal: name)").with(\.trailingTrivia, expression.trailingTrivia)
            context.report(
                .inverseOfItself(name: name), at: expression,
                fix: EntityFix("write '\"\(name)\"'", replacing: expression, by: text))
        }
        return "\"\(inverse)\""
    }

    /// The class at the other end of a relationship, if the type spells it out.
    private var destination: String? {
        if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType.trimmedDescription }
        if let array = type.as(ArrayTypeSyntax.self) { return array.element.trimmedDescription }
        let arguments =
            type.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? type.as(MemberTypeSyntax.self)?.genericArgumentClause
        guard let arguments = arguments?.arguments, arguments.count == 1 else { return nil }
        return arguments.first?.argument.trimmedDescription
    }
}

extension AttributeSyntax {
    /// The arguments of the attribute; empty if it has no parentheses.
    var labeledArguments: LabeledExprListSyntax { arguments?.as(LabeledExprListSyntax.self) ?? [] }
}

extension StringLiteralExprSyntax {
    /// The text between the quotes; `nil` if the literal has an interpolation.
    fileprivate var plainText: String? {
        guard segments.count == 1, case .stringSegment(let segment)? = segments.first else { return nil }
        return segment.content.text
    }
}

extension String {
    /// Whether the text can be a property name, if necessary in backticks.
    fileprivate var isIdentifier: Bool {
        first?.isNumber == false && allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }
}
