// Identifiers of objects whose entity is known from a model.

extension ObjectID {
    /// A fresh temporary ID for an entity of a model: the same without looking its name up.
    package init(temporaryFor entity: Entity) { self.init(temporaryForEntityTag: entity.tag) }
}
