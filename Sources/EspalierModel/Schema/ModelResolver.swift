// Converts descriptions that ModelChecker found valid to entities: inheritance flattened, names replaced by indices.

struct ModelResolver {
    private let descriptions: [EntityDescription]
    private let indexByName: [String: Int]
    /// For each entity the indices of its superentities, topmost first, and its own index.
    private let ancestries: [[Int]]

    init(_ descriptions: [EntityDescription]) {
        let indexByName = Dictionary(uniqueKeysWithValues: descriptions.enumerated().map { ($1.name, $0) })
        self.descriptions = descriptions
        self.indexByName = indexByName
        ancestries = descriptions.indices.map { index in
            var line = [index]
            while let name = descriptions[line[line.count - 1]].superentity, let above = indexByName[name] {
                line.append(above)
            }
            return line.reversed()
        }
    }

    func entities() -> [Entity] { descriptions.indices.map(entity(at:)) }

    private func entity(at index: Int) -> Entity {
        let line = ancestries[index]
        let attributes = line.flatMap { owner in descriptions[owner].attributes.map { (owner, $0) } }
        let relationships = line.flatMap { owner in descriptions[owner].relationships.map { (owner, $0) } }
        return Entity(
            description: descriptions[index], index: index, superentity: line.dropLast().last, root: line[0],
            family: descriptions.indices.filter { ancestries[$0].contains(index) },
            attributes: attributes.enumerated().map { slot, attribute in
                Attribute(description: attribute.1, slot: slot, declaredBy: attribute.0)
            },
            relationships: relationships.enumerated().map { slot, relationship in
                let destination = indexByName[relationship.1.destination, default: 0]
                return Relationship(
                    description: relationship.1, slot: slot, declaredBy: relationship.0, destination: destination,
                    inverse: relationship.1.inverse.flatMap { slotOfRelationship(named: $0, in: destination) })
            },
            fetchedProperties: line.flatMap { descriptions[$0].fetchedProperties },
            uniquenessConstraints: line.flatMap { descriptions[$0].uniquenessConstraints },
            indexes: line.flatMap { owner in
                descriptions[owner].attributes.filter(\.isIndexed).map { .init($0.name, on: [.init($0.name)]) }
                    + descriptions[owner].indexes
            })
    }

    private func slotOfRelationship(named name: String, in entity: Int) -> Int? {
        ancestries[entity].flatMap { descriptions[$0].relationships }.firstIndex { $0.name == name }
    }
}
