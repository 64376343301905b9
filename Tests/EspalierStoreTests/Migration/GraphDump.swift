// The whole content of a store as plain values, for comparisons before and after a migration.
//
// A serial number identifies an object: an attribute whose name begins with `serial` and that no migration changes.
// Entities, keys and IDs may differ after a migration.

import EspalierModel
import EspalierStore

/// The rows of a store as values.
struct GraphDump: Equatable {
    /// One row.
    struct Row: Equatable {
        var entity: String
        var values: [String: AttributeValue] = [:]
        var references: [String: Int64?] = [:]
        /// The serial numbers of the destinations: in list order if the relationship is ordered, else ascending.
        var lists: [String: [Int64]] = [:]
    }

    /// The rows by serial number.
    var rows: [Int64: Row] = [:]

    init() {}

    init(_ store: any PersistentStore) throws {
        let snapshot = try store.snapshot()
        var serials: [ObjectID: Int64] = [:]
        var found: [(entity: Entity, ids: [ObjectID], rows: [ObjectSnapshot?])] = []
        for entity in store.model.entities where !entity.isAbstract {
            let ids = try snapshot.fetchIDs(StoreFetch(entity: entity, includesSubentities: false))
            let rows = try snapshot.snapshots(of: ids)
            // An entity that has joined a hierarchy may have several of them, of which its older rows have one.
            let slots = entity.attributes.indices.filter { entity.attributes[$0].name.hasPrefix("serial") }
            for (id, row) in zip(ids, rows) {
                for slot in slots {
                    if case .integer(let serial)? = row?.value(at: slot) { serials[id] = serial }
                }
            }
            found.append((entity, ids, rows))
        }
        for (entity, ids, snapshots) in found {
            let lists = try entity.relationships.filter(\.isToMany).map { relationship in
                (relationship, try snapshot.destinations(of: relationship, for: ids))
            }
            for (position, id) in ids.enumerated() {
                guard let serial = serials[id], let source = snapshots[position] else { continue }
                var row = Row(entity: entity.name)
                for attribute in entity.attributes where !attribute.name.hasPrefix("serial") && !attribute.isTransient {
                    row.values[attribute.name] = source.value(at: attribute.slot)
                }
                for relationship in entity.relationships where !relationship.isToMany {
                    row.references[relationship.name] = source.destination(at: relationship.slot).map {
                        serials[$0] ?? -1
                    }
                    if row.references[relationship.name] == nil { row.references[relationship.name] = .some(nil) }
                }
                for (relationship, destinations) in lists {
                    let numbers = destinations[position].map { serials[$0] ?? -1 }
                    row.lists[relationship.name] = relationship.isOrdered ? numbers : numbers.sorted()
                }
                rows[serial] = row
            }
        }
    }

    /// The rows of an entity, by serial number.
    func rows(of entity: String) -> [Int64: Row] { rows.filter { $0.value.entity == entity } }

    /// A value, or null if there is no such row or attribute.
    func value(_ serial: Int64, _ name: String) -> AttributeValue { rows[serial]?.values[name] ?? .null }

    /// The serial number of a to-one relationship's destination.
    func reference(_ serial: Int64, _ name: String) -> Int64? { rows[serial]?.references[name] ?? nil }

    /// The serial numbers of a to-many relationship's destinations.
    func list(_ serial: Int64, _ name: String) -> [Int64] { rows[serial]?.lists[name] ?? [] }

    /// The differences from another dump, for messages.
    func differences(from other: GraphDump) -> [String] {
        Set(rows.keys).union(other.rows.keys).sorted().compactMap { serial in
            let (here, there) = (rows[serial], other.rows[serial])
            guard here != there else { return nil }
            return "\(serial): \(here.map { "\($0)" } ?? "none") / \(there.map { "\($0)" } ?? "none")"
        }
    }
}

/// Rows that one save inserts.
struct GraphInsertion {
    private var request = SaveRequest()
    private var ids: [Int64: ObjectID] = [:]
    private let model: ManagedObjectModel

    init(_ model: ManagedObjectModel) { self.model = model }

    /// Announces a row that a later call adds, so that other rows can refer to it.
    mutating func announce(_ serial: Int64, _ entityName: String) {
        ids[serial] = ObjectID(temporaryFor: entityName)
    }

    /// Adds a row; destinations of its to-one relationships must have been announced or added before.
    mutating func add(
        _ serial: Int64, _ entityName: String, _ values: [String: AttributeValue] = [:], to: [String: Int64] = [:]
    ) throws {
        guard let entity = model.entity(named: entityName) else { throw FixtureError.unknown(entityName) }
        let id = ids[serial] ?? ObjectID(temporaryFor: entityName)
        ids[serial] = id
        var row = SaveRequest.Insertion(
            id: id, values: Array(repeating: .null, count: entity.attributes.count),
            destinations: Array(repeating: nil, count: entity.relationships.count))
        for attribute in entity.attributes {
            row.values[attribute.slot] =
                attribute.name.hasPrefix("serial") ? .integer(serial) : values[attribute.name] ?? .null
        }
        for (name, destination) in to {
            guard let relationship = entity.relationship(named: name) else { throw FixtureError.unknown(name) }
            row.destinations[relationship.slot] = ids[destination]
        }
        request.insertions.append(row)
    }

    /// Adds destinations to a to-many relationship.
    mutating func link(_ owner: Int64, _ name: String, _ destinations: [Int64]) throws {
        guard let id = ids[owner], let entity = model.entity(named: id.entityName),
            let relationship = entity.relationship(named: name)
        else { throw FixtureError.unknown(name) }
        let added = destinations.compactMap { ids[$0] }
        request.links.append(
            .init(
                owner: id, slot: relationship.slot, added: added, removed: [],
                order: relationship.isOrdered ? added : nil, orderBase: nil))
    }

    /// Saves everything.
    func save(in store: BTreeStore) throws { _ = try store.save(request) }
}
