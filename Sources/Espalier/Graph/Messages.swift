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
        guard let template = own ?? table.texts[code] else {
            let name = property.map { table.name(ofProperty: $0, entity: entityName) }
            return text(table.name(ofEntity: entityName), name)
        }
        return template.filled(parts(table, remedy: remedy(table)))
    }

    /// The way to correct the violation, in the words of a table.
    public func remedy(_ table: MessageTable) -> String {
        // A hook that says how to correct what it has found knows more than the code.
        if hasOwnRemedy { return table.rules[remedy] ?? remedy }
        return table.remedies[code]?.filled(parts(table, remedy: remedy)) ?? remedy
    }

    private func parts(_ table: MessageTable, remedy: String) -> [String: String] {
        [
            "entity": table.name(ofEntity: entityName),
            "property": property.map { table.name(ofProperty: $0, entity: entityName) } ?? "",
            "object": object.map { "\($0)" } ?? "", "value": value?.text ?? "", "limit": reason.limit ?? "",
            "remedy": remedy,
        ]
    }
}

extension MergeConflict {
    /// The message of a table for this conflict, or its description; `{property}` and `{value}` are the first property
    /// whose values differ, and its value in the context.
    ///
    /// A conflict that only counts others (`moreCount`) has its description.
    public func message(_ table: MessageTable) -> String {
        if moreCount > 0 { return description }
        return table.texts[Self.code]?.filled(parts(table, remedy: remedy(table))) ?? description
    }

    /// The way to correct the conflict, in the words of a table.
    public func remedy(_ table: MessageTable) -> String {
        table.remedies[Self.code]?.filled(parts(table, remedy: remedy)) ?? remedy
    }

    private static let code = 133020

    private func parts(_ table: MessageTable, remedy: String) -> [String: String] {
        let (entity, first) = (object.entityName, properties.first)
        return [
            "entity": table.name(ofEntity: entity),
            "property": first.map { table.name(ofProperty: $0.name, entity: entity) } ?? "",
            "object": "\(object)", "value": first.map { $0.destinations == nil ? $0.mine.text : "" } ?? "",
            "limit": "", "remedy": remedy,
        ]
    }
}

extension UniquenessConflict {
    /// The message of a table for this conflict, or its description; `{property}` and `{value}` are all properties and
    /// values of the constraint, and `{object}` is the first object of the context that has them.
    ///
    /// A conflict that only counts others (`moreCount`) has its description.
    public func message(_ table: MessageTable) -> String {
        if moreCount > 0 { return description }
        return table.texts[Self.code]?.filled(parts(table, remedy: remedy(table))) ?? description
    }

    /// The way to correct the conflict, in the words of a table.
    public func remedy(_ table: MessageTable) -> String {
        table.remedies[Self.code]?.filled(parts(table, remedy: remedy)) ?? remedy
    }

    private static let code = 133021

    private func parts(_ table: MessageTable, remedy: String) -> [String: String] {
        [
            "entity": table.name(ofEntity: entityName),
            "property": properties.map { table.name(ofProperty: $0, entity: entityName) }.joined(separator: ", "),
            "object": objects.first.map { "\($0)" } ?? "", "value": values.map(\.text).joined(separator: ", "),
            "limit": "", "remedy": remedy,
        ]
    }
}

extension ContextError {
    /// The findings of the error, each with the message of a table: violations, conflicts, broken constraints.
    ///
    /// After a save to several stores of which one has refused (`partlySaved`), these are the findings of that store,
    /// after the text that the table has for 134040, if it has one.
    ///
    /// - Complexity: O(findings).
    public func messages(_ table: MessageTable) -> [String] {
        switch self {
        case .violations(let violations), .refusedResolutions(let violations): violations.map { $0.message(table) }
        case .conflicts(let conflicts): conflicts.map { $0.message(table) }
        case .constraints(let conflicts): conflicts.map { $0.message(table) }
        case .several(let errors): errors.flatMap { $0.messages(table) }
        case .partlySaved(let error): (table.texts[code].map { [$0] } ?? []) + error.messages(table)
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
