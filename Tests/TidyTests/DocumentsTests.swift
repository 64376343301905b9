// Documents are complete and readable: each variable of the environment is explained, tables are whole, and each claim
// of speed has its command and its day.

import Testing

@Suite struct DocumentsTests {
    @Test func `every variable of the environment is explained in a README`() {
        expectNone(Repository.current.variableFindings())
    }

    @Test func `no table of a document has a blank line within it or a row with other cells`() {
        expectNone(Repository.current.tableFindings())
    }

    @Test func `every filter of a command in a README selects a test`() {
        expectNone(Repository.current.filterFindings())
    }

    @Test func `every decision about speed names its command and its day`() {
        expectNone(Repository.current.decisionFindings())
    }

    @Test func `a variable that no document explains, and one that nothing reads, are found`() {
        // The names are put together here, so that no variable of this test has to be explained.
        let (one, two) = ("\(Repository.variablePrefix)ONE", "\(Repository.variablePrefix)TWO_2")
        let text = "// \(two)\nlet a = read(\"\(one)\")\n#if \(two)\n#endif\nlet b = \"\(one)=1 run\"\n"
        let used = SourceFile(path: "Sources/A/X.swift", text: text).variables()
        let document = Repository.variables(in: "a\n| `\(one)=3 run` and ESPALIER_ |\n", at: "README.md")

        #expect(used.map(\.name) == [one, two, one] && used.map(\.line) == [2, 3, 5])
        #expect(document == [NamedPlace(name: one, path: "README.md", line: 2)])
        #expect(Repository.variableFindings(used: used, explained: document).map(\.line) == [3])
        #expect(Repository.variableFindings(used: document, explained: used).map(\.path) == ["Sources/A/X.swift"])
        #expect(Repository.variableFindings(used: used, explained: used).isEmpty)
    }

    @Test func `the parts of filters are read out of commands`() {
        let text = "| `swift test --filter ATests` or `… --filter \"B\\|of C\"` |\n\nsee `--filter 'D|E' --parallel`\n"

        let filters = Repository.filters(in: text, at: "a.md")

        #expect(filters.map(\.name) == ["ATests", "B", "of C", "D", "E"])
        #expect(filters.map(\.line) == [1, 1, 1, 3, 3])
    }

    @Test(arguments: [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", [Int]()), ("| a | b |\n|---|---|\n| 1 | `c\\|d` |\n", []),
        ("| a |\n|---|\n| 1 |\n\n| b | c |\n|---|---|\n", []), ("```\n| a |\n\n| b |\n| c | d |\n```\n", []),
        ("| a |\n|---|\n| 1 |\n\n| 2 |\n| 3 |\n", [4]), ("| a |\n|---|\n| 1 |\n\n| 2 |", [4]),
        ("x\n| a |\n|---|\n| `c|d` |\n", [4]), ("| a | b |\n|---|\n", [2]),
    ])
    func `a table that a viewer shows otherwise than it was meant is found`(text: String, lines: [Int]) {
        #expect(Repository.tableFindings(in: text, at: "a.md").map(\.line) == lines)
    }

    @Test(arguments: [
        ("**A table.** It took a fifth of the time\n(2 May 2026; `bench --quick`).", 0),
        ("**A table.** It took 3 us. No command shows it;\nmeasured by hand on 2 May 2026.", 0),
        ("**A table.** It took 3 us (2 May 2026).", 1), ("**A table.** It takes 3 % (`bench --quick`, May 2026).", 1),
        ("**A table.** It took 90 instructions (`insert`).\n\nAnd less.", 2), ("**A table.** It is short.", 0),
        ("**A table.** A word: `3 us`.\n\n## B\n\nOn 2 May 2026 by `bench --quick`.", 2),
        ("**B.** 3 ns (`dbtool a`, 2 May 2026).\n\n**A table.** 4 ns (by the command of\n\"B\", 3 May 2026).", 0),
        ("**B.** 3 chairs.\n\n**A table.** 4 ns (by the command of \"B\", 3 May 2026).", 1),
        ("By `valgrind --tool`.\n\n**A table.** 4 ns (by the command of the overview, 3 May 2026).", 0),
        ("**A table.** 4 ns (by the command of the overview, 3 May 2026).", 1),
    ])
    func `a decision whose number nobody can repeat is found`(text: String, count: Int) {
        let findings = Decision.findings(in: [(path: "Decisions.md", text: "# Decisions\n\n\(text)\n")])

        #expect(findings.count == count, "\(findings)")
        #expect(findings.allSatisfy { $0.line > 2 && $0.message.hasPrefix("A table: ") })
    }
}
