// The coding of a whole model, for files, servers and tools: every description, with rules and names (SD-12).
//
// Invariants
//   1. A decoded model is checked as a whole, as any other: bytes from anywhere give a valid model or an error.
//   2. Classes are not coded: a model that is decoded makes objects of `ManagedObject`.
// Not here: the form in which a store keeps its model (ModelCoding).

extension ManagedObjectModel: Codable {
    private enum Part: String, CodingKey {
        case entities, versionIdentifiers, configurations, fetchRequestTemplates, messageTables, language
    }

    /// Encodes the descriptions of the model (SD-12).
    ///
    /// - Throws: the error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Part.self)
        try container.encode(entities.map(\.description), forKey: .entities)
        try container.encode(versionIdentifiers, forKey: .versionIdentifiers)
        try container.encode(configurations, forKey: .configurations)
        try container.encode(fetchRequestTemplates, forKey: .fetchRequestTemplates)
        try container.encode(messageTables, forKey: .messageTables)
        try container.encodeIfPresent(language, forKey: .language)
    }

    /// Decodes descriptions and checks them as a whole (SD-12).
    ///
    /// - Throws: `ModelError` with every problem of the model; `DecodingError` for what is no description.
    public convenience init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Part.self)
        let plain = try ManagedObjectModel(
            entities: try container.decode([EntityDescription].self, forKey: .entities),
            versionIdentifiers: try container.decode([String].self, forKey: .versionIdentifiers), classes: [:],
            configurations: try container.decode([ConfigurationDescription].self, forKey: .configurations),
            fetchRequestTemplates: try container.decode([FetchRequestTemplate].self, forKey: .fetchRequestTemplates))
        let model = try plain.localized(
            try container.decode([String: MessageTable].self, forKey: .messageTables),
            language: try container.decodeIfPresent(String.self, forKey: .language))
        self.init(model, messageTables: model.messageTables, language: model.language)
    }
}
