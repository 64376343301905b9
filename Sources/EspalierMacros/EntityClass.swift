// An entity class as `@Entity` reads it: its properties, the errors in it, and the generated description.
//
// Invariants
//   1. Every error is reported at its own place, all in one pass.
//   2. An error in the class itself suppresses all output; an error in one property leaves that property out.

import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

struct EntityClass {
    let declaration: ClassDeclSyntax
    private let attribute: AttributeSyntax

    /// Reads the class.
    ///
    /// Returns `nil` if `declaration` is not a class, which the peer expansion reports. Reports an error and returns
    /// `nil` if it inherits from nothing.
    init?(
        _ declaration: some DeclGroupSyntax, attribute: AttributeSyntax, in context: some MacroExpansionContext
    ) {
        guard let classDeclaration = declaration.as(ClassDeclSyntax.self) else { return nil }
        if let problem = Self.problem(of: classDeclaration) {
            context.report(problem.diagnostic, at: problem.place, fix: problem.fix)
            return nil
        }
        (self.declaration, self.attribute) = (classDeclaration, attribute)
    }

    /// The protocols that a class may name first by mistake; its superclass comes before them.
    private static let protocols: Set = [
        "AnyObject", "Codable", "Comparable", "CustomStringConvertible", "Decodable", "Encodable", "Equatable",
        "Hashable", "Identifiable", "Sendable",
    ]

    /// The reason why a class is no entity's: then it gets no members.
    static func problem(of declaration: ClassDeclSyntax) -> ModelledProperty.Problem? {
        let name = declaration.name
        if let parameters = declaration.genericParameterClause {
            return (.genericEntity(name: name.text), Syntax(parameters), nil)
        }
        guard let first = declaration.inheritanceClause?.inheritedTypes.first?.type else {
            let fixed = TokenSyntax.identifier("\(name.text): ManagedObject", trailingTrivia: name.trailingTrivia)
            return (
                .inheritsNothing(name: name.text), Syntax(name),
                EntityFix("inherit from ManagedObject", replacing: name, by: fixed)
            )
        }
        guard first.genericName.map(Self.protocols.contains) ?? false else { return nil }
        let fixed = TypeSyntax("ManagedObject, \(first.trimmed)").with(\.trailingTrivia, first.trailingTrivia)
        return (
            .inheritsNothing(name: name.text), Syntax(first),
            EntityFix("inherit from ManagedObject", replacing: first, by: fixed)
        )
    }

    /// The class property that names the entity.
    var entityName: DeclSyntax {
        "\(raw: accessLevel)override class var entityName: String { \(literal: name) }"
    }

    /// The class property that lists the properties of the entity.
    ///
    /// Its first statement is an error in words if the superclass is no entity: a macro sees only the name of that.
    func entityProperties(in context: some MacroExpansionContext) -> DeclSyntax {
        let modelled = properties(in: context)
        KeyPathGroups.check(in: declaration, modelled, actions: argument("constraintActions"), context)
        let properties = modelled.compactMap { $0.description(of: className, in: context) }
        let list = properties.isEmpty ? "[]" : "[\n\(properties.map { "        \($0),\n" }.joined())    ]"
        return """
            \(raw: accessLevel)override class var _entityProperties: [_PropertyDescription] {
                EntityDescription._checkClass(\(raw: typeName).self)
                return \(raw: list)
            }
            """
    }

    /// The class property that describes the entity.
    var entityDescription: DeclSyntax {
        let constraints = KeyPathGroups.constraints(in: declaration)
        let actions = constraints.compactMap { group in
            group.action.map { "(\(group.names), \($0.trimmedDescription))" }
        }
        let indexes = KeyPathGroups.indexes(in: declaration).map { index in
            let folding = index.ignored.map { ", folding: \($0.trimmedDescription)" } ?? ""
            let elements = index.names.map { ".init(\"\($0)\"\(folding))" }.joined(separator: ", ")
            let names = index.names.map { $0.split(separator: ".").joined(separator: "_") }
            let isPartial = index.condition != nil || index.predicate != nil
            let suffixes = (index.ignored == nil ? [] : ["folded"]) + (isPartial ? ["partial"] : [])
            let name = (names + suffixes).joined(separator: "_")
            if let predicate = index.predicate?.trimmedDescription {
                return "EntityDescription.Index("
                    + "\"\(name)\", of: \(typeName).self, on: [\(elements)], matching: \(predicate))"
            }
            let condition = index.condition.map { ", predicateFormat: \($0.trimmedDescription)" } ?? ""
            return "EntityDescription.Index(\"\(name)\", on: [\(elements)]\(condition))"
        }
        let arguments = [
            "\"\(name)\"", option("isAbstract"), "properties: Self._entityProperties",
            list("uniquenessConstraints", and: constraints.map { "\($0.names)" }), option("constraintActions"),
            actions.isEmpty ? nil : "groupActions: [\(actions.joined(separator: ", "))]",
            list("indexes", and: indexes), option("originalName", as: "renamingIdentifier"),
            name == className ? nil : "managedObjectClassName: \"\(className)\"",
            option("hashModifier", as: "versionHashModifier"),
        ]
        return """
            \(raw: accessLevel)override class var entityDescription: EntityDescription {
                EntityDescription(
                    \(raw: arguments.compactMap(\.self).joined(separator: ", ")))
            }
            """
    }

    /// The class property that lists the key paths of this class's properties, inherited ones included.
    ///
    /// None for a class that belongs to an actor: the description of a class belongs to none, and may not form such key
    /// paths.
    var propertyPaths: [DeclSyntax] {
        let isIsolated = declaration.attributes.contains { attribute in
            attribute.as(AttributeSyntax.self)?.attributeName.trimmedDescription.hasSuffix("Actor") == true
        }
        if isIsolated { return [] }
        let list: DeclSyntax = """
            \(raw: accessLevel)override class var _propertyPaths: [_PropertyPath] {
                _propertyPaths(of: \(raw: typeName).self)
            }
            """
        return [list, propertyPathsOfRoot]
    }

    /// The function that makes the key paths with a subclass as their root: key paths of two roots are never equal.
    private var propertyPathsOfRoot: DeclSyntax {
        let superclass = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription ?? "ManagedObject"
        // One statement for each property: the compiler checks them one by one, however many there are.
        let additions = propertiesWithPaths.map { property in
            let (name, mark) = (property.name, property.transientMark == nil ? "" : ", isTransient: true")
            return "    paths.append(_PropertyPath(\"\(name)\", \\_Root.`\(name)`, \\_Root?.?.`\(name)`\(mark)))\n"
        }
        return """
            \(raw: accessLevel)class func _propertyPaths<_Root: \(raw: typeName)>(
                of root: _Root.Type
            ) -> [_PropertyPath] {
                \(raw: additions.isEmpty ? "let" : "var") paths = \(raw: superclass)._propertyPaths(of: root)
            \(raw: additions.joined())    return paths
            }
            """
    }

    private var typeName: String { declaration.name.text }

    /// The attributes and relationships in source order, transient attributes included.
    private var propertiesWithPaths: [ModelledProperty] {
        declaration.memberBlock.members.compactMap { item in
            guard let variable = item.decl.as(VariableDeclSyntax.self),
                case .modelled(let property) = ModelledProperty.read(variable), property.fetchedMark == nil,
                !Self.reservedNames.contains(property.name)
            else { return nil }
            return property
        }
    }

    /// The argument of `@Entity` with the label `label`.
    private func argument(_ label: String) -> ExprSyntax? {
        attribute.labeledArguments.first { $0.label?.text == label }?.expression
    }

    /// The argument of `@Entity` with the label `label`, rewritten as an argument of the description.
    ///
    /// - Parameter name: the label in the description, if it differs.
    private func option(_ label: String, as name: String? = nil) -> String? {
        argument(label).map { "\(name ?? label): \($0.trimmedDescription)" }
    }

    /// The list that is the argument of `@Entity` with the label `label`, and the elements that macros in the body add.
    private func list(_ label: String, and elements: [String]) -> String? {
        let argument = argument(label)?.trimmedDescription
        if elements.isEmpty { return argument.map { "\(label): \($0)" } }
        return "\(label): \(argument.map { "\($0) + " } ?? "")[\(elements.joined(separator: ", "))]"
    }

    /// The name of the entity: that of the class, unless `@Entity` has the argument `name`.
    private var name: String {
        guard let given = argument("name")?.as(StringLiteralExprSyntax.self)?.plainText, given.isIdentifier else {
            return className
        }
        return given
    }

    private var className: String { declaration.name.text.trimmingBackticks }

    /// Reports a name of the entity that the macro cannot read, or that no entity can have.
    func checkName(in context: some MacroExpansionContext) {
        // The compiler refuses every other literal.
        guard let given = argument("name"), !given.isLiteral(otherThan: .text) else { return }
        let text = given.as(StringLiteralExprSyntax.self)?.plainText
        if text?.isEmpty == true {
            context.report(.emptyEntityName(className: className), at: given)
        } else if text?.isIdentifier != true {
            context.report(.entityNameNotLiteral, at: given)
        }
    }

    /// The access level of the class if its members must repeat it; otherwise empty.
    var accessLevel: String {
        let levels = declaration.modifiers.map(\.name.text)
        if levels.contains("public") || levels.contains("open") { return "public " }
        return levels.contains("package") ? "package " : ""
    }

    /// The modelled properties in source order; reports variables that cannot be modelled.
    private func properties(in context: some MacroExpansionContext) -> [ModelledProperty] {
        declaration.memberBlock.members.compactMap { item in
            check(item.decl, in: context)
            guard let variable = item.decl.as(VariableDeclSyntax.self) else { return nil }
            switch ModelledProperty.read(variable) {
            case .modelled(let property):
                if Self.reservedNames.contains(property.name), let binding = variable.bindings.first {
                    let other = className.prefix(1).lowercased() + className.dropFirst() + property.name.capitalized
                    context.report(
                        .reservedName(property.name), at: binding.pattern,
                        fix: EntityFix(
                            "rename it to '\(other)'", replacing: binding.pattern, by: PatternSyntax("\(raw: other)")))
                    return nil
                }
                return property
            case .ignored: return nil
            case .rejected(let diagnostic, let place, let fix):
                context.report(diagnostic, at: place, fix: fix)
                return nil
            }
        }
    }

    /// Reports the variables of the class that the macro declares, and returns their names.
    func reportGeneratedNames(in context: some MacroExpansionContext) -> [String] {
        declaration.memberBlock.members.compactMap { item in
            guard let variable = item.decl.as(VariableDeclSyntax.self), let binding = variable.bindings.first,
                ["entityName", "entityDescription"].contains(binding.pattern.trimmedDescription),
                variable.modifiers.contains(where: { ["class", "static"].contains($0.name.text) })
            else { return nil }
            let name = binding.pattern.trimmedDescription
            context.report(.generatedName(name), at: binding.pattern)
            return name
        }
    }

    /// The properties of `ManagedObject` itself, and those of every `Hashable` class.
    static let reservedNames: Set = [
        "objectID", "entity", "managedObjectContext", "hasChanges", "isInserted", "isUpdated", "isDeleted", "isFault",
        "faultingState", "hasPersistentChangedValues", "description", "debugDescription", "ref", "hashValue",
        "predicateExpression",
    ]

    /// Reports members, other than plain properties, that an entity class cannot have.
    private func check(_ member: DeclSyntax, in context: some MacroExpansionContext) {
        if let initializer = member.as(InitializerDeclSyntax.self) { check(initializer, in: context) }
        guard let conditional = member.as(IfConfigDeclSyntax.self) else { return }
        for clause in conditional.clauses {
            guard case .decls(let members)? = clause.elements else { continue }
            for item in members {
                check(item.decl, in: context)
                guard let variable = item.decl.as(VariableDeclSyntax.self) else { continue }
                if case .ignored = ModelledProperty.read(variable) { continue }
                let name = variable.bindings.first?.pattern.trimmedDescription ?? ""
                context.report(.conditional(name: name), at: variable.bindingSpecifier)
            }
        }
    }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst() }
}
