// The macros on single properties: the accessors of a modelled property, and the marks.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@_EntityProperty(at:)`: reads and writes a property through the object's context.
enum PropertyAccessorMacro: AccessorMacro {
    static func expansion(
        of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
        guard let variable = declaration.as(VariableDeclSyntax.self),
            case .modelled(let property) = ModelledProperty.read(variable),
            let index = node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression
        else { return [] }
        let owner = context.lexicalContext.lazy.compactMap { $0.as(ClassDeclSyntax.self) }.first
        if property.problem != nil || owner.flatMap(EntityClass.problem) != nil {
            return ["get { preconditionFailure(\"unavailable\") }", "set {}"]
        }
        if property.fetchedMark != nil { return ["get { _getFetched(\(literal: property.name)) }"] }
        if let transformer = property.transformer {
            return [
                "get { _getTransformed(\(literal: property.name), at: \(index), by: \(transformer)) }",
                "set { _setTransformed(\(literal: property.name), at: \(index), by: \(transformer), newValue) }",
            ]
        }
        if property.isDerived { return ["get { _getDerived(\(literal: property.name), at: \(index)) }"] }
        let unset = property.unset.map { ", unset: \($0)" } ?? ""
        let writing = "_set(\"\(property.name)\", at: \(index), newValue)"
        let statements = property.checkStatements + [writing]
        return [
            "get { _get(\(literal: property.name), at: \(index)\(raw: unset)) }",
            """
            set {
                \(raw: statements.joined(separator: "\n    "))
            }
            """,
        ]
    }
}

extension ModelledProperty {
    /// A check of the compiler at the place of the property: a function in the setter that nothing calls.
    ///
    /// There a use of the inverse makes no circle with the types of other properties.
    fileprivate var checkStatements: [String] {
        var checks = inverse.map { ["_ = other.`\($0.name)`"] } ?? []
        let marks = [
            relationshipMark.map { _ in "Relationship" }, (attributeMark ?? transientMark).map { _ in "Attribute" },
        ].compactMap(\.self)
        if AttributeKind(type.wrapped) == nil, !isLiveCollection, marks.count == 1 {
            checks.append("let kind = EntityDescription._kind(of: \(typeName).self)")
            checks.append("kind._check\(marks[0])Mark()")
        }
        if checks.isEmpty { return [] }
        let parameter = inverse.map { "_ other: \($0.owner)" } ?? ""
        return ["func _check(\(parameter)) {"] + checks.map { "    \($0)" } + ["}"]
    }
}

/// The marks `@Attribute`, `@Relationship`, `@Transient` and `@FetchedProperty`, which generate nothing: `@Entity`
/// reads them.
///
/// A mark is an error where `@Entity` does not read it.
enum PropertyMarkMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let mark = node.attributeName.genericName ?? node.attributeName.trimmedDescription
        let structure = context.lexicalContext.first?.as(StructDeclSyntax.self)
        // `@Composite` reads the rules of its elements.
        if mark == "Attribute", structure?.attributes.attribute(named: "Composite") != nil { return [] }
        let owner = context.lexicalContext.first?.as(ClassDeclSyntax.self)
        guard owner?.attributes.attribute(named: "Entity") != nil else {
            context.report(.markOutsideEntity(mark: mark), at: node)
            return []
        }
        let variable = declaration.as(VariableDeclSyntax.self)
        if let variable {
            guard case .ignored = ModelledProperty.read(variable) else { return [] }
        }
        // The attribute has its place in the declaration, where it can be removed.
        let attribute = variable?.attributes.attributes(named: mark).first
        context.report(
            .markOnUnmodelledProperty(mark: mark), at: node, fix: attribute.map { EntityFix.removing($0) })
        return []
    }
}
