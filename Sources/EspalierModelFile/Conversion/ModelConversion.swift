// What a model document means to Espalier: descriptions of entities, and the list of what they leave out.
//
// Invariants
//   1. Nothing is left out in silence: what a model cannot say and the store does not do stands in `unsupported`.
//   2. What is for tools only, such as places in a drawing and marks for search, stays in the document and is no loss.

public import EspalierModel

/// The parts of a model that a document describes.
public struct ModelConversion: Sendable {
    /// The entities, in the order of the document.
    public var entities: [EntityDescription]
    /// The name of the version; empty if it has none.
    public var versionIdentifiers: [String]
    /// The configurations, in the order of the document.
    public var configurations: [ConfigurationDescription]
    /// The requests, in the order of the document.
    public var fetchRequestTemplates: [FetchRequestTemplate]
    /// What the document asks for and the model does not do, each with its line and its element.
    public let unsupported: [ModelFileError.Problem]
    /// Where entities and properties stand.
    let places: ModelPlaces

    /// The features that stand in `unsupported`.
    public var unsupportedFeatures: Set<ModelFeature> {
        Set(unsupported.compactMap { if case .unsupported(let feature) = $0.kind { feature } else { nil } })
    }
}

/// The lines of a document's entities and properties, for problems that are found in descriptions.
struct ModelPlaces: Sendable {
    let path: String
    private var lines: [String: Int] = [:]
    private var labels: [String: String] = [:]

    init(path: String) { self.path = path }

    /// Notes where an entity stands, or a property of it; of several of one name the first.
    mutating func note(_ element: ModelElement, entity: String, property: String? = nil) {
        let key = Self.key(entity, property)
        guard labels[key] == nil else { return }
        labels[key] = (property == nil ? "" : "entity '\(entity)', ") + element.label
        lines[key] = element.line
    }

    /// The problems of descriptions as problems of the file.
    func located(_ error: ModelError) -> ModelFileError {
        let problems = error.problems.map { problem -> ModelFileError.Problem in
            guard let entity = problem.entity else { return .init(.invalidModel, element: "model", problem.message) }
            // A part of a composite is called by its path.
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
    ///   - document: What a model file says.
    ///   - ignoredFeatures: What the application can do without. ``ModelFeature`` says for each what happens instead.
    /// - Throws: `ModelFileError` with each problem of the model, or with each feature that Espalier does not have and
    ///   that is not ignored.
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
                entities: conversion.entities, versionIdentifiers: conversion.versionIdentifiers,
                configurations: conversion.configurations, fetchRequestTemplates: conversion.fetchRequestTemplates)
        } catch {
            throw conversion.places.located(error)
        }
    }
}
