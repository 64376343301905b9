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
    /// The declaration of the property within its `var`.
    let binding: PatternBindingSyntax
    /// All attributes of the declaration.
    let attributes: AttributeListSyntax
    /// Whether the declaration overrides one of a superclass.
    let isOverride: Bool
    /// The mark `@Attribute` with its arguments.
    let attributeMark: AttributeSyntax?
    /// The mark `@Relationship` with its arguments.
    let relationshipMark: AttributeSyntax?
    /// The mark `@Transient`.
    let transientMark: AttributeSyntax?
    /// The mark `@FetchedProperty` with its arguments.
    let fetchedMark: AttributeSyntax?

    /// The expression of the initial value.
    var defaultValue: ExprSyntax? { binding.initializer?.value }

    /// Reads a variable declared in an entity class.
    static func read(_ variable: VariableDeclSyntax) -> Reading {
        let modifiers = variable.modifiers.map(\.name.text)
        guard !modifiers.contains("static"), !modifiers.contains("class") else { return .ignored }
        guard let binding = variable.bindings.first, variable.bindings.count == 1 else {
            return .rejected(
                .severalInOneDeclaration, at: Syntax(variable.bindings), fix: EntityFix.splitting(variable))
        }
        if let block = binding.accessorBlock {
            let observers: Set = ["willSet", "didSet"]
            guard case .accessors(let accessors) = block.accessors,
                accessors.contains(where: { observers.contains($0.accessorSpecifier.text) })
            else { return .ignored }
            return .rejected(.observed, at: Syntax(block), fix: nil)
        }
        return read(binding, of: variable)
    }

    private static func read(_ binding: PatternBindingSyntax, of variable: VariableDeclSyntax) -> Reading {
        guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
            return .rejected(.severalInOneDeclaration, at: Syntax(binding.pattern), fix: nil)
        }
        let name = identifier.text.trimmingBackticks
        guard variable.bindingSpecifier.tokenKind == .keyword(.var) else {
            let keyword = variable.bindingSpecifier
            let fix = EntityFix("use 'var'", replacing: keyword, by: keyword.with(\.tokenKind, .keyword(.var)))
            return .rejected(.constant(name: name), at: Syntax(keyword), fix: fix)
        }
        if let mark = variable.attributes.attribute(named: "NSManaged") {
            return .rejected(.managedMark(name: name), at: Syntax(mark), fix: .removing(mark))
        }
        if let modifier = variable.modifiers.first(where: { ["lazy", "weak", "unowned"].contains($0.name.text) }) {
            return .rejected(
                .modified(name: name, modifier: modifier.name.text), at: Syntax(variable.modifiers),
                fix: .removing(modifier))
        }
        guard let type = binding.typeAnnotation?.type else {
            return .rejected(.untyped(name: name), at: Syntax(binding.pattern), fix: EntityFix.typing(binding))
        }
        if let unwrapped = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            let optional = OptionalTypeSyntax(wrappedType: unwrapped.wrappedType).with(
                \.trailingTrivia, type.trailingTrivia)
            let fix = EntityFix("use '?'", replacing: type, by: optional)
            return .rejected(.implicitlyUnwrapped(name: name), at: Syntax(type), fix: fix)
        }
        return .modelled(
            ModelledProperty(
                name: name, type: type, binding: binding, attributes: variable.attributes,
                isOverride: variable.modifiers.contains { $0.name.text == "override" },
                attributeMark: variable.attributes.attribute(named: "Attribute"),
                relationshipMark: variable.attributes.attribute(named: "Relationship"),
                transientMark: variable.attributes.attribute(named: "Transient"),
                fetchedMark: variable.attributes.attribute(named: "FetchedProperty")))
    }
}

extension AttributeListSyntax {
    /// The attribute called `name`, with or without a module qualifier.
    func attribute(named name: String) -> AttributeSyntax? { attributes(named: name).first }

    /// The attributes called `name`, with or without a module qualifier, in source order.
    func attributes(named name: String) -> [AttributeSyntax] {
        compactMap { $0.as(AttributeSyntax.self) }.filter { $0.attributeName.genericName == name }
    }
}

extension String {
    /// An identifier without its backticks.
    var trimmingBackticks: String {
        count > 2 && hasPrefix("`") && hasSuffix("`") ? String(dropFirst().dropLast()) : self
    }
}
