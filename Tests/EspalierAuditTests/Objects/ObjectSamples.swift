// Object stores for the audit: random saves over a model with every type, relationship and kind of group.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport

@testable import EspalierAudit

/// The model of the samples.
enum ObjectSampleModel {
    /// The model, with its entities in either order, which must not matter for rows.
    static func make(isReversed: Bool = false) throws -> ManagedObjectModel {
        let entities = [thing, work, song, owner, label, note]
        return try ManagedObjectModel(entities: isReversed ? entities.reversed() : entities)
    }

    /// An entity with every attribute type, indexed if the type has an order.
    private static let thing = EntityDescription(
        "Thing",
        attributes: [
            AttributeDescription("short", .integer16, isIndexed: true),
            AttributeDescription("middle", .integer32, isIndexed: true),
            AttributeDescription("long", .integer64, isIndexed: true),
            AttributeDescription("decimal", .decimal, isIndexed: true),
            AttributeDescription("double", .double, isIndexed: true),
            AttributeDescription("float", .float, isIndexed: true),
            AttributeDescription("text", .string, isIndexed: true),
            AttributeDescription("bit", .boolean, isIndexed: true),
            AttributeDescription("date", .date, isIndexed: true),
            AttributeDescription("bytes", .binary, isIndexed: true),
            AttributeDescription("uuid", .uuid, isIndexed: true),
            AttributeDescription("uri", .uri, isIndexed: true),
            AttributeDescription("other", .transformable, valueTransformerName: "Other"),
            AttributeDescription(
                "pair", .composite,
                elements: [AttributeDescription("x", .double), AttributeDescription("label", .string)]),
            AttributeDescription("shown", .string, isTransient: true),
        ],
        indexes: [
            .init(
                "compound", on: [.init("bit", isAscending: false), .init("text", isAscending: false), .init("long")]),
            .init("downwards", on: [.init("decimal", isAscending: false), .init("double", isAscending: false)]),
        ])

    private static let work = EntityDescription(
        "Work", isAbstract: true, attributes: [AttributeDescription("title", .string, isIndexed: true)],
        relationships: [
            RelationshipDescription("owner", to: "Owner", inverse: "works"),
            RelationshipDescription("labels", to: "Label", inverse: "works", .ordered),
        ],
        indexes: [.init("byOwner", on: [.init("owner"), .init("title", isAscending: false)])])

    private static let song = EntityDescription(
        "Song", superentity: "Work", attributes: [AttributeDescription("length", .integer64)],
        relationships: [RelationshipDescription("shelf", to: "Owner", inverse: "shelved")],
        uniquenessConstraints: [["title", "owner"]])

    private static let owner = EntityDescription(
        "Owner", attributes: [AttributeDescription("name", .string)],
        relationships: [
            RelationshipDescription("works", to: "Work", inverse: "owner", .toMany),
            RelationshipDescription("shelved", to: "Song", inverse: "shelf", .ordered),
            RelationshipDescription("friends", to: "Owner", inverse: "friends", .toMany),
            RelationshipDescription("seen", to: "Work", .toMany),
            RelationshipDescription("ranked", to: "Work", .ordered),
            RelationshipDescription("note", to: "Note"),
        ],
        uniquenessConstraints: [["name"]])

    private static let label = EntityDescription(
        "Label", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("works", to: "Work", inverse: "labels", .toMany)])

    private static let note = EntityDescription(
        "Note", superentity: "Work", attributes: [AttributeDescription("text", .string)],
        uniquenessConstraints: [["text"]])
}

/// Random saves to one store.
final class ObjectSampleRun {
    private let database: Database
    private let system = SimulatedFileSystem(seed: 9)
    private var random: SeededGenerator
    private var model: ManagedObjectModel
    private var store: BTreeStore
    private var toOnes: [ObjectID: [ObjectID?]] = [:]
    /// The keys of `toOnes`, in the order of their entity names and keys.
    private var ids: [ObjectID] = []
    private static let concrete = ["Thing", "Song", "Note", "Owner", "Label"]

    init(seed: UInt64, pageSize: Int = 4096) throws {
        random = SeededGenerator(seed: seed)
        model = try ObjectSampleModel.make()
        var options = SampleStores.options
        options.pageSize = pageSize
        options.cacheByteCount = 64 * pageSize
        options.logSegmentByteCount = 16 * pageSize
        options.logSoftCap = 64 * pageSize
        options.logByteCountMax = 1024 * pageSize
        options.applicationID = BTreeStore.applicationID
        database = try Database.open("store", in: system, options: options)
        store = try BTreeStore.open(database, path: "store", model: model)
    }

    /// The files after `count` saves, with a change of the order of entities halfway.
    static func files(seed: UInt64, saves count: Int, pageSize: Int = 4096, closes: Bool = true) throws -> ForgedFiles {
        let run = try ObjectSampleRun(seed: seed, pageSize: pageSize)
        for step in 0..<count {
            if step == count / 2 { try run.reorder() }
            try run.save()
        }
        if closes { try run.store.close() }
        var files = ForgedFiles(run.system)
        if !closes { files.trimLog() }
        return files
    }

    private func reorder() throws {
        model = try ObjectSampleModel.make(isReversed: true)
        store = try BTreeStore.open(database, path: "store", model: model)
    }

    /// One random save; a refused one changes nothing.
    private func save() throws {
        var request = SaveRequest()
        var fresh: [ObjectID] = []
        for _ in 0..<1 + random.next() % 8 {
            let name = Self.concrete[Int(random.next() % UInt64(Self.concrete.count))]
            guard let entity = model.entity(named: name) else { continue }
            let id = ObjectID(temporaryFor: name)
            request.insertions.append(
                SaveRequest.Insertion(
                    id: id, values: entity.attributes.map { $0.isTransient ? .null : value(of: $0.type) },
                    destinations: entity.relationships.map { $0.isToMany ? nil : destination(of: $0, fresh) }))
            fresh.append(id)
        }
        var touched: Set<ObjectID> = []
        for _ in 0..<random.next() % 5 {
            guard let id = anyID(), touched.insert(id).inserted, let entity = model.entity(named: id.entityName),
                let row = try store.snapshots(of: [id])[0]
            else { continue }
            var update = SaveRequest.Update(id: id, expectedVersion: row.version)
            for attribute in entity.attributes where !attribute.isTransient && random.next() % 3 == 0 {
                update.values.append((attribute.slot, value(of: attribute.type)))
            }
            for relationship in entity.relationships where !relationship.isToMany && random.next() % 2 == 0 {
                update.destinations.append((relationship.slot, destination(of: relationship, fresh)))
            }
            request.updates.append(update)
        }
        addLinks(to: &request, fresh)
        try addDeletions(to: &request, touched)
        do throws(StoreError) {
            let result = try store.save(request)
            for row in Array(result.inserted) + Array(result.updated) {
                guard let entity = model.entity(named: row.id.entityName) else { continue }
                toOnes[row.id] = entity.relationships.indices.map { row.destination(at: $0) }
            }
            for deletion in request.deletions { toOnes[deletion.id] = nil }
            ids = toOnes.keys.sorted { ($0.entityName, $0.key) < ($1.entityName, $1.key) }
        } catch {
            guard case .constraint = error else { throw error }
        }
    }

    private func addLinks(to request: inout SaveRequest, _ fresh: [ObjectID]) {
        for _ in 0..<random.next() % 6 {
            guard let owner = random.next() % 2 == 0 ? anyID() : fresh.randomElement(using: &random),
                let entity = model.entity(named: owner.entityName)
            else { continue }
            let toMany = entity.relationships.filter {
                $0.isToMany && ($0.isOrdered || model.inverse(of: $0)?.isToMany != false)
            }
            guard let relationship = toMany.randomElement(using: &random) else { continue }
            let some = (0..<random.next() % 4).compactMap { _ in destination(of: relationship, fresh) }
            request.links.append(
                SaveRequest.LinkChange(owner: owner, slot: relationship.slot, added: some, removed: []))
        }
    }

    /// Adds deletions of rows to which no other row refers.
    private func addDeletions(to request: inout SaveRequest, _ touched: Set<ObjectID>) throws {
        var named = Set(toOnes.values.flatMap { $0.compactMap(\.self) })
        named.formUnion(request.insertions.flatMap { $0.destinations.compactMap(\.self) })
        named.formUnion(request.updates.flatMap { $0.destinations.compactMap(\.destination) })
        for change in request.links { named.formUnion(change.added + [change.owner]) }
        for _ in 0..<random.next() % 3 {
            guard let id = anyID(), !named.contains(id), !touched.contains(id),
                !request.deletions.contains(where: { $0.id == id }), let row = try store.snapshots(of: [id])[0]
            else { continue }
            request.deletions.append(.init(id: id, expectedVersion: row.version))
        }
    }

    private func anyID() -> ObjectID? { ids.randomElement(using: &random) }

    private func destination(of relationship: Relationship, _ fresh: [ObjectID]) -> ObjectID? {
        guard random.next() % 5 > 0 else { return nil }
        let family = Set(model.destination(of: relationship).family.map { model.entities[$0].name })
        return (ids + fresh).filter { family.contains($0.entityName) }.randomElement(using: &random)
    }

    // MARK: Values

    private func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(random.next() % UInt64(choices.count))] }

    private func value(of type: AttributeType) -> AttributeValue {
        guard random.next() % 6 > 0 else { return .null }
        switch type {
        case .integer16: return .integer(Int64(pick([0, -1, .min, .max, Int16(truncatingIfNeeded: random.next())])))
        case .integer32: return .integer(Int64(pick([0, -1, .min, .max, Int32(truncatingIfNeeded: random.next())])))
        case .integer64:
            let wide = Int64(truncatingIfNeeded: random.next())
            return .integer(pick([0, -1, .min, .max, 200, wide, wide >> 20, wide >> 40, wide >> 60]))
        case .decimal:
            let digits = pick([0, 1, 10, 99, 12_345, Int(random.next() % 1_000_000_000)])
            let number = Decimal(
                sign: pick([.plus, .minus]), exponent: pick([0, -2, -10, 5, 30, 100, -100]),
                significand: Decimal(digits))
            return .decimal(pick([number, number, number, Decimal.nan]))
        case .double: return .double(double())
        case .float: return .float(Float(double()))
        case .date: return .date(Date(timeIntervalSinceReferenceDate: pick([0, -1, 1e9, -0.5])))
        case .string: return .string(text())
        case .boolean: return .boolean(pick([true, false]))
        case .binary, .transformable:
            let data = Data((0..<pick([0, 1, 3, 17, 600])).map { _ in pick([0, 0xFF, 1, 7]) })
            return type == .binary ? .binary(data) : .transformable(data)
        case .uuid:
            let byte = UInt8(truncatingIfNeeded: random.next())
            return .uuid(UUID(uuid: (byte, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, byte)))
        case .uri: return URL(string: "https://example.org/\(random.next() % 50)").map { .uri($0) } ?? .null
        case .composite: return .composite(["x": .double(double()), "label": .string(text())])
        case .undefined, .objectID: return .null
        }
    }

    private func double() -> Double {
        pick([0, -0.0, 1, -1, .infinity, -.infinity, .nan, 0.1, Double(bitPattern: random.next())])
    }

    private func text() -> String {
        let pieces = ["a", "B", "é", "e\u{301}", "\u{0}", "\u{0}\u{FF}", "日本", "😀", "A\u{30A}", "\u{1100}\u{1161}"]
        let short = (0..<random.next() % 5).map { _ in pick(pieces) }.joined()
        // Some texts are cut in keys and differ only after the cut.
        return pick(["", "", "", String(repeating: pick(["x", "é"]), count: pick([250, 509, 510, 511, 900]))]) + short
            + "t\(random.next() % 1000)"
    }
}
