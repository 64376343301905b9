// `@Entity`: makes a class with plain stored properties an entity of the model.
//
// Invariants
//   1. The class gets `entityName`, `_entityProperties`, `entityDescription` and the key paths of its properties; each
//      modelled property gets `@_EntityProperty`.
//   2. A property's index is its position among the modelled properties of its own class, in source order.
//   3. Overloads in the runtime, not the macro, decide whether a property is an attribute or a relationship: a macro
//      sees only the name of a type.
//   4. The member expansion reports each error once; the attribute expansion reports none. The peer expansion reports
//      declarations that are no classes: the compiler expands members of an enum only when it looks up their names.

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

enum EntityMacro {}

extension EntityMacro: MemberMacro {
    static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        guard let entityClass = EntityClass(declaration, attribute: node, in: context) else { return [] }
        entityClass.checkName(in: context)
        let properties = entityClass.entityProperties(in: context)
        let own = entityClass.reportGeneratedNames(in: context)
        let members =
            (own.contains("entityName") ? [] : [entityClass.entityName]) + [properties]
            + (own.contains("entityDescription") ? [] : [entityClass.entityDescription])
        let initializers = entityClass.lacksSeedInitializer ? [entityClass.seedInitializer] : []
        return members + entityClass.propertyPaths + initializers
    }
}

extension EntityMacro: PeerMacro {
    static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        if declaration.is(ClassDeclSyntax.self) { return [] }
        // The first token that is not part of the attributes and modifiers, such as 'enum'.
        let keyword = declaration.children(viewMode: .sourceAccurate).lazy.compactMap { $0.as(TokenSyntax.self) }.first
        context.report(.notAClass(found: keyword?.text ?? ""), at: node)
        return []
    }
}

extension EntityMacro: MemberAttributeMacro {
    static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
        guard declaration.is(ClassDeclSyntax.self), let variable = member.as(VariableDeclSyntax.self) else { return [] }
        guard case .modelled(let property) = ModelledProperty.read(variable) else { return [] }
        let names = declaration.memberBlock.members.compactMap { item -> String? in
            guard let variable = item.decl.as(VariableDeclSyntax.self) else { return nil }
            guard case .modelled(let property) = ModelledProperty.read(variable) else { return nil }
            return property.name
        }
        // A property within #if is missing from `names`, and the member expansion reports it. It still gets accessors,
        // so that the compiler does not also report a property without a value.
        let index = names.firstIndex(of: property.name) ?? 0
        return ["@_EntityProperty(at: \(raw: index))"]
    }
}
