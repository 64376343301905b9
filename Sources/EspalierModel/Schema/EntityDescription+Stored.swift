// What a store keeps of descriptions: all but names of classes, modifiers of the hash and the application's own texts.

extension EntityDescription {
    /// This entity as a store keeps it.
    package var stored: EntityDescription {
        var entity = self
        (entity.managedObjectClassName, entity.versionHashModifier, entity.userInfo) = (nil, nil, [:])
        entity.attributes = attributes.map(\.stored)
        entity.relationships = relationships.map { relationship in
            var relationship = relationship
            (relationship.versionHashModifier, relationship.userInfo) = (nil, [:])
            return relationship
        }
        return entity
    }
}

extension AttributeDescription {
    fileprivate var stored: AttributeDescription {
        var attribute = self
        (attribute.versionHashModifier, attribute.userInfo) = (nil, [:])
        attribute.elements = elements.map(\.stored)
        return attribute
    }
}
