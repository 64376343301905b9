// The path of a file in errors about it.
//
// Invariants
//   1. Within a store, errors have no path. `withPath(_:_:)` adds it where they leave the store, so that no layer below
//      has to know it.

import EspalierEngine

extension StoreError {
    /// The error for content that breaks a rule: its row, if it is in one, and the problem.
    static func damaged(entity: String = "", key: UInt64 = 0, reason: String) -> StoreError {
        .damagedContent(path: nil, entity: entity, key: key, reason: reason)
    }

    /// Whether a file that was to be opened, and not created, does not exist.
    package var isMissingFile: Bool {
        if case .storage(.opening(.noSuchStore), _) = self { true } else { false }
    }

    /// Runs `body` for the store in the file at `path`, and adds the path to its errors.
    static func withPath<Answer: ~Copyable>(
        _ path: String?, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        do throws(StoreError) { return try body() } catch { throw error.replacing(path: nil, by: path) }
    }

    /// The same error with another path, if it is about a file and has the path `former`; `nil` = none.
    package func replacing(path former: String?, by path: String?) -> StoreError {
        switch self {
        case .readOnly(former): .readOnly(path: path)
        case .storage(let error, former): .storage(error, path: path)
        case .incompatibleModel(former, let reason): .incompatibleModel(path: path, reason: reason)
        case .modelChanged(former): .modelChanged(path: path)
        case .migrationRefused(former, let refusal): .migrationRefused(path: path, refusal)
        case .migrationCancelled(former): .migrationCancelled(path: path)
        case .commandCancelled(former): .commandCancelled(path: path)
        case .otherFormat(former, let format): .otherFormat(path: path, format: format)
        case .damagedContent(former, let entity, let key, let reason):
            .damagedContent(path: path, entity: entity, key: key, reason: reason)
        case .malformedFile(former, let place, let reason): .malformedFile(path: path, place: place, reason: reason)
        default: self
        }
    }
}
