// The input of `schema`: a store, which contains its model and rows, or a model file.

import EspalierModel
import EspalierModelFile
import Foundation

/// A model, and the rows of its entities if it is the model of a store.
struct SchemaSource {
    /// The path as given on the command line.
    let path: String
    let model: ManagedObjectModel
    /// The unsupported features of a model file, and its named requests that fail, one text each.
    let omissions: [String]
    /// The names of composite types in a model file; a store keeps none.
    let compositeNames: CompositeNames?
    private let store: OpenStore?
    /// Whether the model is that of a store.
    var isStore: Bool { store != nil }

    /// Reads the model file or opens the store at `path`; the file extension tells which of them it is.
    init(_ path: String) throws(ToolError) {
        self.path = path
        let url = URL(filePath: path)
        guard ["xcdatamodel", "xcdatamodeld", "mom", "momd"].contains(url.pathExtension) else {
            let store = try Self.store(path)
            (model, omissions, compositeNames, self.store) = (store.model, [], nil, store)
            return
        }
        do {
            let document = try ModelDocument(contentsOf: url)
            let unsupported = try document.conversion().unsupported.map(\.description)
            model = try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
            // Core Data takes such a model, too.
            omissions = unsupported + model.fetchRequestTemplateProblems.map(\.description)
            compositeNames = CompositeNames(document)
        } catch {
            throw .file(path: error.path, reason: error.reasons)
        }
        store = nil
    }

    private static func store(_ path: String) throws(ToolError) -> OpenStore {
        do throws(ToolError) {
            return try OpenStore(path)
        } catch {
            guard error.isAboutOtherFile else { throw error }
            let reason = error.description.dropFirst(error.description.hasPrefix("\(path): ") ? path.count + 2 : 0)
            throw .file(path: path, reason: "\(reason); and it is no model: \(modelNames)")
        }
    }

    private static let modelNames = "a model is called .xcdatamodeld, .xcdatamodel, .momd or .mom"

    /// The entity called `name`.
    func entity(named name: String) throws(ToolError) -> Entity {
        if let entity = model.entity(named: name) { return entity }
        throw .unknownName(UnknownName(kind: "entity", name: name, candidates: model.entities.map(\.name)))
    }

    /// The number of rows of exactly this entity; `nil` for a model file.
    func rowCount(of entity: Entity) throws(ToolError) -> Int? {
        guard let store else { return nil }
        return try store.rowCount(of: entity)
    }

    /// Closes the store, if there is one.
    func close() throws(ToolError) { try store?.close() }
}
