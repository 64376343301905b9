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
        let condition: ExprSyntax?
        let ignored: ExprSyntax?
    }

    /// The names in the groups of all macros called `name` in a class.
    static func groups(of name: String, in declaration: ClassDeclSyntax) -> [[String]] {
        paths(of: name, in: declaration).map { $0.compactMap { $0.propertyPath?.joined(separator: ".") } }
            .filter { !$0.isEmpty }
    }

    /// The indexes of all macros `#Index` in a class.
    static func indexes(in declaration: ClassDeclSyntax) -> [Index] {
        macros(called: "Index", in: declaration).flatMap { macro in
            func option(_ name: String) -> ExprSyntax? {
                macro.arguments.first { $0.label?.text == name }?.expression
            }
            return paths(of: macro).map { paths in
                Index(
                    names: paths.compactMap { $0.propertyPath?.joined(separator: ".") }, condition: option("where"),
                    ignored: option("ignoring"))
            }.filter { !$0.names.isEmpty }
        }
    }

    /// Reports the key paths of variables of the class itself that are not properties of the model.
    static func check(in declaration: ClassDeclSyntax, _ context: some MacroExpansionContext) {
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
