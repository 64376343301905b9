// The entities of a random model of requests: types of attributes, derivations, unique and ordered properties, indexes
// of every kind, and whether the superentity is abstract, are chosen at random.

import EspalierModel
import TestSupport

struct RequestModel {
    private static let numbers: [AttributeType] = [.integer16, .integer32, .integer64, .double, .float, .decimal]

    /// The attributes of all entities; each element of a composite is one.
    private(set) var attributes: [RequestWorld.Attribute] = []
    /// By entity: the positions of the attributes that it declares.
    private(set) var ownPositions: [[Int]] = Array(repeating: [], count: RequestWorld.names.count)
    let hasNext: Bool
    let isBaseAbstract: Bool
    /// Whether the tags of things have an order.
    let isOrdered: Bool
    /// Whether values are derived across relationships.
    let derivesAcross: Bool
    /// The attributes that make things unique together with their codes.
    private let uniqueGroups: [[String]]

    init(_ random: inout SeededGenerator) {
        (hasNext, isBaseAbstract, isOrdered) = (random.oneIn(2), random.oneIn(3), random.oneIn(2))
        derivesAcross = random.oneIn(3)
        uniqueGroups = random.pick([[], [["code"]], [["base1", "code"]], [["code"], ["code", "base0"]]])
        let any: [AttributeType] =
            Self.numbers + [.string, .boolean, .date, .binary, .uuid, .uri, .transformable, .composite]
        let types: [[AttributeType]] = [
            [random.pick(Self.numbers), .string, random.pick(any)], [random.pick(any)], [random.pick(any)],
            [random.pick(any)], [.string, random.pick(Self.numbers)], [.string, random.pick(Self.numbers)],
        ]
        for (entity, types) in types.enumerated() {
            for (number, type) in types.enumerated() {
                let name = RequestWorld.names[entity].lowercased() + "\(number)"
                if type == .composite {
                    add(name + ".x", random.pick(Self.numbers), to: entity)
                    add(name + ".y", .string, to: entity)
                } else {
                    add(name, type, to: entity)
                }
            }
        }
        if !uniqueGroups.isEmpty { add("code", .integer32, .code, to: 0) }
        if random.oneIn(2) { add("plain", .string, .canonical, to: 0) }
        guard derivesAcross else { return }
        add("tagCount", .integer64, .tagCount, to: 0)
        add("ownerText", .string, .ownerText, to: 0)
        add("greatest", types[0][0], .greatest, to: 4)
        add("total", .double, .total, to: 4)
    }

    private mutating func add(
        _ name: String, _ type: AttributeType, _ rule: RequestWorld.Attribute.Rule? = nil, to entity: Int
    ) {
        ownPositions[entity].append(attributes.count)
        attributes.append(.init(name: name, type: type, rule: rule))
    }

    func descriptions(_ random: inout SeededGenerator) -> [EntityDescription] {
        let things = [
            RelationshipDescription("owner", to: "Owner", inverse: "things"),
            RelationshipDescription("tags", to: "Tag", inverse: "things", isOrdered ? .ordered : .toMany),
        ]
        let next = hasNext ? [RelationshipDescription("next", to: "Base")] : []
        let first = attributes[ownPositions[1][0]]
        let byLeft = EntityDescription.Index(
            "byLeft", on: [.init(first.name, isAscending: random.oneIn(2)), .init("base1")])
        let left = random.oneIn(2) && first.kind != .opaque ? [byLeft] : []
        return [
            EntityDescription(
                "Base", isAbstract: isBaseAbstract, attributes: own(0, &random), relationships: things + next,
                uniquenessConstraints: uniqueGroups, indexes: baseIndexes(&random)),
            EntityDescription("Left", superentity: "Base", attributes: own(1, &random), indexes: left),
            EntityDescription("Right", superentity: "Base", attributes: own(2, &random)),
            EntityDescription("Leaf", superentity: "Left", attributes: own(3, &random)),
            EntityDescription(
                "Owner", attributes: own(4, &random),
                relationships: [RelationshipDescription("things", to: "Base", inverse: "owner", .toMany)]),
            EntityDescription(
                "Tag", attributes: own(5, &random),
                relationships: [RelationshipDescription("things", to: "Base", inverse: "tags", .toMany)]),
        ]
    }

    private func own(_ entity: Int, _ random: inout SeededGenerator) -> [AttributeDescription] {
        var own: [AttributeDescription] = []
        for attribute in ownPositions[entity].map({ attributes[$0] }) {
            guard attribute.path.count > 1 else {
                own.append(
                    AttributeDescription(
                        attribute.name, attribute.type, isIndexed: random.oneIn(3) && attribute.kind != .opaque,
                        derivation: attribute.rule?.derivation))
                continue
            }
            let element = AttributeDescription(attribute.path[1], attribute.type)
            if own.last?.name == attribute.path[0] {
                own[own.count - 1].elements.append(element)
            } else {
                own.append(AttributeDescription(attribute.path[0], .composite, elements: [element]))
            }
        }
        return own
    }

    private func baseIndexes(_ random: inout SeededGenerator) -> [EntityDescription.Index] {
        var indexes: [EntityDescription.Index] = [
            .init("byNumber", on: [.init("base0", isAscending: random.oneIn(2)), .init("base1")])
        ]
        if random.oneIn(2) {
            let foldings: [ComparisonOptions] = [.caseInsensitive, [.caseInsensitive, .diacriticInsensitive]]
            indexes.append(.init("folded", on: [.init("base1", folding: random.pick(foldings))]))
        }
        let third = attributes[ownPositions[0][2]]
        if random.oneIn(2), third.kind != .opaque {
            let condition = random.pick(["base0 != nil", "base0 > 0", "base1 != nil AND base0 != 1"])
            indexes.append(
                .init("some", on: [.init(third.name, isAscending: random.oneIn(2))], predicateFormat: condition))
        }
        if random.oneIn(2) {
            indexes.append(.init("byOwner", on: [.init("owner"), .init("base0", isAscending: false)]))
        }
        if random.oneIn(3) { indexes.append(.init("twice", on: [.init(expression: "base0 * 2")])) }
        if random.oneIn(3) { indexes.append(.init("lower", on: [.init(expression: "lowercase(base1)")])) }
        return indexes
    }
}

extension RequestWorld.Attribute.Rule {
    /// The rule as a model has it; `nil` for values that are not derived.
    fileprivate var derivation: Derivation? {
        switch self {
        case .code: nil
        case .canonical: .canonical(of: "base1")
        case .tagCount: .count(of: "tags")
        case .ownerText: .value(of: "owner.owner0")
        case .greatest: .maximum(of: "base0", in: "things")
        case .total: .sum(of: "base0", in: "things")
        }
    }
}
