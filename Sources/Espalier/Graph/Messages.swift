// Messages of the application's own about findings of a save: for other languages, and for the words of an application.
//
// Not here: the table (EspalierModel).

public import EspalierModel

extension Violation {
    /// The message of a table for this violation, or its description with the names of the table.
    public func message(_ table: MessageTable) -> String {
        let own: String? =
            switch reason {
            case .ruleBroken(let rule, _): rule.message.map { table.rules[$0] ?? $0 }
            case .custom(let text): table.rules[text]
            default: nil
            }
        let name = property.map { table.name(ofProperty: $0, entity: entityName) }
        let entity = table.name(ofEntity: entityName)
        guard let template = own ?? table.texts[code] else { return text(entity, name) }
        return template.filled([
            "entity": entity, "property": name ?? "", "object": object.map { "\($0)" } ?? "",
            "value": value?.text ?? "", "limit": reason.limit ?? "",
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
                "entity": table.name(ofEntity: entity), "property": table.name(ofProperty: property, entity: entity),
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
