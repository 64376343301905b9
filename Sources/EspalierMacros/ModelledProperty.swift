// One stored property of an entity class, as its source says it.
//
// Invariants
//   1. Static and computed properties are no part of the model; every other `var` is, or is reported.

import SwiftSyntax
import SwiftSyntaxBuilder

/// A property that the model has: name, type, default value, and the marks on it.
struct ModelledProperty {
    /// What a variable of an entity class is to the model.
    enum Reading {
        /// A property of the model.
        case modelled(ModelledProperty)
        /// None of the model's business: static or computed.
        case ignored
        /// Neither: the reason, and where.
        case rejected(EntityDiagnostic, at: Syntax, fix: EntityFix?)
    }

    /// The name without backticks.
    let name: String
    /// The type as it is written.
    let type: TypeSyntax
    /// The expression of its initial value.
    let defaultValue: ExprSyntax?
    /// `@Attribute`, with its arguments.
    let attributeMark: AttributeSyntax?
    /// `@Relationship`, with its arguments.
    let relationshipMark: AttributeSyntax?
    /// `@Transient`.
    let transientMark: AttributeSyntax?

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
                transientMark: variable.attributes.attribute(named: "Transient")))
    }
}

extension ModelledProperty {
    /// The type that a literal has when nothing else is said; `nil` if `value` is none.
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
    /// The attribute called `name`, also where it is written with its module.
    func attribute(named name: String) -> AttributeSyntax? {
        lazy.compactMap { $0.as(AttributeSyntax.self) }.first { attribute in
            attribute.attributeName.as(IdentifierTypeSyntax.self)?.name.text == name
                || attribute.attributeName.as(MemberTypeSyntax.self)?.name.text == name
        }
    }
}

extension String {
    /// An identifier without the backticks that let it be a keyword.
    var trimmingBackticks: String {
        count > 2 && hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self
    }
}
