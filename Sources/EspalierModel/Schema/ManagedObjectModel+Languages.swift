// The names and messages of a model in several languages (MD-07).
//
// Invariants
//   1. They change neither a hash nor a store: models that differ in them only are compatible.

extension ManagedObjectModel {
    /// The same model with names and messages in several languages (MD-07).
    ///
    ///     let model = try ManagedObjectModel(for: [Artist.self]).localized([
    ///         "de": try MessageTable(localizationDictionary: ["Entity/Artist": "Künstler", "Property/name": "Name"])
    ///     ], language: "de-AT")
    ///
    /// With a language, descriptions of violations use its names and messages; without one they use the names of the
    /// model, and only a text that is asked for by its language is translated (`messageTable(in:)`).
    ///
    /// - Parameters:
    ///   - tables: by language, such as "de" or "pt-BR". They replace the tables that the model has.
    ///   - language: the language of descriptions; a more general one of `tables` serves too: "de" for "de-AT".
    /// - Throws: `ModelError` with every name of an entity or property that the model does not have, and with a
    ///   language that has no table.
    /// - Complexity: O(entries + entities * properties) for each language.
    public func localized(
        _ tables: [String: MessageTable], language: String? = nil
    ) throws(ModelError) -> ManagedObjectModel {
        var problems = tables.sorted { $0.key < $1.key }.flatMap { unknownNames(in: $0.value, language: $0.key) }
        if let language, Self.key(for: language, tables) == nil {
            let known = tables.keys.sorted().joined(separator: ", ")
            problems.append(.init(entity: nil, "no table has the language '\(language)'; there are: \(known)"))
        }
        guard problems.isEmpty else { throw ModelError(problems: problems) }
        return ManagedObjectModel(self, messageTables: tables, language: language)
    }

    /// The names and messages in the language of descriptions, by Core Data's keys; `nil` without a language (MD-07).
    public var localizationDictionary: [String: String]? {
        language.flatMap { Self.key(for: $0, messageTables) }.flatMap { messageTables[$0]?.localizationDictionary }
    }

    /// The names and messages in a language, or in a more general one; `nil` if the model has neither.
    ///
    /// The table names inherited properties also by the entities that inherit them.
    ///
    /// - Complexity: O(entities * properties).
    public func messageTable(in language: String) -> MessageTable? {
        Self.key(for: language, messageTables).flatMap { messageTables[$0] }.map { $0.completed(for: entities) }
    }

    /// The language itself, or the one before its first hyphen or underscore, if there is a table.
    static func key(for language: String, _ tables: [String: MessageTable]) -> String? {
        if tables[language] != nil { return language }
        let general = String(language.prefix { $0 != "-" && $0 != "_" })
        return tables[general] != nil ? general : nil
    }

    private func unknownNames(in table: MessageTable, language: String) -> [ModelError.Problem] {
        var problems: [ModelError.Problem] = []
        if language.isEmpty { problems.append(.init(entity: nil, "a table of messages has no language; name it")) }
        for name in table.names.keys.sorted() {
            let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let isKnown: Bool
            if parts.count == 1 {
                isKnown = entity(named: name) != nil
            } else if parts[0].isEmpty {
                isKnown = entities.contains { $0.hasProperty(named: parts[1]) }
            } else {
                isKnown = entity(named: parts[0])?.hasProperty(named: parts[1]) ?? false
            }
            guard !isKnown else { continue }
            problems.append(
                .init(entity: nil, "the table of '\(language)' names '\(name)', which the model does not have"))
        }
        return problems
    }
}

extension MessageTable {
    /// The table with the names of inherited properties, by the entities that inherit them.
    func completed(for entities: [Entity]) -> MessageTable {
        var complete = self
        for entity in entities {
            var ancestor = entity.superentity.map { entities[$0] }
            while let line = ancestor {
                for name in line.attributes.map(\.name) + line.relationships.map(\.name) {
                    guard complete.names["\(entity.name).\(name)"] == nil else { continue }
                    complete.names["\(entity.name).\(name)"] = names["\(line.name).\(name)"]
                }
                ancestor = line.superentity.map { entities[$0] }
            }
        }
        return complete
    }
}

extension Entity {
    /// Whether it has a property of any kind with this name.
    fileprivate func hasProperty(named name: String) -> Bool {
        property(named: name) != nil || fetchedProperty(named: name) != nil
    }
}
