// Finds the model of a store among all versions of the models in the folders of an application.

public import EspalierModel
import FoundationEssentials

extension ModelLibrary {
    /// The model with these version hashes: the one that a store was written with (MD-02).
    ///
    ///     let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: path)
    ///     let model = try library.model(withEntityVersionHashes: metadata.entityVersionHashesByName)
    ///
    /// Every version of every model in the folders is considered, the current one first. If no version alone has all
    /// entities, those versions are merged whose entities all have these hashes, at most one of each model. Hash
    /// modifiers do not count, because no store keeps them.
    ///
    /// - Parameters:
    ///   - hashes: The version hash of each entity, by name.
    ///   - features: The features that the application does not need.
    /// - Returns: The model; `nil` if there is none in the folders.
    /// - Throws: `ModelFileError` if no model was found and a version cannot be read, or if the versions to be merged
    ///   describe an entity differently.
    /// - Complexity: O(bytes of all versions).
    public func model(
        withEntityVersionHashes hashes: [String: [UInt8]], ignoring features: Set<ModelFeature> = []
    ) throws(ModelFileError) -> ManagedObjectModel? {
        var parts: [ManagedObjectModel] = []
        var failure: ModelFileError?
        for name in names {
            var best: ManagedObjectModel?
            let files: [URL]
            do throws(ModelFileError) {
                files = try versions(of: name)
            } catch {
                if failure == nil { failure = error }
                continue
            }
            for url in files {
                do throws(ModelFileError) {
                    let model = try ManagedObjectModel(contentsOf: url, ignoring: features)
                    let own = model.storedVersionHashesByName
                    guard own.allSatisfy({ hashes[$0.key] == $0.value }) else { continue }
                    if own.count == hashes.count { return model }
                    if own.count > best?.entities.count ?? 0 { best = model }
                } catch {
                    // Another version may be the one.
                    if failure == nil { failure = error }
                }
            }
            if let best { parts.append(best) }
        }
        guard Set(parts.flatMap { $0.entities.map(\.name) }) == Set(hashes.keys) else {
            if let failure { throw failure }
            return nil
        }
        do throws(ModelError) {
            return try ManagedObjectModel(byMerging: parts)
        } catch {
            throw ModelPlaces(path: folders.map(\.path).joined(separator: ", ")).located(error)
        }
    }

    /// The files of all versions of a model, the current one first.
    private func versions(of name: String) throws(ModelFileError) -> [URL] {
        guard let url = urls[name] else { return [] }
        switch url.pathExtension {
        case ModelVersions.pathExtension, CompiledVersions.pathExtension:
            let versions = try ModelVersions(contentsOf: url)
            let others = versions.names.filter { $0 != versions.currentName }
            return ([versions.currentName] + others).map(versions.versionURL(named:))
        default: return [url]
        }
    }
}
