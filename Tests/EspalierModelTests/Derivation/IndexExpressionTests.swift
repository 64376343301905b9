// Expressions of indexes as a model has them: what the checker refuses, the types of their values, and their bytes
// (FR-25).

import EspalierModel
import Foundation
import Testing

@Suite struct IndexExpressionTests {
    private static func model(_ elements: EntityDescription.Index.Element...) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("quantity", .integer64),
                    AttributeDescription("price", .decimal), AttributeDescription("weight", .double),
                    AttributeDescription("day", .date), AttributeDescription("key", .uuid),
                    AttributeDescription("shown", .string, isTransient: true),
                    AttributeDescription(
                        "size", .composite, elements: [AttributeDescription("width", .integer32)]),
                ],
                relationships: [RelationshipDescription("box", to: "Box", inverse: "items")],
                indexes: elements.isEmpty ? [] : [.init("i", on: elements)]),
            EntityDescription("Rare", superentity: "Item"),
            EntityDescription(
                "Box", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("items", to: "Item", inverse: "box", .toMany)]),
        ])
    }

    private static func expression(_ format: String) throws -> IndexExpression {
        let model = try model()
        return try IndexExpression(format: format, for: model.entities[0], in: model)
    }

    // MARK: What an index can have

    @Test(arguments: [
        ("lowercase:(name)", AttributeType.string, ["name"]), ("price * quantity", .undefined, ["price", "quantity"]),
        ("sqrt(weight)", .undefined, ["weight"]), ("day + 3600", .date, ["day"]),
        ("size.width + 1", .undefined, ["size"]), ("CAST(quantity, 'string')", .string, ["quantity"]),
        ("TERNARY(box == nil, 0, quantity)", .undefined, ["box", "quantity"]),
        ("TERNARY(name IN {'a', 'b'} OR name LIKE 'x*', key, key)", .uuid, ["name", "key"]),
        ("CAST(name, 'boolean')", .boolean, ["name"]),
    ])
    func `a function of the object's own values has one type`(
        format: String, type: AttributeType, properties: [String]
    ) throws {
        let expression = try Self.expression(format)
        let item = try Self.model().entities[0]
        #expect(expression.type == type)
        #expect(expression.properties == Set(properties.compactMap { item.property(named: $0) }))
    }

    @Test func `spellings of one expression are equal, and other expressions are not`() throws {
        let lower = try Self.expression("lowercase:( name )")
        #expect(try lower == Self.expression("lowercase(name)"))
        #expect(try lower.text == Self.expression("lowercase(name)").text)
        #expect(try lower != Self.expression("uppercase(name)"))
        #expect(try Self.expression("quantity * 2") != Self.expression("2 * quantity"))
    }

    @Test func `model files name the type of the values`() throws {
        #expect(try Self.expression("price * quantity").resultType == .decimal)
        #expect(try Self.expression("weight / quantity").resultType == .double)
        #expect(try Self.expression("uppercase(name)").resultType == .string)
    }

    // MARK: What it cannot have

    @Test(arguments: [
        ("name", "it is a property"), ("canonical:(name)", "folding: [.caseInsensitive, .diacriticInsensitive]"),
        ("1 + 2", "reads no property"), ("now()", "the time is another one"),
        ("day - now()", "the time is another one"),
        ("random()", "same answer each time"), ("lowercase(box.name)", "derive an attribute"),
        ("box.items.@count", "derive an attribute"), ("box", "it is a property"), ("size", "it is a property"),
        ("SELF", "derive an attribute"), ("sum({quantity, 1})", "derive an attribute"),
        ("$limit + quantity", "variable $limit is not bound"), ("entity.name", "the name of the entity"),
        ("{name, name}", "single values"), ("lowercase(quantity)", "found 'quantity', which is of type"),
        ("lowercase(shown)", "is not stored"), ("lowercase(nam)", "did you mean 'name'?"), ("lowercase(", "expected"),
        ("noindex(name)", "noindex hides it"),
        ("TERNARY(quantity > 1, name, quantity)", "several types"), ("TERNARY(name == 'a', nil, 1)", "several types"),
        ("TERNARY(name MATCHES '(a+)+', 1, 2)", "regular expression"),
        ("characterCount(name)", "store the result in an attribute"),
        ("quantity + characterCount(uppercase(name))", "versions of Unicode"),
        ("TERNARY(name CONTAINS[w] 'e', 1, 2)", "versions of Unicode"),
    ])
    func `an expression that no store can keep is refused by name`(format: String, text: String) throws {
        let error = try #require(throws: ModelError.self) { try Self.model(.init(expression: format)) }
        #expect(error.description.contains("the expression of index 'i', \(format), cannot be kept: "), "\(error)")
        #expect(error.description.contains(text), "\(error)")
    }

    @Test func `an element is a property or an expression, once, and folds texts only`() throws {
        var both = EntityDescription.Index.Element(expression: "quantity + 1")
        both.property = "name"
        let wrong: [([EntityDescription.Index.Element], String)] = [
            ([both], "as one element; make two"),
            ([.init(expression: "quantity + 1"), .init(expression: "quantity + 1")], "names a property twice"),
            ([.init(expression: "quantity + 1", folding: .caseInsensitive)], "values that are not texts"),
            ([.init(expression: "lowercase(name)", folding: .wholeCharacters)], "case and diacritics only"),
        ]
        for (elements, text) in wrong {
            let error = try #require(throws: ModelError.self) {
                try ManagedObjectModel(entities: [
                    EntityDescription(
                        "A",
                        attributes: [
                            AttributeDescription("name", .string), AttributeDescription("quantity", .double),
                        ],
                        indexes: [.init("i", on: elements)])
                ])
            }
            #expect(error.description.contains(text), "\(error)")
        }
        _ = try Self.model(.init(expression: "lowercase(name)", folding: .diacriticInsensitive), .init("name"))
    }

    // MARK: Bytes

    @Test func `the bytes of layout version 3 never change`() throws {
        let entity = EntityDescription(
            "A", attributes: [AttributeDescription("n", .string)],
            indexes: [.init("i", on: [.init(expression: "lowercase(n)"), .init("n", isAscending: false)])])
        let bytes: [UInt8] =
            [
                0x45, 0x53, 0x50, 0x4D, 0x03, 0x00,  // "ESPM", version 3, no version identifiers
                0x01, 0x01, 0x41, 0x00, 0x00,  // one entity: "A", no superentity, not abstract
                0x01, 0x01, 0x6E, 0xBC, 0x05, 0x01, 0x00, 0x00, 0x00, 0x00,  // an attribute: "n", type 700, optional
                0x00, 0x00,  // no relationships, no constraints
                0x01, 0x01, 0x69, 0x02, 0x0C,  // an index "i" of two elements
            ] + Array("lowercase(n)".utf8) + [
                0x09,  // ascending, an expression
                0x01, 0x6E, 0x00,  // "n", descending
                0x00, 0x00,  // no condition, no renaming identifier
            ]
        let model = EncodedModel(entities: [entity])
        #expect(model.bytes == bytes)
        #expect(try EncodedModel(bytes: bytes) == model)
    }

    @Test func `only a model with an expression needs version 3, and coders keep the expression`() throws {
        let plain = try Self.model(.init("name"))
        let model = try Self.model(.init(expression: "price * quantity", isAscending: false))
        #expect(EncodedModel(plain).bytes[4] == 1)
        #expect(EncodedModel(model).bytes[4] == 3)
        let again = try JSONDecoder().decode(ManagedObjectModel.self, from: try JSONEncoder().encode(model))
        #expect(again.descriptions == model.descriptions)
        #expect(again.versionChecksum == plain.versionChecksum)
    }
}
