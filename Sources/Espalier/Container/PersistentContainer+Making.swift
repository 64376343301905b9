// Containers by name, at a URL, in memory with first objects, opened beside other work, and emptied (PS-24, SD-13).

public import EspalierModel
public import EspalierStore
public import FoundationEssentials
import Synchronization

extension PersistentContainer {
    // MARK: By name and by URL

    /// The folder of stores that have only a name: the system's folder for data of applications, and in it one that has
    /// the name of the program.
    ///
    /// On Linux that is `$XDG_DATA_HOME/PROGRAM`, or `~/.local/share/PROGRAM`.
    public static var defaultDirectoryURL: URL {
        let program = CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent } ?? "Espalier"
        let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        return (folders.first ?? URL(filePath: ".")).appending(path: program)
    }

    /// Opens the store called `name` in the default directory, which is made if it does not exist.
    ///
    /// The file is `NAME.espalier`.
    ///
    /// - Throws: `ModelError` if the classes make no valid model; `ContextError` if the file cannot be opened, or if
    ///   `name` is empty or has a slash; an error of the system if the folder cannot be made.
    public convenience init(
        name: String, for classes: [ManagedObject.Type], migration: MigrationOptions = .automatic
    ) throws {
        try self.init(for: classes, at: try Self.url(ofStoreNamed: name), migration: migration)
    }

    /// The place of the store called `name` in the default directory, which is made if it does not exist.
    static func url(ofStoreNamed name: String) throws -> URL {
        guard !name.isEmpty, !name.contains("/") else {
            throw ContextError.store(
                .invalidRequest(reason: "\"\(name)\" is no name of a container: it becomes the name of a file"))
        }
        let folder = Self.defaultDirectoryURL
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appending(path: name + ".espalier")
    }

    /// Opens the file at `url` for objects of these classes; creates it if it does not exist.
    ///
    /// - Throws: `ModelError` if the classes make no valid model; `ContextError` if the file cannot be opened.
    public convenience init(
        for classes: [ManagedObject.Type], at url: URL, migration: MigrationOptions = .automatic
    ) throws {
        try self.init(for: classes, at: url.path, migration: migration)
    }

    // MARK: For previews and tests

    /// A container with a store in memory, and the objects that `populate` makes in it: for previews and tests.
    ///
    /// - Parameter populate: called with a context that is saved afterwards.
    /// - Throws: `ModelError` if the classes make no valid model; what `populate` throws; `ContextError` of the save.
    public convenience init(
        inMemoryFor classes: [ManagedObject.Type], populate: (ManagedObjectContext) throws -> Void = { _ in }
    ) throws {
        try self.init(model: ManagedObjectModel(for: classes), stores: [.inMemory])
        let context = ManagedObjectContext(persistentStoreCoordinator)
        try populate(context)
        if context.hasChanges { try context.save() }
    }

    // MARK: Beside other work

    /// Opens all stores on a thread of their own, so that neither the caller's actor nor the threads of tasks wait for
    /// recoveries and migrations.
    ///
    /// - Parameter progress: called after each store, on that thread, with the number of open ones.
    /// - Throws: `ContextError` of the first store that cannot be opened; the others are closed again, and none is
    ///   migrated.
    public static func open(
        model: ManagedObjectModel, stores: [PersistentStoreDescription],
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(ContextError) -> PersistentContainer {
        try await openOnThread { () throws(ContextError) -> PersistentContainer in
            try PersistentContainer(model: model, stores: stores, progress: progress)
        }
    }

    /// Runs `body`, which opens stores, on a thread of its own.
    static func openOnThread<Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> PersistentContainer
    ) async throws(Failure) -> PersistentContainer {
        let executor = ContextExecutor(label: "espalier.open")
        let outcome: Result<PersistentContainer, Failure> = await withCheckedContinuation { continuation in
            executor.async {
                let outcome: Result<PersistentContainer, Failure>
                do throws(Failure) { outcome = .success(try body()) } catch {
                    outcome = .failure(error)
                }
                continuation.resume(returning: outcome)
            }
        }
        return try outcome.get()
    }

    /// Opens the store called `name` in the default directory as `init(name:for:migration:)` does, on a thread of its
    /// own.
    ///
    /// - Parameter progress: called after the store is open, on that thread, with 1.
    /// - Throws: as the initializer.
    public nonisolated(nonsending) static func open(
        name: String, for classes: [ManagedObject.Type], migration: MigrationOptions = .automatic,
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> PersistentContainer {
        try await open(for: classes, at: url(ofStoreNamed: name), migration: migration, progress: progress)
    }

    /// Opens the file at `path` as `init(for:at:migration:)` does, on a thread of its own.
    ///
    /// - Parameter progress: called after the store is open, on that thread, with 1.
    /// - Throws: as the initializer.
    public nonisolated(nonsending) static func open(
        for classes: [ManagedObject.Type], at path: String, migration: MigrationOptions = .automatic,
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> PersistentContainer {
        try await open(
            model: ManagedObjectModel(for: classes),
            stores: [PersistentStoreDescription(path: path, migration: migration)], progress: progress)
    }

    /// Opens the file at `url` as `init(for:at:migration:)` does, on a thread of its own.
    ///
    /// - Parameter progress: called after the store is open, on that thread, with 1.
    /// - Throws: as the initializer.
    public nonisolated(nonsending) static func open(
        for classes: [ManagedObject.Type], at url: URL, migration: MigrationOptions = .automatic,
        progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws -> PersistentContainer {
        try await open(for: classes, at: url.path, migration: migration, progress: progress)
    }

    // MARK: Emptying

    /// Removes all objects: closes each store, removes its file, and opens an empty one with the same description
    /// (SD-13).
    ///
    /// The view context is reset. Objects of other contexts belong to stores that no longer exist: let these contexts
    /// go before. A store that the application has added itself stays as it is, and each store keeps its place. One
    /// that the application has moved (`migratePersistentStore`) is erased where it is now, and its former file stays.
    ///
    /// Other threads find the former store or the empty one in its place at every moment, so that no new object goes to
    /// another store meanwhile. A change that another thread is making to a store is finished first, and removed with
    /// the rest. From then on until the empty store is open, saves throw `StoreError.closed`, and so do reads after the
    /// former one is closed.
    ///
    /// - Throws: `ContextError` if a store is read-only, or cannot be closed, removed or opened; a store that cannot be
    ///   removed is open again with its objects, and those after it are as they were. Before a store is closed:
    ///   `.unsupportedStore` if one is of a kind that cannot be removed, as the application's own kinds
    ///   (`destroyPersistentStore`), `.store` if the application has closed one, and `.alreadySaving` in a hook or an
    ///   observer of a save of this thread, and in the closure of a batch request.
    /// - Complexity: O(stores) beside the work of the file system, and that of the view context's `reset()`.
    @MainActor public func erase() throws(ContextError) {
        let opened = zip(openedStores.withLock(\.self), persistentStoreDescriptions).map { known, description in
            let store = persistentStoreCoordinator.storeInPlace(of: known)
            return (store: store, description: persistentStoreCoordinator.description(of: store) ?? description)
        }
        for (store, description) in opened {
            if description.isReadOnly { throw .readOnlyStore(path: description.path) }
            guard description.type.isRemovable else { throw .unsupportedStore(description.type) }
            guard persistentStoreCoordinator.part(of: store) != nil else {
                throw ContextError(
                    StoreError.invalidRequest(reason: "a store that the container has opened was closed"))
            }
        }
        try persistentStoreCoordinator.checkIsNotWriting()
        madeViewContext?.reset()
        for (position, (former, description)) in opened.enumerated() {
            var failure: ContextError?
            let store = try persistentStoreCoordinator.reopen(former, as: description) {
                do throws(ContextError) {
                    try persistentStoreCoordinator.destroyPersistentStore(description)
                } catch {
                    failure = error
                }
            }
            openedStores.withLock { $0[position] = store }
            if let failure { throw failure }
        }
    }
}
