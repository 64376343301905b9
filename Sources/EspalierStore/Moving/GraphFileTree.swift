// The content of a binary file in a B-tree file beside it: the steps of a plan, or mappings, are carried out there, and
// the result then replaces the binary file.
//
// Invariants
//   1. The binary file is replaced as a whole and at the end only: an error, a refusal, a cancellation and a crash
//      leave it as it was, whatever number of steps were carried out. A backup has its name before.
//   2. The tree has the UUID of the binary file and the keys of its rows: work and refusals have the IDs of the store.
//   3. The tree has the rights of the binary file, and its owner may read and write it.
//   4. The owner of the tree removes it on every way out. A process that is killed leaves it, and no code reads it
//      later.
// Not here: migrations without a plan and mappings, whose tree is in memory (GraphFileMigration).

package import EspalierEngine
package import EspalierModel
internal import FoundationEssentials

/// A B-tree file with the content of a binary file.
package struct GraphFileTree {
    /// The path of the tree.
    package let path: String
    private let file: GraphFile
    /// The binary file as it was read.
    private let content: GraphReader
    private let identifier: UUID

    /// Writes the content of a binary file to a new tree beside it.
    ///
    /// - Parameters:
    ///   - storePath: the path of `file`.
    ///   - content: the content of the file as it was read last.
    ///   - backupPath: the path of the backup that `replaceFile` will write; `nil` = none.
    /// - Throws: `.storage` with `destinationExists` if another file has the path of the backup; the errors of reading
    ///   and writing.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory twice; space for the tree.
    init(
        _ file: GraphFile, at storePath: String, _ content: GraphReader, backupPath: String?
    ) throws(StoreError) {
        if let backupPath { try GraphFileBackup.check(content.bytes, of: file, at: backupPath) }
        let (graph, stored) = try GraphFileMigration.parts(of: content)
        let path = "\(storePath).steps-\(String(file.fileSystem.random(), radix: 36))"
        assert(path != storePath && path != backupPath, "a tree replaces the store or its backup")
        (self.file, self.content, self.path, identifier) = (file, content, path, graph.identifier)
        let tree = try GraphFileMigration.tree(of: graph, stored)
        // Closing a database in memory frees it, whatever the answer is.
        defer { try? tree.close() }
        do throws(StorageError) {
            try tree.database.copy(
                to: try file.fileSystem.entry(at: path), as: graph.identifier.bytes,
                rights: try file.rights()?.writableByOwner, in: file.fileSystem)
        } catch {
            // The tree may have its name, and nothing has made that durable.
            remove()
            throw .storage(error, path: path)
        }
    }

    /// Replaces the binary file by the content of the tree, after its backup was written.
    ///
    /// - Parameter model: the model to which the steps have brought the tree, but for what opening changes without a
    ///   loss, such as a new index.
    /// - Throws: `.storage` with `storeReplaced` if another file has the name of the binary file by now, and with
    ///   `destinationExists` if another one than its backup has the path of the backup; the errors of reading and
    ///   writing. The binary file is as it was.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory twice.
    package func replaceFile(
        _ model: ManagedObjectModel, backupPath: String?, options: DatabaseOptions = .init()
    ) throws(StoreError) {
        try GraphFileMigration.withErrors(of: file) {
            let graph = try graph(model, options)
            assert(graph.identifier == identifier, "\(identifier) becomes \(graph.identifier)")
            try GraphFileMigration.replace(file, content, by: graph, model, backupPath: backupPath)
        }
    }

    private func graph(
        _ model: ManagedObjectModel, _ options: DatabaseOptions
    ) throws(StoreError) -> StoredGraph {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, BTreeStore.applicationID)
        let database = try withStoreErrors(try Database.open(path, in: file.fileSystem, options: options))
        assert(UUID(bytes: database.storeIdentifier) == identifier, "the tree at \(path) is one of another store")
        let tree = try BTreeStore.open(database, path: nil, model: model)
        let graph: StoredGraph
        do throws(StoreError) { graph = try GraphFileMigration.graph(of: tree, identifier) } catch {
            // Report the first error.
            try? tree.close()
            throw error
        }
        try tree.close()
        return graph
    }

    /// Removes the tree.
    package func remove() {
        // The caller has the result of the plan, or its error. A tree that stays is only a file too many.
        do throws(StorageError) { try Database.remove(at: path, in: file.fileSystem) } catch {}
    }
}
