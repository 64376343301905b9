// Store files that a coordinator finds, removes, replaces and asks without opening them (PS-03 to PS-05).

public import EspalierStore
import FoundationEssentials

extension PersistentStoreCoordinator {
    /// The open store in the file at `path`; `nil` if there is none (PS-04).
    ///
    /// Both paths are compared by the file to which they lead.
    public func persistentStore(atPath path: String) -> (any PersistentStore)? {
        let wanted = Self.resolved(path)
        return persistentStores.first { $0.path.map(Self.resolved) == wanted }
    }

    private static func resolved(_ path: String) -> String {
        URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    /// The description that the store file at `path` has of itself; reads it without opening it for a model (PS-05).
    ///
    /// The file is a B-tree file, a binary one, or one in XML, if that kind is registered; an XML file has no model.
    ///
    /// - Throws: `ContextError.store`.
    /// - Complexity: O(size of the model and of the metadata) for a B-tree file; O(size of the file) for the others.
    public static func metadataForPersistentStore(atPath path: String) throws(ContextError) -> StoreMetadata {
        do throws(StoreError) { return try StoreType.metadata(ofFileAt: path) } catch { throw ContextError(error) }
    }

    /// Removes the file of a described store, with its log; does nothing for a store in memory or a missing file
    /// (PS-03).
    ///
    /// Remove the store from its coordinator first. A damaged store is removed, too; a file that is no store of the
    /// described kind is not.
    ///
    /// - Throws: `ContextError.unsupportedStore` for a kind of the application's own, whose data only the application
    ///   can remove; `.store`, if a process has a B-tree file open for writing among other reasons. The file is as it
    ///   was. A process that has a binary or XML file open cannot save to it any more.
    /// - Complexity: O(1) beside the work of the file system; only the bytes that show that the file is a store are
    ///   read.
    public func destroyPersistentStore(_ description: PersistentStoreDescription) throws(ContextError) {
        guard description.type.isRemovable else { throw .unsupportedStore(description.type) }
        guard description.type != .inMemory, let path = description.path else { return }
        do throws(StoreError) {
            try description.type.removeFile(at: path)
        } catch  where error.isMissingFile {
            return
        } catch {
            throw ContextError(error)
        }
    }

    /// Replaces the file of a described store, with its log, by a copy of another store's, in one step; without a file
    /// the copy is made there (PS-03).
    ///
    /// Remove the former store from its coordinator first. The other store may be open and in use: the copy has its
    /// newest save. The IDs of objects have the UUID of the copy, and the keys that they have in the other store.
    ///
    /// - Throws: `ContextError.unsupportedStore` for stores that are no B-tree files; `.store`, if a process has the
    ///   file open for writing, if there is no store to copy or it is the same one, among other reasons. The former
    ///   file is then as it was; or the copy has its place, if only the removal of the former log has failed.
    /// - Complexity: O(size of the copied store).
    public func replacePersistentStore(
        _ description: PersistentStoreDescription, withStoreFrom source: PersistentStoreDescription
    ) throws(ContextError) {
        for end in [description, source] where end.type != .btree { throw .unsupportedStore(end.type) }
        guard let path = description.path, let sourcePath = source.path else { throw .unsupportedStore(.btree) }
        do throws(StoreError) {
            try BTreeStore.replace(at: path, withStoreAt: sourcePath)
        } catch {
            throw ContextError(error)
        }
    }
}
