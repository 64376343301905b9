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
        if property.fetchedMark != nil { return ["get { _getFetched(\(literal: property.name)) }"] }
        if let transformer = property.transformer {
            return [
                "get { _getTransformed(\(literal: property.name), at: \(index), by: \(transformer)) }",
                "set { _setTransformed(\(literal: property.name), at: \(index), by: \(transformer), newValue) }",
            ]
        }
        if property.isDerived { return ["get { _getDerived(\(literal: property.name), at: \(index)) }"] }
        let unset = property.unset.map { ", unset: \($0)" } ?? ""
        return [
            "get { _get(\(literal: property.name), at: \(index)\(raw: unset)) }",
            "set { _set(\(literal: property.name), at: \(index), newValue) }",
        ]
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
        let mark = node.attributeName.trimmedDescription
        let owner = context.lexicalContext.first?.as(ClassDeclSyntax.self)
        guard owner?.attributes.attribute(named: "Entity") != nil else {
            context.report(.markOutsideEntity(mark: mark), at: node)
            return []
        }
        guard let variable = declaration.as(VariableDeclSyntax.self), case .ignored = ModelledProperty.read(variable)
        else { return [] }
        context.report(.markOnUnmodelledProperty(mark: mark), at: node)
        return []
    }
}
