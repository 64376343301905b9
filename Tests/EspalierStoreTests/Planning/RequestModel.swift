// The entities of a random model of requests: types of attributes, indexes of every kind, and whether the superentity
// is abstract, are chosen at random.

import EspalierModel
import TestSupport

struct RequestModel {
    /// The attributes of all entities.
    let attributes: [RequestWorld.Attribute]
    /// By entity: the positions of the attributes that it declares.
    let ownPositions: [[Int]]
    let hasNext: Bool
    let isBaseAbstract: Bool

    init(_ random: inout SeededGenerator) {
        (hasNext, isBaseAbstract) = (random.oneIn(2), random.oneIn(3))
        let numbers: [AttributeType] = [.integer16, .integer32, .integer64, .double, .float, .decimal]
        let any: [AttributeType] = numbers + [.string, .boolean, .date]
        let types: [[AttributeType]] = [
            [random.pick(numbers), .string, random.pick(any)], [random.pick(any)], [random.pick(any)],
            [random.pick(any)], [.string, random.pick(numbers)], [.string, random.pick(numbers)],
        ]
        var attributes: [RequestWorld.Attribute] = []
        var ownPositions: [[Int]] = []
        for (entity, types) in types.enumerated() {
            ownPositions.append(Array(attributes.count..<attributes.count + types.count))
            for (number, type) in types.enumerated() {
                attributes.append(.init(name: RequestWorld.names[entity].lowercased() + "\(number)", type: type))
            }
        }
        (self.attributes, self.ownPositions) = (attributes, ownPositions)
    }

    func descriptions(_ random: inout SeededGenerator) -> [EntityDescription] {
        let things = [
            RelationshipDescription("owner", to: "Owner", inverse: "things"),
            RelationshipDescription("tags", to: "Tag", inverse: "things", .toMany),
        ]
        let next = hasNext ? [RelationshipDescription("next", to: "Base")] : []
        let byLeft = EntityDescription.Index(
            "byLeft", on: [.init("left0", isAscending: random.oneIn(2)), .init("base1")])
        let left = random.oneIn(2) ? [byLeft] : []
        return [
            EntityDescription(
                "Base", isAbstract: isBaseAbstract, attributes: own(0, &random), relationships: things + next,
                indexes: baseIndexes(&random)),
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
        for position in ownPositions[entity] {
            own.append(
                AttributeDescription(
                    attributes[position].name, attributes[position].type, isIndexed: random.oneIn(3)))
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
        if random.oneIn(2) {
            let condition = random.pick(["base0 != nil", "base0 > 0", "base1 != nil AND base0 != 1"])
            indexes.append(
                .init("some", on: [.init("base2", isAscending: random.oneIn(2))], predicateFormat: condition))
        }
        if random.oneIn(2) {
            indexes.append(.init("byOwner", on: [.init("owner"), .init("base0", isAscending: false)]))
        }
        if random.oneIn(3) { indexes.append(.init("twice", on: [.init(expression: "base0 * 2")])) }
        if random.oneIn(3) { indexes.append(.init("lower", on: [.init(expression: "lowercase(base1)")])) }
        return indexes
    }
}
