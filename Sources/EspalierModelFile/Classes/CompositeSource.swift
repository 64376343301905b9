// Writes the `@Composite` structs of a model: the types of its composite attributes as Swift source.
//
// Invariants
//   1. Two attributes share a struct exactly if they have the same type name and the same elements.
//   2. No struct has the name of an entity, of a class, or of a type that generated source uses.
//   3. A path names an attribute as `Entity.attribute`, and an element as `Entity.attribute.element`.

import EspalierModel

/// The structs of composite attributes, and what they leave out.
struct CompositeSource {
    /// The source of all structs so far, each after those that it uses.
    private(set) var text = ""
    /// One sentence for each part of an attribute that no struct expresses.
    private(set) var omissions: [String] = []
    private(set) var usesFoundation = false

    private let namesInFile: CompositeNames?
    /// The names of all entities and of their classes.
    private let entityNames: Set<String>
    /// The bodies of the structs, by name.
    private var bodies: [String: String] = [:]
    /// The name of the struct of an attribute or element, by path.
    private var typeNames: [String: String] = [:]

    init(of model: ManagedObjectModel, _ classNames: ClassNames, namesInFile: CompositeNames?) {
        self.namesInFile = namesInFile
        entityNames = classNames.all.union(model.entities.map(\.name))
    }

    /// The struct of a composite attribute; `nil` if none of its elements can be a property.
    mutating func typeName(of attribute: AttributeDescription, at path: String) -> String? {
        var (body, hasProperty) = ("", false)
        for element in attribute.elements {
            if let line = property(element, at: "\(path).\(element.name)") {
                body += line
                hasProperty = true
            } else {
                body += "    // \(element.name): no element of a struct has the type \(element.type).\n"
            }
        }
        guard hasProperty else { return nil }
        let name = name(of: path, body)
        typeNames[path] = name
        if bodies.updateValue(body, forKey: name) == nil {
            text += "\n@Composite\nstruct \(name) {\n\(body)}\n"
        }
        return name
    }

    /// The expression for a value of the attribute at `path`, whose struct has been written; `nil` if there is none.
    func expression(_ value: AttributeValue, of attribute: AttributeDescription, at path: String) -> String? {
        guard attribute.type == .composite, case .composite(let parts) = value else {
            return SwiftText.expression(value, isOptional: attribute.isOptional)
        }
        guard let name = typeNames[path] else { return nil }
        var arguments: [String] = []
        for element in attribute.elements {
            let elementPath = "\(path).\(element.name)"
            let part = parts[element.name] ?? .null
            guard hasProperty(element, at: elementPath) else {
                if part.isNull { continue }
                return nil
            }
            let text =
                part.isNull
                ? element.isOptional ? "nil" : nil : expression(part, of: element, at: elementPath)
            guard let text else { return nil }
            arguments.append("\(SwiftText.identifier(element.name)): \(text)")
        }
        return "\(name)(\(arguments.joined(separator: ", ")))"
    }

    /// The declaration of an element; `nil`, and an omission, if its type is none of a property.
    private mutating func property(_ element: AttributeDescription, at path: String) -> String? {
        let type = element.type == .composite ? typeName(of: element, at: path) : SwiftText.typeName(of: element.type)
        guard let type else {
            omissions.append(
                "'\(path)' of type \(element.type) is left out: an element of a struct cannot have this type")
            return nil
        }
        usesFoundation = usesFoundation || SwiftText.foundationTypes.contains(type)
        noteParts(of: element, at: path)
        let rules = element.validationRules.compactMap(SwiftText.option)
        let mark = rules.isEmpty ? "" : "@Attribute(\(rules.joined(separator: ", "))) "
        let declaration =
            "    \(mark)var \(SwiftText.identifier(element.name)): \(type)\(element.isOptional ? "?" : "")"
        if element.defaultValue.isNull { return declaration + "\n" }
        guard let value = expression(element.defaultValue, of: element, at: path) else {
            omissions.append("the default of '\(path)' is left out: no Swift literal expresses it")
            return declaration + "\n"
        }
        return "\(declaration) = \(value)\n"
    }

    /// Notes the parts of an element that a property of a struct cannot have.
    private mutating func noteParts(of element: AttributeDescription, at path: String) {
        if element.renamingIdentifier != nil { omissions.append("the former name of '\(path)' is left out") }
        if element.versionHashModifier != nil { omissions.append("the hash modifier of '\(path)' is left out") }
        if element.allowsExternalBinaryDataStorage {
            omissions.append("the storage of '\(path)' in a file of its own is left out")
        }
        if element.validationRules.contains(where: { SwiftText.option($0) == nil }) {
            omissions.append("a rule of '\(path)' is left out: no Swift literal expresses its limit")
        }
        if !element.userInfo.isEmpty { omissions.append("the user info of '\(path)' is left out") }
    }

    private func hasProperty(_ element: AttributeDescription, at path: String) -> Bool {
        element.type == .composite ? typeNames[path] != nil : SwiftText.typeName(of: element.type) != nil
    }

    /// The name of the struct for the attribute at `path`: the one in the model file, or the path as one word.
    private func name(of path: String, _ body: String) -> String {
        let words = path.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        let stem = namesInFile?.name(at: path).flatMap { canName($0) ? $0 : nil } ?? words
        var (name, number) = (stem, 2)
        while !canName(name) || bodies[name].map({ $0 != body }) ?? false {
            name = "\(stem)\(number)"
            number += 1
        }
        return name
    }

    /// Whether a struct can have this name.
    private func canName(_ name: String) -> Bool {
        SwiftText.canNameType(name) && !entityNames.contains(name)
    }
}
