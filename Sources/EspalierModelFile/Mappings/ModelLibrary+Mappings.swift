// Finds the mapping file between two versions of a model in the folders of an application.
//
// Invariants
//   1. A mapping file whose models are in the same folders is found only for models with the version hashes of these.
//      Hash modifiers do not count for a model without any, such as that of a store, if no file has all hashes. Names
//      decide for all others. Where modifiers do not count or names decide, exactly one file may fit.

public import EspalierModel
import FoundationEssentials

extension ModelLibrary {
    /// The way in which a mapping file fits two models.
    private enum Fit {
        /// Both models that the file names are in the folders, and have the same hashes.
        case models
        /// The same, except for hash modifiers, which a model that was given does not have.
        case modelsWithoutModifiers
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
    /// library have these, the version hashes of all entities must be those of `source` and `destination`. The model of
    /// a store has no hash modifiers: for a model without any, those of the files do not count, but a file that fits
    /// with all hashes comes first. If the folders do not have the models, `source` and `destination` must have the
    /// entities and properties that the file names.
    ///
    /// - Parameters:
    ///   - source: The model of the store.
    ///   - destination: The newer model.
    /// - Returns: The mapping; `nil` if no file `NAME.xcmappingmodel` in the folders fits.
    /// - Throws: `ModelFileError` if a file cannot be read, or if several files fit and only names decide, or only
    ///   hash modifiers distinguish the files.
    /// - Complexity: O(bytes of all mapping files and of the models that they name).
    public func mapping(
        from source: ManagedObjectModel, to destination: ManagedObjectModel
    ) throws(ModelFileError) -> MappingDescription? {
        var unmodified: [(path: String, mapping: MappingDescription)] = []
        var named = unmodified
        for folder in folders {
            for name in try ModelFileSystem.names(in: folder) where name.hasSuffix(".xcmappingmodel") {
                let url = folder.appending(path: name)
                let mapping = try MappingDescription(contentsOf: url)
                switch try fit(mapping, source, destination) {
                case .models: return mapping
                case .modelsWithoutModifiers: unmodified.append((url.path, mapping))
                case .names: named.append((url.path, mapping))
                case nil: continue
                }
            }
        }
        let candidates = unmodified.isEmpty ? named : unmodified
        guard candidates.count <= 1 else {
            let others = candidates.dropFirst().map { "'\($0.path)'" }.joined(separator: ", ")
            throw ModelFileError(
                path: candidates[0].path, .otherVersion,
                unmodified.isEmpty
                    ? "this file and \(others) have names of both models; put the versions of the model beside them, "
                        + "or read one of them by its path"
                    : "this file and \(others) differ only in hash modifiers, which the given models do not have; pass "
                        + "the models of one of the files, or read it by its path")
        }
        return candidates.first?.mapping
    }

    private func fit(
        _ mapping: MappingDescription, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws(ModelFileError) -> Fit? {
        let former = try model(at: mapping.sourceModelPath)
        let newer = try model(at: mapping.destinationModelPath)
        var countsModifiers = true
        for (own, given) in [(former, source), (newer, destination)] {
            guard let own else { continue }
            guard let isEqual = Self.hasHashes(given, of: own) else { return nil }
            if !isEqual { countsModifiers = false }
        }
        if former != nil, newer != nil { return countsModifiers ? .models : .modelsWithoutModifiers }
        let isNamed = mapping.entityMappings.allSatisfy { Self.fits($0, source, destination) }
        return isNamed && !mapping.entityMappings.isEmpty ? .names : nil
    }

    /// Whether a model has the version hashes of one in the folders with its hash modifiers; `false` if it has them
    /// without, and no modifiers itself; `nil` if it has others.
    private static func hasHashes(_ given: ManagedObjectModel, of own: ManagedObjectModel) -> Bool? {
        let hashes = given.entityVersionHashesByName
        if hashes == own.entityVersionHashesByName { return true }
        return hashes == given.storedVersionHashesByName && hashes == own.storedVersionHashesByName ? false : nil
    }

    /// The model at a path as mapping files have it; `nil` if the folders do not have it.
    private func model(at path: String?) throws(ModelFileError) -> ManagedObjectModel? {
        let steps = (path ?? "").split(separator: "/").suffix(2).map(String.init)
        guard let last = steps.last, last.hasSuffix(".\(ModelVersions.versionPathExtension)") else { return nil }
        let isVersion = steps.count == 2 && steps[0].hasSuffix(".\(ModelVersions.pathExtension)")
        for folder in folders {
            let url = folder.appending(path: isVersion ? "\(steps[0])/\(last)" : last)
            guard ModelFileSystem.item(at: url) == .folder else { continue }
            return try ManagedObjectModel(contentsOf: url, ignoring: Set(ModelFeature.allCases))
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
