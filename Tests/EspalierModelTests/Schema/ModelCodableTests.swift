// Models that any coder encodes: what comes back is the same model, and anything else is an error.

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct ModelCodableTests {
    private static func model() throws -> ManagedObjectModel {
        let rules = [
            ValidationRule(.minimumLength(2), message: "zu kurz"), ValidationRule(.pattern("[A-Z]+")),
            ValidationRule(.predicate("SELF != 'x'")), ValidationRule(.maximumLength(9)),
        ]
        var descriptions = MusicLibrary.descriptions
        descriptions.append(
            EntityDescription(
                "Künstler",
                attributes: [
                    AttributeDescription(
                        "name", .string, isOptional: false, defaultValue: .string("Ää"), isIndexed: true,
                        versionHashModifier: "2", userInfo: ["hint": "kurz"], validationRules: rules),
                    AttributeDescription("share", .double, defaultValue: .double(-.infinity)),
                    AttributeDescription("place", .composite, elements: [AttributeDescription("city", .string)]),
                ],
                uniquenessConstraints: [["name"], ["share", "name"]], constraintActions: [["share", "name"]: .keep],
                indexes: [.init("i", on: [.init("name", isAscending: false), .init("share")])],
                managedObjectClassName: "Artist", versionHashModifier: "m", userInfo: ["a": "b"]))
        return try ManagedObjectModel(
            entities: descriptions, versionIdentifiers: ["1", "é"],
            configurations: [ConfigurationDescription("small", entities: ["Künstler"])],
            fetchRequestTemplates: [
                FetchRequestTemplate(
                    "named", entity: "Künstler", predicateFormat: "name == $NAME", sortedBy: [.init("share")],
                    fetchOffset: 1, fetchBatchSize: 20, includesPropertyValues: false, returnsDistinctResults: true,
                    relationshipKeyPathsForPrefetching: ["a", "b"])
            ]
        ).localized(
            ["de": MessageTable([1570: "fehlt"], names: ["Künstler.name": "Name"], remedies: [1570: "setzen"])],
            language: "de")
    }

    private static func expectSame(_ again: ManagedObjectModel, _ model: ManagedObjectModel) {
        #expect(again.entities.map(\.description) == model.entities.map(\.description))
        #expect(again.versionIdentifiers == model.versionIdentifiers)
        #expect(again.versionChecksum == model.versionChecksum)
        #expect(again.entityVersionHashesByName == model.entityVersionHashesByName)
        #expect(again.configurations == model.configurations)
        #expect(again.fetchRequestTemplates == model.fetchRequestTemplates)
        #expect(again.messageTables == model.messageTables && again.language == model.language)
    }

    @Test func `a whole model comes back from JSON and from a property list as it was (SD-12)`() throws {
        let model = try Self.model()
        let json = try JSONEncoder().encode(model)
        Self.expectSame(try JSONDecoder().decode(ManagedObjectModel.self, from: json), model)
        let list = try PropertyListEncoder().encode(model)
        Self.expectSame(try PropertyListDecoder().decode(ManagedObjectModel.self, from: list), model)
    }

    @Test func `a request that was encoded without the newer parts has their defaults`() throws {
        let json = """
            {"name": "q", "entity": "A", "fetchLimit": 3, "includesSubentities": false, "includesPendingChanges": true,
             "returnsObjectsAsFaults": false}
            """
        let template = try JSONDecoder().decode(FetchRequestTemplate.self, from: Data(json.utf8))
        #expect(
            template
                == FetchRequestTemplate(
                    "q", entity: "A", fetchLimit: 3, includesSubentities: false, returnsObjectsAsFaults: false))
    }

    /// A text that tells values apart by their bits.
    private static func bits(_ value: AttributeValue) -> String {
        switch value {
        case .double(let number): "double \(number.bitPattern)"
        case .float(let number): "float \(number.bitPattern)"
        case .date(let date): "date \(date.timeIntervalSinceReferenceDate.bitPattern)"
        case .composite(let parts):
            parts.sorted { $0.key < $1.key }.map { "\($0.key): \(bits($0.value))" }.joined(separator: ", ")
        default: "\(value)"
        }
    }

    @Test func `a value of any kind comes back as it was, bit for bit`() throws {
        var random = RandomPredicates(seed: testSeed(default: 52))
        let numbers: [Double] = [
            0, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        ]
        var values: [AttributeValue] = numbers.flatMap { number in
            [
                .double(number), .float(Float(number)), .date(Date(timeIntervalSinceReferenceDate: number)),
                .composite(["ü": .double(number), "": .composite(["x": .null])]),
            ]
        }
        values += [
            .decimal(try #require(Decimal(string: "12345678901234567890123456789012345.678"))), .decimal(.nan),
            .binary(Data()), .binary(Data(0...255)), .integer(.min), .integer(.max), .string("\u{0}👩‍👩‍👧"),
            .boolean(false), .uuid(UUID()), .null,
        ]
        for _ in 0..<300 { values.append(random.value()) }
        for value in values {
            let data = try JSONEncoder().encode([value])
            let again = try JSONDecoder().decode([AttributeValue].self, from: data)[0]
            #expect(Self.bits(again) == Self.bits(value), "seed \(random.seed)")
        }
    }

    @Test func `bytes that are no model, or no valid one, are errors that say why`() throws {
        let json = String(decoding: try JSONEncoder().encode(Self.model()), as: UTF8.self)
        func error(_ text: String) -> (any Error)? {
            do {
                _ = try JSONDecoder().decode(ManagedObjectModel.self, from: Data(text.utf8))
                return nil
            } catch { return error }
        }
        let invalid = json.replacingOccurrences(of: "\"superentity\":\"", with: "\"superentity\":\"No")
        #expect(error(invalid) is ModelError || invalid == json)
        let twice = json.replacingOccurrences(of: "\"name\":\"share\"", with: "\"name\":\"name\"")
        #expect(error(twice) is ModelError)
        for text in ["", "{}", "[]", "null", json.replacingOccurrences(of: "\"null\":true", with: "\"none\":true")] {
            #expect(error(text) is DecodingError, "\(text.prefix(20))")
        }
        for value in [
            "{}", "{\"integer\":1,\"null\":true}", "{\"double\":\"1\"}", "{\"uuid\":\"x\"}", "{\"binary\":\"?\"}",
            "{\"decimal\":\"one\"}", "{\"integer\":1e30}",
        ] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(AttributeValue.self, from: Data(value.utf8))
            }
        }
        var generator = SeededGenerator(seed: testSeed(default: 53))
        let bytes = Array(json.utf8)
        for _ in 0..<200 {
            var damaged = bytes
            for _ in 0...2 {
                damaged[Int.random(in: 0..<damaged.count, using: &generator)] = UInt8.random(
                    in: 32..<127, using: &generator)
            }
            // A model or an error, and no trap.
            _ = error(String(decoding: damaged, as: UTF8.self))
        }
    }
}
