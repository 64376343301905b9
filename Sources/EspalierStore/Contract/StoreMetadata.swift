// The facts that a store file states about itself, read without a model.

public import EspalierModel
public import FoundationEssentials

/// The identifier, the model and the metadata of a store file (PS-05, MD-06).
public struct StoreMetadata: Sendable {
    /// The UUID of the file.
    public let identifier: UUID
    /// The model with which the file was last opened for writing, without the parts that no store keeps; `nil` for an
    /// XML file, which has only the hashes of its entities.
    public let model: ManagedObjectModel?
    /// The values that the application keeps with the store.
    public let values: [String: AttributeValue]
    /// The version hash of each entity, by name.
    public let entityVersionHashesByName: [String: [UInt8]]

    /// The metadata of a file that has its model.
    init(identifier: UUID, model: ManagedObjectModel, values: [String: AttributeValue]) {
        (self.identifier, self.model, self.values) = (identifier, model, values)
        entityVersionHashesByName = model.entityVersionHashesByName
    }

    /// The metadata of a file that has only the hashes of its entities.
    package init(
        identifier: UUID, entityVersionHashesByName: [String: [UInt8]], values: [String: AttributeValue]
    ) {
        (self.identifier, model, self.values) = (identifier, nil, values)
        self.entityVersionHashesByName = entityVersionHashesByName
    }

    /// Whether a store of `model` has the same version hashes, so that both have the same values and relationships in
    /// their rows (MD-06).
    ///
    /// Hash modifiers count for XML files only, because no other store keeps them. Opening a compatible store may still
    /// take time that grows with its rows: the hashes cover neither indexes, which are built, nor the rules of derived
    /// attributes, whose values are computed anew. `BTreeStore.migrationPlan` tells what opening would do.
    ///
    /// - Parameter configuration: The configuration of `model` whose entities alone are compared, for a store that
    ///   takes only these; `nil` = all entities of both. A model without this configuration is not compatible.
    /// - Complexity: O(properties).
    public func isCompatible(
        with model: ManagedObjectModel, forConfigurationNamed configuration: String? = nil
    ) -> Bool {
        let own = entityVersionHashesByName
        let given = self.model == nil ? model.entityVersionHashesByName : model.storedVersionHashesByName
        guard let configuration else { return given == own }
        guard let entities = model.entities(forConfigurationNamed: configuration) else { return false }
        return entities.allSatisfy { given[$0.name] == own[$0.name] }
    }
}
