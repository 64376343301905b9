// The argument of the code that opens a kind of store: the parts of a description, with the model.

public import EspalierModel

/// A store that is to be opened (PS-10).
public struct StoreOpening: Sendable {
    /// The kind of store.
    public var type: StoreType
    /// The model with which the store must be made.
    public var model: ManagedObjectModel
    /// The place of the data; `nil` if the description has none.
    public var path: String?
    /// Whether saving will be refused.
    public var isReadOnly: Bool
    /// The options of the description.
    public var options: [StoreOption: AttributeValue]
    /// The changes that opening may make to data of another model.
    public var migration: MigrationOptions

    /// Describes a store that is to be opened.
    public init(
        _ type: StoreType, model: ManagedObjectModel, path: String? = nil, isReadOnly: Bool = false,
        options: [StoreOption: AttributeValue] = [:], migration: MigrationOptions = .automatic
    ) {
        (self.type, self.model, self.path, self.isReadOnly) = (type, model, path, isReadOnly)
        (self.options, self.migration) = (options, migration)
    }

    /// Refuses options that the kind of store does not have.
    ///
    /// - Throws: `StoreError.invalidOption` with the options that it has.
    public func requireOptions(among known: [StoreOption]) throws(StoreError) {
        for key in options.keys.sorted(by: { $0.rawValue < $1.rawValue }) where !known.contains(key) {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw .invalidOption(
                key.rawValue, store: type.rawValue,
                reason: known.isEmpty ? "the kind has no options" : "the kind has only \(names)")
        }
    }

    /// Refuses permissions for a migration and backups, for a kind of store that is never migrated.
    ///
    /// - Throws: `StoreError.invalidOption` with the way out.
    public func refuseMigration() throws(StoreError) {
        let option = migration.backupPath == nil ? "allowing" : "backupPath"
        guard migration.allowing.isEmpty, migration.backupPath == nil else {
            throw .invalidOption(
                option, store: type.rawValue,
                reason: "stores of this kind are not migrated; copy the store to a B-tree file with the model that it "
                    + "was written with, and migrate that")
        }
    }

    /// The number of an option; `nil` if the description does not set it.
    ///
    /// - Throws: `StoreError.invalidOption` for a value that is no number from 0 on.
    public func number(of option: StoreOption) throws(StoreError) -> Double? {
        let number: Double? =
            switch options[option] {
            case nil, .null?: nil
            case .integer(let value)?: Double(value)
            case .double(let value)?: value
            default: .nan
            }
        guard let number else { return nil }
        guard number >= 0, number.isFinite else {
            throw .invalidOption(option.rawValue, store: type.rawValue, reason: "its value must be a number from 0 on")
        }
        return number
    }
}
