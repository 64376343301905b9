// LIKE, MATCHES and their relatives, character by character (Behaviour PR-05 to PR-08).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct TextOperatorTests {
    private let library: MusicLibrary

    init() throws { library = try MusicLibrary() }

    /// Whether `text OPERATOR pattern` holds.
    private func holds(_ text: String, _ operator: String, _ pattern: String) throws -> Bool {
        let album = try library.object("Album", ["title": .string(text)])
        return try library.holds("title \(`operator`) %@", pattern, on: album)
    }

    @Test(arguments: [
        ("abc", "abc", true), ("abc", "ab", false), ("abc", "a?c", true), ("ac", "a?c", false), ("abbc", "a?c", false),
        ("abbc", "a*c", true), ("ac", "a*c", true), ("abcabd", "*abd", true), ("", "*", true), ("", "?", false),
        ("", "", true), ("a", "", false), ("aaa", "**?*", true), ("line\nbreak", "line*break", true),
        ("a*b", "a\\*b", true), ("axb", "a\\*b", false), ("a?b", "a\\?b", true), ("a\\b", "a\\\\b", true),
        ("a\\", "a\\", true), ("[ab]", "[ab]", true), ("a", "[ab]", false), ("a.+|($^", "a.+|($^", true),
        ("abc", "...", false), ("é", "?", true), ("e\u{301}", "\u{E9}", true), ("e\u{301}", "?", true),
        ("日本語", "日?語", true), ("50% off", "50%*", true),
    ]) func `LIKE knows only ? * and backslash, and matches the whole text (PR-06)`(
        text: String, pattern: String, expected: Bool
    ) throws {
        #expect(try holds(text, "LIKE", pattern) == expected)
    }

    @Test func `with [w] the text operators find whole characters, as Swift does (SD-24)`() throws {
        let texts = [
            "", "a", "e", "é", "e\u{301}", "x\u{323}\u{307}", "x\u{307}\u{323}", "x", "\r\n", "\n", "\r", "a\r\nb",
            "a\r", "👨‍👩‍👧",
            "👨", "🇩🇪🇫🇷", "🇪🇫", "🇫🇷", "가", "\u{1100}\u{1161}", "\u{1100}", "ae\u{301}b", "\u{301}", "b", "éb",
        ]
        func contains(_ text: [Character], _ part: [Character]) -> Bool {
            text.count >= part.count && (0...text.count - part.count).contains { text[$0...].starts(with: part) }
        }
        var differenceCount = 0
        for text in texts {
            for part in texts {
                let (characters, wanted) = (Array(text), Array(part))
                let place = "\(text.debugDescription), \(part.debugDescription)"
                #expect(try holds(text, "CONTAINS[w]", part) == contains(characters, wanted), "\(place)")
                #expect(try holds(text, "BEGINSWITH[w]", part) == characters.starts(with: wanted), "\(place)")
                #expect(
                    try holds(text, "ENDSWITH[w]", part) == characters.reversed().starts(with: wanted.reversed()),
                    "\(place)")
                if try holds(text, "CONTAINS", part) != contains(characters, wanted) { differenceCount += 1 }
            }
        }
        #expect(differenceCount > 5)
        #expect(try holds("Ñandú", "BEGINSWITH[cw]", "ñ"))
        #expect(try FetchPredicate(format: "a CONTAINS[w] 'x'").description == "a CONTAINS[w] \"x\"")
    }

    @Test func `LIKE takes no exponential time`() throws {
        let text = String(repeating: "a", count: 3000)
        let pattern = String(repeating: "a*", count: 500) + "b"
        #expect(try !holds(text, "LIKE", pattern))
    }

    @Test func `LIKE agrees with a matcher that tries everything`() throws {
        var random = SeededGenerator(seed: testSeed(default: 60))
        func oracle(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == "*" {
                return (text.startIndex...text.endIndex).contains { oracle(text[$0...], pattern.dropFirst()) }
            }
            guard let letter = text.first, first == "?" || first == letter else { return false }
            return oracle(text.dropFirst(), pattern.dropFirst())
        }
        var matches = 0
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 0...7, using: &random)).map { _ in "ab".randomElement(using: &random) ?? "a"
            }
            let pattern = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                "ab?**".randomElement(using: &random) ?? "a"
            }
            let expected = oracle(text[...], pattern[...])
            matches += expected ? 1 : 0
            #expect(try holds(String(text), "LIKE", String(pattern)) == expected, "\(text) LIKE \(pattern)")
        }
        #expect(matches > 300)
    }

    @Test func `LIKE finds the parts between its stars in their order`() throws {
        let seed = testSeed(default: 62)
        var random = SeededGenerator(seed: seed)
        // Whether `text` matches `pattern`. `fits[i]`: whether the scalars from `i` match the rest of the pattern, read
        // from its end.
        func oracle(_ text: [Unicode.Scalar], _ pattern: [Unicode.Scalar]) -> Bool {
            var fits = [Bool](repeating: false, count: text.count) + [true]
            for piece in pattern.reversed() {
                var next = [Bool](repeating: false, count: text.count + 1)
                for place in (0...text.count).reversed() {
                    next[place] =
                        piece == "*"
                        ? fits[place] || (place < text.count && next[place + 1])
                        : place < text.count && text[place] == piece && fits[place + 1]
                }
                fits = next
            }
            return fits[0]
        }
        let letters: [Unicode.Scalar] = ["a", "b", "\u{E9}", "\u{E8}", "\u{65E5}"]
        func scalars(_ lengths: ClosedRange<Int>) -> [Unicode.Scalar] {
            (0..<Int.random(in: lengths, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" }
        }
        func text(_ scalars: [Unicode.Scalar]) -> String { String(String.UnicodeScalarView(scalars)) }
        var matchCount = 0
        for round in 0..<campaignCount("ESPALIER_LIKE_ROUNDS", default: 2000) {
            let whole = scalars(0...40)
            var pattern: [Unicode.Scalar] = []
            for part in 0...Int.random(in: 0...4, using: &random) {
                if part > 0 { pattern.append("*") }
                let start = Int.random(in: 0...whole.count, using: &random)
                pattern += Bool.random(using: &random) ? scalars(0...2) : Array(whole[start...].prefix(9))
            }
            let expected = oracle(whole, pattern)
            matchCount += expected ? 1 : 0
            #expect(
                try holds(text(whole), "LIKE", text(pattern)) == expected,
                "seed \(seed), round \(round): \(text(whole)) LIKE \(text(pattern))")
        }
        #expect(matchCount > 100)
    }

    @Test(arguments: [
        ("Straße 5", "CONTAINS[c]", "STRASSE", true), ("Café", "ENDSWITH", "e", false),
        ("Café", "ENDSWITH[d]", "e", true),
        ("Cafe\u{301}", "ENDSWITH", "é", true), ("Cafe\u{301}", "CONTAINS", "e", false),
        ("abc", "CONTAINS", "abcd", false),
        ("naïve", "BEGINSWITH[cd]", "NAI", true), ("abc", "BEGINSWITH", "", true), ("", "ENDSWITH", "", true),
        ("ababac", "CONTAINS", "abac", true), ("e\u{301}", "==[n]", "é", false), ("e\u{301}", "==", "é", true),
        ("aXc", "MATCHES", "a.c", true), ("aXcd", "MATCHES", "a.c", false), ("AXC", "MATCHES[c]", "a.c", true),
        ("é", "MATCHES[d]", "[a-f]", true), ("a\nb", "MATCHES", "a\\nb", true), ("42", "MATCHES", "\\d{2}", true),
        ("x", "MATCHES", "^x$", true),
    ]) func `text operators compare folded scalars (PR-05, PR-07)`(
        text: String, operator: String, pattern: String, expected: Bool
    ) throws {
        #expect(try holds(text, `operator`, pattern) == expected)
    }

    @Test func `facts of other implementations hold`() throws {
        let album = try library.object("Album", ["title": .string("Do"), "year": .integer(3)])
        #expect(try library.holds("%@ IN %@", "ell", "Hello", on: album))
        #expect(try !library.holds("title == '%@'", on: album))
        #expect(try library.holds("year ==[cd] 3", on: album))
        #expect(try library.holds("Any %K == %@", "tracks.name", "x", on: album) == false)
        #expect(try library.holds("%K IN[c] %@", "title", Set(["do", "re"]), on: album))
    }

    @Test func `a pattern computed for each object works too`() throws {
        let artist = try library.object("Band", ["name": .string("D*")])
        let album = try library.object("Album", ["title": .string("Do")])
        album.links = ["artist": [artist]]
        #expect(try library.holds("title LIKE artist.name", on: album))
        artist.values["name"] = .string("(")
        #expect(try !library.holds("title MATCHES artist.name", on: album))
    }

    @Test func `functions of any values give a value, never a trap`() throws {
        var random = RandomPredicates(seed: testSeed(default: 61))
        let album = try library.object("Album")
        let names = [
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:",
            "bitwiseAnd:with:",
            "leftshift:by:", "rightshift:by:", "castObject:toType:", "union:with:",
        ]
        let types = [
            "NSNumber", "NSString", "NSDate", "NSUUID", "NSURL", "NSData", "integer", "float", "decimal", "boolean",
        ]
        var evaluated = 0
        for _ in 0..<campaignCount("ESPALIER_FUNCTION_ROUNDS", default: 4000) {
            let name = random.pick(names)
            let left = random.value()
            let right = name.hasPrefix("cast") ? .string(random.pick(types)) : random.value()
            let collection = FetchExpression.list([.value(left), .value(right), .value(random.value())])
            let expression: FetchExpression =
                random.pick([true, false])
                ? .function(name, [.value(left), .value(right)])
                : .function(random.pick(["sum", "average", "median", "stddev", "min", "mode", "count"]), [collection])
            let predicate = FetchPredicate.comparison(.init(expression, .notEqual, .value(.null)))
            guard let resolved = try? ResolvedPredicate(predicate, for: album.entity, in: library.model) else {
                continue
            }
            _ = resolved.evaluate(on: album)
            evaluated += 1
        }
        #expect(evaluated > 1000)
    }
}
