// The texts of the parts of a model that stores do not keep, for changes of them.

extension ValidationRule {
    /// The rule in the notation of conditions, and its message.
    fileprivate var changeText: String {
        let text =
            switch condition {
            case .minimum(let value): ">= \(value.shortText)"
            case .maximum(let value): "<= \(value.shortText)"
            case .minimumLength(let count): "length >= \(count)"
            case .maximumLength(let count): "length <= \(count)"
            case .pattern(let pattern): "MATCHES \"\(pattern)\""
            case .predicate(let format): format
            }
        return text + (message.map { " with the message \"\($0)\"" } ?? "")
    }
}

extension FetchedPropertyDescription {
    /// The request in words.
    fileprivate var changeText: String {
        var parts = [destination]
        if let predicateFormat { parts.append("where \(predicateFormat)") }
        if !sortElements.isEmpty {
            let keys = sortElements.map { element in
                element.keyPath + (element.isAscending ? "" : " descending")
                    + (element.options.isEmpty ? "" : " without some differences of texts")
            }
            parts.append("by \(keys.joined(separator: ", "))")
        }
        if fetchLimit > 0 { parts.append("at most \(fetchLimit)") }
        if !includesSubentities { parts.append("without subentities") }
        if !includesPendingChanges { parts.append("without unsaved changes") }
        if !userInfo.isEmpty { parts.append("with the texts \(ModelChange.Kind.text(userInfo))") }
        return parts.joined(separator: " ")
    }
}

extension FetchRequestTemplate {
    /// The request in words.
    fileprivate var changeText: String {
        var parts = [entity]
        if let predicateFormat { parts.append("where \(predicateFormat)") }
        if fetchLimit > 0 { parts.append("at most \(fetchLimit)") }
        if !includesSubentities { parts.append("without subentities") }
        if !includesPendingChanges { parts.append("without unsaved changes") }
        if !returnsObjectsAsFaults { parts.append("with values") }
        return parts.joined(separator: " ")
    }
}

extension ModelChange.Kind {
    static func text(_ rules: [ValidationRule]) -> String {
        rules.isEmpty ? "none" : rules.map(\.changeText).sorted().joined(separator: ", ")
    }

    static func text(_ texts: [String: String]) -> String {
        texts.isEmpty ? "none" : texts.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ", ")
    }

    /// The entries of a table that another one does not have, by Core Data's keys.
    static func text(_ table: MessageTable?, without other: MessageTable?) -> String {
        let others = other?.localizationDictionary ?? [:]
        return text((table?.localizationDictionary ?? [:]).filter { others[$0.key] != $0.value })
    }

    static func text(_ property: FetchedPropertyDescription?) -> String { property?.changeText ?? "none" }

    static func text(_ template: FetchRequestTemplate?) -> String { template?.changeText ?? "none" }

    static func text(_ names: [String]?) -> String {
        names.map { $0.isEmpty ? "nothing" : $0.joined(separator: ", ") } ?? "none"
    }

    static func text(_ action: ConstraintAction?) -> String {
        switch action {
        case .refuse?: "refuse"
        case .merge?: "merge"
        case .keep?: "keep"
        case nil: "as the merge policy says"
        }
    }
}
