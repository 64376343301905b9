// The specification is consistent: each cited code is defined, each code has one row, and each named test exists.

import Testing

@Suite struct SpecificationTests {
    private static let articles = Repository.current.articles()

    @Test func `every code that is cited is defined`() {
        let defined = Self.articles.filter { $0.path.contains(".docc/") || $0.path.hasSuffix("README.md") }
            .reduce(into: Set<String>()) { $0.formUnion($1.definedCodes) }

        expectNone(Specification.citationFindings(Repository.current.citations(), definedCodes: defined))
    }

    @Test func `every row stands in exactly one article`() {
        expectNone(Specification.rows.placeFindings(in: Self.articles))
        expectNone(Specification.promises.placeFindings(in: Self.articles))
    }

    @Test func `every test that a row names exists`() {
        let tests = Repository.current.swiftFiles.filter(\.isTest).reduce(into: Set<String>()) {
            $0.formUnion($1.testNames())
        }

        #expect(tests.count > 1000)
        expectNone(Specification.rows.rowFindings(in: Self.articles, tests: tests))
        expectNone(Specification.promises.rowFindings(in: Self.articles, tests: tests))
    }

    @Test(arguments: [
        ("(MO-43, F-5); F1 to F4, P3.", ["MO-43", "F-5", "F1", "F4", "P3"]), ("A10", ["A10"]), ("rule I1", ["I1"]),
        ("`F1` and A1`F2`B2", ["A1", "B2"]), ("UTF-8, XXH3, x86, F-", []), ("MO-123 MO- M0-1 AB12 F1x aF1 F_1", []),
        ("MC-13–MC-16", ["MC-13", "MC-16"]),
    ])
    func `codes are read out of text, and other words are not`(text: String, codes: [String]) {
        #expect(Citation.codes(in: text) == codes)
    }

    @Test func `a code in a comment or in the name of a test is a citation, one in a string or in code is none`() {
        let file = SourceFile(
            path: "X.swift", text: "// See F1.\nlet A1 = \"F2\" // F3\n/* a\n F4 */ func `it keeps F5`() {}\n")

        #expect(file.citations().map(\.code) == ["F1", "F3", "F4", "F5"])
        #expect(file.citations().map(\.line) == [1, 2, 4, 4])
    }

    @Test func `tests are named by their type, whatever stands around them`() {
        let file = SourceFile(
            path: "X.swift",
            text: """
                @Suite struct ATests {
                    struct Row { let a = "\\([1].map { "}" })" }
                    @Test func `one`() { if true {} }
                    func plain() {}
                }
                extension BTests { @Test(arguments: [1]) func `two words`(_ a: Int) {} }
                """)

        #expect(file.testNames() == ["ATests/one", "BTests/two words"])
    }

    @Test func `an article has rows, and codes in bold; between fences there is nothing`() {
        let article = Article(
            path: "a.md",
            text: """
                | row | text |
                |---|---|
                | F1 | says `a|b` | `ATests/one`, `ATests/two` |
                | F-2 | has no test | |
                ```
                | F3 | code | |
                ```
                **I1** stands for itself, I2 **does** not.
                """)

        #expect(article.rows.map(\.code) == ["F1", "F-2"] && article.rows.map(\.line) == [3, 4])
        #expect(article.rows[0].text == "says `a|b`" && article.rows[0].tests == ["ATests/one", "ATests/two"])
        #expect(article.rows[1].cells == ["has no test", ""] && article.rows[1].tests.isEmpty)
        #expect(article.definedCodes == ["F1", "F-2", "I1"])
        #expect(article.citations.map(\.code) == ["F1", "F-2", "I1", "I2"])
    }

    private static let small = Specification(
        paths: ["shown.md", "other.md"], counts: ["AB-": 2, "F-": 1], shownPath: "shown.md")

    @Test(arguments: [
        ("| AB-01 | a | `A/a` |\n| F-1 | b | `A/a` |", "| AB-02 | c | |", [String]()),
        ("| AB-01 | a | `A/a` |", "| AB-02 | c | |", ["F-1 has no row, neither here nor in the articles beside"]),
        (
            "| AB-01 | a | `A/a` |\n| F-1 | b | `A/a` |", "| AB-02 | c | |\n| AB-01 | a | |",
            ["AB-01 has a row at shown.md:1 already"]
        ),
        (
            "| AB-01 | a | `A/a` |\n| F-1 | b | `A/a` |\n| AB-3 | c | `A/a` |", "| AB-02 | c | |",
            ["AB-3 is no code of the specification"]
        ),
        (
            "| AB-01 | a | |\n| F-1 | b | `A/a` |", "| AB-02 | c | |",
            ["AB-01 names no test: it belongs to another article"]
        ),
        (
            "| AB-01 | a | `A/a` |\n| F-1 | b | `A/x` |", "| AB-02 | c | `B/a` |",
            ["there is no test A/x", "there is no test B/a"]
        ),
        (
            "| AB-01 | a | `A/a` |\n| F-1 | b |", "| AB-02 | | |",
            Array(repeating: "a row has a code, a text, and a cell for tests", count: 2)
        ),
    ])
    func `a row that is lost, doubled, unknown or not shown is found`(
        shown: String, other: String, messages: [String]
    ) {
        let articles = [("shown.md", shown), ("other.md", other), ("third.md", "| AB-01 | is not asked | |")].map {
            Article(path: $0, text: $1)
        }

        let found = Self.small.placeFindings(in: articles) + Self.small.rowFindings(in: articles, tests: ["A/a"])

        #expect(found.map(\.message) == messages)
    }

    @Test func `a code that no article defines is found where it is cited`() {
        let file = SourceFile(path: "X.swift", text: "// MO-43 and\n// MO-99\n")

        let found = Specification.citationFindings(file.citations(), definedCodes: ["MO-43"])

        #expect(found.map(\.line) == [2] && found.first?.message.contains("MO-99") == true)
    }
}
