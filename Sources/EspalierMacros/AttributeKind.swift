// The types that are certainly attributes, by the name that the source has: for all others the compiler decides.

import SwiftSyntax
import SwiftSyntaxBuilder

/// The kind of the values of an attribute.
enum AttributeKind {
    case address
    case boolean
    case bytes
    case date
    case fraction
    case identifier
    case integer
    case text

    private static let kinds: [String: AttributeKind] = [
        "Bool": .boolean, "Data": .bytes, "Date": .date, "Decimal": .fraction, "Double": .fraction, "Float": .fraction,
        "Int": .integer, "Int16": .integer, "Int32": .integer, "Int64": .integer, "String": .text, "UUID": .identifier,
        "URL": .address,
    ]

    /// The kind of a type; `nil` if its name alone does not tell.
    init?(_ type: TypeSyntax) {
        guard let kind = Self.kinds[type.trimmedDescription] else { return nil }
        self = kind
    }

    /// Whether a value of this kind can be written as a literal.
    ///
    /// - Parameter isLimit: whether it is the limit of a rule, whose type is that of the literal.
    func accepts(_ literal: Literal, asLimit isLimit: Bool) -> Bool {
        switch (self, literal) {
        case (.boolean, .boolean), (.text, .text), (.integer, .integer), (.fraction, .integer), (.fraction, .fraction):
            true
        // A limit is converted, so that 2.0 is one of whole numbers.
        case (.integer, .fraction(let value)): isLimit && value.map { $0.rounded() == $0 } ?? true
        case (.bytes, .list): !isLimit
        default: false
        }
    }
}

extension TypeSyntax {
    /// The type of a value, if there is one: `String` for `String?` and `Optional<String>`.
    var wrapped: TypeSyntax {
        if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType.unparenthesized }
        return genericName == "Optional" ? genericArgument ?? self : self
    }

    /// The type within parentheses around one type: `any Codable` for `(any Codable)`.
    private var unparenthesized: TypeSyntax {
        guard let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first
        else { return self }
        return only.type
    }

    /// A default of this type for an expansion, in which a literal of another type is no second error; `nil` if the
    /// expansion has to do without it.
    ///
    /// The compiler judges such a literal where it stands, because the application may have made the type expressible
    /// by it. So it is not left out here. A list or dictionary is: without a type of its elements, as `[]`, it would be
    /// an error of its own, and nobody makes numbers, texts or dates of lists.
    func judging(_ defaultValue: ExprSyntax) -> ExprSyntax? {
        guard let literal = Literal(defaultValue), literal != .nothing, let kind = AttributeKind(wrapped) else {
            return defaultValue
        }
        // No kind takes a dictionary, not even the one that takes lists.
        if defaultValue.is(DictionaryExprSyntax.self) { return nil }
        if kind.accepts(literal, asLimit: false) { return defaultValue }
        return literal == .list ? nil : "EntityDescription._literal(\(defaultValue.trimmed), of: (\(trimmed)).self)"
    }

    /// Whether the type is spelled as an optional.
    var isOptional: Bool { self.is(OptionalTypeSyntax.self) || genericName == "Optional" }

    /// The name of a type without its module and generic arguments; `nil` for a type in brackets or the like.
    var genericName: String? {
        (self.as(IdentifierTypeSyntax.self)?.name ?? self.as(MemberTypeSyntax.self)?.name)?.text
    }

    /// The only generic argument; `nil` if there is none, or more than one.
    var genericArgument: TypeSyntax? {
        let clause =
            self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
            ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
        guard let arguments = clause?.arguments, arguments.count == 1, case .type(let type)? = arguments.first?.argument
        else { return nil }
        return type
    }

    /// The type of the elements of `[Element]` or `Array<Element>`.
    var arrayElement: TypeSyntax? {
        if let array = self.as(ArrayTypeSyntax.self) { return array.element }
        return genericName == "Array" ? genericArgument : nil
    }
}
