// A model for the verbs that compare and migrate, read from a model file or a store.

import EspalierModel

/// A model and the path from which it was read.
struct ModelSource {
    /// The path as given on the command line.
    let path: String
    let model: ManagedObjectModel
    /// Whether the model is that of a store, which lacks the parts that only applications use.
    let isStore: Bool

    /// Reads the model; reports unsupported features of a model file on standard error.
    init(_ path: String, _ console: Console) throws(ToolError) {
        let source = try SchemaSource(path)
        for omission in source.omissions { console.errors.write("note: \(path): \(omission)\n") }
        (self.path, model, isStore) = (path, source.model, source.isStore)
        try source.close()
    }
}

extension ModelChange {
    /// The change for programs.
    var json: JSONValue {
        [
            "entity": .optional(entity.isEmpty ? nil : entity), "property": .optional(property),
            "kind": .string(kind.name),
            "text": .string(kind.description), "cost": .string(cost.rawValue),
            "rowsOf": .array(rows.map { .string($0) }), "loses": .optional(loss?.description),
        ]
    }
}
