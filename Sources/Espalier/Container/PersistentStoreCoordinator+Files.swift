// Store files that a coordinator finds, removes and asks without opening them (PS-03 to PS-05).

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

    /// What the store file at `path` says of itself; reads it without opening it for a model (PS-05).
    ///
    /// - Throws: `ContextError.store`.
    public static func metadataForPersistentStore(atPath path: String) throws(ContextError) -> StoreMetadata {
        do throws(StoreError) { return try BTreeStore.metadata(ofStoreAt: path) } catch { throw ContextError(error) }
    }

    /// Removes the file of a described store, with its log; does nothing for a store in memory or a missing file
    /// (PS-03).
    ///
    /// Remove the store from its coordinator first. A damaged store is removed, too; a file that is no store is not.
    ///
    /// - Throws: `ContextError.store`, if a process has the file open for writing among other reasons; the file is as
    ///   it was.
    public func destroyPersistentStore(_ description: PersistentStoreDescription) throws(ContextError) {
        guard description.type == .btree, let path = description.path else { return }
        do throws(StoreError) {
            try BTreeStore.destroy(at: path)
        } catch  where error.isMissingFile {
            return
        } catch {
            throw ContextError(error)
        }
    }
}
