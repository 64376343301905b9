// The lexer that the rules use: the kinds of tokens and their lines.

import Testing

@Suite struct SwiftLexerTests {
    private func kinds(_ text: String) -> [Token.Kind] { SwiftLexer.tokens(of: text).map(\.kind) }
    private func texts(_ text: String) -> [String] { SwiftLexer.tokens(of: text).map(\.text) }

    @Test func `words, marks and comments are told apart`() {
        #expect(texts("a.b_1 // c\n/* d /* e */ f */ é") == ["a", ".", "b_1", "// c", "/* d /* e */ f */", "é"])
        #expect(kinds("`two words` + x // y") == [.rawIdentifier, .mark, .word, .comment])
    }

    @Test func `escaped quotes and raw strings do not end early`() {
        #expect(texts(#"a("b\"c", "\\") d"#) == ["a", "(", #"b\"c"#, ",", #"\\"#, ")", "d"])
        #expect(texts(##"#"a"b\"# c"##) == [#"a"b\"#, "c"])
        #expect(texts("\"\"\"\n\"a\" // b\n\"\"\" c") == ["\n\"a\" // b\n", "c"])
    }

    @Test func `code in an interpolation is code, and strings in it are strings`() {
        #expect(texts(#""a\(b("c)") + d)e" f"#) == ["ae", "(", "b", "(", "c)", ")", "+", "d", ")", "f"])
        #expect(texts(##"#"a\(b)\#(c)"#"##) == [#"a\(b)"#, "(", "c", ")"])
    }

    @Test func `lines are counted through comments and strings`() {
        let tokens = SwiftLexer.tokens(of: "a\n/*\n*/ b\n\"\"\"\n\n\"\"\"\n  c d")

        #expect(tokens.map(\.line) == [1, 2, 3, 4, 7, 7])
        #expect(tokens.map(\.lastLine) == [1, 3, 3, 6, 7, 7])
        #expect(tokens.map(\.startsLine) == [true, true, false, true, true, false])
        #expect(SwiftLexer.tokens(of: "try! a +b").map(\.followsSpace) == [true, false, true, true, false])
    }

    @Test(arguments: ["\"", "\"\"\"", "/*", "`", "#/", "\"\\(", "\"\\", "#\"", "é", ""])
    func `text that ends too early ends the lexer too`(text: String) {
        #expect(SwiftLexer.tokens(of: text).count <= 3)
    }
}
