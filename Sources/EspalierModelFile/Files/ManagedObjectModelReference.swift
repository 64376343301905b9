// A model by file, by name or at hand, with the checksum that it must have: what a plan of versions refers to (MD-08).

public import EspalierModel
public import FoundationEssentials

/// A model that is found when it is needed, and that must have a certain checksum.
///
///     let old = ManagedObjectModelReference(contentsOf: url, versionChecksum: "8e93e5f98066e10ba11530e1d81513ea")
///     let model = try old.resolvedModel()
///
/// The checksum is that of ``EspalierModel/ManagedObjectModel/versionChecksum``: models have the same one if stored
/// objects of one are stored objects of the other.
public struct ManagedObjectModelReference: Sendable {
    private enum Source: Sendable {
        case model(ManagedObjectModel)
        case file(URL)
        case name(String, ModelLibrary)
    }

    /// The checksum that the model must have.
    public let versionChecksum: String
    private let source: Source

    /// Refers to a model that is at hand.
    public init(_ model: ManagedObjectModel, versionChecksum: String) {
        (source, self.versionChecksum) = (.model(model), versionChecksum)
    }

    /// Refers to a model file; it is not read before the model is needed.
    public init(contentsOf url: URL, versionChecksum: String) {
        (source, self.versionChecksum) = (.file(url), versionChecksum)
    }

    /// Refers to a model by its name among those of `library`.
    public init(named name: String, in library: ModelLibrary, versionChecksum: String) {
        (source, self.versionChecksum) = (.name(name, library), versionChecksum)
    }

    /// The model, read each time it is asked for.
    ///
    /// - Throws: `ModelFileError` if it cannot be read, or has another checksum.
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
                "the model has the checksum \(model.versionChecksum), not \(versionChecksum); it is another version")
        }
        return model
    }
}
