// Parses calls of the predicate grammar: functions by name, CAST, TERNARY, SUBQUERY; refuses FETCH and FUNCTION.

extension PredicateParser {
    /// The call of `name`; the current token is the opening parenthesis.
    mutating func call(_ name: String, _ nameToken: PredicateToken) throws(FetchPredicateError) -> Parsed {
        switch name.uppercased() {
        case "CAST": return try cast(nameToken)
        case "TERNARY": return try conditional(nameToken)
        case "SUBQUERY": return try subquery(nameToken)
        case "FETCH":
            throw lexer.error(
                .unsupported("FETCH", instead: "fetch first and pass the result as an argument"), at: nameToken.start)
        case "FUNCTION":
            throw lexer.error(
                .unsupported(
                    "FUNCTION with a selector", instead: "call the function by its name, as in uppercase(name)"),
                at: nameToken.start)
        default: break
        }
        let function = GrammarFunction.normalized(name)
        guard let known = GrammarFunction.byName[function] else {
            throw lexer.error(
                .unknownFunction(name), at: nameToken.start,
                suggestion: NameSuggestion.nearest(to: name, among: GrammarFunction.byName.keys.sorted()))
        }
        if case .refused(let instead) = known {
            throw lexer.error(.unsupported("function '\(name)'", instead: instead), at: nameToken.start)
        }
        let open = token
        try advance()
        let (arguments, height) = try list(until: ")", from: open)
        if let expected = known.argumentCount, expected != arguments.count {
            throw lexer.error(
                .argumentCount(function: name, found: arguments.count, expected: expected), at: nameToken.start)
        }
        return try built(.expression(.function(function, arguments)), at: nameToken.start, height: height + 1)
    }

    private mutating func cast(_ name: PredicateToken) throws(FetchPredicateError) -> Parsed {
        try expect("(")
        let operand = try deeper { (parser) throws(FetchPredicateError) in try parser.expression() }
        let expression = try value(operand)
        try expect(",")
        let typeToken = token
        guard case .string(let typeName) = token.kind else {
            throw unexpected(expected: "the name of a type in quotes, such as 'NSDate'")
        }
        guard let type = GrammarFunction.castTypes[typeName] else {
            throw lexer.error(
                .unexpected(found: "type '\(typeName)'", expected: "a type such as 'NSDate', 'NSNumber' or 'NSString'"),
                at: typeToken.start,
                suggestion: NameSuggestion.nearest(to: typeName, among: GrammarFunction.castTypes.keys.sorted()))
        }
        try advance()
        try expect(")")
        guard case .value(let constant) = expression else {
            let call = FetchExpression.function("castObject:toType:", [expression, .value(.string(typeName))])
            return try built(.expression(call), at: name.start, height: operand.height + 1)
        }
        guard let result = ResolvedFunction.cast(constant: constant, to: type, named: typeName) else {
            throw lexer.error(
                ResolvedFunction.castMismatch(of: constant, to: type, named: typeName), at: operand.start)
        }
        return Parsed(node: .expression(.value(result)), start: name.start, height: 1)
    }

    private mutating func conditional(_ name: PredicateToken) throws(FetchPredicateError) -> Parsed {
        try expect("(")
        let test = try disjunction()
        let predicate = try condition(test)
        try expect(",")
        let first = try deeper { (parser) throws(FetchPredicateError) in try parser.expression() }
        try expect(",")
        let second = try deeper { (parser) throws(FetchPredicateError) in try parser.expression() }
        try expect(")")
        return try built(
            .expression(.conditional(predicate, try value(first), try value(second))), at: name.start,
            height: max(test.height, first.height, second.height) + 1)
    }

    private mutating func subquery(_ name: PredicateToken) throws(FetchPredicateError) -> Parsed {
        try expect("(")
        let collection = try deeper { (parser) throws(FetchPredicateError) in try parser.expression() }
        guard case .expression(.keyPath(let path)) = collection.node else {
            throw lexer.error(
                .unexpected(found: "an expression", expected: "a to-many key path in SUBQUERY"), at: collection.start)
        }
        try expect(",")
        guard case .variable(let variable) = token.kind else { throw unexpected(expected: "a variable such as $x") }
        try advance()
        try expect(",")
        let test = try disjunction()
        let predicate = try condition(test)
        try expect(")")
        let subquery = FetchExpression.subquery(path, variable: variable, predicate)
        guard isAt(".") else {
            return try built(.expression(subquery), at: name.start, height: test.height + 1)
        }
        try advance()
        guard token.kind == .collectionOperator("@count") else {
            throw unexpected(expected: "@count, because nothing else can follow SUBQUERY")
        }
        try advance()
        return try built(.expression(.function("count", [subquery])), at: name.start, height: test.height + 2)
    }
}
