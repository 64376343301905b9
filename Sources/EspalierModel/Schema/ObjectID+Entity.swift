// Temporary IDs for entities of a model.

extension ObjectID {
    /// Makes a new temporary ID for an entity of a model, without looking up the entity's name.
    package init(temporaryFor entity: Entity) { self.init(temporaryForEntityTag: entity.tag) }
}
