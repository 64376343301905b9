// The rules of attributes: which values follow them, and what is reported about the others.

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct AttributeRuleTests {
    private static let attributes = [
        AttributeDescription(
            "name", .string,
            validationRules: [
                ValidationRule(.minimumLength(2)), ValidationRule(.maximumLength(5), message: "too long"),
            ]),
        AttributeDescription(
            "code", .string, validationRules: [ValidationRule(.pattern("[A-Z]{2}[0-9]+"))]),
        AttributeDescription(
            "rank", .integer16,
            validationRules: [ValidationRule(.minimum(.integer(1))), ValidationRule(.maximum(.integer(5)))]),
        AttributeDescription(
            "born", .date,
            validationRules: [
                ValidationRule(.minimum(.date(Date(timeIntervalSinceReferenceDate: 0)))),
                ValidationRule(.maximum(.date(Date(timeIntervalSinceReferenceDate: 100)))),
            ]),
        AttributeDescription(
            "word", .string, validationRules: [ValidationRule(.predicate("SELF BEGINSWITH 'ä' OR SELF == 'x'"))]),
        AttributeDescription(
            "even", .integer64, validationRules: [ValidationRule(.predicate("modulus:by:(SELF, 2) == 0"))]),
    ]

    private func context(_ kind: StoreKind) throws -> ManagedObjectContext {
        let model = try ManagedObjectModel(entities: [EntityDescription("Card", attributes: Self.attributes)])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    /// Values that follow the rules of an attribute, and those that break one, with the number of the violation.
    private static let cases: [(name: String, good: [AttributeValue], bad: [(AttributeValue, Int)])] = [
        (
            "name", [.string("ab"), .string("äöüß👩‍👩‍👧"), .null],
            [(.string(""), 1670), (.string("a"), 1670), (.string("abcdef"), 1660), (.string("日本語日本語"), 1660)]
        ),
        ("code", [.string("AB1"), .null], [(.string("ab1"), 1680), (.string("xAB1"), 1680), (.string("AB1 "), 1680)]),
        ("rank", [.integer(1), .integer(5), .null], [(.integer(0), 1620), (.integer(6), 1610)]),
        (
            "born", [.date(Date(timeIntervalSinceReferenceDate: 50))],
            [
                (.date(Date(timeIntervalSinceReferenceDate: -1)), 1640),
                (.date(Date(timeIntervalSinceReferenceDate: 101)), 1630),
            ]
        ),
        ("word", [.string("äh"), .string("x"), .null], [(.string("ah"), 1550), (.string(""), 1550)]),
        ("even", [.integer(0), .integer(-4), .null], [(.integer(3), 1550)]),
    ]

    @Test(arguments: StoreKind.allCases)
    func `a value that breaks a rule is refused when it is inserted, changed and checked alone (MD-16)`(
        _ kind: StoreKind
    ) throws {
        let context = try context(kind)
        let stored = try context.insertNewObject(forEntityName: "Card")
        try context.save()
        for (name, good, bad) in Self.cases {
            for value in good {
                let new = try context.insertNewObject(forEntityName: "Card")
                for object in [new, stored] { try object.setValue(value, forKey: name) }
                var checked = PropertyValue.attribute(value)
                try new.validateValue(&checked, forKey: name)
                try context.save()
            }
            for (value, code) in bad {
                let new = try context.insertNewObject(forEntityName: "Card")
                for object in [new, stored] {
                    try object.setValue(value, forKey: name)
                    var checked = PropertyValue.attribute(value)
                    let found = violations { try object.validateValue(&checked, forKey: name) }
                    #expect(found.map(\.code) == [code], "\(name) \(value)")
                }
                let found = violations { try context.save() }
                #expect(
                    found.map(\.code) == [code, code] && found.allSatisfy { $0.value == value }, "\(name) \(value)")
                #expect(Set(found.map(\.object)) == [new.objectID, stored.objectID])
                #expect(found.allSatisfy { $0.property == name && !$0.remedy.isEmpty })
                context.rollback()
            }
        }
    }

    @Test func `all broken rules of all objects are reported at once, under number 1560`() throws {
        let context = try context(.inMemory)
        let cards = try (0..<2).map { _ in try context.insertNewObject(forEntityName: "Card") }
        for card in cards {
            try card.setValue(.string("a"), forKey: "name")
            try card.setValue(.string("a"), forKey: "code")
            try card.setValue(.integer(9), forKey: "rank")
        }
        let error = contextError { try context.save() }
        guard case .violations(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.code == 1560 && found.map(\.code) == [1670, 1680, 1610, 1670, 1680, 1610])
        #expect(found[0].description.contains("at least 2") && found[2].description.contains("at most 5"))
        try cards[0].setValue(.string("abcdefgh"), forKey: "name")
        #expect(violations { try context.save() }.contains { $0.description.hasSuffix("too long") })
    }

    @Test func `the application's table replaces messages by number, rule and name`() throws {
        let context = try context(.inMemory)
        let card = try context.insertNewObject(forEntityName: "Card")
        try card.setValue(.string("abcdefgh"), forKey: "name")
        try card.setValue(.string("{limit}"), forKey: "code")
        try card.setValue(.integer(9), forKey: "rank")
        let error = try #require(contextError { try context.save() })
        let table = MessageTable(
            [1680: "{property}: {value} passt nicht zu {limit} {und}", 1610: "{entity}.{property} > {limit}"],
            rules: ["too long": "zu lang"], names: ["Card": "Karte", "Card.rank": "Rang"])
        #expect(
            error.messages(table) == [
                "zu lang", "code: \"{limit}\" passt nicht zu [A-Z]{2}[0-9]+ {und}", "Karte.Rang > 5",
            ])
        #expect(error.messages(MessageTable([:])).count == 3)
        let remedies = MessageTable([1610: "{remedy}"], remedies: [1610: "höchstens {limit}"])
        #expect(error.messages(remedies).last == "höchstens 5")
        // The findings of the store that has refused its part of a save have their messages, too.
        let partly = ContextError.partlySaved(underlying: error)
        #expect(partly.messages(table) == error.messages(table))
        let texts = MessageTable([1610: "{remedy}", 134040: "nur zum Teil"], remedies: [1610: "höchstens {limit}"])
        #expect(partly.messages(texts).first == "nur zum Teil" && partly.messages(texts).last == "höchstens 5")
        let last = try #require(error.violations.last)
        #expect(last.remedy(remedies) == "höchstens 5" && last.remedy(table) == last.remedy)
    }

    @Test func `rules that fit no value of their attribute are problems of the model`() throws {
        let wrong: [(AttributeDescription, String)] = [
            (AttributeDescription("a", .string, validationRules: [ValidationRule(.minimum(.integer(1)))]), "a limit"),
            (AttributeDescription("a", .integer64, validationRules: [ValidationRule(.maximumLength(1))]), "length"),
            (AttributeDescription("a", .string, validationRules: [ValidationRule(.minimumLength(-1))]), "-1"),
            (AttributeDescription("a", .integer64, validationRules: [ValidationRule(.pattern("x"))]), "pattern"),
            (AttributeDescription("a", .string, validationRules: [ValidationRule(.pattern("("))]), "rule"),
            (AttributeDescription("a", .string, validationRules: [ValidationRule(.predicate("SELF =="))]), "rule"),
            (AttributeDescription("a", .string, validationRules: [ValidationRule(.predicate("ghost == 1"))]), "ghost"),
            (
                AttributeDescription("a", .transformable, validationRules: [ValidationRule(.predicate("SELF == 1"))]),
                "condition"
            ),
            (AttributeDescription("a", .boolean, validationRules: [ValidationRule(.maximum(.boolean(true)))]), "order"),
            (
                AttributeDescription(
                    "a", .double,
                    validationRules: [ValidationRule(.maximum(.double(1))), ValidationRule(.minimum(.double(1.5)))]),
                "a least value of 1.5 and a greatest one of 1"
            ),
            (
                AttributeDescription(
                    "a", .string,
                    validationRules: [ValidationRule(.minimumLength(2)), ValidationRule(.maximumLength(1))]),
                "a least length of 2 and a greatest one of 1"
            ),
        ]
        for (attribute, text) in wrong {
            do {
                _ = try ManagedObjectModel(entities: [EntityDescription("E", attributes: [attribute])])
                Issue.record("\(attribute.validationRules) is a rule")
            } catch {
                #expect(error.problems.count == 1 && "\(error)".contains(text), "\(error)")
            }
        }
    }

    @Test func `rules are in the model and not in the store, nor in the hash (MD-15)`() throws {
        let plain = EntityDescription("Card", attributes: [AttributeDescription("name", .string)])
        var ruled = plain
        ruled.attributes[0].validationRules = [ValidationRule(.maximumLength(3))]
        ruled.uniquenessConstraints = [["name"]]
        var acting = ruled
        acting.constraintActions = [["name"]: .merge]
        acting.attributes[0].validationRules = []
        let models = try [ruled, acting].map { try ManagedObjectModel(entities: [$0]) }
        #expect(models[0].versionChecksum == models[1].versionChecksum)
        #expect(models[0].storedDescriptions == models[1].storedDescriptions)
        #expect(models[0].entities[0].attributes[0].description.validationRules.count == 1)
        #expect(throws: ModelError.self) {
            var wrong = plain
            wrong.constraintActions = [["name"]: .merge]
            _ = try ManagedObjectModel(entities: [wrong])
        }
    }
}
