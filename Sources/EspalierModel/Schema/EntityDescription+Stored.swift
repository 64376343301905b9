// The part of the descriptions that a store keeps: all except class names, fetched properties, actions of constraints,
// validation rules, wishes for files of their own, version hash modifiers and user info.

extension EntityDescription {
    /// This entity without the parts that a store does not keep.
    package var stored: EntityDescription {
        var entity = self
        (entity.managedObjectClassName, entity.versionHashModifier, entity.userInfo) = (nil, nil, [:])
        (entity.constraintActions, entity.fetchedProperties) = ([:], [])
        entity.attributes = attributes.map(\.stored)
        entity.relationships = relationships.map { relationship in
            var relationship = relationship
            (relationship.versionHashModifier, relationship.userInfo) = (nil, [:])
            return relationship
        }
        return entity
    }
}

extension ManagedObjectModel {
    /// The version hash of each entity, by name, without the hash modifiers, which no store keeps.
    package var storedVersionHashesByName: [String: [UInt8]] {
        // A valid model stays valid without the parts that no store keeps.
        let stored = try? ManagedObjectModel(entities: storedDescriptions)
        return (stored ?? self).entityVersionHashesByName
    }
}

extension AttributeDescription {
    fileprivate var stored: AttributeDescription {
        var attribute = self
        (attribute.versionHashModifier, attribute.userInfo, attribute.validationRules) = (nil, [:], [])
        attribute.allowsExternalBinaryDataStorage = false
        attribute.elements = elements.map(\.stored)
        return attribute
    }
}
