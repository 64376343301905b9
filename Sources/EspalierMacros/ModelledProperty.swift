// One stored property of an entity class, read from its source.
//
// Invariants
//   1. Static and computed properties are not part of the model; every other `var` is modelled or reported.

import SwiftSyntax
import SwiftSyntaxBuilder

/// A property of the model: name, type, default value and marks.
struct ModelledProperty {
    /// The role of a variable of an entity class in the model.
    enum Reading {
        /// A property of the model.
        case modelled(ModelledProperty)
        /// The variable is static or computed and not part of the model.
        case ignored
        /// The variable can be neither: the reason and the place.
        case rejected(EntityDiagnostic, at: Syntax, fix: EntityFix?)
    }

    /// The name without backticks.
    let name: String
    /// The type as written in the source.
    let type: TypeSyntax
    /// The expression of the initial value.
    let defaultValue: ExprSyntax?
    /// The mark `@Attribute` with its arguments.
    let attributeMark: AttributeSyntax?
    /// The mark `@Relationship` with its arguments.
    let relationshipMark: AttributeSyntax?
    /// The mark `@Transient`.
    let transientMark: AttributeSyntax?
    /// The mark `@FetchedProperty` with its arguments.
    let fetchedMark: AttributeSyntax?

    /// Reads a variable declared in an entity class.
    static func read(_ variable: VariableDeclSyntax) -> Reading {
        let modifiers = variable.modifiers.map(\.name.text)
        guard !modifiers.contains("static"), !modifiers.contains("class") else { return .ignored }
        guard let binding = variable.bindings.first, variable.bindings.count == 1 else {
            return .rejected(.severalInOneDeclaration, at: Syntax(variable.bindings), fix: nil)
        }
        if let block = binding.accessorBlock {
            let observers: Set = ["willSet", "didSet"]
            guard case .accessors(let accessors) = block.accessors,
                accessors.contains(where: { observers.contains($0.accessorSpecifier.text) })
            else { return .ignored }
            return .rejected(.observed, at: Syntax(block), fix: nil)
        }
        return read(binding, of: variable, modifiers: modifiers)
    }

    private static func read(
        _ binding: PatternBindingSyntax, of variable: VariableDeclSyntax, modifiers: [String]
    ) -> Reading {
        guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
            return .rejected(.severalInOneDeclaration, at: Syntax(binding.pattern), fix: nil)
        }
        let name = identifier.text.trimmingBackticks
        guard variable.bindingSpecifier.tokenKind == .keyword(.var) else {
            let keyword = variable.bindingSpecifier
            let fix = EntityFix("use 'var'", replacing: keyword, by: keyword.with(\.tokenKind, .keyword(.var)))
            return .rejected(.constant(name: name), at: Syntax(keyword), fix: fix)
        }
        if let modifier = modifiers.first(where: ["lazy", "weak", "unowned"].contains) {
            return .rejected(.modified(name: name, modifier: modifier), at: Syntax(variable.modifiers), fix: nil)
        }
        guard let type = binding.typeAnnotation?.type else {
            let fix = literalType(of: binding.initializer?.value).map { type in
                let colon = TokenSyntax.colonToken(trailingTrivia: .space)
                let annotation = TypeAnnotationSyntax(colon: colon, type: TypeSyntax("\(raw: type) "))
                let typed = binding.with(\.pattern.trailingTrivia, []).with(\.typeAnnotation, annotation)
                return EntityFix("add ': \(type)'", replacing: binding, by: typed)
            }
            return .rejected(.untyped(name: name), at: Syntax(binding.pattern), fix: fix)
        }
        if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            let optional = OptionalTypeSyntax(wrappedType: unwrapped.wrappedType).with(
                \.trailingTrivia, type.trailingTrivia)
            let fix = EntityFix("use '?'", replacing: type, by: optional)
            return .rejected(.implicitlyUnwrapped(name: name), at: Syntax(type), fix: fix)
        }
        return .modelled(
            ModelledProperty(
                name: name, type: type, defaultValue: binding.initializer?.value,
                attributeMark: variable.attributes.attribute(named: "Attribute"),
                relationshipMark: variable.attributes.attribute(named: "Relationship"),
                transientMark: variable.attributes.attribute(named: "Transient"),
                fetchedMark: variable.attributes.attribute(named: "FetchedProperty")))
    }
}

extension ModelledProperty {
    /// The default type of a literal; `nil` if `value` is not a literal.
    private static func literalType(of value: ExprSyntax?) -> String? {
        switch value?.kind {
        case .stringLiteralExpr: "String"
        case .integerLiteralExpr: "Int"
        case .floatLiteralExpr: "Double"
        case .booleanLiteralExpr: "Bool"
        default: nil
        }
    }
}

extension AttributeListSyntax {
    /// The attribute called `name`, with or without a module qualifier.
    func attribute(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { attribute in
            attribute.attributeName.as(IdentifierTypeSyntax.self)?.name.text == name
                || attribute.attributeName.as(MemberTypeSyntax.self)?.name.text == name
        }
    }
}

extension String {
    /// An identifier without its backticks.
    var trimmingBackticks: String {
        count > 2 && hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self
    }
}
