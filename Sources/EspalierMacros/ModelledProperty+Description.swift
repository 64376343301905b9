// The code for one property in the entity's description, including the arguments of its marks.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelledProperty {
    /// The expression for the name of the transformer, if the property is transformable.
    var transformer: ExprSyntax? {
        for argument in attributeMark?.labeledArguments ?? [] {
            guard let call = argument.expression.as(FunctionCallExprSyntax.self),
                call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "transformable"
            else { continue }
            return call.arguments.first.flatMap { name in
                name.expression.isLiteral(otherThan: .text) ? nil : name.expression.trimmed
            }
        }
        return nil
    }

    /// The expression that the property reads as while it has no value; `nil` if its type decides.
    var unset: String? { AttributeKind(type) == nil ? type.needsUnset(defaultValue) : nil }

    /// The runtime call that describes the property of `className`; reports contradictions between its marks.
    ///
    /// - Returns: `nil` for a property that no entity can have, which is reported.
    func description(of className: String, in context: some MacroExpansionContext) -> String? {
        checkMarks(in: context)
        if let problem {
            context.report(problem.diagnostic, at: problem.place, fix: problem.fix)
            return nil
        }
        if let fetchedMark { return fetchedDescription(fetchedMark, in: context) }
        var arguments = ["\"\(name)\"", "\(typeName).self"]
        if let transformer {
            arguments.append("by: \(transformer)")
            if let defaultValue {
                context.report(
                    .transformableDefault(name: name), at: defaultValue, fix: EntityFix.removingDefault(of: binding))
            }
        } else if let defaultValue, !defaultValue.is(NilLiteralExprSyntax.self) {
            reportMomentary(defaultValue, in: context)
            if let value = type.judging(defaultValue) {
                arguments.append("defaultValue: \(value.trimmedDescription)")
            }
        }
        let options = options(of: className, in: context)
        if !options.isEmpty { arguments.append("options: PropertyOptions(\(options.joined(separator: ", ")))") }
        let call = transformer == nil ? "_property" : "_transformable"
        return "EntityDescription.\(call)(\(arguments.joined(separator: ", ")))"
    }

    /// The runtime call that describes a fetched property.
    private func fetchedDescription(_ mark: AttributeSyntax, in context: some MacroExpansionContext) -> String {
        if let other = attributeMark ?? relationshipMark ?? transientMark {
            context.report(
                .fetchedWithMark(name: name, other: other.attributeName.trimmedDescription), at: other,
                fix: .removing(other))
        }
        if let defaultValue {
            context.report(.fetchedDefault(name: name), at: defaultValue, fix: EntityFix.removingDefault(of: binding))
        }
        mark.labeledArguments.reportTwoConditions(in: context)
        let options = mark.labeledArguments.compactMap { argument -> String? in
            guard let label = argument.label?.text, !Self.isRefused(argument.expression, by: label) else { return nil }
            if label == "matching", let literal = Literal(argument.expression) {
                // The compiler accepts any value here, because predicates have one or two variables.
                if literal != .nothing { context.report(.conditionNotPredicate, at: argument.expression) }
                return nil
            }
            return "\(label): \(argument.expression.trimmedDescription)"
        }
        let arguments = ["\"\(name)\"", "\(typeName).self"] + options
        return "EntityDescription._fetched(\(arguments.joined(separator: ", ")))"
    }

    /// Whether the compiler refuses an argument of `@FetchedProperty` where it stands.
    private static func isRefused(_ value: ExprSyntax, by label: String) -> Bool {
        switch label {
        case "where": value.isLiteral(otherThan: .text, .nothing)
        case "matching": false
        case "limit": value.isLiteral(otherThan: .integer)
        default: value.isLiteral(otherThan: .list)
        }
    }

    /// The type in a form that is valid in a value expression.
    var typeName: String {
        let isPlain =
            type.is(IdentifierTypeSyntax.self) || type.is(OptionalTypeSyntax.self) || type.is(ArrayTypeSyntax.self)
        return isPlain ? type.trimmedDescription : "(\(type.trimmedDescription))"
    }

    /// Reports a default that depends on the current moment or on chance: a default is computed once for the model, not
    /// for each object.
    private func reportMomentary(_ value: ExprSyntax, in context: some MacroExpansionContext) {
        let isOfMoment = ["Date", "UUID"].contains(type.wrapped.trimmedDescription)
        guard MomentSearch.finds(in: value, isOfMoment: isOfMoment) else { return }
        context.report(.momentaryDefault(name: name), at: value, fix: EntityFix.removingDefault(of: binding))
    }
}

/// Searches a default for a part that is another one at each moment: the time, a new identifier, a random value.
private final class MomentSearch: SyntaxVisitor {
    private static let makers: Set = ["Date", "Date.init", "UUID", "UUID.init"]
    /// Whether `.now` and `.init()` are of a date or an identifier.
    private let isOfMoment: Bool
    private var isFound = false

    private init(isOfMoment: Bool) {
        self.isOfMoment = isOfMoment
        super.init(viewMode: .sourceAccurate)
    }

    /// Whether `value` has such a part.
    ///
    /// - Parameter isOfMoment: whether the value is a date or an identifier.
    static func finds(in value: ExprSyntax, isOfMoment: Bool) -> Bool {
        let search = MomentSearch(isOfMoment: isOfMoment)
        search.walk(value)
        return search.isFound
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        let called = node.calledExpression
        let isMaker = Self.makers.contains(called.trimmedDescription) || isOfMoment && called.implicitMember == "init"
        if isMaker, node.arguments.isEmpty || node.arguments.first?.label?.text == "timeIntervalSinceNow" {
            isFound = true
        }
        if called.as(MemberAccessExprSyntax.self)?.declName.baseName.text == "random" { isFound = true }
        return .visitChildren
    }

    // `UUID(uuidString: "…") ?? UUID()` is a constant: its second part only satisfies the compiler.
    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        guard node.operator.trimmedDescription == "??", Self.isOfLiterals(node.leftOperand) else {
            return .visitChildren
        }
        return .skipChildren
    }

    override func visit(_ node: SequenceExprSyntax) -> SyntaxVisitorContinueKind {
        let elements = Array(node.elements)
        for (position, element) in elements.enumerated() {
            let isFallback = position > 1 && elements[position - 1].trimmedDescription == "??"
            if !isFallback || !Self.isOfLiterals(elements[position - 2]) { walk(element) }
        }
        return .skipChildren
    }

    /// Whether an expression is the call of an initializer or function with literals alone.
    private static func isOfLiterals(_ value: ExprSyntax) -> Bool {
        guard let call = value.as(FunctionCallExprSyntax.self), !call.arguments.isEmpty else { return false }
        return call.arguments.map(\.expression).allSatisfy {
            $0.is(StringLiteralExprSyntax.self) || $0.is(IntegerLiteralExprSyntax.self)
        }
    }

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
        let isImplicit = isOfMoment && node.base == nil && node.declName.baseName.text == "now"
        if isImplicit || node.trimmedDescription == "Date.now" { isFound = true }
        return .visitChildren
    }
}
