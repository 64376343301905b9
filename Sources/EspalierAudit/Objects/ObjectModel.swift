// ObjectFormat.md, section 3: the model with its names resolved. Rule 102.
//
// Invariants
//   1. Memory is proportional to the bytes of the model: an inherited property is not copied to the subentities.
//   2. Whether one entity inherits from another is decided in O(1): each family is a range of one order of all
//      entities.

/// A model whose names are resolved.
struct ObjectModel {
    /// The most levels of inheritance that a model may have.
    static let levelCountMax = 1000

    struct Entity {
        let description: ModelEntity
        let superentity: Int?
        let root: Int
        /// The range of the entity and its descendants in the order of all entities; the entity itself is first.
        let family: Range<Int>

        var name: String { description.name }
    }

    /// The meaning of a property name.
    enum Property {
        case attribute(AttributeKind, isTransient: Bool)
        case relationship(Relationship)
    }

    /// A relationship, seen from the entity that declares it.
    struct Relationship {
        let name: String
        let entity: Int
        let destination: Int
        /// The name of the inverse relationship.
        let inverse: String?
        let cardinality: ModelEntity.Cardinality

        var isToMany: Bool { cardinality != .toOne }
    }

    private(set) var entities: [Entity] = []
    private let indexByName: [String: Int]
    /// The own properties of each entity, by name.
    private var properties: [[String: Property]] = []

    /// Resolves the names of a model.
    init(_ descriptions: [ModelEntity]) throws(Breach) {
        var indexByName: [String: Int] = [:]
        for (index, entity) in descriptions.enumerated() {
            guard indexByName.updateValue(index, forKey: entity.name) == nil else {
                throw Breach(102, 0, "two entities have the name \(entity.name)")
            }
        }
        self.indexByName = indexByName
        try resolveInheritance(descriptions)
        for index in entities.indices { properties.append(try ownProperties(of: index)) }
        for index in entities.indices { try checkInherited(index) }
        for index in entities.indices { try checkInverses(of: index) }
    }

    func entity(named name: String) -> Int? { indexByName[name] }

    /// Whether `entity` is `other` or inherits from it.
    func isKind(_ entity: Int, of other: Int) -> Bool {
        entities[other].family.contains(entities[entity].family.lowerBound)
    }

    /// The property called `name` of an entity or of its nearest ancestor, and the entity that declares it.
    ///
    /// - Complexity: O(levels of inheritance).
    func property(_ name: String, of entity: Int) -> (property: Property, declaredBy: Int)? {
        var next: Int? = entity
        while let index = next {
            if let property = properties[index][name] { return (property, index) }
            next = entities[index].superentity
        }
        return nil
    }

    /// The relationships that an entity itself declares.
    func relationships(declaredBy entity: Int) -> [Relationship] {
        entities[entity].description.relationships.compactMap { description in
            guard case .relationship(let relationship)? = properties[entity][description.name] else { return nil }
            return relationship
        }
    }

    /// The inverse relationship, if the model names one.
    func inverse(of relationship: Relationship) -> Relationship? {
        guard let name = relationship.inverse,
            case .relationship(let inverse)? = properties[relationship.destination][name]
        else { return nil }
        return inverse
    }

    // MARK: Resolving

    /// Orders the entities so that each family is a range.
    ///
    /// It uses no recursion, so a forged model cannot exhaust the stack.
    private mutating func resolveInheritance(_ descriptions: [ModelEntity]) throws(Breach) {
        var superentities: [Int?] = []
        var children = [[Int]](repeating: [], count: descriptions.count)
        for (index, entity) in descriptions.enumerated() {
            let above = entity.superentity.map { indexByName[$0] }
            if let above, above == nil {
                throw Breach(102, 0, "\(entity.name) inherits from an entity that does not exist")
            }
            superentities.append(above ?? nil)
            if let above = above ?? nil { children[above].append(index) }
        }
        var starts = [Int](repeating: -1, count: descriptions.count)
        var ends = starts
        var roots = starts
        var order = 0
        for root in descriptions.indices where superentities[root] == nil {
            // An entity, and the number of its children that were entered.
            var path: [(entity: Int, next: Int)] = [(root, 0)]
            (starts[root], roots[root], order) = (order, root, order + 1)
            while let (entity, next) = path.last {
                guard next < children[entity].count else {
                    ends[entity] = order
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                guard path.count < Self.levelCountMax else {
                    throw Breach(102, 0, "the model has more than \(Self.levelCountMax) levels of inheritance")
                }
                let child = children[entity][next]
                (starts[child], roots[child], order) = (order, root, order + 1)
                path.append((child, 0))
            }
        }
        for (index, description) in descriptions.enumerated() {
            guard starts[index] >= 0 else { throw Breach(102, 0, "\(description.name) inherits from itself") }
            entities.append(
                Entity(
                    description: description, superentity: superentities[index], root: roots[index],
                    family: starts[index]..<ends[index]))
        }
    }

    private func ownProperties(of index: Int) throws(Breach) -> [String: Property] {
        let description = entities[index].description
        var properties: [String: Property] = [:]
        func add(_ name: String, _ property: Property) throws(Breach) {
            guard properties.updateValue(property, forKey: name) == nil else {
                throw Breach(102, 0, "two properties have the name \(description.name).\(name)")
            }
        }
        for attribute in description.attributes {
            guard attribute.isTransient || attribute.kind.isStored else {
                throw Breach(102, 0, "\(description.name).\(attribute.name) has a type that no row can store")
            }
            try add(attribute.name, .attribute(attribute.kind, isTransient: attribute.isTransient))
        }
        for relationship in description.relationships {
            guard let destination = indexByName[relationship.destination] else {
                throw Breach(102, 0, "\(description.name).\(relationship.name) leads to an entity that does not exist")
            }
            try add(
                relationship.name,
                .relationship(
                    Relationship(
                        name: relationship.name, entity: index, destination: destination,
                        inverse: relationship.inverse, cardinality: relationship.cardinality)))
        }
        return properties
    }

    private func checkInherited(_ index: Int) throws(Breach) {
        guard let above = entities[index].superentity else { return }
        for name in properties[index].keys where property(name, of: above) != nil {
            throw Breach(102, 0, "\(entities[index].name).\(name) has the name of an inherited property")
        }
    }

    private func checkInverses(of index: Int) throws(Breach) {
        for relationship in relationships(declaredBy: index) where relationship.inverse != nil {
            guard let inverse = inverse(of: relationship), inverse.destination == index,
                inverse.inverse == relationship.name
            else {
                throw Breach(102, 0, "the inverse of \(entities[index].name).\(relationship.name) does not lead back")
            }
        }
    }
}
