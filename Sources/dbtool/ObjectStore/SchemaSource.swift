// What `schema` looks into: a store, which carries its model and rows, or a model file.

import EspalierModel
import EspalierModelFile
import Foundation

/// A model, and the rows of its entities if it is the model of a store.
struct SchemaSource {
    /// The path as it was given.
    let path: String
    let model: ManagedObjectModel
    /// What a model file asks for and no model does, a sentence for each.
    let omissions: [String]
    private let store: OpenStore?

    /// Reads the model file or opens the store at `path`: the ending tells which it is.
    init(_ path: String) throws(ToolError) {
        self.path = path
        let url = URL(filePath: path)
        guard ["xcdatamodel", "xcdatamodeld", "mom", "momd"].contains(url.pathExtension) else {
            let store = try OpenStore(path)
            (model, omissions, self.store) = (store.model, [], store)
            return
        }
        do {
            let document = try ModelDocument(contentsOf: url)
            omissions = try document.conversion().unsupported.map(\.description)
            model = try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
        } catch {
            throw .file(path: error.path, reason: error.reasons)
        }
        store = nil
    }

    /// The entity called `name`.
    func entity(named name: String) throws(ToolError) -> Entity {
        if let entity = model.entity(named: name) { return entity }
        throw .unknownName(UnknownName(kind: "entity", name: name, candidates: model.entities.map(\.name)))
    }

    /// How many rows are of exactly this entity; `nil` in a model file.
    func rowCount(of entity: Entity) throws(ToolError) -> Int? {
        guard let store else { return nil }
        return try store.rowCount(of: entity)
    }

    /// Ends the store.
    func close() throws(ToolError) { try store?.close() }
}
