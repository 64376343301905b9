// Finds the mapping file between two versions of a model in the folders of an application.
//
// Invariants
//   1. A mapping file whose models are in the same folders is found only for models with the version hashes of these.
//      Names decide for all others, and then only if exactly one file fits.

public import EspalierModel
import FoundationEssentials

extension ModelLibrary {
    /// The way in which a mapping file fits two models.
    private enum Fit {
        /// Both models that the file names are in the folders, and have the same hashes.
        case models
        /// The models have all entities and properties that the file names.
        case names
    }

    /// The mapping between two versions of a model, of the mapping files in the folders (MG-06).
    ///
    ///     if let file = try library.mapping(from: first, to: second) {
    ///         try MappingModel(file).migrate(storeAt: path, from: first, to: second)
    ///     }
    ///
    /// A mapping file names the files of its models, `NAME.xcdatamodeld/VERSION.xcdatamodel`. If the folders of the
    /// library have these, the version hashes of all entities must be those of `source` and `destination`. If not, the
    /// models must have the entities and properties that the file names.
    ///
    /// - Parameters:
    ///   - source: The model of the store.
    ///   - destination: The newer model.
    /// - Returns: The mapping; `nil` if no file `NAME.xcmappingmodel` in the folders fits.
    /// - Throws: `ModelFileError` if a file cannot be read, or if only names decide and several files fit.
    /// - Complexity: O(bytes of all mapping files and of the models that they name).
    public func mapping(
        from source: ManagedObjectModel, to destination: ManagedObjectModel
    ) throws(ModelFileError) -> MappingDescription? {
        var candidates: [(path: String, mapping: MappingDescription)] = []
        for folder in folders {
            for name in try ModelFileSystem.names(in: folder) where name.hasSuffix(".xcmappingmodel") {
                let url = folder.appending(path: name)
                let mapping = try MappingDescription(contentsOf: url)
                switch try fit(mapping, source, destination) {
                case .models: return mapping
                case .names: candidates.append((url.path, mapping))
                case nil: continue
                }
            }
        }
        guard candidates.count <= 1 else {
            throw ModelFileError(
                path: candidates[0].path, .otherVersion,
                "this file and \(candidates.dropFirst().map { "'\($0.path)'" }.joined(separator: ", ")) have names of "
                    + "both models; put the versions of the model beside them, or read one of them by its path")
        }
        return candidates.first?.mapping
    }

    private func fit(
        _ mapping: MappingDescription, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws(ModelFileError) -> Fit? {
        let former = try hashes(ofModelAt: mapping.sourceModelPath)
        let newer = try hashes(ofModelAt: mapping.destinationModelPath)
        if let former, former != source.entityVersionHashesByName { return nil }
        if let newer, newer != destination.entityVersionHashesByName { return nil }
        if former != nil, newer != nil { return .models }
        let isNamed = mapping.entityMappings.allSatisfy { Self.fits($0, source, destination) }
        return isNamed && !mapping.entityMappings.isEmpty ? .names : nil
    }

    /// The version hashes of the model at a path as mapping files have it; `nil` if the folders do not have the model.
    private func hashes(ofModelAt path: String?) throws(ModelFileError) -> [String: [UInt8]]? {
        let steps = (path ?? "").split(separator: "/").suffix(2).map(String.init)
        guard let last = steps.last, last.hasSuffix(".\(ModelVersions.versionPathExtension)") else { return nil }
        let isVersion = steps.count == 2 && steps[0].hasSuffix(".\(ModelVersions.pathExtension)")
        for folder in folders {
            let url = folder.appending(path: isVersion ? "\(steps[0])/\(last)" : last)
            guard ModelFileSystem.item(at: url) == .folder else { continue }
            let model = try ManagedObjectModel(contentsOf: url, ignoring: Set(ModelFeature.allCases))
            return model.entityVersionHashesByName
        }
        return nil
    }

    /// Whether the models have all names of a mapping.
    private static func fits(
        _ mapping: EntityMappingDescription, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) -> Bool {
        let former = mapping.sourceEntityName.flatMap { source.entity(named: $0) }
        let newer = mapping.destinationEntityName.flatMap { destination.entity(named: $0) }
        guard (former == nil) == (mapping.sourceEntityName == nil),
            (newer == nil) == (mapping.destinationEntityName == nil)
        else { return false }
        return mapping.propertyMappings.allSatisfy { property in
            if let newer, newer.property(named: property.name) == nil { return false }
            guard let path = property.source.path, let former else { return true }
            return former.property(named: path.split(separator: ".").first.map(String.init) ?? "") != nil
        }
    }
}

extension PropertyMappingDescription.Source {
    /// The path from the source object; `nil` if the source is another one.
    fileprivate var path: String? {
        switch self {
        case .keyPath(let path), .following(let path, _): path
        case .sameName, .constant, .now, .made, .expression: nil
        }
    }
}
