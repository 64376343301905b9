// Parses expressions of the predicate grammar: arithmetic, key paths, functions, lists, literals, placeholders.

import FoundationEssentials

extension PredicateParser {
    /// A binary operator: its function and its precedence.
    private struct Infix {
        let function: String
        let precedence: Int
    }

    private static let infixes: [String: Infix] = [
        "|": Infix(function: "bitwiseOr:with:", precedence: 2), "&": Infix(function: "bitwiseAnd:with:", precedence: 3),
        "+": Infix(function: "add:to:", precedence: 4), "-": Infix(function: "from:subtract:", precedence: 4),
        "*": Infix(function: "multiply:by:", precedence: 5), "/": Infix(function: "divide:by:", precedence: 5),
        "**": Infix(function: "raise:toPower:", precedence: 6),
        "UNION": Infix(function: "union:with:", precedence: 1),
        "INTERSECT": Infix(function: "intersect:with:", precedence: 1),
        "MINUS": Infix(function: "minus:with:", precedence: 1),
    ]

    mutating func expression(above precedence: Int = 0) throws(FetchPredicateError) -> Parsed {
        var left = try unary()
        while let infix = infix, infix.precedence > precedence {
            let leftValue = try value(left)
            try advance()
            // A right-associative operator leaves operators of the same precedence to the right side.
            let isPower = infix.function == "raise:toPower:"
            let right = try deeper { (parser) throws(FetchPredicateError) in
                try parser.expression(above: isPower ? infix.precedence - 1 : infix.precedence)
            }
            let node = FetchExpression.function(infix.function, [leftValue, try value(right)])
            left = try built(.expression(node), at: left.start, height: max(left.height, right.height) + 1)
        }
        return left
    }

    private var infix: Infix? { PredicateParser.infixes[token.keyword] }

    private mutating func unary() throws(FetchPredicateError) -> Parsed {
        let start = token.start
        guard isAt("-") else { return try postfix() }
        return try deeper { (parser) throws(FetchPredicateError) in
            try parser.advance()
            if parser.token.kind == .int64MinMagnitude {
                try parser.advance()
                return Parsed(node: .expression(.value(.integer(.min))), start: start, height: 1)
            }
            let operand = try parser.unary()
            let expression = try parser.value(operand)
            if case .value(let value) = expression, let negated = value.negated {
                return Parsed(node: .expression(.value(negated)), start: start, height: 1)
            }
            let negation = FetchExpression.function("from:subtract:", [.value(.integer(0)), expression])
            return try parser.built(.expression(negation), at: start, height: operand.height + 1)
        }
    }

    private mutating func postfix() throws(FetchPredicateError) -> Parsed {
        var parsed = try primary()
        while isAt("[") {
            var collection = try value(parsed)
            try advance()
            let index: FetchExpression
            if isAt("FIRST") || isAt("LAST") || isAt("SIZE") {
                index = .value(.string(token.text.uppercased()))
                try advance()
            } else if case .string = token.kind {
                throw lexer.error(
                    .unsupported("a dictionary key in [ ]", instead: "use a composite attribute's path"),
                    at: token.start)
            } else {
                index = try value(try deeper { (parser) throws(FetchPredicateError) in try parser.expression() })
            }
            try expect("]")
            // A path after an element is evaluated for all elements, and the element is selected from the result.
            if isAt("."), case .keyPath(let path) = collection, index != .value(.string("SIZE")) {
                let longer = try components(after: path.components, path.columns, start: parsed.start)
                if case .expression(let expression) = longer.node { collection = expression }
            }
            parsed = try built(
                .expression(.function("objectFrom:withIndex:", [collection, index])), at: parsed.start,
                height: parsed.height + 1)
        }
        return parsed
    }

    private mutating func primary() throws(FetchPredicateError) -> Parsed {
        let first = token
        switch first.kind {
        case .string(let text): return try literal(.string(text))
        case .number(let number): return try literal(number)
        case .int64MinMagnitude: return try literal(.decimal(Decimal(UInt64(Int64.max) + 1)))
        case .placeholder(let placeholder): return try argument(for: placeholder)
        case .variable(let name): return try variable(name)
        case .escapedWord, .collectionOperator: return try keyPath()
        case .word(let word): return try self.word(word)
        case .symbol("("):
            try advance()
            let inner = try disjunction()
            guard token.kind != .end else { throw lexer.error(.unterminated("parenthesis"), at: first.start) }
            guard isAt(")") else {
                throw unexpected(expected: "')', or " + closing(after: inner))
            }
            try advance()
            return Parsed(node: inner.node, start: first.start, height: inner.height)
        case .symbol("{"):
            try advance()
            let (elements, height) = try list(until: "}", from: first)
            return try built(.expression(.list(elements)), at: first.start, height: height + 1)
        case .symbol, .end: throw unexpected(expected: "a key path or a value")
        }
    }

    private func closing(after parsed: Parsed) -> String {
        switch parsed.node {
        case .condition: "AND or OR"
        case .expression: PredicateParser.operatorList
        }
    }

    private mutating func literal(_ value: AttributeValue) throws(FetchPredicateError) -> Parsed {
        let start = token.start
        try advance()
        return Parsed(node: .expression(.value(value)), start: start, height: 1)
    }

    private mutating func argument(for placeholder: String) throws(FetchPredicateError) -> Parsed {
        let start = token.start
        let argument: FetchExpression
        do {
            argument = try arguments.next(for: placeholder)
        } catch {
            throw lexer.error(error.reason, at: start)
        }
        if case .keyPath(let path) = argument {
            let column = lexer.column(at: start)
            return try keyPath(path.components, path.components.map { _ in column })
        }
        try advance()
        return Parsed(node: .expression(argument), start: start, height: 1)
    }

    /// `$name`, or a path that begins with it.
    private mutating func variable(_ name: String) throws(FetchPredicateError) -> Parsed {
        let start = token.start
        let parsed = try keyPath(["$" + name], [lexer.column(at: start)])
        if isAt(":=") {
            throw lexer.error(.unsupported("assignment", instead: "write the value where it is used"), at: token.start)
        }
        guard case .expression(.keyPath(let path)) = parsed.node, path.components.count == 1 else { return parsed }
        return Parsed(node: .expression(.variable(name)), start: start, height: 1)
    }

    private mutating func word(_ word: String) throws(FetchPredicateError) -> Parsed {
        let start = token.start
        switch token.keyword {
        case "TRUEPREDICATE", "FALSEPREDICATE":
            try advance()
            return Parsed(
                node: .condition(.constant(word.uppercased() == "TRUEPREDICATE")), start: start, height: 1)
        case "TRUE", "YES": return try literal(.boolean(true))
        case "FALSE", "NO": return try literal(.boolean(false))
        case "NULL", "NIL": return try literal(.null)
        case "SELF":
            let parsed = try keyPath(["SELF"], [lexer.column(at: start)])
            guard case .expression(.keyPath(let path)) = parsed.node else { return parsed }
            if path.components.count == 1 {
                return Parsed(node: .expression(.evaluatedObject), start: start, height: 1)
            }
            let rest = FetchKeyPath(
                Array(path.components.dropFirst()), columns: Array(path.columns.dropFirst()), in: lexer.text)
            return Parsed(node: .expression(.keyPath(rest)), start: start, height: 1)
        case let keyword where PredicateParser.isReserved(keyword): throw unexpected(expected: "a key path or a value")
        default: break
        }
        let name = token
        let column = lexer.column(at: start)
        try advance()
        if isAt("(") {
            return try deeper { (parser) throws(FetchPredicateError) in try parser.call(word, name) }
        }
        guard !word.contains(":") else { throw unexpected(expected: "'(' after function '\(word)'") }
        return try components(after: [word], [column], start: start)
    }

    /// Whether `keyword`, in upper case, is a valid name only after `#`.
    static func isReserved(_ keyword: String) -> Bool {
        switch keyword {
        case "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "UNION", "INTERSECT", "MINUS", "TRUEPREDICATE",
            "FALSEPREDICATE", "TRUE", "YES", "FALSE", "NO", "NULL", "NIL", "SELF":
            true
        default: operators[keyword] != nil
        }
    }

    /// A key path that begins with the current token, which is a name.
    private mutating func keyPath() throws(FetchPredicateError) -> Parsed {
        let name: String
        switch token.kind {
        case .escapedWord(let word), .collectionOperator(let word): name = word
        default: throw unexpected(expected: "a name")
        }
        return try keyPath([name], [lexer.column(at: token.start)])
    }

    /// A key path whose first components are those of the current token.
    private mutating func keyPath(_ first: [String], _ columns: [Int]) throws(FetchPredicateError) -> Parsed {
        let start = token.start
        try advance()
        return try components(after: first, columns, start: start)
    }

    private mutating func components(
        after first: [String], _ firstColumns: [Int], start: Int
    ) throws(FetchPredicateError) -> Parsed {
        var (components, columns) = (first, firstColumns)
        while isAt(".") {
            try advance()
            columns.append(lexer.column(at: token.start))
            switch token.kind {
            case .word(let word) where !word.contains(":"): components.append(word)
            case .escapedWord(let word), .collectionOperator(let word): components.append(word)
            case .placeholder("%K"):
                guard case .expression(.keyPath(let path)) = try argument(for: "%K").node else {
                    throw unexpected(expected: "a name")
                }
                let column = columns.removeLast()
                components += path.components
                columns += path.components.indices.map { path.columns.indices.contains($0) ? path.columns[$0] : column }
                continue
            default: throw unexpected(expected: "a name after '.'")
            }
            try advance()
        }
        let path = FetchKeyPath(components, columns: columns, in: lexer.text)
        return Parsed(node: .expression(.keyPath(path)), start: start, height: 1)
    }

    /// Expressions between commas up to `close`; the position is then after `close`.
    mutating func list(
        until close: String, from open: PredicateToken
    ) throws(FetchPredicateError) -> (elements: [FetchExpression], height: Int) {
        var (elements, height): ([FetchExpression], Int) = ([], 0)
        while !isAt(close) {
            if !elements.isEmpty { try expect(",") }
            let element = try deeper { (parser) throws(FetchPredicateError) in try parser.expression() }
            elements.append(try value(element))
            height = max(height, element.height)
            if token.kind == .end {
                throw lexer.error(.unterminated(close == "}" ? "list" : "parenthesis"), at: open.start)
            }
            if !isAt(close), !isAt(",") { throw unexpected(expected: "',' or '\(close)'") }
        }
        try advance()
        return (elements, height)
    }
}

extension AttributeValue {
    /// The number with the opposite sign; `nil` if its type has no such number.
    fileprivate var negated: AttributeValue? {
        switch self {
        case .integer(let value): value == .min ? nil : .integer(-value)
        case .double(let value): .double(-value)
        case .float(let value): .float(-value)
        case .decimal(let value): .decimal(-value)
        case .null, .string, .boolean, .date, .binary, .uuid, .uri, .transformable, .objectID, .composite: nil
        }
    }
}
