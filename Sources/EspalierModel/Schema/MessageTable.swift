// Messages and names in the words of one language: by code for findings of a save, by name for entities and properties.
//
// Invariants
//   1. A table and its localization dictionary say the same: each is made from the other without loss.

/// Messages by Core Data's number, and names, with which an application replaces the texts of violations (F-5, MD-07).
///
///     let german = MessageTable([
///         1570: "{property} fehlt.",
///         1660: "{property} ist länger als {limit} Zeichen.",
///     ])
///     for text in error.messages(german) { print(text) }
///
/// In a message `{entity}`, `{property}`, `{object}`, `{value}`, `{limit}` and `{remedy}` stand for the parts of a
/// finding; a part that a finding does not have is empty. A `ValidationRule` with a message of its own keeps it, unless
/// `rules` has a translation; so does an error of a hook.
public struct MessageTable: Sendable, Hashable, Codable {
    /// The messages by code.
    public var texts: [Int: String]
    /// The translations of the messages of rules and hooks.
    public var rules: [String: String]
    /// The names of entities and properties as messages show them: of "Artist", "Artist.name", or ".name" for the
    /// property `name` of every entity that has no entry of its own.
    public var names: [String: String]
    /// The ways to correct a finding, by code, with the same parts as messages; a remedy of a hook is translated by
    /// `rules`.
    public var remedies: [Int: String]

    /// Messages and remedies by code; findings with other codes keep their texts.
    public init(
        _ texts: [Int: String] = [:], rules: [String: String] = [:], names: [String: String] = [:],
        remedies: [Int: String] = [:]
    ) {
        (self.texts, self.rules, self.names, self.remedies) = (texts, rules, names, remedies)
    }

    // MARK: Coding

    private enum Part: String, CodingKey {
        case texts, rules, names, remedies
    }

    /// Decodes a table, which may have been encoded without remedies.
    ///
    /// - Throws: `DecodingError` for what is no table.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Part.self)
        self.init(
            try container.decode([Int: String].self, forKey: .texts),
            rules: try container.decode([String: String].self, forKey: .rules),
            names: try container.decode([String: String].self, forKey: .names),
            remedies: try container.decodeIfPresent([Int: String].self, forKey: .remedies) ?? [:])
    }

    /// Encodes a table; one without remedies as it always was.
    ///
    /// - Throws: the error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Part.self)
        try container.encode(texts, forKey: .texts)
        try container.encode(rules, forKey: .rules)
        try container.encode(names, forKey: .names)
        if !remedies.isEmpty { try container.encode(remedies, forKey: .remedies) }
    }

    // MARK: Core Data's keys

    /// The table of a dictionary with Core Data's keys (MD-07): `Entity/NAME`, `Property/NAME/Entity/NAME`,
    /// `Property/NAME`, and `ErrorString/MESSAGE`, where the message may also be a code, as in `ErrorString/1570`;
    /// and `Remedy/CODE`, which Core Data does not know.
    ///
    /// - Throws: `ModelError` with every key of another form.
    /// - Complexity: O(entries).
    public init(localizationDictionary dictionary: [String: String]) throws(ModelError) {
        self.init()
        var problems: [ModelError.Problem] = []
        for (key, text) in dictionary.sorted(by: { $0.key < $1.key }) {
            if let message = key.rest(after: "ErrorString/") {
                if let code = Int(message) { texts[code] = text } else { rules[message] = text }
                continue
            }
            if let code = key.rest(after: "Remedy/").flatMap({ Int($0) }) {
                remedies[code] = text
                continue
            }
            let parts = key.split(separator: "/", omittingEmptySubsequences: false)
            switch (parts.count, parts.first) {
            case (2, "Entity") where !parts[1].isEmpty: names[String(parts[1])] = text
            case (2, "Property") where !parts[1].isEmpty: names[".\(parts[1])"] = text
            case (4, "Property") where parts[2] == "Entity" && !parts[1].isEmpty && !parts[3].isEmpty:
                names["\(parts[3]).\(parts[1])"] = text
            default:
                problems.append(
                    .init(
                        entity: nil,
                        "the key '\(key)' of a localization dictionary is none of Entity/NAME, "
                            + "Property/NAME/Entity/NAME, Property/NAME, ErrorString/MESSAGE and Remedy/CODE"))
            }
        }
        guard problems.isEmpty else { throw ModelError(problems: problems) }
    }

    /// The table as a dictionary with Core Data's keys (MD-07).
    ///
    /// - Complexity: O(entries).
    public var localizationDictionary: [String: String] {
        var dictionary: [String: String] = [:]
        for (code, text) in texts { dictionary["ErrorString/\(code)"] = text }
        for (message, text) in rules { dictionary["ErrorString/\(message)"] = text }
        for (code, text) in remedies { dictionary["Remedy/\(code)"] = text }
        for (name, text) in names {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            switch (parts.count, parts.first) {
            case (2, ""): dictionary["Property/\(parts[1])"] = text
            case (2, let entity?): dictionary["Property/\(parts[1])/Entity/\(entity)"] = text
            default: dictionary["Entity/\(name)"] = text
            }
        }
        return dictionary
    }

    // MARK: Names

    /// The name of an entity as messages show it.
    public func name(ofEntity entity: String) -> String { names[entity] ?? entity }

    /// The name of a property as messages show it.
    public func name(ofProperty property: String, entity: String) -> String {
        names["\(entity).\(property)"] ?? names[".\(property)"] ?? property
    }
}

extension String {
    /// The text after `start`; `nil` if the text begins otherwise or ends there.
    fileprivate func rest(after start: String) -> String? {
        hasPrefix(start) && count > start.count ? String(dropFirst(start.count)) : nil
    }
}
