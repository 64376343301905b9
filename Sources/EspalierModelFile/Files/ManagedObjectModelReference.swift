// A model by file, by name or as an object, with its expected checksum: the unit of a version plan (MD-08).

public import EspalierModel
public import FoundationEssentials

/// A model that is located on demand and must have a given checksum.
///
///     let old = ManagedObjectModelReference(contentsOf: url, versionChecksum: "8e93e5f98066e10ba11530e1d81513ea")
///     let model = try old.resolvedModel()
///
/// The checksum is that of ``EspalierModel/ManagedObjectModel/versionChecksum``: two models have the same one if
/// objects stored with one can be read with the other.
public struct ManagedObjectModelReference: Sendable {
    private enum Source: Sendable {
        case model(ManagedObjectModel)
        case file(URL)
        case name(String, ModelLibrary)
    }

    /// The checksum that the model must have.
    public let versionChecksum: String
    private let source: Source

    /// Refers to a model object.
    public init(_ model: ManagedObjectModel, versionChecksum: String) {
        (source, self.versionChecksum) = (.model(model), versionChecksum)
    }

    /// Refers to a model file, which is read only when the model is needed.
    public init(contentsOf url: URL, versionChecksum: String) {
        (source, self.versionChecksum) = (.file(url), versionChecksum)
    }

    /// Refers to a model by its name in `library`.
    public init(named name: String, in library: ModelLibrary, versionChecksum: String) {
        (source, self.versionChecksum) = (.name(name, library), versionChecksum)
    }

    /// The model.
    ///
    /// Each call reads it again.
    ///
    /// - Throws: `ModelFileError` if the model cannot be read or has another checksum.
    public func resolvedModel(
        ignoring features: Set<ModelFeature> = []
    ) throws(ModelFileError) -> ManagedObjectModel {
        let (model, path) =
            switch source {
            case .model(let model): (model, "the model")
            case .file(let url): (try ManagedObjectModel(contentsOf: url, ignoring: features), url.path)
            case .name(let name, let library):
                (try library.model(named: name, ignoring: features), library.urls[name]?.path ?? name)
            }
        guard model.versionChecksum == versionChecksum else {
            throw ModelFileError(
                path: path, .otherVersion,
                "the model has the checksum \(model.versionChecksum), not \(versionChecksum), so it is another version")
        }
        return model
    }
}
