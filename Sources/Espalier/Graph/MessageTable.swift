// Messages of the application's own, by code: for other languages, and for the words of one application.

import EspalierModel

/// Messages by Core Data's number, with which an application replaces the texts of violations (F-5).
///
///     let german = MessageTable([
///         1570: "{property} fehlt.",
///         1660: "{property} ist länger als {limit} Zeichen.",
///     ])
///     for text in error.messages(german) { print(text) }
///
/// In a message `{entity}`, `{property}`, `{object}`, `{value}` and `{limit}` stand for the parts of a finding; a part
/// that a finding does not have is empty. A `ValidationRule` with a message of its own keeps it, unless `rules` has a
/// translation.
public struct MessageTable: Sendable, Hashable {
    /// The messages by code.
    public var texts: [Int: String]
    /// The translations of the messages of rules.
    public var rules: [String: String]
    /// The names of entities and properties, such as "Artist" or "Artist.name", as messages show them.
    public var names: [String: String]

    /// Messages by code; findings with other codes keep their texts.
    public init(_ texts: [Int: String], rules: [String: String] = [:], names: [String: String] = [:]) {
        (self.texts, self.rules, self.names) = (texts, rules, names)
    }
}

extension Violation {
    /// The message of a table for this violation, or its description if the table has none.
    public func message(_ table: MessageTable) -> String {
        let own = if case .ruleBroken(let rule, _) = reason { rule.message } else { String?.none }
        let template = own.map { table.rules[$0] ?? $0 } ?? table.texts[code]
        guard let template else { return description }
        let name = property.map { table.names["\(entityName).\($0)"] ?? $0 }
        return template.filled([
            "entity": table.names[entityName] ?? entityName, "property": name ?? "",
            "object": object.map { "\($0)" } ?? "", "value": value?.text ?? "", "limit": reason.limit ?? "",
        ])
    }
}

extension ContextError {
    /// The findings of the error, each with the message of a table: violations, conflicts, broken constraints.
    ///
    /// - Complexity: O(findings).
    public func messages(_ table: MessageTable) -> [String] {
        func text(_ code: Int, _ entity: String, _ property: String, _ object: ObjectID?, _ other: String) -> String {
            guard let template = table.texts[code] else { return other }
            return template.filled([
                "entity": table.names[entity] ?? entity, "property": table.names["\(entity).\(property)"] ?? property,
                "object": object.map { "\($0)" } ?? "", "value": "", "limit": "",
            ])
        }
        return switch self {
        case .violations(let violations), .refusedResolutions(let violations): violations.map { $0.message(table) }
        case .conflicts(let conflicts):
            conflicts.map {
                text(code, $0.object.entityName, $0.properties.first?.name ?? "", $0.object, $0.description)
            }
        case .constraints(let conflicts):
            conflicts.map { conflict in
                text(
                    code, conflict.entityName, conflict.properties.joined(separator: ", "), conflict.objects.first,
                    conflict.description)
            }
        case .several(let errors): errors.flatMap { $0.messages(table) }
        default: [table.texts[code] ?? description]
        }
    }
}

extension String {
    /// The text with each `{name}` replaced by the part of that name, in one pass: parts are not filled again.
    fileprivate func filled(_ parts: [String: String]) -> String {
        var (filled, rest) = ("", self[...])
        while let open = rest.firstIndex(of: "{") {
            filled += rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}"),
                let part = parts[String(rest[rest.index(after: open)..<close])]
            else {
                filled.append("{")
                rest = rest[rest.index(after: open)...]
                continue
            }
            filled += part
            rest = rest[rest.index(after: close)...]
        }
        return filled + rest
    }
}
