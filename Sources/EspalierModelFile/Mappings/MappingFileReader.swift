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
//   3. Work is bounded: an object with its texts, an archive and a part of an expression count each time that they are
//      named. The editor names each object once, so the texts of all objects may be read once, and few again.

import EspalierModel
import FoundationEssentials

struct MappingFileReader {
    private struct Object {
        let type: String
        let line: Int
        var attributes: [String: (text: String, line: Int)] = [:]
        var references: [String: [String]] = [:]
        /// The bytes of all texts: the cost of each step of the work on the object.
        var byteCount = 0

        /// The text of an attribute; `nil` if it is absent or empty.
        func text(_ name: String) -> String? { attributes[name].flatMap { $0.text.isEmpty ? nil : $0.text } }

        func isTrue(_ name: String) -> Bool { ["1", "YES", "true"].contains(attributes[name]?.text) }
    }

    private(set) var problems: [ModelFileError.Problem] = []
    private var objects: [String: Object] = [:]
    /// The number of references that may still be followed: the editor names each object once.
    private var referenceBudget = XMLReader.elementCountMax
    /// The bytes of text that the objects to which references lead may still have.
    private var textBudget = Self.repeatedByteCountMax
    /// The number of parts that all expressions may still have.
    private var expressionBudget = 100_000

    /// The maximum number of bytes that are read again, because several references lead to one object.
    private static let repeatedByteCountMax = 16 << 20

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
        let numbered = mappings.enumerated().map { (place: $0.offset, number: number($0.element)) }
            .sorted { $0.number == $1.number ? $0.place < $1.place : $0.number < $1.number }
        var result = MappingDescription(numbered.map { entityMapping(mappings[$0.place]) })
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
                report(.missingAttribute, child.line, "\(Self.label(type, id)), \(child.name)", "needs a name")
                continue
            }
            switch child.name {
            case "attribute":
                object.attributes[name] = (child.text, child.line)
                object.byteCount += child.text.utf8.count
            case "relationship":
                let ids = child["idrefs"] ?? ""
                object.references[name] = ids.split(separator: " ").map(String.init)
                object.byteCount += ids.utf8.count
            default: report(.unknownElement, child.line, Self.label(type, id), "<\(child.name)> is not expected here")
            }
        }
        guard objects.updateValue(object, forKey: id) == nil else {
            return report(.invalidValue, element.line, Self.label(type, id), "another object has the same id")
        }
        textBudget += object.byteCount
    }

    /// The objects to which a relationship leads.
    private mutating func referents(
        of object: Object, _ relationship: String, _ type: String, _ owner: String
    ) -> [Object] {
        // Once the file has named too much, it has no meaning, and nothing of it is read any more.
        guard textBudget >= 0 else { return [] }
        let (ids, line) = (object.references[relationship] ?? [], object.line)
        guard ids.count <= referenceBudget else {
            report(
                .tooLarge, line, owner,
                "\(relationship): the file follows more than \(XMLReader.elementCountMax) references; name each object "
                    + "once")
            return []
        }
        referenceBudget -= ids.count
        var found: [Object] = []
        for id in ids {
            guard let object = objects[id], object.type == type else {
                report(
                    .invalidModel, line, owner,
                    "\(relationship): there is no object '\(id.shortened)' of type \(type)")
                continue
            }
            textBudget -= object.byteCount
            guard textBudget >= 0 else {
                report(
                    .tooLarge, line, owner,
                    "\(relationship): the objects that are named again and again have more than "
                        + "\(Self.repeatedByteCountMax) bytes of text; name each object once")
                return []
            }
            found.append(object)
        }
        return found
    }

    private func number(_ object: Object) -> Int { object.text("mappingnumber").flatMap { Int($0) } ?? .max }

    /// The name of an object in reports; a file may repeat a long one in each of them.
    private static func label(_ type: String, _ id: String) -> String { "\(type.shortened) '\(id.shortened)'" }

    /// Adds a problem, unless there are enough already; only then its texts are made.
    private mutating func report(
        _ kind: ModelFileError.Kind, _ line: Int, _ element: @autoclosure () -> String?,
        _ message: @autoclosure () -> String
    ) {
        guard problems.count < ModelElementChecker.problemCountMax else { return }
        problems.append(ModelFileError.Problem(kind, line: line, element: element(), message()))
    }

    // MARK: Mappings

    private mutating func entityMapping(_ object: Object) -> EntityMappingDescription {
        let (source, destination) = (object.text("sourcename"), object.text("destinationname"))
        let ends = [source, destination].compactMap(\.self)
        let name = object.text("name") ?? ends.joined(separator: "To")
        let element = "entity mapping '\(name.shortened)'"
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
            let source = propertySource(property, "\(element), property '\(name.shortened)'", name)
            mapping.propertyMappings.append(PropertyMappingDescription(name, source))
        }
        return mapping
    }

    private mutating func propertySource(
        _ object: Object, _ element: @autoclosure () -> String, _ name: String
    ) -> PropertyMappingDescription.Source {
        if !object.isTrue("autogenerateexpression"),
            let expression = expression(object, "valueexpressiondata", element())
        {
            return expression.propertySource
        }
        let (path, mapping) = (object.text("sourcekeypath"), object.text("sourcemappingname"))
        guard object.type == "XDDEVRELATIONSHIPMAPPING", path != nil || mapping != nil else { return .sameName }
        let expression = ArchivedExpression.source(path: ArchivedExpression.relative(path ?? name))
        return ArchivedExpression.following(expression, through: mapping).propertySource
    }

    /// The expression in an attribute; `nil` if there is none, or it is damaged, which is reported.
    private mutating func expression(
        _ object: Object, _ name: String, _ element: @autoclosure () -> String
    ) -> ArchivedExpression? {
        guard let (text, line) = object.attributes[name], !text.isEmpty else { return nil }
        // An archive that several references lead to is decoded for each of them.
        expressionBudget -= ArchivedExpressionReader.parts(in: text.utf8.count)
        guard expressionBudget >= 0 else {
            reportManyParts(line, element(), name)
            return nil
        }
        guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
            report(.invalidValue, line, element(), "\(name) is not base64")
            return nil
        }
        do throws(ArchivedExpressionError) {
            return try ArchivedExpression(Array(bytes), budget: &expressionBudget)
        } catch {
            switch error {
            case .noExpression:
                report(.malformedArchive, line, element(), "\(name) is not the archive of an expression")
            case .tooManyParts: reportManyParts(line, element(), name)
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
