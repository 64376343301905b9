// The check above the pages: do rows, relationships, unique values and indexes of an object store agree?
//
// Rules
//   1. Each ID that a store lists has a row, and each of its values can be decoded.
//   2. A required attribute has a value, a required to-one relationship a destination.
//   3. Each destination of a relationship exists, and is of the relationship's entity.
//   4. Both ends of a relationship say the same.
//   5. No two rows share values that must be unique together (MD-12).
//   6. Going through an index finds the same rows as going through the rows.
//
// It asks through the store's contract only, so that it finds what an application would run into.

import EspalierModel
import EspalierStore

/// Checks the objects of an open store.
struct ObjectCheck {
    private static let batchSize = 1000

    private let store: OpenStore
    private var progress: Progress
    /// What is wrong: entity, key, sentence.
    private(set) var findings: [String] = []
    /// How many rows each concrete entity has.
    private(set) var rowCounts: [(entity: String, count: Int)] = []
    /// How many pairs relationships from many to many hold.
    private(set) var linkCount = 0
    private var idsByEntity: [Set<ObjectID>]
    private var allIDs: Set<ObjectID> = []

    /// Checks all objects of `store`.
    init(_ store: OpenStore, _ console: Console) throws(ToolError) {
        self.store = store
        progress = Progress(console)
        idsByEntity = Array(repeating: [], count: store.model.entities.count)
        for entity in store.model.entities where !entity.isAbstract {
            idsByEntity[entity.index] = Set(try store.ids(of: entity))
            allIDs.formUnion(idsByEntity[entity.index])
            rowCounts.append((entity.name, idsByEntity[entity.index].count))
        }
        for entity in store.model.entities where !entity.isAbstract { try checkRows(of: entity) }
        for entity in store.model.entities {
            for relationship in entity.relationships
            where relationship.isToMany && relationship.declaredBy == entity.index {
                try checkEnds(of: relationship, entity)
            }
            for index in entity.indexes { try checkIndex(index, of: entity) }
        }
        progress.finish()
    }

    /// The IDs of the rows of `entity` and of everything that inherits from it, ascending.
    private func ids(ofFamily entity: Entity) -> [ObjectID] {
        entity.family.flatMap { idsByEntity[$0] }.sorted { ($0.entityName, $0.key) < ($1.entityName, $1.key) }
    }

    /// Calls `body` with every row of `entity` and its subentities.
    private mutating func forEachRow(
        ofFamily entity: Entity, _ body: (inout ObjectCheck, ObjectSnapshot) -> Void
    ) throws(ToolError) {
        let ids = ids(ofFamily: entity)
        for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
            progress.show("checking \(entity.name)", start, of: ids.count)
            for row in try store.rows(Array(ids[start...].prefix(Self.batchSize))) { body(&self, row) }
        }
    }

    // MARK: - Rows (rules 1, 2, 3, 5)

    private mutating func checkRows(of entity: Entity) throws(ToolError) {
        var uniqueValues = entity.uniquenessConstraints.map { _ in [[AttributeValue]: ObjectID]() }
        var found = 0
        let ids = Array(idsByEntity[entity.index])
        for start in stride(from: 0, to: ids.count, by: Self.batchSize) {
            progress.show("checking \(entity.name)", start, of: ids.count)
            for row in try store.rows(Array(ids[start...].prefix(Self.batchSize))) {
                found += 1
                checkValues(of: row, entity)
                checkUniqueness(of: row, entity, &uniqueValues)
            }
        }
        if found != ids.count {
            findings.append("\(entity.name): listed rows that do not exist: \(ids.count - found).")
        }
    }

    private mutating func checkValues(of row: ObjectSnapshot, _ entity: Entity) {
        for attribute in entity.attributes where !attribute.isOptional && !attribute.isTransient {
            if row.value(at: attribute.slot).isNull {
                findings.append("\(row.id.shortText) has no value for \(attribute.name), which requires one.")
            }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            guard let destination = row.destination(at: relationship.slot) else {
                if !relationship.isOptional {
                    findings.append("\(row.id.shortText) has no \(relationship.name), which is required.")
                }
                continue
            }
            check(destination, isOf: relationship, row.id)
        }
    }

    private mutating func check(_ destination: ObjectID, isOf relationship: Relationship, _ owner: ObjectID) {
        let family = store.model.entities[relationship.destination].family
        if !family.contains(where: { idsByEntity[$0].contains(destination) }) {
            findings.append(
                "\(owner.shortText): \(relationship.name) leads to \(destination.shortText), which "
                    + (allIDs.contains(destination) ? "is of another entity." : "does not exist."))
        }
    }

    private mutating func checkUniqueness(
        of row: ObjectSnapshot, _ entity: Entity, _ seen: inout [[[AttributeValue]: ObjectID]]
    ) {
        for (index, constraint) in entity.uniquenessConstraints.enumerated() {
            let values = constraint.map { name -> AttributeValue in
                switch entity.property(named: name) {
                case .attribute(let slot): row.value(at: slot)
                case .relationship(let slot): row.destination(at: slot).map(AttributeValue.objectID) ?? .null
                case nil: .null
                }
            }
            // As in SQL, a missing value is equal to nothing.
            guard !values.contains(where: \.isNull) else { continue }
            if let other = seen[index].updateValue(row.id, forKey: values) {
                findings.append(
                    "\(row.id.shortText) and \(other.shortText) have the same \(constraint.joined(separator: ", ")).")
            }
        }
    }

    // MARK: - Relationships (rules 3, 4)

    /// A pair that a relationship holds.
    private struct Link: Hashable {
        let owner: ObjectID
        let destination: ObjectID
    }

    private mutating func checkEnds(of relationship: Relationship, _ entity: Entity) throws(ToolError) {
        let here = try links(of: relationship, entity)
        for link in here { check(link.destination, isOf: relationship, link.owner) }
        let destination = store.model.entities[relationship.destination]
        guard let inverse = relationship.inverse.map({ destination.relationships[$0] }) else { return }
        var there: Set<Link> = []
        if inverse.isToMany {
            there = Set(try links(of: inverse, destination).map { Link(owner: $0.destination, destination: $0.owner) })
            // Each pair is seen from both ends; count it from one.
            if (relationship.declaredBy, relationship.slot) <= (inverse.declaredBy, inverse.slot) {
                linkCount += here.count
            }
        } else {
            try forEachRow(ofFamily: destination) { _, row in
                guard let owner = row.destination(at: inverse.slot) else { return }
                there.insert(Link(owner: owner, destination: row.id))
            }
        }
        for link in here.symmetricDifference(there) {
            let side =
                here.contains(link) ? "\(entity.name).\(relationship.name)" : "\(destination.name).\(inverse.name)"
            findings.append("\(link.owner.shortText) and \(link.destination.shortText): only \(side) links them.")
        }
    }

    private func links(of relationship: Relationship, _ entity: Entity) throws(ToolError) -> Set<Link> {
        let owners = ids(ofFamily: entity)
        var links: Set<Link> = []
        for start in stride(from: 0, to: owners.count, by: Self.batchSize) {
            let batch = Array(owners[start...].prefix(Self.batchSize))
            for (owner, destinations) in zip(batch, try store.destinations(of: relationship, for: batch)) {
                for destination in destinations { links.insert(Link(owner: owner, destination: destination)) }
            }
        }
        return links
    }

    // MARK: - Indexes (rule 6)

    private mutating func checkIndex(_ index: EntityDescription.Index, of entity: Entity) throws(ToolError) {
        let keys = index.elements.filter { entity.attribute(named: $0.property) != nil }.map {
            SortKey($0.property, ascending: $0.isAscending)
        }
        guard keys.count == index.elements.count else { return }
        let found = try store.ids(of: entity, in: keys)
        let expected = entity.family.reduce(into: Set<ObjectID>()) { $0.formUnion(idsByEntity[$1]) }
        if found.count != expected.count || Set(found) != expected {
            findings.append(
                "Index \(index.name) of \(entity.name): \(found.count) rows found, \(expected.count) there are.")
        }
    }
}
