// Things with an index of each kind that can have all values of a question: the model, and things at random.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport

enum CoveringModel {
    /// An index: its name, and its properties with their directions.
    struct Index {
        let name: String
        let elements: [EntityDescription.Index.Element]
        var condition: String?

        /// The elements that are no expressions.
        var properties: [EntityDescription.Index.Element] { elements.filter { $0.expressionFormat == nil } }
    }

    /// Twice the number of a thing, an expression that has an index.
    static let twice = FetchExpression.function(
        "multiply:by:", [.keyPath(FetchKeyPath(["number"])), .value(.integer(2))])

    static let indexes: [Index] = [
        Index(name: "byNumber", elements: [.init("number"), .init("ratio", isAscending: false)]),
        Index(name: "byName", elements: [.init("name"), .init("number")]),
        Index(name: "byOwner", elements: [.init("owner"), .init("day", isAscending: false), .init("flag")]),
        Index(
            name: "folded",
            elements: [.init("name", folding: [.caseInsensitive, .diacriticInsensitive]), .init("small")]),
        Index(
            name: "flagged", elements: [.init("small", isAscending: false), .init("half")], condition: "flag == YES"),
        Index(name: "byCode", elements: [.init("code", isAscending: false), .init("small")]),
        Index(name: "byPrice", elements: [.init("price"), .init("number")]),
        Index(name: "byNote", elements: [.init("note", isAscending: false)]),
        Index(name: "byTwice", elements: [.init(expression: "number * 2"), .init("small", isAscending: false)]),
    ]

    static func make(isIndexed: Bool = true) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Thing",
                attributes: [
                    AttributeDescription("number", .integer32), AttributeDescription("small", .integer16),
                    AttributeDescription("flag", .boolean), AttributeDescription("day", .date),
                    AttributeDescription("ratio", .double), AttributeDescription("half", .float),
                    AttributeDescription("code", .uuid), AttributeDescription("price", .decimal),
                    AttributeDescription("name", .string), AttributeDescription("note", .string),
                ],
                relationships: [RelationshipDescription("owner", to: "Owner", inverse: "things")],
                indexes: isIndexed
                    ? indexes.map { EntityDescription.Index($0.name, on: $0.elements, predicateFormat: $0.condition) }
                    : []),
            EntityDescription(
                "Tool", superentity: "Thing", attributes: [AttributeDescription("weight", .integer64)],
                indexes: isIndexed ? [.init("byWeight", on: [.init("weight"), .init("number")])] : []),
            EntityDescription(
                "Owner", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("things", to: "Thing", inverse: "owner", .toMany)]),
        ])
    }

    /// A question for values of things.
    static func fetch(
        _ fixture: StoreFixture, _ columns: [FetchColumn], _ predicate: FetchPredicate? = nil,
        by groups: [FetchColumn] = [], sort: [SortKey] = [], limit: Int = 0, distinct: Bool = false,
        of entityName: String = "Thing", subentities: Bool = true
    ) throws -> StoreValueFetch {
        let entity = try fixture.entity(entityName)
        var request = ValueRequest(entityName: entityName, columns: columns)
        (request.propertiesToGroupBy, request.returnsDistinctResults) = (groups, distinct)
        (request.sortKeys, request.fetchLimit) = (sort, limit)
        return StoreValueFetch(
            try ResolvedValues(request, for: entity, in: fixture.model), includesSubentities: subentities,
            predicate: try predicate.map { try ResolvedPredicate($0, for: entity, in: fixture.model) })
    }
}

extension SeededGenerator {
    /// A value of a property of a thing that is no relationship: of a small domain, in which values with one code are
    /// frequent.
    mutating func thingValue(_ property: String) -> AttributeValue {
        if oneIn(8) { return .null }
        let names = ["a", "ab", "abc", "AB", "K", "\u{212A}", "a;", "é", "e\u{301}", "E\u{301}", "z\u{0}", ""]
        let doubles: [Double] = [0, -0.0, 1, 1, 2.5, 2.5, -3, .nan, .infinity]
        switch property {
        case "number": return .integer(Int64(next() % 6))
        case "small": return .integer(pick([-1, 0, 1, Int64(Int16.max)]))
        case "weight": return .integer(pick([Int64.min, -1, 0, 1, .max]))
        case "flag": return .boolean(oneIn(2))
        case "day": return .date(Date(timeIntervalSinceReferenceDate: pick([0, -1, 86_400, 1e9, 1.5])))
        case "ratio": return .double(pick(doubles))
        case "half": return .float(Float(pick(doubles)))
        case "code": return value(of: .uuid)
        case "price": return oneIn(3) ? .decimal(Decimal(Int(next() % 3))) : value(of: .decimal)
        case "name": return .string(pick(names))
        default:
            // The index cuts some of these after the same bytes.
            let length = pick([0, 0, 600])
            return .string(String(repeating: "x", count: length) + pick(names))
        }
    }

    /// Values of the attributes of a thing.
    mutating func thing() -> [String: AttributeValue] {
        let properties = ["number", "small", "flag", "day", "ratio", "half", "code", "price", "name", "note"]
        return Dictionary(uniqueKeysWithValues: properties.map { ($0, thingValue($0)) })
    }
}
