// The line of an entity's description that one property becomes, with what its marks say.

import SwiftSyntax
import SwiftSyntaxMacros

extension ModelledProperty {
    /// The names of types that are certainly attributes; of others the compiler decides.
    private static let attributeTypes: Set = [
        "Bool", "Data", "Date", "Decimal", "Double", "Float", "Int", "Int16", "Int32", "Int64", "String", "UUID", "URL",
    ]

    /// The call of the runtime that describes the property; contradictions in its marks are reported.
    func description(in context: some MacroExpansionContext) -> String {
        var arguments = ["\"\(name)\"", "\(typeName).self"]
        if let defaultValue {
            reportMomentary(defaultValue, in: context)
            arguments.append("defaultValue: \(defaultValue.trimmedDescription)")
        }
        let options = options(in: context)
        if !options.isEmpty { arguments.append("options: PropertyOptions(\(options.joined(separator: ", ")))") }
        return "EntityDescription._property(\(arguments.joined(separator: ", ")))"
    }

    /// The type as a value expression can name it.
    private var typeName: String {
        let isPlain =
            type.is(IdentifierTypeSyntax.self) || type.is(OptionalTypeSyntax.self) || type.is(ArrayTypeSyntax.self)
        return isPlain ? type.trimmedDescription : "(\(type.trimmedDescription))"
    }

    /// A default is computed once for the model and not once for each object, so it must not be the moment's.
    private func reportMomentary(_ value: ExprSyntax, in context: some MacroExpansionContext) {
        let momentary: Set = ["Date()", "Date.now", "Date.init()", "UUID()", "UUID.init()", ".now", ".init()"]
        let bare = type.as(OptionalTypeSyntax.self)?.wrappedType ?? type
        guard ["Date", "UUID"].contains(bare.trimmedDescription), momentary.contains(value.trimmedDescription) else {
            return
        }
        context.report(.momentaryDefault(name: name), at: value)
    }

    /// The arguments of `PropertyOptions`, in its order.
    private func options(in context: some MacroExpansionContext) -> [String] {
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
        return attributeOptions(in: context) + relationshipOptions(in: context)
    }

    private func attributeOptions(in context: some MacroExpansionContext) -> [String] {
        var flags: Set<String> = []
        var renaming: [String] = []
        for argument in attributeMark?.labeledArguments ?? [] {
            if argument.label?.text == "originalName" {
                renaming = ["renamingIdentifier: \(argument.expression.trimmedDescription)"]
            } else if let option = argument.expression.as(MemberAccessExprSyntax.self)?.declName.baseName.text {
                flags.insert(option)
            } else {
                context.report(.optionNotLiteral, at: argument.expression)
            }
        }
        let known = [("indexed", "isIndexed"), ("unique", "isUnique")]
        let options = known.compactMap { flags.contains($0.0) ? "\($0.1): true" : nil }
        return options + (transientMark == nil ? [] : ["isTransient: true"]) + renaming
    }

    private func relationshipOptions(in context: some MacroExpansionContext) -> [String] {
        let labels = [
            "inverse": "inverse", "deleteRule": "deleteRule", "isRequired": "isRequired", "minimum": "minCount",
            "maximum": "maxCount", "originalName": "renamingIdentifier",
        ]
        let order = ["inverse", "deleteRule", "isRequired", "minCount", "maxCount", "renamingIdentifier"]
        var values: [String: String] = [:]
        for argument in relationshipMark?.labeledArguments ?? [] {
            guard let label = argument.label.flatMap({ labels[$0.text] }) else { continue }
            values[label] =
                label == "inverse"
                ? inverseName(argument.expression, in: context) : argument.expression.trimmedDescription
        }
        return order.compactMap { label in values[label].map { "\(label): \($0)" } }
    }

    /// The property a key path literal ends in, as a string literal; key paths have no names at run time.
    private func inverseName(_ expression: ExprSyntax, in context: some MacroExpansionContext) -> String? {
        if expression.is(NilLiteralExprSyntax.self) { return nil }
        guard let path = expression.as(KeyPathExprSyntax.self), path.components.count == 1, path.root != nil,
            let component = path.components.first?.component.as(KeyPathPropertyComponentSyntax.self)
        else {
            context.report(.inverseNotLiteral, at: expression)
            return nil
        }
        return "\"\(component.declName.baseName.text.trimmingBackticks)\""
    }
}

extension AttributeSyntax {
    /// Its arguments; none if it has no parentheses.
    var labeledArguments: LabeledExprListSyntax { arguments?.as(LabeledExprListSyntax.self) ?? [] }
}
