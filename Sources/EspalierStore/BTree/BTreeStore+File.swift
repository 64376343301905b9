// Uses of a store's file that need no model: reading its identifier, model and metadata, removing and replacing it.

import EspalierEngine
public import EspalierModel
public import FoundationEssentials

/// The identifier, the model and the metadata of a store file (PS-05, MD-06).
public struct StoreMetadata: Sendable {
    /// The UUID of the file.
    public let identifier: UUID
    /// The model with which the file was last opened for writing, without the parts that no store keeps.
    public let model: ManagedObjectModel
    /// The values that the application keeps with the store.
    public let values: [String: AttributeValue]

    /// The version hash of each entity, by name.
    public var entityVersionHashesByName: [String: [UInt8]] { model.entityVersionHashesByName }

    /// Whether a store of `model` has the same version hashes, so that both have the same values and relationships in
    /// their rows (MD-06).
    ///
    /// Hash modifiers do not count, because no store keeps them. Opening a compatible store may still take time that
    /// grows with its rows: the hashes cover neither indexes, which are built, nor the rules of derived attributes,
    /// whose values are computed anew. `BTreeStore.migrationPlan` tells what opening would do.
    ///
    /// - Parameter configuration: The configuration of `model` whose entities alone are compared, for a store that
    ///   takes only these; `nil` = all entities of both. A model without this configuration is not compatible.
    /// - Complexity: O(properties).
    public func isCompatible(
        with model: ManagedObjectModel, forConfigurationNamed configuration: String? = nil
    ) -> Bool {
        let (given, own) = (model.storedVersionHashesByName, entityVersionHashesByName)
        guard let configuration else { return given == own }
        guard let entities = model.entities(forConfigurationNamed: configuration) else { return false }
        return entities.allSatisfy { given[$0.name] == own[$0.name] }
    }
}

extension BTreeStore {
    /// Identifier, model and metadata of the store at `path`, read without a model and without a change to the file;
    /// another process may be writing it (PS-05).
    ///
    /// - Throws: `StoreError.incompatibleModel` for a file that is no object store, or in which nothing was ever
    ///   stored; `.storage` for all errors of the engine; `.damaged`.
    /// - Complexity: O(size of the model and of the metadata), and of the log if the store was not closed.
    public static func metadata(ofStoreAt path: String) throws(StoreError) -> StoreMetadata {
        var options = DatabaseOptions()
        options.access = .readOnly
        let store = try openWithStoredModel(path: path, options: options)
        do throws(StoreError) {
            let values = try store.metadata()
            try store.close()
            return StoreMetadata(identifier: store.identifier, model: store.model, values: values)
        } catch {
            // The caller gets the first error.
            try? store.close()
            throw error
        }
    }

    /// Removes the store at `path`, with its log (PS-03).
    ///
    /// No process may have it open for writing. Damaged stores, and stores of newer versions, are removed as well; a
    /// file that is no store is not.
    ///
    /// - Throws: `StoreError.storage` with the engine's error: `noSuchStore`, `notAStore`, `storeBusy`, `path`, `io`.
    public static func destroy(at path: String) throws(StoreError) {
        try StoreError.withPath(path) { () throws(StoreError) in try withStoreErrors(try Database.remove(at: path)) }
    }

    /// Replaces the store at `path`, with its log, by a copy of the one at `source`, which may be in use; without a
    /// store at `path` the copy is made there (PS-03).
    ///
    /// No process may have the store at `path` open for writing. The copy has a UUID of its own.
    ///
    /// - Throws: `StoreError.storage` with the engine's error: `noSuchStore` and `destinationExists`, if there is no
    ///   store at `source` or it is the same one; `storeBusy`, `notAStore`, `path`, `diskFull`, `io`.
    public static func replace(at path: String, withStoreAt source: String) throws(StoreError) {
        try StoreError.withPath(path) { () throws(StoreError) in
            _ = try withStoreErrors(try Database.replace(at: path, withStoreAt: source))
        }
    }
}
