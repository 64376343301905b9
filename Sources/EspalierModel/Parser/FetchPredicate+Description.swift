// Writes predicates as text that can be parsed again.
//
// Invariants
//   1. Parsing the text of a parsed predicate gives an equal predicate. For a predicate built in code, AND and OR with
//      fewer than two conditions are parsed as their meaning; composite values and names that are not identifiers
//      cannot be expressed.

import FoundationEssentials

extension FetchPredicate: CustomStringConvertible {
    /// The condition in Core Data's predicate language.
    public var description: String {
        switch self {
        case .constant(let truth): truth ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): comparison.description
        case .and(let predicates):
            FetchPredicate.joined(predicates, by: " AND ", empty: "TRUEPREDICATE")
        case .or(let predicates):
            FetchPredicate.joined(predicates, by: " OR ", empty: "FALSEPREDICATE")
        case .not(let predicate): "NOT " + predicate.operandDescription
        }
    }

    private static func joined(_ predicates: [FetchPredicate], by keyword: String, empty: String) -> String {
        if predicates.count == 1 { return predicates[0].description }
        return predicates.isEmpty ? empty : predicates.map(\.operandDescription).joined(separator: keyword)
    }

    /// The text as an operand of AND, OR or NOT.
    private var operandDescription: String {
        switch self {
        case .constant, .comparison, .not: description
        case .and(let predicates), .or(let predicates):
            predicates.isEmpty
                ? description : predicates.count == 1 ? predicates[0].operandDescription : "(\(description))"
        }
    }
}

extension FetchPredicate.Comparison: CustomStringConvertible {
    /// The comparison in Core Data's predicate language.
    public var description: String {
        let prefix = modifier == .direct ? "" : "\(modifier) ".uppercased()
        return "\(prefix)\(left) \(self.operator.keyword)\(options.suffix) \(right)"
    }
}

extension FetchKeyPath: CustomStringConvertible {
    /// The dotted path; names that are keywords begin with `#`.
    public var description: String {
        components.enumerated().map { position, name in
            let isReserved = PredicateParser.isReserved(name.uppercased()) && name.uppercased() != "SELF"
            return position == 0 && isReserved ? "#" + name : name
        }.joined(separator: ".")
    }
}

extension FetchExpression: CustomStringConvertible {
    private static let infix: [String: (symbol: String, precedence: Int)] = [
        "union:with:": ("UNION", 1), "intersect:with:": ("INTERSECT", 1), "minus:with:": ("MINUS", 1),
        "bitwiseOr:with:": ("|", 2), "bitwiseAnd:with:": ("&", 3),
        "add:to:": ("+", 4), "from:subtract:": ("-", 4), "multiply:by:": ("*", 5), "divide:by:": ("/", 5),
        "raise:toPower:": ("**", 6),
    ]

    /// The expression in Core Data's predicate language.
    public var description: String {
        switch self {
        case .value(let value): return value.predicateLiteral
        case .list(let elements): return "{" + elements.map(\.description).joined(separator: ", ") + "}"
        case .keyPath(let path): return path.description
        case .evaluatedObject: return "SELF"
        case .variable(let name): return "$" + name
        case .conditional(let condition, let first, let second): return "TERNARY(\(condition), \(first), \(second))"
        case .subquery(let collection, let variable, let condition):
            return "SUBQUERY(\(collection), $\(variable), \(condition))"
        case .function(let name, let arguments):
            if arguments.count == 2, let text = infixDescription(name, arguments[0], arguments[1]) { return text }
            return name + "(" + arguments.map(\.description).joined(separator: ", ") + ")"
        }
    }

    private func infixDescription(_ name: String, _ left: FetchExpression, _ right: FetchExpression) -> String? {
        if FetchExpression.isNegation(name, left, right) { return "-" + right.description(above: 6) }
        if let infix = FetchExpression.infix[name] {
            // ** is right-associative, the other operators are left-associative.
            let isPower = infix.precedence == 6
            return left.description(above: isPower ? infix.precedence : infix.precedence - 1)
                + " \(infix.symbol) " + right.description(above: isPower ? infix.precedence - 1 : infix.precedence)
        }
        switch (name, right) {
        case ("castObject:toType:", .value(.string(let type))) where GrammarFunction.castTypes[type] != nil:
            if case .value = left { return nil }
            return "CAST(\(left), \(right))"
        case ("objectFrom:withIndex:", .value(.string(let word))) where ["FIRST", "LAST", "SIZE"].contains(word):
            return left.description(above: 7) + "[\(word)]"
        case ("objectFrom:withIndex:", .value(.integer)): return left.description(above: 7) + "[\(right)]"
        default: return nil
        }
    }

    /// Whether the function is the parsed form of a minus sign; a sign before a constant becomes part of the constant.
    ///
    /// Signs are nested as written: as differences from 0, each would need parentheses, and the text could exceed the
    /// parser's limit of nesting.
    private static func isNegation(_ name: String, _ left: FetchExpression, _ right: FetchExpression) -> Bool {
        if case .value = right { return false }
        return name == "from:subtract:" && left == .value(.integer(0))
    }

    /// The text, in parentheses if its operator does not bind tighter than `precedence`.
    private func description(above precedence: Int) -> String {
        let isLoose: Bool
        switch self {
        case .function(let name, let arguments) where arguments.count == 2:
            isLoose =
                FetchExpression.isNegation(name, arguments[0], arguments[1])
                ? precedence == 7 : FetchExpression.infix[name].map { $0.precedence <= precedence } ?? false
        case .value(let value): isLoose = precedence == 7 && value.number != nil
        default: isLoose = false
        }
        return isLoose ? "(\(description))" : description
    }
}

extension AttributeValue {
    /// The value as a literal of the predicate language; a value without a literal as a CAST of text or seconds.
    var predicateLiteral: String {
        switch self {
        case .null: "nil"
        case .integer(let value): "\(value)"
        case .double(let value): value.isFinite ? "\(value)" : "CAST(\"\(value)\", \"double\")"
        case .float(let value): "CAST(\"\(value)\", \"float\")"
        case .decimal(let value): "CAST(\"\(value)\", \"NSDecimalNumber\")"
        case .string(let value): value.quoted
        case .boolean(let value): value ? "YES" : "NO"
        case .date(let value):
            "CAST(\(AttributeValue.double(value.timeIntervalSinceReferenceDate).predicateLiteral), \"NSDate\")"
        case .binary(let value): "CAST(\"\(value.hexDigits)\", \"NSData\")"
        case .uuid(let value): "CAST(\"\(value.uuidString)\", \"NSUUID\")"
        case .uri(let value): "CAST(\(value.absoluteString.quoted), \"NSURL\")"
        case .transformable(let value): "CAST(\"\(value.hexDigits)\", \"transformable\")"
        case .objectID(let value): "CAST(\(value.uriRepresentation.quoted), \"NSManagedObjectID\")"
        case .composite: "{\(shortText)}"
        }
    }
}

extension String {
    /// The text in double quotes, with the escapes of the predicate language.
    fileprivate var quoted: String {
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": quoted.append(contentsOf: "\\\"".unicodeScalars)
            case "\\": quoted.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": quoted.append(contentsOf: "\\n".unicodeScalars)
            case "\r": quoted.append(contentsOf: "\\r".unicodeScalars)
            case "\t": quoted.append(contentsOf: "\\t".unicodeScalars)
            case "\0"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted.append(
                    contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
            default: quoted.append(scalar)
            }
        }
        quoted.append("\"")
        return String(quoted)
    }
}
