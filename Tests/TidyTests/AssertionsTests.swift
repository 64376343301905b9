// Assertions are as dense as they were.

import Testing

@Suite struct AssertionsTests {
    @Test func `the store and the engine have as many assertions for each function as they had`() {
        expectNone(Repository.current.assertionFindings())
    }

    @Test func `a folder with fewer assertions is found, and one without functions`() {
        let asserted = "func a() { assert(true, \"a\") }\nfunc b() {}\n"
        let files = [("Sources/M/A/One.swift", asserted), ("Sources/M/B/Two.swift", "struct Two {}")]
        let repository = Repository(paths: [], swiftFiles: files.map { SourceFile(path: $0, text: $1) })

        #expect(repository.assertionFindings(["M": 50, "M/A": 50]).isEmpty)
        #expect(
            repository.assertionFindings(["M": 51, "M/A": 50, "M/B": 1]).map(\.path) == ["Sources/M", "Sources/M/B"])
    }

    @Test(arguments: [
        ("assert(a > 0, \"a\")\nprecondition(b)\nassertionFailure(\"c\")\npreconditionFailure(\"d\")", 4),
        ("assert(StepCount.note())\n// assert(a)\nlet text = \"assert(a)\"\nassert\nexpect(a)", 0),
        ("assert(a == nil || StepCount.note(rows: 1))", 1),
    ])
    func `counting a step is no assertion, and neither are words in comments and strings`(text: String, count: Int) {
        #expect(SourceFile(path: "Sources/M/X.swift", text: text).assertionCount() == count)
    }
}
