// Random models that are valid and that files can express; tests compare them with the models read from those files.

import EspalierModel
import Foundation
import TestSupport

struct RandomModels {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A model of up to 6 entities.
    mutating func model() throws -> ManagedObjectModel {
        let count = Int.random(in: 1...6, using: &random)
        var entities = (0..<count).map { entity(number: $0) }
        for number in 0..<Int.random(in: 0...6, using: &random) { relate(number, &entities) }
        for index in entities.indices { addRules(to: &entities[index]) }
        let names = entities.map(\.name)
        let configurations = (0..<Int.random(in: 0...2, using: &random)).map { number in
            ConfigurationDescription("C\(number)", entities: names.filter { _ in Bool.random(using: &random) })
        }
        let templates = (0..<Int.random(in: 0...2, using: &random)).map { number in
            FetchRequestTemplate(
                "q\(number)", entity: names[number % count], predicateFormat: chance(2) ? "x == \"\(text())\"" : nil,
                fetchLimit: Int.random(in: 0...3, using: &random), fetchBatchSize: chance(2) ? 20 : 0,
                includesSubentities: chance(2), includesPendingChanges: chance(2), returnsObjectsAsFaults: chance(2),
                includesPropertyValues: chance(2), returnsDistinctResults: chance(2))
        }
        return try ManagedObjectModel(
            entities: entities, versionIdentifiers: chance(2) ? ["v \(text())"] : [], classes: [:],
            configurations: configurations, fetchRequestTemplates: templates)
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    /// A random text, whose characters may be some that XML escapes.
    private mutating func text() -> String {
        let parts = [
            "a", "<", ">", "&", "\"", "'", "\n", "\t", "\r", " ", "é", "日本", "👩‍👩‍👧", "]]>", "&amp;", "%", "\u{7F}",
        ]
        return (0..<Int.random(in: 0...6, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
            .joined()
    }

    private mutating func texts() -> [String: String] {
        Dictionary(
            (0..<max(0, Int.random(in: -3...2, using: &random))).map { _ in (text(), text()) },
            uniquingKeysWith: { first, _ in first })
    }

    private mutating func entity(number: Int) -> EntityDescription {
        // A superentity has a smaller number, so no entity inherits from itself.
        let above = number > 0 && chance(2) ? "E\(Int.random(in: 0..<number, using: &random))" : nil
        var entity = EntityDescription(
            "E\(number)", superentity: above, isAbstract: chance(4),
            renamingIdentifier: chance(3) ? "Old\(number)" : nil,
            managedObjectClassName: chance(2) ? ".E\(number)" : nil,
            versionHashModifier: chance(4) ? "m\(text())" : nil,
            userInfo: texts())
        for position in 0..<Int.random(in: 0...5, using: &random) {
            entity.attributes.append(attribute("a\(number)_\(position)", depth: 0))
        }
        return entity
    }

    private mutating func attribute(_ name: String, depth: Int) -> AttributeDescription {
        let types: [AttributeType] = [
            .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid,
            .uri,
            .transformable, .composite, .undefined,
        ]
        var type = types.randomElement(using: &random) ?? .string
        if depth > 0, type == .undefined || type == .composite && depth > 2 { type = .string }
        var attribute = AttributeDescription(
            name, type, isOptional: chance(2), isTransient: type == .undefined || depth == 0 && chance(6),
            defaultValue: chance(2) ? value(of: type) : .null, renamingIdentifier: chance(5) ? "old_\(name)" : nil,
            versionHashModifier: chance(8) ? "m\(name)" : nil, userInfo: texts())
        let hasOrder = ![.undefined, .transformable, .composite].contains(type)
        attribute.isIndexed = depth == 0 && hasOrder && !attribute.isTransient && chance(4)
        if depth == 0, chance(3) { attribute.validationRules = rules(of: type) }
        if type == .transformable, chance(2) { attribute.valueTransformerName = "T\(name)" }
        if type == .composite {
            attribute.elements = (0...Int.random(in: 0...2, using: &random)).map {
                self.attribute("p\($0)", depth: depth + 1)
            }
        }
        return attribute
    }

    /// Rules that files have words for, in any order.
    private mutating func rules(of type: AttributeType) -> [ValidationRule] {
        let conditions: [ValidationRule.Condition] =
            switch type {
            case .string:
                [
                    .minimumLength(.random(in: 0...9, using: &random)),
                    .maximumLength(.random(in: 0 ... .max, using: &random)), .pattern("[^<>&\"]*\n?"),
                ]
            case .integer16, .integer32, .integer64, .decimal, .double, .float, .date:
                limits(of: type)
            default: []
            }
        return conditions.shuffled(using: &random).filter { _ in chance(2) }.map { ValidationRule($0) }
    }

    /// Two limits that some value keeps.
    private mutating func limits(of type: AttributeType) -> [ValidationRule.Condition] {
        let (one, other) = (value(of: type), value(of: type))
        return one.satisfies(.lessThanOrEqual, other, [])
            ? [.minimum(one), .maximum(other)] : [.minimum(other), .maximum(one)]
    }

    private mutating func value(of type: AttributeType) -> AttributeValue {
        switch type {
        case .integer16: .integer(Int64(Int16.random(in: .min ... .max, using: &random)))
        case .integer32: .integer(Int64(Int32.random(in: .min ... .max, using: &random)))
        case .integer64: .integer(.random(in: .min ... .max, using: &random))
        case .decimal:
            .decimal(
                Decimal(
                    sign: chance(2) ? .plus : .minus, exponent: Int.random(in: -20...20, using: &random),
                    significand: Decimal(UInt64.random(in: 0...UInt64.max, using: &random))))
        case .double: .double(Double(bitPattern: random.next() & 0x7FEF_FFFF_FFFF_FFFF))
        case .float: .float(Float.random(in: -1e30...1e30, using: &random))
        case .string: .string(text())
        case .boolean: .boolean(chance(2))
        case .date: .date(Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &random)))
        case .uuid: UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8").map(AttributeValue.uuid) ?? .null
        case .uri: URL(string: "https://example.com/\(random.next())?a=b&c=d").map(AttributeValue.uri) ?? .null
        default: .null
        }
    }

    /// Adds a relationship, or a pair of them.
    private mutating func relate(_ number: Int, _ entities: inout [EntityDescription]) {
        let from = Int.random(in: 0..<entities.count, using: &random)
        let to = Int.random(in: 0..<entities.count, using: &random)
        let hasInverse = chance(2)
        let names = ("r\(number)", "s\(number)")
        let first = relationship(names.0, to: entities[to].name, inverse: hasInverse ? names.1 : nil)
        entities[from].relationships.append(first)
        guard hasInverse else { return }
        entities[to].relationships.append(relationship(names.1, to: entities[from].name, inverse: names.0))
    }

    private mutating func relationship(_ name: String, to destination: String, inverse: String?)
        -> RelationshipDescription
    {
        let cardinality =
            [RelationshipDescription.Cardinality.toOne, .toMany, .ordered].randomElement(using: &random) ?? .toOne
        let maxCount = cardinality == .toOne ? 1 : [0, 0, 3, 9].randomElement(using: &random) ?? 0
        return RelationshipDescription(
            name, to: destination, inverse: inverse, cardinality,
            deleteRule: DeleteRule.allCases.randomElement(using: &random) ?? .nullify, isOptional: chance(2),
            minCount: chance(3) ? 1 : 0, maxCount: maxCount, renamingIdentifier: chance(5) ? "old_\(name)" : nil,
            versionHashModifier: chance(8) ? "m\(name)" : nil, userInfo: texts())
    }

    /// Adds constraints and an index over the properties that the entity itself stores.
    private mutating func addRules(to entity: inout EntityDescription) {
        let keys =
            entity.attributes.filter { !$0.isTransient && ![.transformable, .composite].contains($0.type) }.map(\.name)
            + entity.relationships.filter { $0.cardinality == .toOne }.map(\.name)
        guard !keys.isEmpty else { return }
        if chance(3) { entity.uniquenessConstraints.append([keys[0]]) }
        if keys.count > 1, chance(3) { entity.uniquenessConstraints.append([keys[1], keys[0]]) }
        if chance(2) {
            entity.indexes.append(
                .init("by\(entity.name)", on: keys.prefix(3).map { .init($0, isAscending: chance(2)) }))
        }
    }
}
