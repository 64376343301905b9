// Recursive-descent parser of the predicate grammar (Behaviour PR-01 to PR-15).
//
// Invariants
//   1. Any text gives a predicate or a located error, in linear time and bounded stack: nesting is limited to
//      `nestingMax`, the height of the result to `ResolvedPredicate.depthMax`.
//   2. OR < AND < NOT < comparison < UNION/INTERSECT/MINUS < | < & < + - < * / < ** < unary minus (PR-04); ** is
//      right-associative, the other operators are left-associative; keywords are accepted in any case.
//   3. A parenthesis contains a condition or an expression; the parser decides which at its end, so no text is read
//      twice.
// Not here: expressions (PredicateParser+Expression), whether names and types fit an entity (PredicateResolver).

/// The kind of a parsed piece of text.
enum ParsedNode {
    case condition(FetchPredicate)
    case expression(FetchExpression)
}

/// A parsed piece of text: its node, its start, and the height of its tree.
struct Parsed {
    var node: ParsedNode
    let start: Int
    var height: Int
}

struct PredicateParser {
    var lexer: PredicateLexer
    var token: PredicateToken
    var arguments: PredicateArguments
    private var depth = 0

    /// The deepest nesting of parentheses, NOT, signs and arguments.
    ///
    /// A level uses 16 KiB of stack in a debug build; a stack of one megabyte must be sufficient.
    private static let nestingMax = 50

    static let operators: [String: FetchPredicate.Comparison.Operator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .lessThan, "<=": .lessThanOrEqual,
        "=<": .lessThanOrEqual, ">": .greaterThan, ">=": .greaterThanOrEqual, "=>": .greaterThanOrEqual,
        "BETWEEN": .between, "IN": .in, "CONTAINS": .contains, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
        "LIKE": .like, "MATCHES": .matches,
    ]
    private static let modifiers: [String: FetchPredicate.Comparison.Modifier] = [
        "ANY": .any, "SOME": .any, "ALL": .all, "NONE": .none,
    ]

    init(_ text: String, arguments: [FetchExpression]) throws(FetchPredicateError) {
        if let error = FetchPredicateError(untranslatable: text) { throw error }
        lexer = PredicateLexer(text)
        token = try lexer.next()
        self.arguments = PredicateArguments(arguments)
    }

    /// Parses the whole text.
    mutating func parse() throws(FetchPredicateError) -> FetchPredicate {
        let parsed = try disjunction()
        guard token.kind == .end else { throw unexpected(expected: continuation(after: parsed)) }
        let predicate = try condition(parsed)
        if let surplus = arguments.surplus { throw lexer.error(surplus, at: 0) }
        return predicate
    }

    /// Parses the whole text as an expression.
    mutating func parseExpression() throws(FetchPredicateError) -> FetchExpression {
        let expression = try value(try disjunction())
        guard token.kind == .end else { throw unexpected(expected: "an operator or the end") }
        if let surplus = arguments.surplus { throw lexer.error(surplus, at: 0) }
        return expression
    }

    mutating func disjunction() throws(FetchPredicateError) -> Parsed {
        try deeper { (parser) throws(FetchPredicateError) in
            try parser.chain("OR", "||", FetchPredicate.or) { (parser) throws(FetchPredicateError) in
                try parser.chain("AND", "&&", FetchPredicate.and) { (parser) throws(FetchPredicateError) in
                    try parser.negation()
                }
            }
        }
    }

    /// Parses operands between `keyword`s: a single operand is returned unchanged, several become one condition.
    private mutating func chain(
        _ keyword: String, _ symbol: String, _ join: ([FetchPredicate]) -> FetchPredicate,
        operand: (inout PredicateParser) throws(FetchPredicateError) -> Parsed
    ) throws(FetchPredicateError) -> Parsed {
        let first = try operand(&self)
        guard isAt(keyword) || isAt(symbol) else { return first }
        var (conditions, height) = ([try condition(first)], first.height)
        while isAt(keyword) || isAt(symbol) {
            try advance()
            let next = try operand(&self)
            conditions.append(try condition(next))
            height = max(height, next.height)
        }
        return try built(.condition(join(conditions)), at: first.start, height: height + 1)
    }

    private mutating func negation() throws(FetchPredicateError) -> Parsed {
        let start = token.start
        guard isAt("NOT") || isAt("!") else { return try comparison() }
        return try deeper { (parser) throws(FetchPredicateError) in
            try parser.advance()
            let operand = try parser.negation()
            return try parser.built(
                .condition(.not(try parser.condition(operand))), at: start, height: operand.height + 1)
        }
    }

    private mutating func comparison() throws(FetchPredicateError) -> Parsed {
        let start = token.start
        var modifier = FetchPredicate.Comparison.Modifier.direct
        if let known = PredicateParser.modifiers[token.keyword] {
            modifier = known
            try advance()
        }
        let left = try expression()
        if isAt("NOT") {
            throw lexer.error(
                .unsupported(
                    "NOT between two sides", instead: "write NOT in front of the comparison: NOT (name IN {...})"),
                at: token.start)
        }
        guard let `operator` = try comparisonOperator() else {
            if modifier != .direct { throw unexpected(expected: PredicateParser.operatorList) }
            return left
        }
        let options = try options(of: `operator`)
        let leftExpression = try value(left)
        let right = try expression()
        var comparison = FetchPredicate.Comparison(
            leftExpression, `operator`, try value(right), modifier: modifier, options: options)
        (comparison.places.text, comparison.places.left, comparison.places.right) = (
            lexer.text, lexer.column(at: left.start), lexer.column(at: right.start)
        )
        return try built(.condition(.comparison(comparison)), at: start, height: max(left.height, right.height) + 1)
    }

    private mutating func comparisonOperator() throws(FetchPredicateError) -> FetchPredicate.Comparison.Operator? {
        guard let `operator` = PredicateParser.operators[token.keyword] else { return nil }
        try advance()
        return `operator`
    }

    /// Parses `[cd]` after an operator (PR-05).
    private mutating func options(
        of operator: FetchPredicate.Comparison.Operator
    ) throws(FetchPredicateError) -> FetchPredicate.Comparison.Options {
        guard isAt("[") else { return [] }
        try advance()
        let letters = token
        guard case .word(let word) = letters.kind else {
            throw unexpected(expected: "options such as [c], [d] or [cd]")
        }
        var options: FetchPredicate.Comparison.Options = []
        for letter in word.lowercased() {
            switch letter {
            case "c": options.insert(.caseInsensitive)
            case "d": options.insert(.diacriticInsensitive)
            case "n": options.insert(.normalized)
            case "w": options.insert(.wholeCharacters)
            case "l":
                throw lexer.error(
                    .unsupported("comparison by locale, [l],", instead: "use [cd]"), at: letters.start)
            default:
                throw lexer.error(
                    .unexpected(found: "option '\(letter)'", expected: "c, d, n or w"), at: letters.start)
            }
        }
        try advance()
        try expect("]")
        return options
    }
}

extension PredicateParser {
    /// Calls `body` one level deeper; throws `tooDeep` at the limit of nesting.
    mutating func deeper(
        _ body: (inout PredicateParser) throws(FetchPredicateError) -> Parsed
    ) throws(FetchPredicateError) -> Parsed {
        guard depth < PredicateParser.nestingMax else {
            throw lexer.error(.tooDeep(limit: PredicateParser.nestingMax), at: token.start)
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// Makes a parsed piece; throws `tooDeep` if its tree is too high.
    func built(_ node: ParsedNode, at start: Int, height: Int) throws(FetchPredicateError) -> Parsed {
        guard height < ResolvedPredicate.depthMax else {
            throw lexer.error(.tooDeep(limit: ResolvedPredicate.depthMax), at: start)
        }
        return Parsed(node: node, start: start, height: height)
    }

    mutating func advance() throws(FetchPredicateError) { token = try lexer.next() }

    /// Whether the current token is this keyword or symbol.
    func isAt(_ keyword: String) -> Bool { token.keyword == keyword }

    mutating func expect(_ symbol: String) throws(FetchPredicateError) {
        guard isAt(symbol) else { throw unexpected(expected: "'\(symbol)'") }
        try advance()
    }

    /// The condition of a piece; throws if the piece is an expression.
    func condition(_ parsed: Parsed) throws(FetchPredicateError) -> FetchPredicate {
        switch parsed.node {
        case .condition(let predicate): return predicate
        case .expression: throw unexpected(expected: PredicateParser.operatorList)
        }
    }

    /// The expression of a piece; throws if the piece is a condition.
    func value(_ parsed: Parsed) throws(FetchPredicateError) -> FetchExpression {
        switch parsed.node {
        case .expression(let expression): return expression
        case .condition:
            throw lexer.error(.unexpected(found: "a condition", expected: "a value or a key path"), at: parsed.start)
        }
    }

    static let operatorList = "an operator such as ==, <, BETWEEN, IN, CONTAINS, BEGINSWITH or LIKE"

    private func continuation(after parsed: Parsed) -> String {
        switch parsed.node {
        case .condition: "AND, OR or the end"
        case .expression: PredicateParser.operatorList
        }
    }

    /// The error for a current token that the grammar does not allow here.
    func unexpected(expected: String) -> FetchPredicateError {
        var suggestion: String?
        if case .word(let word) = token.kind {
            let keywords =
                ["AND", "OR"] + PredicateParser.operators.keys.filter { $0.count > 1 && $0 != "IN" }.sorted()
            suggestion = NameSuggestion.nearest(to: word, among: keywords.filter { $0.first?.isLetter == true })
        }
        let found = token.kind == .end ? "the end of the text" : "'\(token.text)'"
        return lexer.error(.unexpected(found: found, expected: expected), at: token.start, suggestion: suggestion)
    }
}
