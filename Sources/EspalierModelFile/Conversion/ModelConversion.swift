// The meaning of a model document for Espalier: descriptions of entities, and the list of features that they leave out.
//
// Invariants
//   1. Nothing is left out silently: `unsupported` lists every feature that a model cannot express or the store does
//      not support.
//   2. Data for tools only, such as places in a drawing and marks for search, stays in the document and is not listed.

public import EspalierModel

/// The parts of a model, as a document describes them.
public struct ModelConversion: Sendable {
    /// The entities, in the order of the document.
    public var entities: [EntityDescription]
    /// The version identifier of the document; empty if it has none.
    public var versionIdentifiers: [String]
    /// The configurations, in the order of the document.
    public var configurations: [ConfigurationDescription]
    /// The request templates, in the order of the document.
    public var fetchRequestTemplates: [FetchRequestTemplate]
    /// The features that the document uses and the model lacks, each with line and element.
    public let unsupported: [ModelFileError.Problem]
    /// The lines and labels of entities and properties.
    let places: ModelPlaces

    /// The distinct features in `unsupported`.
    public var unsupportedFeatures: Set<ModelFeature> {
        Set(unsupported.compactMap { if case .unsupported(let feature) = $0.kind { feature } else { nil } })
    }
}

/// The lines and labels of a document's entities and properties, for problems found in their descriptions.
struct ModelPlaces: Sendable {
    let path: String
    private var lines: [String: Int] = [:]
    private var labels: [String: String] = [:]

    init(path: String) { self.path = path }

    /// Notes the place of an entity or of one of its properties; of several with one name, the first.
    mutating func note(_ element: ModelElement, entity: String, property: String? = nil) {
        let key = Self.key(entity, property)
        guard labels[key] == nil else { return }
        labels[key] = (property == nil ? "" : "entity '\(entity)', ") + element.label
        lines[key] = element.line
    }

    /// Converts problems of descriptions to problems at places of the file.
    func located(_ error: ModelError) -> ModelFileError {
        let problems = error.problems.map { problem -> ModelFileError.Problem in
            guard let entity = problem.entity else { return .init(.invalidModel, element: "model", problem.message) }
            // The property of a part of a composite is a dotted path.
            let property = problem.property.map { String($0.prefix { $0 != "." }) }
            let known = [Self.key(entity, property), Self.key(entity, nil)].first { labels[$0] != nil }
            guard let known else { return .init(.invalidModel, element: "entity '\(entity)'", problem.message) }
            let part = problem.property.flatMap { $0.contains(".") ? "'\($0)' " : nil } ?? ""
            return .init(.invalidModel, line: lines[known], element: labels[known], part + problem.message)
        }
        return ModelFileError(path: path, problems: problems)
    }

    private static func key(_ entity: String, _ property: String?) -> String { "\(entity)\u{0}\(property ?? "")" }
}

extension ManagedObjectModel {
    /// The model that a document describes.
    ///
    /// - Parameters:
    ///   - document: The content of a model file.
    ///   - ignoredFeatures: The features that the application does not need. ``ModelFeature`` says for each what
    ///     happens instead.
    /// - Throws: `ModelFileError` with each problem of the model, or with each feature that Espalier does not support
    ///   and that is not ignored.
    public convenience init(
        _ document: ModelDocument, ignoring ignoredFeatures: Set<ModelFeature> = []
    ) throws(ModelFileError) {
        let conversion = try document.conversion()
        let missing = conversion.unsupported.filter { problem in
            guard case .unsupported(let feature) = problem.kind else { return true }
            return !ignoredFeatures.contains(feature)
        }
        guard missing.isEmpty else { throw ModelFileError(path: document.path, problems: missing) }
        do {
            try self.init(
                entities: conversion.entities, versionIdentifiers: conversion.versionIdentifiers, classes: [:],
                configurations: conversion.configurations, fetchRequestTemplates: conversion.fetchRequestTemplates)
        } catch {
            throw conversion.places.located(error)
        }
    }
}
