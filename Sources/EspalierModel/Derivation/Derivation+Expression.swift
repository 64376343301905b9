// Derivations in Core Data's spelling: `name`, `artist.name`, `canonical:(name)`, `tracks.@count`,
// `tracks.@sum.length`, `now()`; a count with a condition as a SUBQUERY.
//
// Invariants
//   1. The expression of a derivation is read as an equal derivation, if its condition is a format.

extension Derivation {
    /// The rule in Core Data's spelling.
    public var expression: String {
        switch self {
        case .value(let path): path
        case .canonical(let path): "canonical:(\(path))"
        case .lowercase(let path): "lowercase:(\(path))"
        case .uppercase(let path): "uppercase:(\(path))"
        case .count(let relationship, nil): "\(relationship).@count"
        case .count(let relationship, let condition?):
            "SUBQUERY(\(relationship), $x, \(Self.condition(condition, of: "x"))).@count"
        case .sum(let attribute, let relationship): "\(relationship).@sum.\(attribute)"
        case .average(let attribute, let relationship): "\(relationship).@avg.\(attribute)"
        case .minimum(let attribute, let relationship): "\(relationship).@min.\(attribute)"
        case .maximum(let attribute, let relationship): "\(relationship).@max.\(attribute)"
        case .now: "now()"
        }
    }

    /// Reads a rule in Core Data's spelling; the operator of an aggregate may be at the end, and aggregates may be
    /// functions: `tracks.length.@sum`, `sum:(tracks.length)`.
    ///
    /// - Throws: `DerivationError` for text that is no expression, and for expressions that stores do not keep.
    public init(expression text: String) throws(DerivationError) {
        try self.init(expression: text, judgesKeeping: true)
    }

    /// Reads a rule; without judgement also one that only older libraries wrote to a file.
    init(expression text: String, judgesKeeping: Bool) throws(DerivationError) {
        let parsed: FetchExpression
        do throws(FetchPredicateError) { parsed = try FetchExpression(format: text) } catch {
            throw DerivationError(text, "\(error)")
        }
        guard let derivation = try Self.derivation(parsed, text, judgesKeeping) else {
            throw DerivationError(
                text,
                "a store keeps a key path, canonical:, lowercase: or uppercase: of one, @count, @sum, @avg, @min or "
                    + "@max of a to-many relationship, the @count of a SUBQUERY, and now()")
        }
        self = derivation
    }

    private static func derivation(
        _ parsed: FetchExpression, _ text: String, _ judgesKeeping: Bool
    ) throws(DerivationError) -> Derivation? {
        switch parsed {
        case .keyPath(let path): return try derivation(path.components, text)
        case .function("now", _): return .now
        case .function("count", let arguments):
            if case .subquery(let path, let variable, let condition)? = arguments.first,
                path.components.count == 1
            {
                guard let own = condition.mapped({ $0.withoutVariable(variable) }) else {
                    throw DerivationError(text, "the condition reads more than $\(variable) itself")
                }
                if judgesKeeping, let problem = own.keepingProblem {
                    throw DerivationError(text, "the condition cannot be kept: \(problem)")
                }
                return .count(of: path.components[0], where: own.description)
            }
            return try path(arguments).flatMap { components throws(DerivationError) in
                try derivation(components + ["@count"], text)
            }
        case .function(let name, let arguments):
            guard let components = path(arguments) else { return nil }
            let operators = ["sum": "@sum", "average": "@avg", "min": "@min", "max": "@max"]
            if let name = operators[name] { return try derivation([name] + components, text) }
            guard case .value(let path)? = try derivation(components, text) else { return nil }
            switch name {
            case "canonical": return .canonical(of: path)
            case "lowercase": return .lowercase(of: path)
            case "uppercase": return .uppercase(of: path)
            default: return nil
            }
        case .value, .list, .evaluatedObject, .variable, .conditional, .subquery: return nil
        }
    }

    private static func path(_ arguments: [FetchExpression]) -> [String]? {
        guard arguments.count == 1, case .keyPath(let path) = arguments[0] else { return nil }
        return path.components
    }

    private static func derivation(_ components: [String], _ text: String) throws(DerivationError) -> Derivation? {
        let names = components.filter { !$0.hasPrefix("@") }
        let operators = components.filter { $0.hasPrefix("@") }
        guard operators.count <= 1 else { return nil }
        guard let name = operators.first else {
            guard names.count <= 2 else {
                throw DerivationError(
                    text,
                    "it crosses \(names.count - 1) relationships; derive '\(names[1...].joined(separator: "."))' in "
                        + "the entity to which '\(names[0])' leads, and derive this attribute from that one")
            }
            return .value(of: names.joined(separator: "."))
        }
        if name == "@count" { return names.count == 1 ? .count(of: names[0]) : nil }
        guard names.count == 2 else { return nil }
        switch name {
        case "@sum": return .sum(of: names[1], in: names[0])
        case "@avg": return .average(of: names[1], in: names[0])
        case "@min": return .minimum(of: names[1], in: names[0])
        case "@max": return .maximum(of: names[1], in: names[0])
        default: return nil
        }
    }

    /// The condition with `$variable` before each of its paths; the text itself if it is no format.
    private static func condition(_ format: String, of variable: String) -> String {
        guard let condition = try? FetchPredicate(format: format) else { return format }
        return condition.mapped { expression in
            switch expression {
            case .keyPath(let path): .keyPath(FetchKeyPath(["$" + variable] + path.components))
            case .evaluatedObject: .variable(variable)
            default: expression
            }
        }?.description ?? format
    }
}

extension FetchExpression {
    /// The operand as the element of a SUBQUERY sees it; `nil` if it reads something else.
    fileprivate func withoutVariable(_ variable: String) -> FetchExpression? {
        switch self {
        case .variable(variable): .evaluatedObject
        case .keyPath(let path) where path.components.first == "$" + variable:
            .keyPath(FetchKeyPath(Array(path.components.dropFirst())))
        case .keyPath, .evaluatedObject, .variable, .subquery: nil
        default: self
        }
    }

    fileprivate func mapped(_ change: (FetchExpression) -> FetchExpression?) -> FetchExpression? {
        switch self {
        case .list(let elements):
            let mapped = elements.compactMap { $0.mapped(change) }
            return mapped.count == elements.count ? .list(mapped) : nil
        case .function(let name, let arguments):
            let mapped = arguments.compactMap { $0.mapped(change) }
            return mapped.count == arguments.count ? .function(name, mapped) : nil
        case .conditional(let condition, let first, let second):
            guard let condition = condition.mapped(change), let first = first.mapped(change),
                let second = second.mapped(change)
            else { return nil }
            return .conditional(condition, first, second)
        case .value, .keyPath, .evaluatedObject, .variable, .subquery: return change(self)
        }
    }
}

extension FetchPredicate {
    /// The condition with other operands; `nil` if one of them has none.
    fileprivate func mapped(_ change: (FetchExpression) -> FetchExpression?) -> FetchPredicate? {
        switch self {
        case .constant: return self
        case .and(let parts):
            let mapped = parts.compactMap { $0.mapped(change) }
            return mapped.count == parts.count ? .and(mapped) : nil
        case .or(let parts):
            let mapped = parts.compactMap { $0.mapped(change) }
            return mapped.count == parts.count ? .or(mapped) : nil
        case .not(let part): return part.mapped(change).map { .not($0) }
        case .comparison(var comparison):
            guard let left = comparison.left.mapped(change), let right = comparison.right.mapped(change) else {
                return nil
            }
            (comparison.left, comparison.right) = (left, right)
            return .comparison(comparison)
        }
    }
}
