// A random model with rows as plain values and in stores of several kinds: things of four entities, which inherit from
// one another, their owners and tags.
//
// Invariants
//   1. All stores have one model and the same rows, each under IDs of its own.
//   2. A row keeps its position when it is deleted, and later rows have greater keys in each store.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

final class RequestWorld {
    /// An attribute or an element of a composite, at its position among those of all entities.
    struct Attribute {
        enum Kind {
            case number, text, flag, day
            /// Binary data, UUIDs and URIs.
            case bytes
            /// Transformed values, which have no order.
            case opaque
        }

        /// The way in which values follow from others; nobody sets them.
        enum Rule {
            /// The position of the row: unique.
            case code
            /// The text `base1` without case and accents.
            case canonical
            case tagCount
            /// The text `owner0` of the owner.
            case ownerText
            /// The greatest `base0` of the things of an owner, and the sum of all.
            case greatest, total
        }

        let name: String
        let type: AttributeType
        /// `nil` for values that are set.
        var rule: Rule?

        /// The name, and that of the element.
        var path: [String] { name.split(separator: ".").map(String.init) }

        var kind: Kind {
            switch type {
            case .string: .text
            case .boolean: .flag
            case .date: .day
            case .binary, .uuid, .uri: .bytes
            case .transformable: .opaque
            default: .number
            }
        }
    }

    struct Row {
        let entity: Int
        /// By position of the attribute; null for those of other entities.
        var values: [PlainValue]
        var owner: Int?
        var next: Int?
        /// In their order, or ascending.
        var tags: [Int] = []
        var isAlive = true
    }

    /// The parts of a row that change.
    private enum Change {
        case value(Int), owner
        case tags(former: [Int])
    }

    static let names = ["Base", "Left", "Right", "Leaf", "Owner", "Tag"]
    /// The entities that are, or inherit from, each entity.
    static let families = [[0, 1, 2, 3], [1, 3], [2], [3], [4], [5]]
    private static let superentities: [Int?] = [nil, 0, 0, 1, nil, nil]
    private static let owner = 4
    private static let tag = 5

    let model: ManagedObjectModel
    /// Whether things lead to other things by a relationship without inverse.
    let hasNext: Bool
    private let attributes: [Attribute]
    /// By entity: the positions of its attributes, also of those that it inherits.
    private let positions: [[Int]]
    /// The entities that can have things.
    private let thingEntities: [Int]
    private let isOrdered: Bool
    let treeStore: BTreeStore
    /// The tree first.
    private(set) var stores: [RequestStore] = []
    private(set) var rows: [Row] = []
    /// By owner and tag: the living things that lead to it.
    private var members: [[Int]] = []

    init(_ random: inout SeededGenerator) throws {
        let made = RequestModel(&random)
        (attributes, hasNext, isOrdered) = (made.attributes, made.hasNext, made.isOrdered)
        positions = Self.superentities.indices.map { entity in
            var (chain, next): ([Int], Int?) = ([], entity)
            while let place = next { (chain, next) = ([place] + chain, Self.superentities[place]) }
            return chain.flatMap { made.ownPositions[$0] }
        }
        thingEntities = made.isBaseAbstract ? [1, 2, 3] : [0, 1, 2, 3]
        let model = try ManagedObjectModel(entities: made.descriptions(&random))
        self.model = model
        let kinds = RequestStore.Kind.allCases.filter { $0 != .application || !made.derivesAcross }
        let opened = try kinds.map { try RequestStore($0, model) }
        treeStore = try #require(opened[0].store as? BTreeStore)
        stores = opened
        try fill(&random)
    }

    // MARK: Questions

    func isThing(_ entity: Int) -> Bool { entity < Self.owner }

    func entity(_ number: Int) throws -> Entity { try #require(model.entity(named: Self.names[number])) }

    func attribute(_ position: Int) -> Attribute { attributes[position] }

    /// The positions of the attributes of an entity.
    func attributes(of entity: Int) -> [Int] { positions[entity] }

    /// The living rows of these entities, in the order of their creation.
    func living(_ entities: [Int]) -> [Int] {
        rows.indices.filter { rows[$0].isAlive && entities.contains(rows[$0].entity) }
    }

    /// The rows at the end of the to-many relationship that conditions follow: the tags of a thing, the things of
    /// others.
    func list(_ row: Int) -> [Int] { isThing(rows[row].entity) ? rows[row].tags : members[row] }

    /// Whether the destinations in `list` have an order that stores keep.
    func keepsOrder(_ entity: Int) -> Bool { isThing(entity) && isOrdered }

    /// The value of an attribute in a row of a store.
    func value(_ position: Int, of row: ObjectSnapshot, in store: RequestStore) throws -> PlainValue {
        let path = attributes[position].path
        let entity = try #require(model.entity(named: row.id.entityName))
        let value = row.value(at: try #require(entity.attribute(named: path[0])).slot)
        guard path.count > 1 else { return store.plain(value) }
        guard case .composite(let parts) = value else { return .null }
        return store.plain(parts[path[1]] ?? .null)
    }

    // MARK: Changes

    private func fill(_ random: inout SeededGenerator) throws {
        var new: [Row] = []
        for entity in [Self.owner, Self.owner, Self.owner, Self.tag, Self.tag, Self.tag] {
            new.append(row(of: entity, &random))
        }
        let first = new.count
        for _ in 0..<18 { new.append(thing(&random, owners: 0..<3, tags: 3..<6, things: first..<first + 18)) }
        try save(inserting: new)
    }

    private func row(of entity: Int, _ random: inout SeededGenerator) -> Row {
        var values = [PlainValue](repeating: .null, count: attributes.count)
        for position in positions[entity] where attributes[position].rule == nil {
            values[position] = random.plainValue(attributes[position])
        }
        return Row(entity: entity, values: values)
    }

    private func thing(
        _ random: inout SeededGenerator, owners: Range<Int>, tags: Range<Int>, things: Range<Int>
    ) -> Row {
        var row = row(of: random.pick(thingEntities), &random)
        if !random.oneIn(4) { row.owner = random.pick(Array(owners)) }
        if hasNext, !random.oneIn(3), !things.isEmpty { row.next = random.pick(Array(things)) }
        row.tags = someTags(tags, &random)
        return row
    }

    private func someTags(_ tags: Range<Int>, _ random: inout SeededGenerator) -> [Int] {
        let chosen = tags.filter { _ in random.oneIn(2) }
        return isOrdered ? chosen.shuffled(using: &random) : chosen
    }

    /// Changes, deletes and inserts some things.
    func change(_ random: inout SeededGenerator) throws {
        let alive = living([0, 1, 2, 3]).shuffled(using: &random)
        var changed: [(row: Int, change: Change)] = []
        for row in alive.prefix(4) {
            switch random.next() % 4 {
            case 0:
                rows[row].owner = random.oneIn(3) ? nil : random.pick([0, 1, 2])
                changed.append((row, .owner))
            case 1:
                changed.append((row, .tags(former: rows[row].tags)))
                rows[row].tags = someTags(3..<6, &random)
            default:
                let position = random.pick(positions[rows[row].entity].filter { attributes[$0].rule == nil })
                rows[row].values[position] = random.plainValue(attributes[position])
                changed.append((row, .value(position)))
            }
        }
        let led = Set(rows.filter(\.isAlive).compactMap(\.next))
        let gone = alive.dropFirst(4).filter { !led.contains($0) }.prefix(2)
        let new = thing(&random, owners: 0..<3, tags: 3..<6, things: alive[0]..<alive[0] + 1)
        try save(inserting: [new], changed, deleting: Array(gone))
    }

    private func save(
        inserting new: [Row], _ changed: [(row: Int, change: Change)] = [], deleting gone: [Int] = []
    ) throws {
        let first = rows.count
        rows += new
        for place in stores.indices {
            for row in new { stores[place].append(ObjectID(temporaryFor: Self.names[row.entity])) }
            let request = try self.request(
                for: stores[place], insertingFrom: first, changed, deleting: gone)
            try stores[place].save(request)
        }
        for row in gone { rows[row].isAlive = false }
        members = Array(repeating: [], count: rows.count)
        for (number, row) in rows.enumerated() where row.isAlive {
            if let owner = row.owner { members[owner].append(number) }
            for tag in row.tags { members[tag].append(number) }
        }
        derive()
    }

    private func request(
        for store: RequestStore, insertingFrom first: Int, _ changed: [(row: Int, change: Change)],
        deleting gone: [Int]
    ) throws -> SaveRequest {
        var request = SaveRequest()
        for row in rows.indices.dropFirst(first) {
            request.insertions.append(try insertion(row, in: store))
            if !rows[row].tags.isEmpty { request.links.append(try link(row, former: [], in: store)) }
        }
        for (row, change) in changed {
            let entity = try entity(rows[row].entity)
            var update = SaveRequest.Update(id: store.ids[row], expectedVersion: try store.version(row))
            switch change {
            case .value(let position):
                let name = attributes[position].path[0]
                let slot = try #require(entity.attribute(named: name)).slot
                update.values = [(slot, stored(name, ofRow: row))]
            case .owner:
                let slot = try #require(entity.relationship(named: "owner")).slot
                update.destinations = [(slot, rows[row].owner.map { store.ids[$0] })]
            case .tags(let former): request.links.append(try link(row, former: former, in: store))
            }
            request.updates.append(update)
        }
        for row in gone {
            request.deletions.append(.init(id: store.ids[row], expectedVersion: try store.version(row)))
        }
        return request
    }

    /// The change that gives a row its tags.
    private func link(_ row: Int, former: [Int], in store: RequestStore) throws -> SaveRequest.LinkChange {
        let slot = try #require(try entity(rows[row].entity).relationship(named: "tags")).slot
        func ids(_ tags: [Int]) -> [ObjectID] { tags.map { store.ids[$0] } }
        let tags = rows[row].tags
        if isOrdered { return .init(owner: store.ids[row], slot: slot, order: ids(tags)) }
        return .init(
            owner: store.ids[row], slot: slot, added: ids(tags.filter { !former.contains($0) }),
            removed: ids(former.filter { !tags.contains($0) }))
    }

    private func insertion(_ row: Int, in store: RequestStore) throws -> SaveRequest.Insertion {
        let entity = try entity(rows[row].entity)
        let destinations = ["owner": rows[row].owner, "next": rows[row].next].compactMapValues { place in
            place.map { store.ids[$0] }
        }
        return SaveRequest.Insertion(
            id: store.ids[row], values: entity.attributes.map { stored($0.name, ofRow: row) },
            destinations: entity.relationships.map { destinations[$0.name] })
    }

    /// The value that a request to save has for an attribute, with all elements of a composite.
    private func stored(_ name: String, ofRow row: Int) -> AttributeValue {
        var parts: [String: AttributeValue] = [:]
        for position in positions[rows[row].entity] where attributes[position].path[0] == name {
            let attribute = attributes[position]
            if attribute.rule == .code { return .integer(Int64(row)) }
            let value = attribute.rule == nil ? rows[row].values[position].stored(as: attribute.type) : .null
            guard attribute.path.count > 1 else { return value }
            if !value.isNull { parts[attribute.path[1]] = value }
        }
        return parts.isEmpty ? .null : .composite(parts)
    }

    // MARK: Derived values

    /// Computes the values that follow from others.
    private func derive() {
        for row in rows.indices where rows[row].isAlive {
            for position in positions[rows[row].entity] {
                guard let rule = attributes[position].rule else { continue }
                rows[row].values[position] = value(rule, of: row)
            }
        }
    }

    private func value(_ rule: Attribute.Rule, of row: Int) -> PlainValue {
        switch rule {
        case .code: return .number(Double(row))
        case .canonical:
            guard case .text(let text) = read("base1", of: row) else { return .null }
            return .text(PlainText.all[text].position(of: .both))
        case .tagCount: return .number(Double(rows[row].tags.count))
        case .ownerText: return rows[row].owner.map { read("owner0", of: $0) } ?? .null
        case .greatest, .total:
            let values = members[row].map { read("base0", of: $0) }.filter { !$0.isNull }
            if rule == .greatest { return values.max { $0.order($1) < 0 } ?? .null }
            var sum = 0.0
            for case .number(let number) in values { sum += number }
            return sum.isNaN ? .null : .number(sum)
        }
    }

    private func read(_ name: String, of row: Int) -> PlainValue {
        attributes.firstIndex { $0.name == name }.map { rows[row].values[$0] } ?? .null
    }
}

extension SeededGenerator {
    /// A value of an attribute: of a small domain, in which equal values with other bits are frequent.
    mutating func plainValue(_ attribute: RequestWorld.Attribute) -> PlainValue {
        if oneIn(6) { return .null }
        switch attribute.kind {
        case .text: return .text(Int(next() % UInt64(PlainText.all.count)))
        case .flag: return .flag(oneIn(2))
        case .day: return .day(pick([0, 1, 86_400, -1.5]))
        case .bytes, .opaque: return .bytes(pick(PlainBytes.all(of: attribute.type)))
        case .number:
            switch attribute.type {
            case .double, .float: return .number(pick([0, -0.0, 1, 1, 2.5, 2.5, -1, .nan, .infinity]))
            case .decimal: return .number(pick([0, 1, 1, 2.5, -1, 3]))
            default: return .number(pick([-2, 0, 1, 1, 2, 3, 7]))
            }
        }
    }
}
