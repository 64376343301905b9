// The literals in the arguments of macros: what syntax alone tells about a value.
//
// Invariants
//   1. An expression that is no literal is never judged: the compiler, or the checker of the model, knows more.

import SwiftSyntax

/// A literal in the source.
enum Literal: Equatable {
    /// The kinds of literals.
    enum Kind: String {
        case boolean = "a Bool"
        case integer = "a whole number"
        case fraction = "a number"
        case text = "a text"
        case list = "a list"
        case nothing = "nil"
    }

    case boolean
    /// A number without a point; `nil` if no `Int` has it.
    case integer(Int?)
    /// A number with a point or an exponent.
    case fraction(Double?)
    case text
    case list
    case nothing

    /// The literal that an expression is; `nil` if it is none.
    init?(_ expression: ExprSyntax) {
        if let prefixed = expression.as(PrefixOperatorExprSyntax.self) {
            guard prefixed.operator.text == "-", let literal = Literal(prefixed.expression) else { return nil }
            switch literal {
            case .integer(let value): self = .integer(value.map { -$0 })
            case .fraction(let value): self = .fraction(value.map { -$0 })
            case .boolean, .text, .list, .nothing: return nil
            }
            return
        }
        if let literal = expression.as(IntegerLiteralExprSyntax.self) {
            self = .integer(literal.representedLiteralValue)
        } else if let literal = expression.as(FloatLiteralExprSyntax.self) {
            self = .fraction(literal.representedLiteralValue)
        } else {
            switch expression.kind {
            case .booleanLiteralExpr: self = .boolean
            case .stringLiteralExpr: self = .text
            case .arrayExpr, .dictionaryExpr: self = .list
            case .nilLiteralExpr: self = .nothing
            default: return nil
            }
        }
    }

    /// The kind.
    var kind: Kind {
        switch self {
        case .boolean: .boolean
        case .integer: .integer
        case .fraction: .fraction
        case .text: .text
        case .list: .list
        case .nothing: .nothing
        }
    }

    /// The value of a number; `nil` if it is none, or too large.
    var number: Double? {
        switch self {
        case .integer(let value): value.map(Double.init)
        case .fraction(let value): value
        case .boolean, .text, .list, .nothing: nil
        }
    }
}

extension ExprSyntax {
    /// Whether the expression is a literal of none of these kinds, so that the compiler refuses it where it stands.
    ///
    /// Such an argument is left out of an expansion, where the compiler would report it a second time.
    func isLiteral(otherThan kinds: Literal.Kind...) -> Bool {
        Literal(self).map { !kinds.contains($0.kind) } ?? false
    }

    /// The name in an implicit member such as `.merge`; `nil` for another expression.
    var implicitMember: String? {
        guard let member = self.as(MemberAccessExprSyntax.self), member.base == nil else { return nil }
        return member.declName.baseName.text.trimmingBackticks
    }

    /// Whether the expression is an implicit member with none of these names, which the compiler refuses where it
    /// stands.
    func isImplicitMember(otherThan names: Set<String>) -> Bool { implicitMember.map { !names.contains($0) } ?? false }
}
