// Binary files as descriptions have them: migrated first, if the model asks for it and the description allows it.

internal import EspalierModel

extension WholeGraphStore {
    /// Opens a described binary file.
    static func openBinary(_ opening: StoreOpening) throws(StoreError) -> WholeGraphStore {
        try opening.requireOptions(among: [])
        guard let path = opening.path else {
            throw .invalidRequest(reason: "a store of kind \(opening.type.rawValue) needs a path")
        }
        func open() throws(StoreError) -> WholeGraphStore {
            try WholeGraphStore(
                try GraphFile(path, BinaryGraphFormat(), isReadOnly: opening.isReadOnly), type: .binary,
                model: opening.model)
        }
        do throws(StoreError) { return try open() } catch {
            guard case .incompatibleModel = error, opening.migration.isAutomatic, !opening.isReadOnly else {
                throw error
            }
        }
        try GraphFileMigration.migrate(try GraphFile(path, BinaryGraphFormat()), to: opening.model, opening.migration)
        return try open()
    }
}
