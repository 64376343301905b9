// The initializers of an entity class: each of its own is a convenience one, because a context makes every object by
// the one initializer of `ManagedObject` that takes a seed.
//
// Invariants
//   1. Each error has a fix whose result compiles: the keyword, the delegation, and nothing else changes.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension EntityClass {
    /// Whether the class does not inherit the initializer that contexts need, for a reason that is reported: it has
    /// a designated one of its own, or a property that is no property of the model and may lack a value.
    var lacksSeedInitializer: Bool {
        let members = declaration.memberBlock.members.map(\.decl)
        let initializers = members.compactMap { $0.as(InitializerDeclSyntax.self) }
        if initializers.contains(where: \.takesSeed) { return false }
        return initializers.contains { !$0.isConvenience }
            || members.contains { member in
                guard let variable = member.as(VariableDeclSyntax.self) else { return false }
                if case .rejected = ModelledProperty.read(variable) { return true }
                return false
            }
    }

    /// The initializer that contexts need, for a class that inherits none: then the compiler reports only the error of
    /// this macro.
    var seedInitializer: DeclSyntax {
        """
        \(raw: accessLevel)required init(_ seed: consuming ObjectSeed) {
            preconditionFailure("unavailable")
        }
        """
    }

    /// Reports an initializer that no entity class can have.
    func check(_ initializer: InitializerDeclSyntax, in context: some MacroExpansionContext) {
        guard !initializer.takesSeed else { return }
        if !initializer.isConvenience {
            return context.report(
                .ownInitializer, at: initializer.initKeyword,
                fix: EntityFix(
                    "make it a convenience initializer", replacing: initializer, by: initializer.asConvenience))
        }
        let parameters = initializer.signature.parameterClause.parameters
        if parameters.count == 1, initializer.contextParameter != nil, parameters.first?.firstName.text == "context" {
            return context.report(.initializerOfEveryObject, at: initializer.initKeyword)
        }
        guard let body = initializer.body, !DelegationSearch.finds(in: body) else { return }
        context.report(
            .initializerWithoutDelegation, at: initializer.initKeyword,
            fix: EntityFix("begin with '\(initializer.delegation)'", replacing: body, by: initializer.delegatingBody))
    }
}

extension InitializerDeclSyntax {
    fileprivate var isConvenience: Bool { modifiers.contains { $0.name.text == "convenience" } }

    /// Whether it is the one with which contexts make objects.
    fileprivate var takesSeed: Bool {
        let types = signature.parameterClause.parameters.map { $0.type.trimmedDescription.split(separator: " ").last }
        return types == ["ObjectSeed"]
    }

    /// The name of the parameter that is a context.
    fileprivate var contextParameter: String? {
        let parameter = signature.parameterClause.parameters.first {
            ["ManagedObjectContext", "Espalier.ManagedObjectContext"].contains($0.type.trimmedDescription)
        }
        return parameter.map { ($0.secondName ?? $0.firstName).text }
    }

    /// The call that makes the object.
    fileprivate var delegation: String { contextParameter.map { "self.init(context: \($0))" } ?? "self.init()" }

    /// The body, beginning with the call that makes the object.
    fileprivate var delegatingBody: CodeBlockSyntax {
        guard var body else { return CodeBlockSyntax(statements: []) }
        var call = CodeBlockItemSyntax("\(raw: delegation)")
        if let first = body.statements.first {
            call.leadingTrivia = first.leadingTrivia
            if !first.leadingTrivia.contains(where: \.isNewline) {
                call.leadingTrivia = []
                call.semicolon = .semicolonToken(trailingTrivia: .space)
            }
        } else {
            body.leftBrace.trailingTrivia = .space
            body.rightBrace.leadingTrivia = .space
        }
        body.statements = CodeBlockItemListSyntax([call] + Array(body.statements))
        return body
    }

    /// The same initializer as a convenience one that makes the object itself.
    fileprivate var asConvenience: InitializerDeclSyntax {
        var result = self
        if let body, DelegationSearch.finds(in: body) {
            result.body = SuperDelegation().rewrite(body).as(CodeBlockSyntax.self)
        } else {
            result.body = delegatingBody
        }
        let kept = modifiers.filter { !["override", "required"].contains($0.name.text) }
        var keyword = DeclModifierSyntax(name: .keyword(.convenience), trailingTrivia: .space)
        keyword.leadingTrivia = kept.isEmpty ? (modifiers.first?.leadingTrivia ?? initKeyword.leadingTrivia) : []
        result.modifiers = DeclModifierListSyntax(Array(kept) + [keyword])
        result.initKeyword.leadingTrivia = []
        return result
    }
}

/// Searches a body for a call of another initializer of the object.
private final class DelegationSearch: SyntaxVisitor {
    private var isFound = false

    /// Whether `body` calls `self.init` or `super.init`.
    static func finds(in body: CodeBlockSyntax) -> Bool {
        let search = DelegationSearch(viewMode: .sourceAccurate)
        search.walk(body)
        return search.isFound
    }

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
        if node.delegates { isFound = true }
        return .visitChildren
    }
}

/// Replaces `super.init` by `self.init`.
private final class SuperDelegation: SyntaxRewriter {
    override func visit(_ node: MemberAccessExprSyntax) -> ExprSyntax {
        guard node.delegates, let base = node.base, base.is(SuperExprSyntax.self) else { return super.visit(node) }
        var own = ExprSyntax("self")
        own.leadingTrivia = base.leadingTrivia
        return ExprSyntax(node.with(\.base, own))
    }
}

extension MemberAccessExprSyntax {
    fileprivate var delegates: Bool {
        guard declName.baseName.text == "init", let base else { return false }
        return base.is(SuperExprSyntax.self) || base.trimmedDescription == "self"
    }
}
