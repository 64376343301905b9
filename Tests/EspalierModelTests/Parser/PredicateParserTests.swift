// The grammar: the meaning of valid formats, and the errors of invalid ones (Behaviour PR-01 to PR-15).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct PredicateParserTests {
    private func path(_ name: String) -> FetchExpression {
        .keyPath(FetchKeyPath(name.split(separator: ".").map(String.init)))
    }

    private func comparison(
        _ left: FetchExpression, _ operator: FetchPredicate.Comparison.Operator, _ right: FetchExpression,
        _ modifier: FetchPredicate.Comparison.Modifier = .direct, _ options: FetchPredicate.Comparison.Options = []
    ) -> FetchPredicate {
        .comparison(.init(left, `operator`, right, modifier: modifier, options: options))
    }

    @Test func `each spelling of an operator is read`() throws {
        let spellings: [(String, FetchPredicate.Comparison.Operator)] = [
            ("=", .equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .lessThan),
            ("<=", .lessThanOrEqual), ("=<", .lessThanOrEqual), (">", .greaterThan), (">=", .greaterThanOrEqual),
            ("=>", .greaterThanOrEqual), ("contains", .contains), ("BeginsWith", .beginsWith),
            ("ENDSWITH", .endsWith), ("like", .like), ("MATCHES", .matches), ("in", .in),
        ]
        for (spelling, `operator`) in spellings {
            let predicate = try FetchPredicate(format: "a \(spelling) 'x'")
            #expect(predicate == comparison(path("a"), `operator`, .value(.string("x"))), "\(spelling)")
        }
    }

    @Test func `AND binds tighter than OR and NOT tightest (PR-04)`() throws {
        let a = comparison(path("a"), .equal, .value(.integer(1)))
        let b = comparison(path("b"), .equal, .value(.integer(2)))
        let c = comparison(path("c"), .equal, .value(.integer(3)))

        #expect(try FetchPredicate(format: "a == 1 OR b == 2 AND c == 3") == .or([a, .and([b, c])]))
        #expect(try FetchPredicate(format: "NOT a == 1 && b == 2 || c == 3") == .or([.and([.not(a), b]), c]))
        #expect(try FetchPredicate(format: "!(a == 1 or b == 2) and c == 3") == .and([.not(.or([a, b])), c]))
        #expect(try FetchPredicate(format: "((a == 1) AND (b == 2 AND c == 3))") == .and([a, .and([b, c])]))
    }

    @Test func `arithmetic binds as in mathematics`() throws {
        func function(_ name: String, _ left: FetchExpression, _ right: FetchExpression) -> FetchExpression {
            .function(name, [left, right])
        }
        let (a, b, c) = (path("a"), path("b"), path("c"))

        let sum = try FetchPredicate(format: "a + b * c == (a - b) - c")
        #expect(
            sum
                == comparison(
                    function("add:to:", a, function("multiply:by:", b, c)), .equal,
                    function("from:subtract:", function("from:subtract:", a, b), c)))
        let bits = try FetchPredicate(format: "a | b & c + 1 == 0 && (a & 4) != 0")
        #expect(
            bits
                == .and([
                    comparison(
                        function(
                            "bitwiseOr:with:", a,
                            function("bitwiseAnd:with:", b, function("add:to:", c, .value(.integer(1))))), .equal,
                        .value(.integer(0))),
                    comparison(function("bitwiseAnd:with:", a, .value(.integer(4))), .notEqual, .value(.integer(0))),
                ]))
        #expect(try FetchPredicate(format: bits.description) == bits)
        #expect(bits.description == "a | b & c + 1 == 0 AND a & 4 != 0")
        let power = try FetchPredicate(format: "-2 ** b ** c < a / b / c")
        #expect(
            power
                == comparison(
                    function("raise:toPower:", .value(.integer(-2)), function("raise:toPower:", b, c)), .lessThan,
                    function("divide:by:", function("divide:by:", a, b), c)))
    }

    @Test(arguments: [
        ("1", AttributeValue.integer(1)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775807", .integer(.max)), ("0x1F", .integer(31)), ("0b101", .integer(5)), ("0o17", .integer(15)),
        ("1.5", .double(1.5)), ("2e3", .double(2000)), ("-0.25", .double(-0.25)),
        ("1.50", .double(1.5)), ("YES", .boolean(true)), ("false", .boolean(false)), ("nil", .null), ("NULL", .null),
        ("'it''s'", .null), ("\"a\\\"b\\\\c\\n\\t\\u00e9\"", .string("a\"b\\c\n\té")),
        ("'x \"y\" z'", .string("x \"y\" z")),
        ("CAST(0, 'NSDate')", .date(Date(timeIntervalSinceReferenceDate: 0))),
        ("CAST('2001-01-01T01:00:00+01:00', 'NSDate')", .date(Date(timeIntervalSinceReferenceDate: 0))),
        ("CAST('00ff', 'NSData')", .binary(Data([0, 255]))),
    ]) func `a literal is read`(text: String, value: AttributeValue) throws {
        if value == .null, text.hasPrefix("'") {
            #expect(throws: FetchPredicateError.self) { try FetchPredicate(format: "a == \(text)") }
        } else {
            #expect(try FetchPredicate(format: "a == \(text)") == comparison(path("a"), .equal, .value(value)))
        }
    }

    @Test func `a number with more digits than a double holds stays exact`() throws {
        let decimal = try #require(Decimal(string: "12345678901234567890.12345"))
        #expect(
            try FetchPredicate(format: "a == 12345678901234567890.12345")
                == comparison(path("a"), .equal, .value(.decimal(decimal))))
    }

    @Test func `placeholders take their arguments in order (PR-02)`() throws {
        let predicate = try FetchPredicate(
            format: "%K == %@ AND %K.size > %ld AND a IN %@ AND b BETWEEN %@ AND c == %f AND d == %@ AND e == '%@'",
            "album.title", "x' OR 1 == 1", "album", 5, ["p", "q"], 1...2, 0.5, nil)
        #expect(
            predicate
                == .and([
                    comparison(path("album.title"), .equal, .value(.string("x' OR 1 == 1"))),
                    comparison(path("album.size"), .greaterThan, .value(.integer(5))),
                    comparison(path("a"), .in, .list([.value(.string("p")), .value(.string("q"))])),
                    comparison(path("b"), .between, .list([.value(.integer(1)), .value(.integer(2))])),
                    comparison(path("c"), .equal, .value(.double(0.5))),
                    comparison(path("d"), .equal, .value(.null)),
                    comparison(path("e"), .equal, .value(.string("%@"))),
                ]))
    }

    @Test func `variables are bound later, those of SUBQUERY are not (PR-03)`() throws {
        let predicate = try FetchPredicate(
            format: "year == $year AND SUBQUERY(tracks, $t, $t.name == $name).@count > $least")

        let bound = try predicate.withSubstitutionVariables(["year": 1999, "name": "x", "least": 2])

        #expect(
            bound == (try FetchPredicate(format: "year == 1999 AND SUBQUERY(tracks, $t, $t.name == 'x').@count > 2")))
        #expect { try predicate.withSubstitutionVariables(["year": 1, "names": "x", "least": 1]) } throws: { error in
            let error = try #require(error as? FetchPredicateError)
            return error.reason == .unboundVariable("name") && error.suggestion == "names"
        }
    }

    @Test func `a path from a variable continues the path that is its value, and no other value (PR-03)`() throws {
        let predicate = try FetchPredicate(
            format: "label == $OWNER.label AND SUBQUERY(tracks, $t, $t.name == $OWNER.name).@count > 0")

        let bound = try predicate.withSubstitutionVariables(["OWNER": FetchKeyPath(["album", "artist"])])
        let own = try predicate.withSubstitutionVariables(["OWNER": FetchExpression.evaluatedObject])

        #expect(
            bound
                == (try FetchPredicate(
                    format: "label == album.artist.label "
                        + "AND SUBQUERY(tracks, $t, $t.name == album.artist.name).@count > 0")))
        #expect(
            own
                == (try FetchPredicate(
                    format: "label == label AND SUBQUERY(tracks, $t, $t.name == name).@count > 0")))
        let missing = #expect(throws: FetchPredicateError.self) { try predicate.withSubstitutionVariables([:]) }
        #expect(missing?.reason == .unboundVariable("OWNER") && missing?.column == 10)
        let wrong = #expect(throws: FetchPredicateError.self) {
            try predicate.withSubstitutionVariables(["OWNER": ObjectID(temporaryFor: "Artist")])
        }
        #expect(wrong?.column == 10)
        #expect("\(String(describing: wrong))".contains("'$OWNER.label'"))
    }

    @Test func `the collection of a SUBQUERY may begin with a variable (PR-03)`() throws {
        let predicate = try FetchPredicate(
            format: "SUBQUERY($P.albums, $a, SUBQUERY($a.tracks, $t, $t.name == $P.name).@count > 0).@count > 1")

        let bound = try predicate.withSubstitutionVariables(["P": FetchKeyPath(["artist"])])
        let own = try predicate.withSubstitutionVariables(["P": FetchExpression.evaluatedObject])

        #expect(
            bound
                == (try FetchPredicate(
                    format: "SUBQUERY(artist.albums, $a, "
                        + "SUBQUERY($a.tracks, $t, $t.name == artist.name).@count > 0).@count > 1")))
        #expect(
            own
                == (try FetchPredicate(
                    format: "SUBQUERY(albums, $a, SUBQUERY($a.tracks, $t, $t.name == name).@count > 0).@count > 1")))
        let missing = #expect(throws: FetchPredicateError.self) { try predicate.withSubstitutionVariables(["a": "x"]) }
        #expect(missing?.reason == .unboundVariable("P") && missing?.column == 10)
    }

    @Test(arguments: [
        ("name = ", 8, "the end of the text"), ("name == 'x", 9, "string"), ("name CONTAIN 'x'", 6, "CONTAINS"),
        ("name == 'x' ADN a == 1", 13, "AND"), ("(a == 1", 1, "parenthesis"), ("a == 1)", 7, "')'"),
        ("a IN {1, 2", 6, "list"), ("a ==[x] 1", 6, "option 'x'"), ("é == '\\q'", 7, "\\q"),
        ("a == FETCH(b, c, d)", 6, "FETCH"), ("$x := 3", 4, "assignment"), ("a == FUNCTION(b, 'c:')", 6, "FUNCTION"),
        ("uper(a) == 'B'", 1, "there is no function"), ("a == 1 == 2", 8, "AND, OR or the end"), ("", 1, "a key path"),
        ("a == 12abc", 6, "a number"), ("a == CAST('zz', 'NSUUID')", 11, "UUIDs"), ("a =[l] 'x'", 5, "locale"),
        ("ANY a", 6, "an operator"), ("(a == 1) == TRUE", 1, "a condition"), ("a == abs(1, 2)", 6, "takes 1 argument"),
        ("a == ?", 6, "'?'"), ("a == %z", 6, "placeholder"), ("isLive", 7, "an operator"),
    ]) func `an error says where and what (PR-01)`(text: String, column: Int, part: String) throws {
        let error = try #require(throws: FetchPredicateError.self) { try FetchPredicate(format: text) }
        #expect(error.column == column, "\(error)")
        #expect(error.description.contains(part), "\(error)")
    }

    @Test func `an error shows the place with a caret`() throws {
        let error = try #require(throws: FetchPredicateError.self) { try FetchPredicate(format: "name CONTAIN 'x'") }
        #expect(
            error.description == """
                predicate, column 6: found 'CONTAIN', expected an operator such as ==, <, BETWEEN, IN, CONTAINS, \
                BEGINSWITH or LIKE; did you mean 'CONTAINS'?
                  name CONTAIN 'x'
                       ^
                """)
    }

    @Test func `arguments must fit in number and kind (PR-02)`() throws {
        func reason(_ format: String, _ arguments: (any PredicateArgument)?...) -> FetchPredicateError.Reason? {
            do {
                _ = try FetchPredicate(format: format, argumentArray: arguments)
                return nil
            } catch { return error.reason }
        }
        #expect(reason("a == %@") == .missingArgument(placeholder: "%@", argumentCount: 0))
        #expect(reason("a == 1", 2) == .surplusArguments(used: 0, given: 1))
        #expect(
            reason("%K == 1", 7)
                == .wrongArgument(
                    placeholder: "%K", found: "the whole number 7", expected: "a key path such as \"artist.name\""))
        #expect(
            reason("a == %d", "7")
                == .wrongArgument(placeholder: "%d", found: "the text \"7\"", expected: "a whole number"))
    }

    @Test(arguments: ["(", "NOT ", "-", "a[", "{", "TERNARY(", "SUBQUERY(a, $x, ", "2 ** ", "1 + (", "ANY ("])
    func `nesting is limited, not the stack's business`(opening: String) throws {
        let text = String(repeating: opening, count: 20_000)
        let error = try #require(throws: FetchPredicateError.self) { try FetchPredicate(format: text) }
        #expect(error.description.count < 1000)
    }

    @Test func `long chains are limited or flat`() throws {
        let terms = String(repeating: "1 + ", count: 100_000) + "1 == 2"
        let error = try #require(throws: FetchPredicateError.self) { try FetchPredicate(format: terms) }
        #expect(error.reason == .tooDeep(limit: ResolvedPredicate.depthMax))

        let conditions = Array(repeating: "a == 1", count: 20_000).joined(separator: " OR ")
        guard case .or(let all) = try FetchPredicate(format: conditions) else {
            Issue.record("not an OR")
            return
        }
        #expect(all.count == 20_000)
    }

    @Test func `text in, predicate out, text again: always the same predicate`() throws {
        var random = RandomPredicates(seed: testSeed(default: 20))
        for _ in 0..<campaignCount("ESPALIER_PREDICATE_ROUNDS", default: 2000) {
            let predicate = random.predicate(depth: 4)
            let text = predicate.description
            let parsed = try FetchPredicate(format: text)
            #expect(parsed == predicate, "seed \(random.seed): \(text) came back as \(parsed)")
        }
    }

    @Test func `no bytes make the parser trap`() throws {
        var random = SeededGenerator(seed: testSeed(default: 21))
        let pieces = [
            "a", "name", ".", "==", "AND", "OR", "NOT", "(", ")", "{", "}", "[", "]", "'x'", "\"", "'", "\\", "%@",
            "%K",
            "%", "$v", "@count", "#", "ANY", "ALL", "SUBQUERY", "CAST", "TERNARY", "1", "9223372036854775808", "1e999",
            "-", "**", ",", ":", ":=", "BETWEEN", "IN", "[cd]", "é", "\u{301}", "\r\n", "\0", "FIRST", "sum:",
            "MATCHES",
        ]
        for _ in 0..<campaignCount("ESPALIER_PREDICATE_ROUNDS", default: 3000) {
            let count = Int.random(in: 0...30, using: &random)
            let text = (0..<count).map { _ in
                Bool.random(using: &random)
                    ? pieces.randomElement(using: &random) ?? ""
                    : String(Unicode.Scalar(UInt8.random(in: 0...255, using: &random)))
            }.joined(separator: Bool.random(using: &random) ? " " : "")
            do {
                let predicate = try FetchPredicate(format: text, "x", 1, nil)
                #expect(try FetchPredicate(format: predicate.description) == predicate, "\(text)")
            } catch {
                #expect(error.column.map { $0 >= 1 && $0 <= text.count + 1 } ?? true, "\(text): \(error)")
            }
        }
    }
}

extension PredicateParserTests {
    @Test func `signs nest in the printed text no deeper than in the text that was read`() throws {
        for signs in [1, 2, 44] {
            let predicate = try FetchPredicate(format: "a < b + " + String(repeating: "-", count: signs) + "c")

            #expect(try FetchPredicate(format: predicate.description) == predicate)
        }
        for text in ["-a ** 2 == 1", "(-a)[0] == b - -c", "-(a + b) < 0 - c * -d", "0 - 5 < -5", "a - (0 - b) == 1"] {
            let predicate = try FetchPredicate(format: text)

            #expect(try FetchPredicate(format: predicate.description) == predicate, "\(text)")
        }
    }
}
