// The rules of attributes in model files, and the parts of a model that files have no words for.

import EspalierModel
import EspalierModelFile
import Foundation
import Testing

@Suite struct ModelRuleTests {
    @Test func `rules of attributes are read, written in their order and made classes (MD-16)`() throws {
        let xml = """
            <model><entity name='A'>
            <attribute name='pay' attributeType='Integer 32' maxValueString='9' minValueString='0' \
            regularExpressionString=''/>
            <attribute name='day' optional='YES' attributeType='Date' minDateTimeInterval='-0.5'/>
            <attribute name='code' attributeType='String' regularExpressionString='[A-Z]+' maxValueString='3'/>
            </entity></model>
            """
        let model = try ManagedObjectModel(try ModelDocument(xml: Data(xml.utf8)))
        let rules = try #require(model.entity(named: "A")).attributes.map(\.description.validationRules)

        let day = Date(timeIntervalSinceReferenceDate: -0.5)
        #expect(
            rules == [
                [ValidationRule(.maximum(.integer(9))), ValidationRule(.minimum(.integer(0)))],
                [ValidationRule(.minimum(.date(day)))],
                [ValidationRule(.pattern("[A-Z]+")), ValidationRule(.maximumLength(3))],
            ])
        let document = try ModelDocument(model)
        let text = String(decoding: try document.xml(), as: UTF8.self)
        #expect(text.contains("attributeType=\"Integer 32\" maxValueString=\"9\" minValueString=\"0\"/>"))
        #expect(text.contains("attributeType=\"Date\" minDateTimeInterval=\"-0.5\"/>"))
        #expect(text.contains("attributeType=\"String\" regularExpressionString=\"[A-Z]+\" maxValueString=\"3\"/>"))
        #expect(try ManagedObjectModel(try ModelDocument(xml: Data(text.utf8))).descriptions == model.descriptions)
        let source = try EntityClassSource(model, origin: "a test")
        #expect(source.text.contains("@Attribute(.maximum(9), .minimum(0)) var pay: Int32\n"))
        #expect(source.text.contains("@Attribute(.pattern(\"[A-Z]+\"), .maximumLength(3)) var code: String\n"))
        #expect(source.omissions.isEmpty)
    }

    @Test func `rules that Espalier does not check are left out one by one, also in composites`() throws {
        let xml = """
            <model><entity name='A'>
            <attribute name='n' attributeType='String' minValueString='2' regularExpressionString='(' />
            <attribute name='c' attributeType='Composite' composite='C'/></entity>
            <composite name='C'>
            <attribute name='p' attributeType='String' maxValueString='3' regularExpressionString='['/>
            </composite></model>
            """
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")
        let problems = try document.conversion().unsupported

        #expect(problems.map(\.kind) == [.unsupported(.validationRules), .unsupported(.validationRules)])
        #expect(problems[0].description.hasPrefix("line 2: entity 'A', attribute 'n': has the rule regularExp"))
        #expect(
            problems[1].description.hasPrefix(
                "line 5: entity 'A', attribute 'c', attribute 'p': has the rule regularExpressionString=\"[\", which "))
        let model = try ManagedObjectModel(document, ignoring: [.validationRules])
        #expect(model.descriptions[0].attributes[0].validationRules == [ValidationRule(.minimumLength(2))])
        let parts = model.descriptions[0].attributes[1].elements
        #expect(parts.map(\.validationRules) == [[ValidationRule(.maximumLength(3))]])
        let source = try EntityClassSource(model, origin: "a test")
        #expect(source.text.contains("@Attribute(.maximumLength(3)) var p: String"))
    }

    @Test func `parts of a request that model files have no words for are refused by name`() throws {
        var template = FetchRequestTemplate("q", entity: "A", includesPropertyValues: false)
        func model() throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [EntityDescription("A")], fetchRequestTemplates: [template])
        }
        #expect(try ModelDocument(model()).conversion().fetchRequestTemplates == [template])
        template.sortElements = [.init("n")]
        template.fetchOffset = 2
        template.relationshipKeyPathsForPrefetching = ["r"]
        let error = #expect(throws: ModelFileError.self) { _ = try ModelDocument(model()) }
        #expect(error?.problems.map(\.kind) == [.inexpressible, .inexpressible, .inexpressible])
        for part in ["an order", "an offset", "prefetched relationships"] {
            #expect(error.map { "\($0)".contains("fetchRequest 'q'") && "\($0)".contains(part) } == true, "\(part)")
        }
    }

    @Test func `rules, actions and messages that files have no words for are refused by name (MD-16, F-6, MD-07)`()
        throws
    {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription(
                            "n", .string,
                            validationRules: [
                                ValidationRule(.predicate("SELF != 'x'")),
                                ValidationRule(.maximumLength(3), message: "too long"),
                                ValidationRule(.maximumLength(2)), ValidationRule(.minimum(.string("a"))),
                            ]),
                        AttributeDescription("b", .binary, validationRules: [ValidationRule(.minimumLength(1))]),
                    ], uniquenessConstraints: [["n", "b"], ["n"]], constraintActions: [["n", "b"]: .merge])
            ]
        ).localized(["de": MessageTable([1570: "fehlt"])])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(model, path: "f") }

        #expect(error.problems.allSatisfy { $0.kind == .inexpressible })
        #expect(
            error.problems.map(\.description) == [
                "model: has messages (de), which model files cannot express; add them in code",
                "entity 'A', attribute 'n': has a condition that model files cannot express for type string; "
                    + "set it in code",
                "entity 'A', attribute 'n': has a maximum length with a message, which model files cannot express; "
                    + "set it in code",
                "entity 'A', attribute 'n': has a maximum length twice, which model files cannot express; "
                    + "combine the two",
                "entity 'A', attribute 'n': has a minimum that model files cannot express for type string; "
                    + "set it in code",
                "entity 'A', attribute 'b': has a minimum length that model files cannot express for type binary; "
                    + "set it in code",
                "entity 'A', uniquenessConstraint 'n, b': has the action merge, which model files cannot express; "
                    + "set it in code",
            ])
    }
}
