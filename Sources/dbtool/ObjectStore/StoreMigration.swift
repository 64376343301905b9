// The migration of a store by inference, or by the mappings of a file.

import Espalier
import EspalierModel
import EspalierModelFile
import EspalierStore
import Foundation

/// The work of `migrate` on a store.
struct StoreMigration {
    private let path: String
    private let model: ManagedObjectModel
    /// The mappings of a file, and the model of the store, to which they apply.
    private let mapped: (mappings: MappingModel, former: ManagedObjectModel)?

    /// - Parameter mappingPath: `NAME.xcmappingmodel`, or the file `xcmapping.xml` in it; `nil` = inference alone.
    init(_ path: String, to model: ManagedObjectModel, by mappingPath: String?, _ console: Console) throws(ToolError) {
        (self.path, self.model) = (path, model)
        guard let mappingPath else {
            mapped = nil
            return
        }
        let former = try ModelSource(path, console).model
        do {
            mapped = (try MappingModel(try MappingDescription(contentsOf: URL(filePath: mappingPath))), former)
        } catch let error as ModelFileError {
            throw .file(path: error.path, reason: error.reasons)
        } catch {
            throw .file(path: mappingPath, reason: "\(error)")
        }
    }

    /// The losses that the migration would cause.
    ///
    /// With mappings, only a trial shows which objects no mapping takes.
    func losses() throws(ToolError) -> [MigrationLoss] {
        guard mapped != nil else { return try plan(.automatic, checkingRows: false).difference.losses }
        return try plan(.automatic, checkingRows: true).refusal?.losses ?? []
    }

    /// The effect of the migration, with `checkingRows` on the real rows.
    ///
    /// Mappings are always tried on the real rows.
    func plan(_ options: MigrationOptions, checkingRows: Bool) throws(ToolError) -> MigrationPlan {
        guard let (mappings, former) = mapped else {
            return try withPath(path) { () throws(StoreError) in
                try BTreeStore.migrationPlan(
                    at: path, to: model, migration: options.logged, checkingRows: checkingRows)
            }
        }
        do throws(MappingError) {
            return try mappings.migrationPlan(storeAt: path, from: former, to: model, options)
        } catch {
            throw toolError(error)
        }
    }

    /// Migrates; if the migration is refused, returns a plan that names every row that the model forbids.
    func run(_ options: MigrationOptions) throws(ToolError) -> MigrationPlan {
        do {
            guard let (mappings, former) = mapped else {
                return try BTreeStore.migrate(at: path, to: model, migration: options.logged)
            }
            return try mappings.migrate(storeAt: path, from: former, to: model, options)
        } catch StoreError.migrationRefused, MappingError.store(.migrationRefused) {
            return try plan(options, checkingRows: true)
        } catch let error as StoreError {
            throw .store(error, path: path)
        } catch let error as MappingError {
            throw toolError(error)
        } catch {
            throw .file(path: path, reason: "\(error)")
        }
    }

    private func toolError(_ error: MappingError) -> ToolError {
        if case .store(let error) = error { return .store(error, path: path) }
        return .refused(path: path, reason: "\(error)")
    }
}
