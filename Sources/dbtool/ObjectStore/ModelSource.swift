// A model for the verbs that compare and migrate: that of a model file, or of a store.

import EspalierModel

/// A model by the path it was read from.
struct ModelSource {
    /// The path as it was given.
    let path: String
    let model: ManagedObjectModel

    /// Reads the model; what a model file asks for and no model does is told on standard error.
    init(_ path: String, _ console: Console) throws(ToolError) {
        let source = try SchemaSource(path)
        for omission in source.omissions { console.errors.write("note: \(path): \(omission)\n") }
        (self.path, model) = (path, source.model)
        try source.close()
    }
}

extension ModelChange {
    /// The change for programs.
    var json: JSONValue {
        [
            "entity": .string(entity), "property": .optional(property), "kind": .string(kind.name),
            "text": .string(kind.description), "cost": .string(cost.rawValue),
            "rowsOf": .array(rows.map { .string($0) }), "loses": .optional(loss?.description),
        ]
    }
}
