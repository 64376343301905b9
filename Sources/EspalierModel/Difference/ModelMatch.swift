// Finds the entities and properties of an older model that those of a newer model continue.
//
// Rules, of which the first that applies is used
//   1. The names are equal and so are the renaming identifiers: the renaming was done in an earlier version.
//   2. The older name is the renaming identifier of the newer part, unless both names are in both models and the newer
//      model does not rename the part that had the older name.
//   3. The names are equal.
//   4. The identities are equal; an identity is the renaming identifier, or the name where there is none. This allows a
//      model to return to names that a newer one has changed.
// Invariants
//   1. A part of the older model is continued by at most one part of the newer model.
//   2. The properties of an entity are matched including inherited ones, so moving a property within a hierarchy
//      changes no match.

/// The pairs of older and newer parts that continue each other.
package struct ModelMatch: Sendable {
    /// The position of an entity in its model.
    package typealias EntityIndex = ManagedObjectModel.EntityIndex

    /// The older model.
    package let old: ManagedObjectModel
    /// The newer model.
    package let new: ManagedObjectModel
    /// The older entity by index of the newer one.
    package let oldEntities: [EntityIndex?]
    /// The newer entity by index of the older one.
    package let newEntities: [EntityIndex?]
    /// The slot of the attribute in the older entity, by index of the newer entity and slot in it.
    package let attributes: [[Int?]]
    /// The slot of the relationship in the older entity, by index of the newer entity and slot in it.
    package let relationships: [[Int?]]

    /// Matches the parts of `new` with those of `old`.
    ///
    /// - Complexity: O(properties of both models, including inherited ones).
    package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
        (self.old, self.new) = (old, new)
        let pairs = Part.pairs(
            old.entities.map { Part(name: $0.name, identifier: $0.description.renamingIdentifier) },
            new.entities.map { Part(name: $0.name, identifier: $0.description.renamingIdentifier) })
        oldEntities = pairs
        var back = [EntityIndex?](repeating: nil, count: old.entities.count)
        for case let (newer, older?) in pairs.enumerated() { back[older] = newer }
        newEntities = back
        attributes = zip(new.entities, pairs).map { entity, older in
            Self.attributes(of: entity, continuing: older.map { old.entities[$0] })
        }
        relationships = zip(new.entities, pairs).map { entity, older in
            Self.relationships(of: entity, continuing: older.map { old.entities[$0] })
        }
    }

    /// By slot of an entity: the slot of the attribute of an older entity that it continues, whatever the names of the
    /// entities are.
    package static func attributes(of entity: Entity, continuing older: Entity?) -> [Int?] {
        Part.pairs(older?.attributes.map(Part.init) ?? [], entity.attributes.map(Part.init))
    }

    /// By slot of an entity: the slot of the relationship of an older entity that it continues.
    package static func relationships(of entity: Entity, continuing older: Entity?) -> [Int?] {
        Part.pairs(older?.relationships.map(Part.init) ?? [], entity.relationships.map(Part.init))
    }

    private init(
        _ match: ModelMatch, oldEntities: [EntityIndex?], newEntities: [EntityIndex?]
    ) {
        (old, new, self.oldEntities, self.newEntities) = (match.old, match.new, oldEntities, newEntities)
        func kept(_ slots: [[Int?]]) -> [[Int?]] {
            slots.enumerated().map { entity, slots in
                oldEntities[entity] == nil ? slots.map { _ in nil } : slots
            }
        }
        (attributes, relationships) = (kept(match.attributes), kept(match.relationships))
    }

    /// The match without some entities: the older ones of these names count as removed, the newer ones as new.
    package func setting(apart older: Set<String>, _ newer: Set<String>) -> ModelMatch {
        var (oldEntities, newEntities) = (oldEntities, newEntities)
        for (position, pair) in self.oldEntities.enumerated() {
            guard let pair, older.contains(old.entities[pair].name) || newer.contains(new.entities[position].name)
            else { continue }
            (oldEntities[position], newEntities[pair]) = (nil, nil)
        }
        return ModelMatch(self, oldEntities: oldEntities, newEntities: newEntities)
    }

    /// The newer slot of an attribute of an older entity; `nil` if the entity or the attribute is not continued.
    package func newAttribute(_ slot: Int, of older: EntityIndex) -> Int? {
        newEntities[older].flatMap { attributes[$0].firstIndex(of: slot) }
    }

    /// The newer slot of a relationship of an older entity; `nil` if the entity or the relationship is not continued.
    package func newRelationship(_ slot: Int, of older: EntityIndex) -> Int? {
        newEntities[older].flatMap { relationships[$0].firstIndex(of: slot) }
    }
}

extension AttributeDescription {
    /// By position of an element of this composite: the position of the element of an older one that it continues.
    func continuedElements(of older: AttributeDescription) -> [Int?] {
        Part.pairs(older.elements.map(Part.init), elements.map(Part.init))
    }
}

/// The data that identifies an entity, a property or an element.
private struct Part {
    let name: String
    let identifier: String?

    var identity: String { identifier ?? name }

    init(name: String, identifier: String?) { (self.name, self.identifier) = (name, identifier) }

    init(_ attribute: Attribute) { self.init(attribute.description) }

    init(_ attribute: AttributeDescription) {
        self.init(name: attribute.name, identifier: attribute.renamingIdentifier)
    }

    init(_ relationship: Relationship) {
        self.init(name: relationship.name, identifier: relationship.description.renamingIdentifier)
    }

    /// The position in `old` by position in `new`.
    static func pairs(_ old: [Part], _ new: [Part]) -> [Int?] {
        let oldByName = positions(old.map(\.name))
        let (newByName, oldByIdentity) = (positions(new.map(\.name)), positions(old.map(\.identity)))
        var found = [Int?](repeating: nil, count: new.count)
        var isTaken = [Bool](repeating: false, count: old.count)
        func pair(_ rule: (Part) -> Int?) {
            for (position, part) in new.enumerated() where found[position] == nil {
                guard let older = rule(part), !isTaken[older] else { continue }
                (found[position], isTaken[older]) = (older, true)
            }
        }
        pair { part in
            guard part.identifier != nil, let same = oldByName[part.name] else { return nil }
            return old[same].identifier == part.identifier ? same : nil
        }
        pair { part in
            guard let former = part.identifier, let older = oldByName[former] else { return nil }
            let isKept = newByName[former].map { new[$0].identifier == nil } ?? false
            return isKept && oldByName[part.name] != nil ? nil : older
        }
        pair { oldByName[$0.name] }
        pair { oldByIdentity[$0.identity] }
        return found
    }

    private static func positions(_ names: [String]) -> [String: Int] {
        Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
