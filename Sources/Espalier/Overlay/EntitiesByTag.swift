// The entities of a model by the tags that object IDs have.
//
// Invariants
//   1. Tags are small numbers of the process, one for each name of an entity, so an array is enough.

import EspalierModel

/// The entities of a model, by tag.
struct EntitiesByTag: Sendable {
    private var entities: [Entity?] = []

    init(_ model: ManagedObjectModel) {
        for entity in model.entities {
            let tag = Int(entity.tag)
            while entities.count <= tag { entities.append(nil) }
            entities[tag] = entity
        }
    }

    /// The entity with this tag; `nil` if the model has none.
    ///
    /// - Complexity: O(1).
    subscript(tag: UInt32) -> Entity? { Int(tag) < entities.count ? entities[Int(tag)] : nil }
}
