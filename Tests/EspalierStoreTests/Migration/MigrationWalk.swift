// Random models that change at random, and the effects of the changes on plain values.
//
// Invariants
//   1. A walk uses each name of an entity once, and each name of a property for one property, which several entities
//      may declare after they have inherited it, so that no name is confused with an earlier use.
//   2. A version changes each entity at most once, because losses have the names of the older model.
//   3. The changes of a version alter `expected` without any help of the library.
//   4. Derived attributes and computed indexes read properties that their entity has: those whose source is gone go too
//      (`MigrationWalk+Computed`).

import EspalierModel
import EspalierStore
import Foundation
import TestSupport

/// A model that goes through versions, and the rows that a store of it must have.
struct MigrationWalk {
    var random: SeededGenerator
    var entities: [EntityDescription] = []
    var expected = GraphDump()
    /// The losses of this version's changes.
    var losses: Set<MigrationLoss> = []
    /// The names of the lists that become ordered in this version; any order of them is right.
    var newlyOrdered: Set<String> = []
    /// Whether composites have got elements in this version.
    var fillsElements = false
    /// The changes of this version, for messages.
    var log: [String] = []
    /// The attribute that each index with a condition or of an expression reads.
    var indexSources: [String: String] = [:]
    private var touched: Set<String> = []
    private var nameCount = 0
    private var serial: Int64 = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for _ in 0..<Int.random(in: 2...4, using: &random) { addEntity() }
        for parent in entities.map(\.name) where chance(3) {
            addEntity()
            entities[entities.count - 1].superentity = parent
            entities[entities.count - 1].attributes.removeFirst()
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            touched = []
            addRelationship()
        }
        touched = []
        (log, losses) = ([], [])
    }

    // MARK: Choices

    mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }

    mutating func newName(_ prefix: String) -> String {
        nameCount += 1
        return "\(prefix)\(nameCount)"
    }

    /// The position of a random entity that this version has not touched yet; marks the entity as touched.
    mutating func takeEntity(where isGood: (EntityDescription) -> Bool = { _ in true }) -> Int? {
        let free = entities.indices.filter { !touched.contains(entities[$0].name) && isGood(entities[$0]) }
        guard let position = free.randomElement(using: &random) else { return nil }
        touched.insert(entities[position].name)
        return position
    }

    mutating func touch(_ names: [String]) -> Bool {
        guard touched.isDisjoint(with: names) else { return false }
        touched.formUnion(names)
        return true
    }

    func position(of name: String) -> Int { entities.firstIndex { $0.name == name } ?? 0 }

    /// The names of an entity and of all entities that inherit from it.
    func family(_ name: String) -> Set<String> {
        var found: Set = [name]
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for entity in entities where entity.superentity.map(found.contains) == true {
                if found.insert(entity.name).inserted { isGrowing = true }
            }
        }
        return found
    }

    mutating func change(rowsOf name: String, _ body: (inout GraphDump.Row) -> Void) {
        let family = family(name)
        for (serial, row) in expected.rows where family.contains(row.entity) {
            var row = row
            body(&row)
            expected.rows[serial] = row
        }
    }

    // MARK: Rows

    /// An insertion of rows of every concrete entity, and of links between them.
    mutating func insertion(_ model: ManagedObjectModel) throws -> GraphInsertion {
        var graph = GraphInsertion(model)
        var serials: [String: [Int64]] = [:]
        var rows: [(serial: Int64, entity: Entity)] = []
        for entity in model.entities where !entity.isAbstract {
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                serial += 1
                graph.announce(serial, entity.name)
                rows.append((serial, entity))
                for ancestor in model.entities where entity.isKind(of: ancestor) {
                    serials[ancestor.name, default: []].append(serial)
                }
            }
        }
        var references = oneToOnes(model, serials)
        for (serial, entity) in rows {
            for relationship in entity.relationships where !relationship.isToMany {
                if let inverse = model.inverse(of: relationship), !inverse.isToMany { continue }
                let targets = serials[relationship.description.destination] ?? []
                guard !chance(4) else { continue }
                references[serial, default: [:]][relationship.name] = targets.randomElement(using: &random)
            }
            var values: [String: AttributeValue] = [:]
            for attribute in entity.attributes where !attribute.isOptional || !chance(4) {
                values[attribute.name] = value(of: attribute.description)
            }
            try graph.add(serial, entity.name, values, to: references[serial] ?? [:])
        }
        for (serial, entity) in rows {
            for relationship in entity.relationships where relationship.isToMany {
                let inverse = model.inverse(of: relationship)
                // Set each pair of relationships from one side only.
                if let inverse, !inverse.isToMany || inverse.name < relationship.name { continue }
                let targets = (serials[relationship.description.destination] ?? []).shuffled(using: &random)
                let chosen = Array(targets.prefix(Int.random(in: 0...2, using: &random)))
                if !chosen.isEmpty { try graph.link(serial, relationship.name, chosen) }
            }
        }
        return graph
    }

    /// Random destinations of the one-to-one relationships, set on both sides.
    private mutating func oneToOnes(
        _ model: ManagedObjectModel, _ serials: [String: [Int64]]
    ) -> [Int64: [String: Int64]] {
        var references: [Int64: [String: Int64]] = [:]
        for entity in model.entities {
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && !relationship.isToMany {
                guard let inverse = model.inverse(of: relationship), !inverse.isToMany,
                    inverse.name > relationship.name
                else { continue }
                let owners = (serials[entity.name] ?? []).shuffled(using: &random)
                let targets = (serials[relationship.description.destination] ?? []).shuffled(using: &random)
                for (owner, target) in zip(owners, targets) where !chance(3) {
                    references[owner, default: [:]][relationship.name] = target
                    references[target, default: [:]][inverse.name] = owner
                }
            }
        }
        return references
    }

    // MARK: Versions

    /// Makes the next version: a few changes of different entities.
    mutating func advance() {
        (touched, losses, newlyOrdered, log, fillsElements) = ([], [], [], [], false)
        let changes: [(inout MigrationWalk) -> Void] = [
            { $0.addAttribute() }, { $0.removeAttribute() }, { $0.renameAttribute() }, { $0.retypeAttribute() },
            { $0.requireAttribute() }, { $0.indexAttribute() }, { $0.changeElements() }, { $0.changeElements() },
            { $0.renameEntity() }, { $0.renameRelationship() },
            { $0.changeCardinality() }, { $0.changeCardinality() }, { $0.removeRelationship() },
            { $0.addRelationship() }, { $0.removeInverse() }, { $0.addInverse() }, { $0.removeEntity() },
            { $0.addEntity() }, { $0.addParent() }, { $0.moveAttributeUp() }, { $0.moveAttributesDown() },
            { $0.addDerivation() }, { $0.addComputedIndex() }, { $0.changeAttributeAtOnce() },
            { $0.changeAttributeAtOnce() }, { $0.moveRelationshipUp() }, { $0.moveRelationshipDown() },
            { $0.deriveAttribute() }, { $0.changeRule() }, { $0.freeAttribute() },
            { $0.changeParent() }, { $0.changeParent() }, { $0.removeParent() }, { $0.changeConstraint() },
        ]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            changes.randomElement(using: &random)?(&self)
        }
        settleComputed()
        settleConstraints()
    }

    mutating func addEntity() {
        let name = newName("E")
        _ = touch([name])
        var attributes = [AttributeDescription(newName("serial"), .integer64)]
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            attributes.append(newAttribute())
        }
        entities.append(EntityDescription(name, attributes: attributes))
        if chance(2) { derive(in: entities.count - 1) }
        if chance(2) { indexComputed(in: entities.count - 1) }
        log.append("add \(name)")
    }

    mutating func addRelationship() {
        guard let from = takeEntity(), let to = takeEntity() else { return }
        func kind(_ number: Int) -> RelationshipDescription.Cardinality { [.toOne, .toMany, .ordered][number % 3] }
        let (name, back) = (newName("r"), newName("r"))
        let hasInverse = !chance(3)
        entities[from].relationships.append(
            RelationshipDescription(
                name, to: entities[to].name, inverse: hasInverse ? back : nil, kind(Int(random.next() % 3))))
        change(rowsOf: entities[from].name) { $0.lists[name] = [] }
        fixEmpty(name, entities[from])
        if hasInverse {
            entities[to].relationships.append(
                RelationshipDescription(
                    back, to: entities[from].name, inverse: name, kind(Int(random.next() % 3))))
            change(rowsOf: entities[to].name) { $0.lists[back] = [] }
            fixEmpty(back, entities[to])
        }
        log.append("relate \(name)")
    }

    /// Replaces the empty list of a to-one relationship by a reference to no row.
    private mutating func fixEmpty(_ name: String, _ entity: EntityDescription) {
        guard entity.relationships.contains(where: { $0.name == name && $0.cardinality == .toOne }) else { return }
        change(rowsOf: entity.name) { row in
            row.lists[name] = nil
            row.references[name] = .some(nil)
        }
    }
}
