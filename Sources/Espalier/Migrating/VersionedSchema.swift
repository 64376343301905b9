// A version of a schema as a type: a name for the classes that were shipped together.

public import EspalierModel

/// A version of an application's schema: its classes, frozen (Behaviour SD-29).
///
/// The classes of a version are nested in a type of its own, so that all versions can exist side by side:
///
///     enum Version1: VersionedSchema {
///         static let versionIdentifier = "1"
///         static let classes: [ManagedObject.Type] = [Album.self, Track.self]
///         @Entity final class Album: ManagedObject { var title: String = "" }
///         @Entity final class Track: ManagedObject { var name: String = "" }
///     }
///
/// A store is recognized by the version hashes of its entities, not by the identifier, which is only recorded.
public protocol VersionedSchema {
    /// A name for people: `1.2.0`.
    static var versionIdentifier: String { get }
    /// The classes of this version.
    static var classes: [ManagedObject.Type] { get }
}

extension VersionedSchema {
    /// The model of the classes, with the identifier of the version.
    ///
    /// - Throws: `ModelError` if the classes make no valid model.
    public static var model: ManagedObjectModel {
        get throws(ModelError) {
            try ManagedObjectModel(for: classes, versionIdentifiers: [versionIdentifier])
        }
    }
}
