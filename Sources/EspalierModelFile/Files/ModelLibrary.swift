// The models in the folders of an application, by name.

public import EspalierModel
public import FoundationEssentials

/// The model files in a list of folders.
///
///     let library = try ModelLibrary(folders: [resources])
///     let model = try library.model(named: "Shop")
public struct ModelLibrary: Sendable {
    /// The location of each model by name.
    ///
    /// The first folder that has the name wins; within a folder, a folder of versions has precedence over a single
    /// model.
    public let urls: [String: URL]
    /// The folders, in the order in which they are searched.
    let folders: [URL]

    /// Searches folders for model files without reading any.
    ///
    /// - Parameter folders: Folders that contain `NAME.xcdatamodeld`, `NAME.xcdatamodel`, `NAME.momd` or `NAME.mom`. If
    ///   a folder has several kinds for one name, the first in this list is used. Subfolders are not searched.
    /// - Throws: `ModelFileError` if a folder cannot be read.
    public init(folders: [URL]) throws(ModelFileError) {
        var urls: [String: URL] = [:]
        for folder in folders {
            guard ModelFileSystem.item(at: folder) == .folder else {
                throw ModelFileError(path: folder.path, .notFound, "the folder does not exist")
            }
            let names = try ModelFileSystem.names(in: folder)
            let endings = [
                ModelVersions.pathExtension, ModelVersions.versionPathExtension, CompiledVersions.pathExtension,
                CompiledVersions.versionPathExtension,
            ]
            for ending in endings {
                for name in names where name.hasSuffix(".\(ending)") {
                    let stem = String(name.dropLast(ending.count + 1))
                    if urls[stem] == nil { urls[stem] = folder.appending(path: name) }
                }
            }
        }
        (self.urls, self.folders) = (urls, folders)
    }

    /// The names of all models, ascending.
    public var names: [String] { urls.keys.sorted() }

    /// Reads the current version of the model called `name`.
    ///
    /// - Throws: `ModelFileError` if the model does not exist or cannot be read.
    public func model(
        named name: String, ignoring features: Set<ModelFeature> = []
    ) throws(ModelFileError) -> ManagedObjectModel {
        guard let url = urls[name] else {
            let path = folders.map(\.path).joined(separator: ", ")
            let hint = NameSuggestion.nearest(to: name, among: names).map { "did you mean '\($0)'? " } ?? ""
            let list = names.isEmpty ? "no models" : names.map { "'\($0)'" }.joined(separator: ", ")
            throw ModelFileError(
                path: path, .notFound, "the model '\(name)' does not exist: \(hint)the folder has \(list)")
        }
        return try ManagedObjectModel(contentsOf: url, ignoring: features)
    }

    /// The union of all models of the library, in the order of their names (MD-02).
    ///
    /// - Throws: `ModelFileError` if a model cannot be read, or two models describe an entity differently.
    public func mergedModel(ignoring features: Set<ModelFeature> = []) throws(ModelFileError) -> ManagedObjectModel {
        var models: [ManagedObjectModel] = []
        for name in names { models.append(try model(named: name, ignoring: features)) }
        do {
            return try ManagedObjectModel(byMerging: models)
        } catch {
            throw ModelPlaces(path: folders.map(\.path).joined(separator: ", ")).located(error)
        }
    }
}

extension ManagedObjectModel {
    /// Reads the model of a model file (MD-02).
    ///
    /// - Parameters:
    ///   - url: A folder `NAME.xcdatamodeld` or `NAME.momd`, of which the current version is read; `NAME.xcdatamodel`
    ///     or `NAME.mom`.
    ///   - ignoredFeatures: The features that the application does not need. ``ModelFeature`` says for each what
    ///     happens instead.
    /// - Throws: `ModelFileError` with each problem of the file and of the model, or with each feature that Espalier
    ///   does not support and that is not ignored.
    public convenience init(
        contentsOf url: URL, ignoring ignoredFeatures: Set<ModelFeature> = []
    ) throws(ModelFileError) {
        try self.init(try ModelDocument(contentsOf: url), ignoring: ignoredFeatures)
    }
}
