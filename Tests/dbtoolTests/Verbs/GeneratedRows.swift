// Random rows of any model, with lists of no to three members in random orders, beside the rows that a store has.
//
// Invariants
//   1. Numbers and texts are unique, so that no uniqueness constraint is broken.
//   2. What a model requires is there, also for the rows that were there before.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport

/// A source of rows for stores of several versions of a model.
struct GeneratedRows {
    private var random: SeededGenerator
    private var number = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// Adds so many rows of each entity that is not abstract, and more where a model requires members of lists.
    ///
    /// - Parameter demands: a model like that of the store, which may require more relationships.
    mutating func add(_ count: Int, to store: BTreeStore, meeting demands: ManagedObjectModel) throws {
        var rows = NewRows(demands: demands)
        for entity in store.model.entities {
            let owners = try store.fetchIDs(StoreFetch(entity: entity))
            rows.ids[entity.name] = owners
            for relationship in entity.relationships where relationship.isToMany {
                for (owner, list) in zip(owners, try store.destinations(of: relationship, for: owners)) {
                    if !list.isEmpty { rows.noteMember(of: relationship, owner) }
                }
            }
        }
        for entity in store.model.entities where !entity.isAbstract {
            for _ in 0..<count { announce(entity, store.model, &rows) }
        }
        // A member that is made for a list may need members itself.
        var next = 0
        while next < rows.insertions.count {
            relate(next, store.model, &rows)
            next += 1
            if next == rows.insertions.count { fillLists(store.model, &rows) }
        }
        linkLists(store.model, &rows)
        _ = try store.save(rows.request)
        try shuffleLists(of: store)
    }

    /// Makes a row without destinations.
    private mutating func announce(_ entity: Entity, _ model: ManagedObjectModel, _ rows: inout NewRows) {
        number += 1
        let id = ObjectID(temporaryFor: entity.name)
        let values = entity.attributes.map { attribute in
            let isNull = attribute.isOptional && Int.random(in: 0..<5, using: &random) == 0
            return attribute.isTransient || isNull ? .null : value(attribute.type)
        }
        rows.insertions.append(NewRow(id: id, entity: entity, values: values))
        for ancestor in model.entities where entity.isKind(of: ancestor) {
            rows.ids[ancestor.name, default: []].append(id)
        }
    }

    private func value(_ type: AttributeType) -> AttributeValue {
        switch type {
        case .integer16, .integer32, .integer64: .integer(Int64(number))
        case .decimal: .decimal(Decimal(number))
        case .double: .double(Double(number) / 4)
        case .float: .float(Float(number) / 4)
        case .string: .string("text \(number)")
        case .boolean: .boolean(number % 2 == 0)
        case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
        case .binary: .binary(Data("\(number)".utf8))
        case .transformable: .transformable(Data("\(number)".utf8))
        case .uuid: .uuid(UUID(uuidString: "00000000-0000-4000-8000-\(100_000_000_000 + number)") ?? UUID())
        case .uri: .uri(URL(filePath: "/\(number)"))
        case .undefined, .objectID, .composite: .null
        }
    }

    /// Gives a new row destinations of its to-one relationships.
    ///
    /// A relationship from one to one stays empty: no real model has any.
    private mutating func relate(_ position: Int, _ model: ManagedObjectModel, _ rows: inout NewRows) {
        let row = rows.insertions[position]
        for relationship in row.entity.relationships where !relationship.isToMany {
            let inverse = model.inverse(of: relationship)
            guard row.destinations[relationship.slot] == nil, inverse?.isToMany ?? true else { continue }
            let isEmpty = !rows.requires(relationship, of: row.entity) && Int.random(in: 0..<4, using: &random) == 0
            let targets = rows.ids[relationship.description.destination] ?? []
            guard !isEmpty, let target = targets.randomElement(using: &random) else { continue }
            rows.insertions[position].destinations[relationship.slot] = target
            if let inverse { rows.noteMember(of: inverse, target) }
        }
    }

    /// Makes a member for each list that must have one and has none.
    private mutating func fillLists(_ model: ManagedObjectModel, _ rows: inout NewRows) {
        for entity in model.entities {
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany
                && rows.requires(relationship, of: entity)
            {
                guard let inverse = model.inverse(of: relationship), !inverse.isToMany else { continue }
                for owner in rows.ids[entity.name] ?? [] where !rows.hasMember(relationship, owner) {
                    announce(model.destination(of: relationship), model, &rows)
                    rows.insertions[rows.insertions.count - 1].destinations[inverse.slot] = owner
                    rows.noteMember(of: relationship, owner)
                }
            }
        }
    }

    /// Gives new rows up to three members in each list that no to-one relationship makes.
    private mutating func linkLists(_ model: ManagedObjectModel, _ rows: inout NewRows) {
        for row in rows.insertions {
            for relationship in row.entity.relationships where relationship.isToMany {
                if let inverse = model.inverse(of: relationship) {
                    guard inverse.isToMany, inverse.name >= relationship.name else { continue }
                }
                let targets = (rows.ids[relationship.description.destination] ?? []).shuffled(using: &random)
                let least = rows.requires(relationship, of: row.entity) ? 1 : 0
                let members = Array(targets.prefix(Int.random(in: least...3, using: &random)))
                guard !members.isEmpty else { continue }
                rows.links.append(
                    .init(
                        owner: row.id, slot: relationship.slot, added: members,
                        order: relationship.isOrdered ? members : nil))
            }
        }
    }

    /// Gives each ordered list of the store a random order.
    private mutating func shuffleLists(of store: BTreeStore) throws {
        var request = SaveRequest()
        for entity in store.model.entities {
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isOrdered {
                let owners = try store.fetchIDs(StoreFetch(entity: entity))
                for (owner, list) in zip(owners, try store.destinations(of: relationship, for: owners)) {
                    guard list.count > 1 else { continue }
                    request.links.append(
                        .init(owner: owner, slot: relationship.slot, order: list.shuffled(using: &random)))
                }
            }
        }
        if !request.isEmpty { _ = try store.save(request) }
    }
}

/// A row that is inserted.
private struct NewRow {
    let id: ObjectID
    let entity: Entity
    let values: [AttributeValue]
    var destinations: [ObjectID?]

    init(id: ObjectID, entity: Entity, values: [AttributeValue]) {
        (self.id, self.entity, self.values) = (id, entity, values)
        destinations = Array(repeating: nil, count: entity.relationships.count)
    }
}

/// The rows of one save, and those that are there.
private struct NewRows {
    /// The model that tells what is required.
    let demands: ManagedObjectModel
    /// The rows by the names of their entity and its superentities.
    var ids: [String: [ObjectID]] = [:]
    var insertions: [NewRow] = []
    var links: [SaveRequest.LinkChange] = []
    /// The owners of lists that have members, by the name of the list.
    private var owners: [String: Set<ObjectID>] = [:]

    init(demands: ManagedObjectModel) { self.demands = demands }

    func requires(_ relationship: Relationship, of entity: Entity) -> Bool {
        demands.entity(named: entity.name)?.relationship(named: relationship.name)?.isOptional == false
    }

    mutating func noteMember(of relationship: Relationship, _ owner: ObjectID) {
        owners["\(relationship.declaredBy) \(relationship.name)", default: []].insert(owner)
    }

    func hasMember(_ relationship: Relationship, _ owner: ObjectID) -> Bool {
        owners["\(relationship.declaredBy) \(relationship.name)"]?.contains(owner) ?? false
    }

    var request: SaveRequest {
        var request = SaveRequest()
        request.insertions = insertions.map { .init(id: $0.id, values: $0.values, destinations: $0.destinations) }
        request.links = links
        return request
    }
}
