// A grove: trees, oaks, birds and nests, related at random under random delete rules, in one or two stores.
//
// Two groves of one seed have the same objects and relationships under other IDs: what is deleted and saved in one of
// them is the oracle of what is deleted and not saved in the other.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport

/// The model of a grove.
struct GroveModel {
    /// A relationship and its inverse.
    struct Bond {
        let source: String
        let target: String
        let name: String
        let inverse: String
        let cardinality: RelationshipDescription.Cardinality
        let inverseCardinality: RelationshipDescription.Cardinality
        let rule: DeleteRule
        let inverseRule: DeleteRule
    }

    static let entities = ["Tree", "Oak", "Bird", "Nest"]
    private static let cardinalities: [(RelationshipDescription.Cardinality, RelationshipDescription.Cardinality)] = [
        (.toMany, .toOne), (.ordered, .toOne), (.toOne, .toOne), (.toMany, .toMany), (.toMany, .ordered),
    ]

    let bonds: [Bond]
    let model: ManagedObjectModel

    /// The rules that are not `nullify`.
    var rulesText: String {
        bonds.map { bond in
            "\(bond.source).\(bond.name) \(bond.cardinality) \(bond.rule), "
                + "\(bond.target).\(bond.inverse) \(bond.inverseCardinality) \(bond.inverseRule)"
        }.joined(separator: "\n")
    }

    init(_ random: inout SeededGenerator) throws {
        var bonds = [
            Bond(
                source: "Tree", target: "Bird", name: "birds", inverse: "tree", cardinality: .toMany,
                inverseCardinality: .toOne, rule: Self.someRule(&random), inverseRule: Self.someRule(&random))
        ]
        for number in 0..<Int.random(in: 3...6, using: &random) {
            let (cardinality, inverse) = Self.cardinalities[Int.random(in: 0..<5, using: &random)]
            bonds.append(
                Bond(
                    source: Self.entities.randomElement(using: &random) ?? "Tree",
                    target: Self.entities.randomElement(using: &random) ?? "Bird", name: "to\(number)",
                    inverse: "of\(number)", cardinality: cardinality, inverseCardinality: inverse,
                    rule: Self.someRule(&random), inverseRule: Self.someRule(&random)))
        }
        self.bonds = bonds
        model = try ManagedObjectModel(
            entities: Self.entities.map { name in
                var attributes: [AttributeDescription] = []
                if name != "Oak" {
                    attributes = [
                        AttributeDescription("name", .string, isIndexed: true),
                        AttributeDescription("size", .integer64),
                    ]
                }
                var relationships = bonds.flatMap { Self.ends(of: $0, at: name) }
                if name == "Tree" {
                    attributes.append(AttributeDescription("birdCount", .integer64, derivation: .count(of: "birds")))
                    relationships.append(RelationshipDescription("marks", to: "Bird", .toMany))
                }
                if name == "Bird" { relationships.append(RelationshipDescription("hint", to: "Nest")) }
                return EntityDescription(
                    name, superentity: name == "Oak" ? "Tree" : nil, attributes: attributes,
                    relationships: relationships)
            })
    }

    /// Mostly `nullify` and `cascade`: a rule that denies ends many walks with a save that is refused.
    private static func someRule(_ random: inout SeededGenerator) -> DeleteRule {
        switch Int.random(in: 0..<48, using: &random) {
        case 0..<13: .cascade
        case 13: .deny
        case 14: .noAction
        default: .nullify
        }
    }

    private static func ends(of bond: Bond, at entity: String) -> [RelationshipDescription] {
        var ends: [RelationshipDescription] = []
        if bond.source == entity {
            ends.append(
                RelationshipDescription(
                    bond.name, to: bond.target, inverse: bond.inverse, bond.cardinality, deleteRule: bond.rule))
        }
        if bond.target == entity {
            ends.append(
                RelationshipDescription(
                    bond.inverse, to: bond.source, inverse: bond.name, bond.inverseCardinality,
                    deleteRule: bond.inverseRule))
        }
        return ends
    }
}

/// The stores of a grove.
final class Grove {
    /// The kinds of the stores.
    enum Place: CaseIterable {
        case memory, trees, both
    }

    let coordinator: PersistentStoreCoordinator
    private let stores: [any PersistentStore]
    /// The names of all objects by ID, and their IDs.
    private(set) var names: [ObjectID: String] = [:]
    private(set) var ids: [String: ObjectID] = [:]

    /// Makes the grove of a seed: all groves with this model and seed are equal.
    init(_ grove: GroveModel, in place: Place, seed: UInt64) throws {
        coordinator = PersistentStoreCoordinator(managedObjectModel: grove.model)
        switch place {
        case .memory: stores = [InMemoryStore(model: grove.model)]
        case .trees: stores = [try BTreeStore.inMemory(model: grove.model)]
        case .both: stores = [try BTreeStore.inMemory(model: grove.model), InMemoryStore(model: grove.model)]
        }
        for store in stores { coordinator.add(store) }
        let context = ManagedObjectContext(coordinator)
        var random = SeededGenerator(seed: seed)
        var objects: [ManagedObject] = []
        for (number, store) in stores.enumerated() { objects += try Self.fill(store, number, grove, context, &random) }
        try context.save()
        for object in objects {
            let name = object.groveName
            (names[object.objectID], ids[name]) = (name, object.objectID)
        }
    }

    /// Makes the objects of one store.
    private static func fill(
        _ store: any PersistentStore, _ number: Int, _ grove: GroveModel, _ context: ManagedObjectContext,
        _ random: inout SeededGenerator
    ) throws -> [ManagedObject] {
        var objects: [ManagedObject] = []
        for entity in GroveModel.entities {
            for index in 0..<5 {
                let object = try context.insertNewObject(forEntityName: entity)
                try object.setValue(.string("\(entity) \(number).\(index)"), forKey: "name")
                try object.setValue(.integer(Int64.random(in: 0..<5, using: &random)), forKey: "size")
                objects.append(object)
            }
        }
        try context.assign(objects, to: store)
        func kin(_ entity: String) -> [ManagedObject] {
            objects.filter { $0.entity.name == entity || (entity == "Tree" && $0.entity.name == "Oak") }
        }
        for bond in grove.bonds {
            for object in kin(bond.source) where Int.random(in: 0..<4, using: &random) > 0 {
                let targets = kin(bond.target).shuffled(using: &random)
                if bond.cardinality == .toOne {
                    try object.setValue(.toOne(targets[0]), forKey: bond.name)
                } else {
                    let count = Int.random(in: 0...3, using: &random)
                    try object.add(Array(targets.prefix(count)), toRelationshipNamed: bond.name)
                }
            }
        }
        for tree in kin("Tree") {
            let marked = kin("Bird").filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
            try tree.add(marked, toRelationshipNamed: "marks")
        }
        for bird in kin("Bird") where Bool.random(using: &random) {
            try bird.setValue(.toOne(kin("Nest").randomElement(using: &random)), forKey: "hint")
        }
        return objects
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }

    /// The destinations of each relationship of an object, by name: sorted, unless they are ordered.
    ///
    /// Only relationships that deletions of their destinations empty: the others are as they were until the save.
    func destinations(of object: ManagedObject, in context: ManagedObjectContext) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for relationship in object.entity.relationships {
            guard let inverse = context.model.inverse(of: relationship),
                inverse.deleteRule == .nullify || inverse.deleteRule == .cascade
            else { continue }
            let ids = try object.objectIDs(forRelationshipNamed: relationship.name)
            let names = ids.map { self.names[$0] ?? "\($0)" }
            found[relationship.name] = relationship.isOrdered ? names : names.sorted()
        }
        return found
    }

    /// The findings of the checks of the stores that have one.
    func findings() throws -> [String] {
        var findings: [String] = []
        for case let store as BTreeStore in stores {
            let report = try store.check()
            findings += (report.findings + report.dangling).map { "\($0)" }
        }
        return findings
    }
}

extension ManagedObject {
    /// The name of an object of a grove.
    var groveName: String {
        guard case .string(let name) = self[attribute: "name"] else { return "" }
        return name
    }
}
