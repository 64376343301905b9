// Stores described by a name, and by the classes whose objects they accept (SD-14).

public import EspalierStore
import FoundationEssentials

extension PersistentStoreDescription {
    /// The file `NAME.espalier` in the default directory, for new objects of these classes (SD-14).
    ///
    /// The directory, ``PersistentContainer/defaultDirectoryURL``, is made if it does not exist. Several descriptions
    /// with classes of their own divide the entities of one model among stores; relationships do not lead from one
    /// store to another.
    ///
    /// - Parameter classes: each with its superclasses and subclasses; `nil` = all of the model.
    /// - Throws: `ContextError` if `name` is empty or has a slash; an error of the system if the folder cannot be made.
    public init(
        name: String, for classes: [ManagedObject.Type]? = nil, isReadOnly: Bool = false,
        migration: MigrationOptions = .automatic
    ) throws {
        let url = try PersistentContainer.url(ofStoreNamed: name)
        self.init(path: url.path, isReadOnly: isReadOnly, migration: migration)
        self.name = name
        entityNames = classes.map { Set($0.map(\.entityName)) }
    }

    /// A store in memory with a name, for new objects of these classes (SD-14); it ends when it is closed.
    ///
    /// - Parameter classes: each with its superclasses and subclasses; `nil` = all of the model.
    public static func inMemory(
        name: String, for classes: [ManagedObject.Type]? = nil
    ) -> PersistentStoreDescription {
        var description = classes.map { inMemory(entityNames: Set($0.map(\.entityName))) } ?? .inMemory
        description.name = name
        return description
    }
}
