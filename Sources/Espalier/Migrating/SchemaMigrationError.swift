// The errors of a plan of versions.

public import EspalierStore

/// The reasons why a migration did not reach the last version (Behaviour MG-13).
public enum SchemaMigrationError: Error {
    /// The store at `path` has none of the versions (134504): its checksum, and those of the versions.
    case unknownVersion(path: String, found: String, known: [String])
    /// The versions with these numbers (the first is 0) differ in no part that stores keep, so a store of the first
    /// would count as one of the second, and the code between them would not run.
    case equalVersions(Int, Int)
    /// The step from version number `from` (the first is 0) failed; the store at `path` has version number `reached`.
    ///
    /// `reached` is `from`, unless the file could not be closed after the commit; a binary file has the version that it
    /// had before the first step.
    case stage(path: String, from: Int, reached: Int, underlying: any Error)
    /// The store could not be read, or it has the checksum of a version and cannot become that version.
    case store(StoreError)
}

extension SchemaMigrationError: CustomStringConvertible {
    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .unknownVersion(let path, let found, let known):
            "the model of the store at \(path) has the checksum \(found), but the versions have "
                + "\(known.joined(separator: ", ")); add the version with which the store was made"
        case .equalVersions(let first, let last):
            "versions \(first) and \(last) have equal version hashes without hash modifiers, which no store keeps, so "
                + "the work or the mappings between them would never run; add or change a stored property in one of "
                + "them, for example an optional attribute, or do the work when the store is opened and note in its "
                + "metadata that it is done"
        case .stage(let path, let version, let reached, let error):
            "the step from version \(version) to version \(version + 1) failed; the store at \(path) has version "
                + "\(reached): \(error)"
        case .store(let error): "\(error)"
        }
    }
}
