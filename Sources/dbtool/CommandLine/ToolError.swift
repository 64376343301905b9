// Every failure of a run, with its message and its exit code; only `DBTool.run` prints one.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore

/// A command line that cannot be understood.
struct UsageError: Error, Equatable, CustomStringConvertible {
    /// The error.
    let message: String
    /// The word that the user probably meant.
    var suggestion: String?
    /// The correct usage, on further lines.
    var hint: String?

    var description: String {
        let question = suggestion.map { ": did you mean '\($0)'?" } ?? ""
        return message + question + (hint.map { "\n\($0)" } ?? "")
    }
}

/// A name that a store's model does not have.
struct UnknownName: Error, Equatable, CustomStringConvertible {
    /// The kind of thing that the name denotes, such as `entity` or `property of Track`.
    let kind: String
    /// The name.
    let name: String
    /// The valid names.
    let candidates: [String]

    var description: String {
        if let suggestion = Suggestion.closest(to: name, among: candidates) {
            return "there is no \(kind) '\(name)': did you mean '\(suggestion)'?"
        }
        let shown = candidates.sorted().prefix(30).joined(separator: ", ")
        return "there is no \(kind) '\(name)'; there are: \(candidates.isEmpty ? "none" : shown)"
    }
}

/// The reason why a run failed.
enum ToolError: Error, CustomStringConvertible {
    /// The command line is wrong.
    case usage(UsageError)
    /// A name in it is unknown to the store.
    case unknownName(UnknownName)
    /// The engine could not open or read the file.
    case storage(StorageError, path: String)
    /// An object store has failed.
    case store(StoreError, path: String)
    /// A context has failed.
    case context(ContextError, path: String)
    /// A predicate or sort key cannot be read, or does not fit its entity.
    case predicate(FetchPredicateError)
    /// The tool refuses to do this to the file; the reason says what to do instead.
    case refused(path: String, reason: String)
    /// A file that is not a store could not be read or written.
    case file(path: String, reason: String)

    var description: String {
        switch self {
        case .usage(let error): error.description
        case .unknownName(let error): error.description
        case .predicate(let error): error.description
        case .storage(.opening(.noSuchStore), let path): "\(path): the file does not exist"
        case .storage(let error, let path): "\(path): \(error)"
        case .store(.storage(let error, _), let path): ToolError.storage(error, path: path).description
        case .context(.store(let error), let path): ToolError.store(error, path: path).description
        case .store(let error, let path): Self.prefixed(with: path, "\(error)")
        case .context(let error, let path): Self.prefixed(with: path, "\(error)")
        case .refused(let path, let reason), .file(let path, let reason): "\(path): \(reason)"
        }
    }

    /// `text` after the path, unless it already begins with the path.
    private static func prefixed(with path: String, _ text: String) -> String {
        text.hasPrefix("\(path): ") ? text : "\(path): \(text)"
    }

    /// Whether the file exists and is not a store.
    var isAboutOtherFile: Bool {
        switch self {
        case .storage(.opening(.notAStore), _): true
        case .store(.storage(let error, _), let path): ToolError.storage(error, path: path).isAboutOtherFile
        default: false
        }
    }

    /// The exit code of the process.
    var exitCode: ExitCode {
        switch self {
        case .usage, .unknownName, .predicate, .refused: .usage
        case .storage(let error, _): Self.exitCode(of: error)
        case .store(let error, _): Self.exitCode(of: error)
        case .context(let error, _): Self.exitCode(of: error)
        case .file: .unavailable
        }
    }

    private static func exitCode(of error: ContextError) -> ExitCode {
        switch error {
        case .store(let error): exitCode(of: error)
        case .partlySaved(let error), .fetchedProperty(_, _, let error): exitCode(of: error)
        case .violations, .conflicts, .several, .refusedResolutions, .constraints, .references, .unsettledSave,
            .alreadySaving, .unknownEntity, .abstractEntity, .objectOfOtherContext, .objectWithoutContext,
            .contextEnded, .objectNotFound, .wrongResultType, .unknownRelationship, .noStore, .unsupportedStore,
            .unknownConfiguration, .readOnlyStore,
            .relationshipAcrossStores, .queryGenerationOfOtherStores, .eventIsNotRecorded, .storeIsChosen,
            .storeRefusesEntity, .assignment, .batchRowSource, .limitAcrossStores, .classWithoutKeyPaths,
            .fetchCancelled:
            .unavailable
        case .queryGenerationExpired: .locked
        case .invalidPredicate, .invalidURI: .usage
        }
    }

    private static func exitCode(of error: StoreError) -> ExitCode {
        switch error {
        case .storage(let error, _): exitCode(of: error)
        case .damagedContent, .malformedFile: .difference
        case .invalidRequest, .invalidPredicate, .invalidOption, .unknownStoreType: .usage
        case .outside, .brokenContract: .unavailable
        case .conflict, .constraint, .references, .brokenRules, .unsettledSave, .readOnly, .closed, .incompatibleModel,
            .modelChanged, .migrationRefused, .migrationCancelled, .commandCancelled, .fetchCancelled, .otherFormat:
            .unavailable
        }
    }

    /// Damage is 1 in every verb, not only in `check`; a lock is 4; all other failures of a file are 3.
    static func exitCode(of error: StorageError) -> ExitCode {
        switch error {
        case .corruption, .opening(.logCorrupt), .opening(.logMissing), .opening(.superblockDamaged),
            .opening(.notAStore(.damagedSuperblock)), .opening(.notAStore(.textMangled)), .backup(.damaged):
            .difference
        case .opening(.storeBusy), .transaction(.snapshotExpired), .database(.storeReplaced), .path(.logInUse): .locked
        case .argument, .opening(.invalidOption), .transaction(.noSuchSavepoint), .backup(.notABackup),
            .backup(.otherStore), .backup(.otherBase), .backup(.missingIncrement):
            .usage
        case .io, .diskFull, .path, .opening, .database, .transaction, .maintenance, .backup:
            .unavailable
        }
    }
}

extension ToolError {
    /// An error of any layer, about the store at `path`.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as ToolError: self = error
        case let error as ContextError: self = .context(error, path: path)
        case let error as StoreError: self = .store(error, path: path)
        case let error as StorageError: self = .storage(error, path: path)
        case let error as FetchPredicateError: self = .predicate(error)
        default: self = .file(path: path, reason: "\(error)")
        }
    }
}

/// Runs `body` and adds `path` to an error that it throws.
func withPath<R: ~Copyable>(
    _ path: String, _ body: () throws(StorageError) -> R
) throws(ToolError) -> R {
    do throws(StorageError) { return try body() } catch { throw .storage(error, path: path) }
}

/// Runs `body` and adds `path` to an error that it throws.
func withPath<R>(_ path: String, _ body: () throws(StoreError) -> R) throws(ToolError) -> R {
    do throws(StoreError) { return try body() } catch { throw .store(error, path: path) }
}

/// Runs `body` and adds `path` to an error that it throws.
func withPath<R>(_ path: String, _ body: () throws(ContextError) -> R) throws(ToolError) -> R {
    do throws(ContextError) { return try body() } catch { throw .context(error, path: path) }
}
