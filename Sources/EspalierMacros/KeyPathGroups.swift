// `#Index` and `#Unique`: groups of properties, each named by a key path that the compiler checks.
//
// Invariants
//   1. The macros themselves generate nothing: `@Entity` reads them in the body of its class.
//   2. A key path names one property of the model. The compiler checks that the property exists, `@Entity` that a
//      variable of its own class is modelled, and the model's checker the same of inherited ones.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The groups of `#Index` and `#Unique` in the body of a class.
enum KeyPathGroups {
    /// One index: its properties, its condition and the differences that it ignores, as the source has them.
    struct Index {
        let names: [String]
        /// The condition as text.
        let condition: ExprSyntax?
        /// The condition as a predicate.
        let predicate: ExprSyntax?
        let ignored: ExprSyntax?
    }

    /// One group of `#Unique`.
    struct Constraint {
        let names: [String]
        /// The action, unless it is none, or one that the compiler refuses where it stands.
        let action: ExprSyntax?
    }

    /// The names of the actions of constraints.
    static let actions: Set = ["refuse", "merge", "keep"]

    /// The constraints of all macros `#Unique` in a class.
    static func constraints(in declaration: ClassDeclSyntax) -> [Constraint] {
        macros(called: "Unique", in: declaration).flatMap { macro in
            let action = macro.argument("onConflict").flatMap { action in
                Literal(action) != nil || action.isImplicitMember(otherThan: actions) ? nil : action
            }
            return paths(of: macro).map { Constraint(names: $0.names, action: action) }.filter { !$0.names.isEmpty }
        }
    }

    /// The indexes of all macros `#Index` in a class.
    static func indexes(in declaration: ClassDeclSyntax) -> [Index] {
        macros(called: "Index", in: declaration).flatMap { macro in
            // The compiler refuses a literal of another kind where it stands.
            let condition = macro.argument("where").flatMap { $0.isLiteral(otherThan: .text, .nothing) ? nil : $0 }
            let predicate = macro.argument("matching").flatMap { Literal($0) == nil ? $0 : nil }
            let ignored = macro.argument("ignoring").flatMap { $0.isLiteral(otherThan: .list) ? nil : $0 }
            return paths(of: macro).map { paths in
                Index(names: paths.names, condition: condition, predicate: predicate, ignored: ignored)
            }.filter { !$0.names.isEmpty }
        }
    }

    /// Reports the key paths of variables of the class itself that are not properties of the model, conditions that the
    /// compiler cannot read, groups that are unique already, and actions of groups that have one already.
    ///
    /// - Parameters:
    ///   - properties: the properties of the class.
    ///   - actions: the actions by group in `@Entity`.
    static func check(
        in declaration: ClassDeclSyntax, _ properties: [ModelledProperty], actions: ExprSyntax?,
        _ context: some MacroExpansionContext
    ) {
        var ignored: Set<String> = []
        for item in declaration.memberBlock.members {
            guard let variable = item.decl.as(VariableDeclSyntax.self), let binding = variable.bindings.first,
                case .ignored = ModelledProperty.read(variable)
            else { continue }
            ignored.insert(binding.pattern.trimmedDescription.trimmingBackticks)
        }
        for macro in ["Index", "Unique"] {
            for path in paths(of: macro, in: declaration).joined() {
                guard let name = path.propertyPath?.first, ignored.contains(name) else { continue }
                context.report(.groupOfUnmodelledProperty(macro: macro, name: name), at: path)
            }
        }
        for macro in macros(called: "Index", in: declaration) {
            guard let predicate = macro.argument("matching"), predicate.is(MacroExpansionExprSyntax.self) else {
                continue
            }
            context.report(.macroInCondition, at: predicate)
        }
        var known = Set(properties.filter(\.isUnique).map { Set([$0.name]) })
        let taken = actions?.as(DictionaryExprSyntax.self)?.textKeys ?? []
        for macro in macros(called: "Unique", in: declaration) {
            for group in macro.arguments where group.label == nil {
                let names = group.expression.as(ArrayExprSyntax.self)?.elements.map(\.expression).names ?? []
                if names.isEmpty { continue }
                if !known.insert(Set(names)).inserted {
                    context.report(.groupTwice(names: names), at: group.expression)
                } else if let action = macro.argument("onConflict"), taken.contains(names) {
                    context.report(.actionTwice(names: names), at: action)
                }
            }
        }
    }

    private static func paths(of name: String, in declaration: ClassDeclSyntax) -> [[ExprSyntax]] {
        macros(called: name, in: declaration).flatMap(paths)
    }

    private static func macros(called name: String, in declaration: ClassDeclSyntax) -> [MacroExpansionDeclSyntax] {
        declaration.memberBlock.members.compactMap { item in
            item.decl.as(MacroExpansionDeclSyntax.self).flatMap { $0.macroName.text == name ? $0 : nil }
        }
    }

    private static func paths(of macro: MacroExpansionDeclSyntax) -> [[ExprSyntax]] {
        // Not filtered: a filtered list is a copy, in which nodes have no places.
        macro.arguments.compactMap { argument in
            if argument.label != nil { return nil }
            return argument.expression.as(ArrayExprSyntax.self)?.elements.map(\.expression) ?? []
        }
    }
}

extension MacroExpansionDeclSyntax {
    /// The argument with a label.
    fileprivate func argument(_ label: String) -> ExprSyntax? {
        arguments.first { $0.label?.text == label }?.expression
    }
}

extension LabeledExprListSyntax {
    /// Reports a condition as a predicate beside one as text.
    func reportTwoConditions(in context: some MacroExpansionContext) {
        let labels = lazy.filter { !$0.expression.is(NilLiteralExprSyntax.self) }.compactMap(\.label?.text)
        guard labels.contains("where"), labels.contains("matching"),
            let predicate = first(where: { $0.label?.text == "matching" })?.expression
        else { return }
        context.report(.twoConditions, at: predicate)
    }
}

extension [ExprSyntax] {
    /// The names to which key paths lead.
    fileprivate var names: [String] { compactMap { $0.propertyPath?.joined(separator: ".") } }
}

extension DictionaryExprSyntax {
    /// The keys that are lists of texts.
    fileprivate var textKeys: [[String]] {
        guard case .elements(let elements) = content else { return [] }
        return elements.compactMap { element in
            element.key.as(ArrayExprSyntax.self)?.elements.compactMap {
                $0.expression.as(StringLiteralExprSyntax.self)?.plainText
            }
        }
    }
}

/// The macros `#Index` and `#Unique`, which report their own errors.
enum KeyPathGroupsMacro: DeclarationMacro {
    static func expansion(
        of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let name = node.macroName.text
        guard let owner = context.lexicalContext.first?.as(ClassDeclSyntax.self),
            owner.attributes.attribute(named: "Entity") != nil
        else {
            context.report(.groupsOutsideEntity(macro: name), at: node)
            return []
        }
        let className = owner.name.text.trimmingBackticks
        if let argument = node.genericArgumentClause?.arguments.first?.argument,
            argument.trimmedDescription.split(separator: ".").last.map(String.init) != className
        {
            context.report(
                .groupsOfOtherClass(macro: name, className: className), at: argument,
                fix: EntityFix("write '\(className)'", replacing: argument, by: TypeSyntax("\(raw: className)")))
        }
        node.arguments.reportTwoConditions(in: context)
        if !node.arguments.contains(where: { $0.label == nil }) { context.report(.noGroups(macro: name), at: node) }
        for group in node.arguments where group.label == nil {
            guard let list = group.expression.as(ArrayExprSyntax.self), !list.elements.isEmpty else {
                context.report(.groupNotLiteral(macro: name), at: group.expression)
                continue
            }
            for element in list.elements {
                guard let path = element.expression.propertyPath, let property = path.first,
                    path.count == 1 || name == "Index"
                else {
                    context.report(.groupNotLiteral(macro: name), at: element.expression)
                    continue
                }
                if EntityClass.reservedNames.contains(property) {
                    context.report(.groupOfUnmodelledProperty(macro: name, name: property), at: element.expression)
                }
            }
        }
        return []
    }
}
