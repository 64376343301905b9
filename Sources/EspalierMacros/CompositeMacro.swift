// `@Composite`: makes a struct the type of a composite attribute, whose elements are the struct's stored properties.
//
// Invariants
//   1. Every stored property with a type is an element; computed and static ones, and constants with a value, are not.
//   2. An element has no options but rules.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

enum CompositeMacro: ExtensionMacro {
    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let structure = declaration.as(StructDeclSyntax.self) else {
            context.report(.notAStruct(found: declaration.introducer.text), at: node)
            return []
        }
        if let parameters = structure.genericParameterClause {
            context.report(.genericComposite, at: parameters)
            return []
        }
        var isFaulty = false
        let elements = structure.memberBlock.members.compactMap { element($0.decl, in: context, &isFaulty) }
        if elements.isEmpty, !isFaulty { context.report(.noElements(name: structure.name.text), at: structure.name) }
        let levels = structure.modifiers.map(\.name.text)
        let access = levels.contains("public") ? "public " : levels.contains("package") ? "package " : ""
        let code: DeclSyntax = """
            extension \(type.trimmed): CompositeConvertible {
                \(raw: access)static var _elements: [_PropertyDescription] {
                    [\(raw: elements.map(\.elementDescription).joined(separator: ", "))]
                }
                \(raw: access)init(_from reader: inout CompositeReader) {
                    \(raw: elements.map(\.reading).joined(separator: "\n        "))
                }
                \(raw: access)func _write(to writer: inout CompositeWriter) {
                    \(raw: elements.map { "writer.set(\"\($0.name)\", self.`\($0.name)`)" }
                        .joined(separator: "\n        "))
                }
            }
            """
        return code.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }

    /// The element that a member is; reports a member that can be none.
    private static func element(
        _ member: DeclSyntax, in context: some MacroExpansionContext, _ isFaulty: inout Bool
    ) -> CompositeElement? {
        guard let variable = member.as(VariableDeclSyntax.self) else { return nil }
        let modifiers = variable.modifiers.map(\.name.text)
        guard !modifiers.contains("static"), let binding = variable.bindings.first else { return nil }
        guard variable.bindings.count == 1, let identifier = binding.pattern.as(IdentifierPatternSyntax.self) else {
            isFaulty = true
            context.report(.severalInOneDeclaration, at: variable.bindings, fix: EntityFix.splitting(variable))
            return nil
        }
        let name = identifier.identifier.text.trimmingBackticks
        let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
        if isConstant, binding.initializer != nil { return nil }
        if let block = binding.accessorBlock {
            guard case .accessors(let accessors) = block.accessors,
                accessors.contains(where: { ["willSet", "didSet"].contains($0.accessorSpecifier.text) })
            else { return nil }
        }
        if let modifier = variable.modifiers.first(where: { $0.name.text == "lazy" }) {
            isFaulty = true
            context.report(.modified(name: name, modifier: "lazy"), at: variable.modifiers, fix: .removing(modifier))
            return nil
        }
        guard let type = binding.typeAnnotation?.type else {
            isFaulty = true
            context.report(.untyped(name: name), at: binding.pattern, fix: EntityFix.typing(binding))
            return nil
        }
        return CompositeElement(
            name: name, type: type, defaultValue: binding.initializer.flatMap { type.judging($0.value) },
            rules: rules(in: variable.attributes.attribute(named: "Attribute"), context))
    }

    /// The rules in the mark of an element, as the source has them; reports other options.
    private static func rules(in mark: AttributeSyntax?, _ context: some MacroExpansionContext) -> [String] {
        var rules: [String] = []
        for argument in mark?.labeledArguments ?? [] {
            let option = argument.expression
            // The compiler refuses a literal, and reports an argument that is missing.
            if argument.label == nil, Literal(option) != nil { continue }
            if let call = option.as(FunctionCallExprSyntax.self),
                let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
            {
                guard let value = call.arguments.first?.expression else { continue }
                if let rule = AttributeRule(name, call, value: value) {
                    if let text = rule.text { rules.append(text) }
                    continue
                }
            }
            context.report(.optionOfElement, at: option)
        }
        return rules
    }
}

/// One stored property of a composite struct.
private struct CompositeElement {
    let name: String
    let type: TypeSyntax
    let defaultValue: ExprSyntax?
    let rules: [String]

    /// The description of the element.
    var elementDescription: String {
        let value = defaultValue.map { ", defaultValue: \($0.trimmedDescription)" } ?? ""
        let options = rules.isEmpty ? "" : ", options: PropertyOptions(rules: [\(rules.joined(separator: ", "))])"
        return "EntityDescription._property(\"\(name)\", (\(type.trimmedDescription)).self\(value)\(options))"
    }

    /// The statement that reads the element.
    var reading: String {
        let unset = type.needsUnset(defaultValue).map { ", unset: \($0)" } ?? ""
        return "self.`\(name)` = reader.value(\"\(name)\"\(unset))"
    }
}

extension TypeSyntax {
    /// The expression that a property of this type reads as while it has no value; `nil` if its type decides.
    func needsUnset(_ defaultValue: ExprSyntax?) -> String? {
        guard let defaultValue, !defaultValue.is(NilLiteralExprSyntax.self), !isOptional else { return nil }
        return defaultValue.trimmedDescription
    }
}
