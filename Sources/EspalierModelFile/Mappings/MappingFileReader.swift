// The meaning of a mapping file: a store of the model editor's own objects, as XML.
//
//   database > object (type, id) > attribute (name, type; text) and relationship (name, idrefs)
// One XDDEVMAPPINGMODEL refers to each XDDEVENTITYMAPPING, and this to each XDDEVATTRIBUTEMAPPING and
// XDDEVRELATIONSHIPMAPPING.
//
// Invariants
//   1. References are followed downwards only: from the model to entities, from an entity to properties. So a file
//      whose references form a cycle ends.
//   2. Objects to which none of these references leads are leftovers of the editor, and have no meaning.
//   3. Work is bounded: an object, an archive and a part of an expression count each time that they are named.

import EspalierModel
import FoundationEssentials

struct MappingFileReader {
    private struct Object {
        let type: String
        let line: Int
        var attributes: [String: (text: String, line: Int)] = [:]
        var references: [String: [String]] = [:]

        /// The text of an attribute; `nil` if it is absent or empty.
        func text(_ name: String) -> String? { attributes[name].flatMap { $0.text.isEmpty ? nil : $0.text } }

        func isTrue(_ name: String) -> Bool { ["1", "YES", "true"].contains(attributes[name]?.text) }
    }

    private(set) var problems: [ModelFileError.Problem] = []
    private var objects: [String: Object] = [:]
    /// The number of references that may still be followed: the editor names each object once.
    private var referenceBudget = XMLReader.elementCountMax
    /// The number of parts that all expressions may still have.
    private var expressionBudget = 100_000

    /// The mappings in a document; without a meaning if `problems` are found.
    mutating func description(of root: XMLElement) -> MappingDescription {
        guard root.name == "database" else {
            report(.unknownElement, root.line, nil, "a mapping file begins with <database>, not with <\(root.name)>")
            return MappingDescription()
        }
        for element in root.children where element.name == "object" { note(element) }
        let models = objects.values.filter { $0.type == "XDDEVMAPPINGMODEL" }
        guard let model = models.first, models.count == 1 else {
            report(
                .invalidModel, root.line, nil,
                "the file has \(models.count) mapping models; it must have one object of type XDDEVMAPPINGMODEL")
            return MappingDescription()
        }
        let mappings = referents(of: model, "entitymappings", "XDDEVENTITYMAPPING", "the mapping model")
        let numbered = mappings.enumerated().sorted {
            let (left, right) = (number($0.element), number($1.element))
            return left == right ? $0.offset < $1.offset : left < right
        }
        var result = MappingDescription(numbered.map { entityMapping($0.element) })
        result.sourceModelPath = model.text("sourcemodelpath")
        result.destinationModelPath = model.text("destinationmodelpath")
        return result
    }

    // MARK: Objects

    private mutating func note(_ element: XMLElement) {
        guard let type = element["type"], let id = element["id"] else {
            return report(.missingAttribute, element.line, "object", "needs a type and an id")
        }
        var object = Object(type: type, line: element.line)
        for child in element.children {
            guard let name = child["name"] else {
                report(.missingAttribute, child.line, "\(type) '\(id)', \(child.name)", "needs a name")
                continue
            }
            switch child.name {
            case "attribute":
                object.attributes[name] = (child.text, child.line)
            case "relationship":
                object.references[name] = (child["idrefs"] ?? "").split(separator: " ").map(String.init)
            default: report(.unknownElement, child.line, "\(type) '\(id)'", "<\(child.name)> is not expected here")
            }
        }
        guard objects.updateValue(object, forKey: id) == nil else {
            return report(.invalidValue, element.line, "\(type) '\(id)'", "another object has the same id")
        }
    }

    /// The objects to which a relationship leads.
    private mutating func referents(
        of object: Object, _ relationship: String, _ type: String, _ owner: String
    ) -> [Object] {
        let ids = object.references[relationship] ?? []
        guard ids.count <= referenceBudget else {
            report(
                .tooLarge, object.line, owner,
                "\(relationship): the file follows more than \(XMLReader.elementCountMax) references; name each object "
                    + "once")
            return []
        }
        referenceBudget -= ids.count
        return ids.compactMap { id in
            guard let found = objects[id], found.type == type else {
                report(.invalidModel, object.line, owner, "\(relationship): there is no object '\(id)' of type \(type)")
                return nil
            }
            return found
        }
    }

    private func number(_ object: Object) -> Int { object.text("mappingnumber").flatMap { Int($0) } ?? .max }

    private mutating func report(
        _ kind: ModelFileError.Kind, _ line: Int, _ element: String?, _ message: String
    ) {
        guard problems.count < ModelElementChecker.problemCountMax else { return }
        problems.append(ModelFileError.Problem(kind, line: line, element: element, message))
    }

    // MARK: Mappings

    private mutating func entityMapping(_ object: Object) -> EntityMappingDescription {
        let (source, destination) = (object.text("sourcename"), object.text("destinationname"))
        let ends = [source, destination].compactMap(\.self)
        let name = object.text("name") ?? ends.joined(separator: "To")
        let element = "entity mapping '\(name)'"
        if ends.isEmpty {
            report(.missingAttribute, object.line, element, "needs a sourcename, a destinationname or both")
        }
        var mapping = EntityMappingDescription(name, from: source, to: destination)
        mapping.predicateFormat = object.text("sourcefilterpredicatestring")
        mapping.policyClassName = object.text("migrationpolicyclassname")
        if !object.isTrue("autogenerateexpression"),
            let expression = expression(object, "sourceexpressiondata", element)
        {
            mapping.sourceExpression = expression.text
        }
        for property in referents(of: object, "attributemappings", "XDDEVATTRIBUTEMAPPING", element)
            + referents(of: object, "relationshipmappings", "XDDEVRELATIONSHIPMAPPING", element)
        {
            guard let name = property.text("name") else {
                report(.missingAttribute, property.line, element, "a property mapping needs a name")
                continue
            }
            let source = propertySource(property, "\(element), property '\(name)'", name)
            mapping.propertyMappings.append(PropertyMappingDescription(name, source))
        }
        return mapping
    }

    private mutating func propertySource(
        _ object: Object, _ element: String, _ name: String
    ) -> PropertyMappingDescription.Source {
        if !object.isTrue("autogenerateexpression"),
            let expression = expression(object, "valueexpressiondata", element)
        {
            return expression.propertySource
        }
        let (path, mapping) = (object.text("sourcekeypath"), object.text("sourcemappingname"))
        guard object.type == "XDDEVRELATIONSHIPMAPPING", path != nil || mapping != nil else { return .sameName }
        let expression = ArchivedExpression.source(path: ArchivedExpression.relative(path ?? name))
        return ArchivedExpression.following(expression, through: mapping).propertySource
    }

    /// The expression in an attribute; `nil` if there is none, or it is damaged, which is reported.
    private mutating func expression(_ object: Object, _ name: String, _ element: String) -> ArchivedExpression? {
        guard let (text, line) = object.attributes[name], !text.isEmpty else { return nil }
        // An archive that several references lead to is decoded for each of them.
        expressionBudget -= ArchivedExpressionReader.parts(in: text.utf8.count)
        guard expressionBudget >= 0 else {
            reportManyParts(line, element, name)
            return nil
        }
        guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            report(.invalidValue, line, element, "\(name) is not base64")
            return nil
        }
        do throws(ArchivedExpressionError) {
            return try ArchivedExpression(Array(bytes), budget: &expressionBudget)
        } catch {
            switch error {
            case .noExpression:
                report(.malformedArchive, line, element, "\(name) is not the archive of an expression")
            case .tooManyParts: reportManyParts(line, element, name)
            }
            return nil
        }
    }

    private mutating func reportManyParts(_ line: Int, _ element: String, _ name: String) {
        report(
            .tooLarge, line, element,
            "\(name) has too many parts; write a simpler expression, or set the value in a migration policy")
    }
}
