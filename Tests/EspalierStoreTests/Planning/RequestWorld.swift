// A random model with rows in a B-tree store, in a store in memory and as plain values: things of four entities, which
// inherit from one another, their owners and tags.
//
// Invariants
//   1. Both stores have one model and one identifier, so they give the same IDs, and one request serves both.
//   2. A row keeps its position when it is deleted, and later rows have greater keys.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

final class RequestWorld {
    /// An attribute, at its position among those of all entities.
    struct Attribute {
        enum Kind { case number, text, flag, day }

        let name: String
        let type: AttributeType

        var kind: Kind {
            switch type {
            case .string: .text
            case .boolean: .flag
            case .date: .day
            default: .number
            }
        }
    }

    struct Row {
        let entity: Int
        var id: ObjectID
        /// By position of the attribute; null for those of other entities.
        var values: [PlainValue]
        var owner: Int?
        var next: Int?
        var tags: [Int] = []
        var isAlive = true
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
    let treeStore: BTreeStore
    private let memoryStore: InMemoryStore
    private(set) var tree: any StoreSnapshot
    private(set) var memory: any StoreSnapshot
    private(set) var rows: [Row] = []
    /// By owner and tag: the living things that lead to it.
    private var members: [[Int]] = []
    private var numbers: [ObjectID: Int] = [:]

    init(_ random: inout SeededGenerator) throws {
        let made = RequestModel(&random)
        (attributes, hasNext) = (made.attributes, made.hasNext)
        positions = Self.superentities.indices.map { entity in
            var (chain, next): ([Int], Int?) = ([], entity)
            while let place = next { (chain, next) = ([place] + chain, Self.superentities[place]) }
            return chain.flatMap { made.ownPositions[$0] }
        }
        thingEntities = made.isBaseAbstract ? [1, 2, 3] : [0, 1, 2, 3]
        model = try ManagedObjectModel(entities: made.descriptions(&random))
        treeStore = try BTreeStore.inMemory(model: model)
        memoryStore = InMemoryStore(model: model, identifier: treeStore.identifier)
        (tree, memory) = (try treeStore.snapshot(), try memoryStore.snapshot())
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

    /// A value of a result.
    func plain(_ value: AttributeValue) -> PlainValue {
        switch value {
        case .null: .null
        case .integer(let number): .number(Double(number))
        case .double(let number): .number(number)
        case .float(let number): .number(Double(number))
        case .decimal(let number): .number(Double(number.description) ?? .nan)
        case .boolean(let flag): .flag(flag)
        case .string(let text): .text(PlainText.positions[text] ?? 0)
        case .date(let date): .day(date.timeIntervalSinceReferenceDate)
        case .objectID(let id): .row(numbers[id] ?? -1)
        case .binary, .uuid, .uri, .transformable, .composite: preconditionFailure("\(value) is of no such model")
        }
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
        for position in positions[entity] { values[position] = random.plainValue(attributes[position]) }
        return Row(entity: entity, id: ObjectID(temporaryFor: Self.names[entity]), values: values)
    }

    private func thing(
        _ random: inout SeededGenerator, owners: Range<Int>, tags: Range<Int>, things: Range<Int>
    ) -> Row {
        var row = row(of: random.pick(thingEntities), &random)
        if !random.oneIn(4) { row.owner = random.pick(Array(owners)) }
        if hasNext, !random.oneIn(3), !things.isEmpty { row.next = random.pick(Array(things)) }
        row.tags = tags.filter { _ in random.oneIn(2) }
        return row
    }

    /// Changes, deletes and inserts some things.
    func change(_ random: inout SeededGenerator) throws {
        let alive = living([0, 1, 2, 3]).shuffled(using: &random)
        var changed: [(row: Int, position: Int?)] = []
        for row in alive.prefix(4) {
            let position = random.oneIn(3) ? nil : random.pick(positions[rows[row].entity])
            if let position {
                rows[row].values[position] = random.plainValue(attributes[position])
            } else {
                rows[row].owner = random.oneIn(3) ? nil : random.pick([0, 1, 2])
            }
            changed.append((row, position))
        }
        let led = Set(rows.filter(\.isAlive).compactMap(\.next))
        let gone = alive.dropFirst(4).filter { !led.contains($0) }.prefix(2)
        let new = thing(&random, owners: 0..<3, tags: 3..<6, things: alive[0]..<alive[0] + 1)
        try save(inserting: [new], changed, deleting: Array(gone))
    }

    private func save(
        inserting new: [Row], _ changed: [(row: Int, position: Int?)] = [], deleting gone: [Int] = []
    ) throws {
        let first = rows.count
        rows += new
        var request = SaveRequest()
        for row in rows.indices.dropFirst(first) {
            request.insertions.append(try insertion(rows[row]))
            guard !rows[row].tags.isEmpty else { continue }
            let slot = try #require(try entity(rows[row].entity).relationship(named: "tags")).slot
            request.links.append(.init(owner: rows[row].id, slot: slot, added: rows[row].tags.map { rows[$0].id }))
        }
        for (row, position) in changed {
            let entity = try entity(rows[row].entity)
            var update = SaveRequest.Update(id: rows[row].id, expectedVersion: try version(row))
            if let position {
                let slot = try #require(entity.attribute(named: attributes[position].name)).slot
                update.values = [(slot, stored(rows[row].values[position], attributes[position].type))]
            } else {
                let slot = try #require(entity.relationship(named: "owner")).slot
                update.destinations = [(slot, rows[row].owner.map { rows[$0].id })]
            }
            request.updates.append(update)
        }
        for row in gone { request.deletions.append(.init(id: rows[row].id, expectedVersion: try version(row))) }
        let ids = try [treeStore.save(request), memoryStore.save(request)].map { Array($0.inserted.ids) }
        try #require(ids[0] == ids[1], "the stores give different IDs")
        for (row, id) in zip(rows.indices.dropFirst(first), ids[0]) { rows[row].id = id }
        for row in gone { rows[row].isAlive = false }
        (tree, memory) = (try treeStore.snapshot(), try memoryStore.snapshot())
        note()
    }

    /// Notes which rows lead to which, and the IDs.
    private func note() {
        members = Array(repeating: [], count: rows.count)
        for (number, row) in rows.enumerated() where row.isAlive {
            if let owner = row.owner { members[owner].append(number) }
            for tag in row.tags { members[tag].append(number) }
        }
        numbers = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.id, $0) })
    }

    private func version(_ row: Int) throws -> UInt64 {
        try #require(try memory.snapshots(of: [rows[row].id])[0]).version
    }

    private func insertion(_ row: Row) throws -> SaveRequest.Insertion {
        let entity = try entity(row.entity)
        let values = Dictionary(
            uniqueKeysWithValues: positions[row.entity].map { position in
                (attributes[position].name, stored(row.values[position], attributes[position].type))
            })
        let destinations = ["owner": row.owner, "next": row.next].compactMapValues { $0.map { rows[$0].id } }
        return SaveRequest.Insertion(
            id: row.id, values: entity.attributes.map { values[$0.name] ?? .null },
            destinations: entity.relationships.map { destinations[$0.name] })
    }

    /// A value as an attribute of a type has it; decimals end with zeros.
    private func stored(_ value: PlainValue, _ type: AttributeType) -> AttributeValue {
        switch (value, type) {
        case (.null, _): .null
        case (.flag(let flag), _): .boolean(flag)
        case (.text(let text), _): .string(PlainText.all[text].text)
        case (.day(let seconds), _): .date(Date(timeIntervalSinceReferenceDate: seconds))
        case (.number(let number), .double): .double(number)
        case (.number(let number), .float): .float(Float(number))
        case (.number(let number), .decimal):
            .decimal(Decimal(sign: number < 0 ? .minus : .plus, exponent: -2, significand: Decimal(abs(number) * 100)))
        case (.number(let number), _): .integer(Int64(number))
        case (.row(let row), _): .objectID(rows[row].id)
        }
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
        case .number:
            switch attribute.type {
            case .double, .float: return .number(pick([0, -0.0, 1, 1, 2.5, 2.5, -1, .nan, .infinity]))
            case .decimal: return .number(pick([0, 1, 1, 2.5, -1, 3]))
            default: return .number(pick([-2, 0, 1, 1, 2, 3, 7]))
            }
        }
    }
}
