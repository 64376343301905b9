// Uses of a store's file that need no model: reading its identifier, model and metadata, removing and replacing it.

import EspalierEngine

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
