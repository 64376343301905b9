// The text of store errors, in one place: the file first, then the problem and the remedy.

import EspalierModel

extension StoreError: CustomStringConvertible {
    /// The problem, its place and the remedy; begins with the path if there is one.
    public var description: String {
        switch self {
        case .conflict(let conflicts):
            "rows have changed since they were read: " + conflicts.map(\.description).joined(separator: "; ")
        case .constraint(let conflicts):
            "values must be unique, but are not: " + conflicts.map(\.description).joined(separator: "; ")
        case .references(let conflicts):
            "the save would break relationships: " + conflicts.map(\.description).joined(separator: "; ")
        case .brokenRules(let rules):
            "values break rules of the model: " + rules.map(\.description).joined(separator: "; ")
        case .unsettledSave(let rounds):
            "after \(rounds) rounds the hooks of the parent context still change its objects"
        case .readOnly(let path):
            Self.prefixed(with: path, "the store was opened for reading only; open it for writing to change it")
        case .closed: "the store was closed, or removed from its coordinator; open it again to use it"
        case .storage(let error, let path): Self.prefixed(with: path, "\(error)")
        case .incompatibleModel(let path, let reason): Self.prefixed(with: path, "the store cannot be used: \(reason)")
        case .modelChanged(let path):
            Self.prefixed(
                with: path,
                "the model of the store was changed by another container or process since it was opened here; close it "
                    + "and open it again with the newer model")
        case .migrationRefused(let path, let refusal):
            Self.prefixed(with: path, "the store has another model and cannot be migrated: \(refusal)")
        case .migrationCancelled(let path):
            Self.prefixed(
                with: path, "the migration was cancelled, and the store is as it was; open it again to migrate it")
        case .commandCancelled(let path):
            Self.prefixed(with: path, "the batch request was cancelled, and the store is as it was")
        case .fetchCancelled: "the fetch was cancelled"
        case .otherFormat(let path, let format): Self.prefixed(with: path, Self.otherFormat(format))
        case .damagedContent(let path, let entity, let key, let reason):
            Self.prefixed(with: path, "the row \(entity)/\(key) is damaged: \(reason)")
        case .outside(let path, let error): Self.prefixed(with: path, "the store of the application failed: \(error)")
        case .brokenContract(let path, let store, let reason):
            Self.prefixed(with: path, "the store of kind \(store) breaks the contract of stores: \(reason)")
        case .unknownStoreType(let type):
            "no store of kind \(type.rawValue) is registered; there are "
                + StoreType.registered.map(\.rawValue).joined(separator: ", ")
                + "; register the kind before you open a store of it"
        case .invalidOption(let key, let store, let reason):
            "the option \"\(key)\" of a store of kind \(store) cannot be used: \(reason)"
        case .malformedFile(let path, let place, let reason):
            Self.prefixed(with: path, "the file cannot be read, \(place): \(reason)")
        case .invalidRequest(let reason): reason
        case .invalidPredicate(let error): "\(error)"
        }
    }

    private static func otherFormat(_ format: UInt16) -> String {
        assert(format != StoreFormat.newest, "rows in the newest format cannot be read")
        let (first, present) = (StoreFormat.first, StoreFormat.newest)
        return format == first
            ? "the rows are in format \(format); open the store for writing once to convert them to format \(present)"
            : "the rows are in format \(format), but this library reads only formats \(first) to \(present)"
    }

    private static func prefixed(with path: String?, _ sentence: String) -> String {
        path.map { "\($0): \(sentence)" } ?? sentence
    }
}

extension VersionConflict: CustomStringConvertible {
    /// The row and both versions.
    public var description: String {
        if expectedVersion == 0, let stored {
            return "\(id) is to be inserted again, and another writer has done so: it is at version \(stored.version)"
        }
        return "\(id) was read at version \(expectedVersion) and is "
            + (stored.map { "now at version \($0.version)" } ?? "now deleted")
    }
}

extension ConstraintConflict: CustomStringConvertible {
    /// The properties and the objects that share their values.
    public var description: String {
        "\(object) and \(other) have the same \(properties.joined(separator: ", ")) of \(entityName)"
    }
}
