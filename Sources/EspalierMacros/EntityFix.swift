// The changes of the source that diagnostics offer.
//
// Invariants
//   1. A fix changes nothing but what its text says, and its result has no error of the same kind.

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// One change of the source that removes the cause of a diagnostic.
struct EntityFix: FixItMessage {
    let message: String
    let change: FixIt.Change

    var fixItID: MessageID { MessageID(domain: "Espalier", id: "fix") }

    /// A fix that replaces `old` by `replacement`.
    init(_ message: String, replacing old: some SyntaxProtocol, by replacement: some SyntaxProtocol) {
        (self.message, change) = (message, .replace(oldNode: Syntax(old), newNode: Syntax(replacement)))
    }

    private init(_ message: String, from start: AbsolutePosition, to end: AbsolutePosition, in node: Syntax) {
        (self.message, change) = (message, .replaceText(range: start..<end, with: "", in: node))
    }

    /// A fix that removes a mark, with the space or the line break after it.
    static func removing(_ mark: AttributeSyntax) -> EntityFix {
        removing(mark, "remove @\(mark.attributeName.trimmedDescription)")
    }

    /// A fix that removes a modifier of a declaration, with the space after it.
    static func removing(_ modifier: DeclModifierSyntax) -> EntityFix {
        removing(modifier, "remove '\(modifier.name.text)'")
    }

    /// A fix that removes a node, and what separates it from the next token.
    private static func removing(_ node: some SyntaxProtocol, _ message: String) -> EntityFix {
        let start = node.positionAfterSkippingLeadingTrivia
        let next = node.lastToken(viewMode: .sourceAccurate)?.nextToken(viewMode: .sourceAccurate)
        let hasComment = next?.leadingTrivia.contains { !$0.isWhitespace } ?? true
        let end = hasComment ? node.endPosition : next?.positionAfterSkippingLeadingTrivia ?? node.endPosition
        return EntityFix(message, from: start, to: end, in: Syntax(node))
    }

    /// A fix that removes the default of a property.
    static func removingDefault(of binding: PatternBindingSyntax) -> EntityFix? {
        guard let initializer = binding.initializer else { return nil }
        let before = initializer.previousToken(viewMode: .sourceAccurate)
        let start = before?.endPositionBeforeTrailingTrivia ?? initializer.position
        return EntityFix(
            "remove the default", from: start, to: initializer.endPositionBeforeTrailingTrivia, in: Syntax(binding))
    }

    /// A fix that gives a property another type.
    static func retyping(_ type: TypeSyntax, as text: String) -> EntityFix {
        let other = TypeSyntax("\(raw: text)").with(\.leadingTrivia, type.leadingTrivia)
        return EntityFix("write '\(text)'", replacing: type, by: other.with(\.trailingTrivia, type.trailingTrivia))
    }

    /// A fix that gives a property the type of its default; `nil` if syntax does not tell the type.
    static func typing(_ binding: PatternBindingSyntax) -> EntityFix? {
        guard let type = binding.initializer.flatMap({ defaultType(of: $0.value) }) else { return nil }
        let colon = TokenSyntax.colonToken(trailingTrivia: .space)
        let annotation = TypeAnnotationSyntax(colon: colon, type: TypeSyntax("\(raw: type) "))
        let typed = binding.with(\.pattern.trailingTrivia, []).with(\.typeAnnotation, annotation)
        return EntityFix("add ': \(type)'", replacing: binding, by: typed)
    }

    /// The type of a literal, or of a call of an initializer such as `Address()`.
    private static func defaultType(of value: ExprSyntax) -> String? {
        switch Literal(value) {
        case .text: return "String"
        case .integer: return "Int"
        case .fraction: return "Double"
        case .boolean: return "Bool"
        case .list, .nothing: return nil
        case nil: break
        }
        let called = value.as(FunctionCallExprSyntax.self)?.calledExpression.as(DeclReferenceExprSyntax.self)
        guard let name = called?.baseName.text, name.first?.isUppercase == true else { return nil }
        return name
    }

    /// A fix that declares each property of a declaration on its own; `nil` if one has no type or is no plain name.
    static func splitting(_ variable: VariableDeclSyntax) -> EntityFix? {
        var lines: [VariableDeclSyntax] = []
        let bindings = Array(variable.bindings)
        for (index, binding) in bindings.enumerated() {
            // `a, b: Int` gives the type to both.
            guard let type = bindings[index...].lazy.compactMap(\.typeAnnotation).first,
                binding.typeAnnotation != nil || binding.initializer == nil,
                binding.pattern.is(IdentifierPatternSyntax.self)
            else { return nil }
            var single = binding.with(\.trailingComma, nil).with(\.leadingTrivia, [])
            if single.typeAnnotation == nil {
                single = single.with(\.pattern.trailingTrivia, []).with(\.typeAnnotation, type.trimmed)
            }
            let isLast = index == bindings.count - 1
            single.trailingTrivia = isLast ? variable.trailingTrivia : []
            var line = variable.with(\.bindings, [single])
            if index > 0 { line.leadingTrivia = .newline + variable.indentation }
            lines.append(line)
        }
        let members = MemberBlockItemListSyntax(lines.map { MemberBlockItemSyntax(decl: $0) })
        return EntityFix("declare \(lines.count) properties", replacing: variable, by: members)
    }
}

extension SyntaxProtocol {
    /// The spaces between the last line break before the node and the node itself.
    fileprivate var indentation: Trivia {
        var spaces: [TriviaPiece] = []
        for piece in leadingTrivia.reversed() {
            if piece.isNewline { break }
            if piece.isSpaceOrTab { spaces.insert(piece, at: 0) }
        }
        return Trivia(pieces: spaces)
    }
}

extension MacroExpansionContext {
    /// Reports `diagnostic` at `place`.
    func report(_ diagnostic: EntityDiagnostic, at place: some SyntaxProtocol, fix: EntityFix? = nil) {
        let fixIts = fix.map { [FixIt(message: $0, changes: [$0.change])] } ?? []
        diagnose(Diagnostic(node: place, message: diagnostic, fixIts: fixIts))
    }
}
