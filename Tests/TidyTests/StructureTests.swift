// The repository as a whole: its top level, the names of its tests, and that it contains nothing dead.

import Testing

@Suite struct StructureTests {
    @Test func `the rules see the repository`() {
        let repository = Repository.current

        #expect(repository.paths.contains("Package.swift"), "is git installed, and is this a git checkout?")
        #expect(repository.swiftFiles.count == repository.paths.count { $0.hasSuffix(".swift") })
    }

    @Test func `the top level holds only known folders and files`() {
        expectNone(Repository.current.topLevelFindings())
    }

    @Test func `test files are named after their suites and lie beside their module`() {
        expectNone(Repository.current.testNameFindings())
    }

    @Test func `no file is without use`() {
        expectNone(Repository.current.deadFileFindings())
    }

    @Test func `no name is declared and never used`() {
        expectNone(Repository.current.deadNameFindings())
    }

    @Test func `no module inlines more by hand than before`() {
        expectNone(Repository.current.inlineFindings())
    }

    @Test func `an attribute above the limit is found, and one in a comment is none`() {
        let text = "@inline(__always) func a() {}\n@inline(never) func b() {}\n// @inline(never)\n"
        let repository = Repository(
            paths: [], swiftFiles: ["A", "B", "C"].map { SourceFile(path: "Sources/\($0)/X.swift", text: text) })

        #expect(repository.inlineFindings(["A": 2, "B": 1]).map(\.path) == ["Sources/B", "Sources/C"])
    }

    @Test func `no overload is declared and never used`() {
        expectNone(Repository.current.deadOverloadFindings())
    }

    @Test func `a stray file at the top is found, a dot file is not`() {
        let repository = Repository(paths: ["Package.swift", ".ci/run", "notes.md", "docs/a.md", "Sources/A/a.swift"])

        #expect(repository.topLevelFindings().map(\.path) == ["docs", "notes.md"])
    }

    @Test(arguments: [
        ("Tests/ATests/Pages.swift", "@Test func a() {}", "is called …Tests.swift"),
        ("Tests/ATests/PageTests.swift", "struct PageTests {}", "holds tests"),
        ("Tests/ATests/PageTests.swift", "struct Other { @Test func a() {} }", "declares the suite PageTests"),
        ("Tests/ATests/PageTests.swift", "struct PageTests { @Test func a() {} }", "belongs to BTests"),
    ])
    func `a test file of the wrong name or place is found`(path: String, text: String, message: String) {
        let sources = [("Sources/A/X.swift", ""), (path, text), ("Sources/B/Page.swift", "")]
        let files = sources.map { SourceFile(path: $0, text: $1) }
        let findings = Repository(paths: [], swiftFiles: files).testNameFindings()

        #expect(findings.map(\.path) == [path])
        #expect(findings.first?.message.contains(message) == true)
    }

    @Test func `no two suites have the same name, nor have other files of tests`() {
        expectNone(Repository.current.equalNameFindings())
    }

    @Test func `a second file of the same name is found in another target, a program's is none`() {
        let files = [
            "Sources/A/Page.swift", "Tests/ATests/Page.swift", "Tests/ATests/PageTests.swift",
            "Tests/BTests/Low/PageTests.swift", "Tests/CTests/PageTests.swift", "Tests/D/main.swift",
            "Tests/E/main.swift",
        ].map { SourceFile(path: $0, text: "") }
        let second = SourceFile(
            path: "Tests/DTests/LeafTests.swift",
            text: "@Suite struct LeafTests {}\n@Suite(.serialized) final class PageTests {}\nstruct Page {}")
        let findings = Repository(paths: [], swiftFiles: files + [second]).equalNameFindings()

        #expect(
            findings.map(\.path) == [
                "Tests/BTests/Low/PageTests.swift", "Tests/CTests/PageTests.swift", "Tests/DTests/LeafTests.swift",
            ])
    }

    @Test func `the folders of tests are those of their module`() {
        expectNone(Repository.current.testFolderFindings())
    }

    @Test func `a test file in another folder than what it tests, or in one that the module has not, is found`() {
        let paths = [
            "Sources/A/Low/Page.swift", "Sources/A/Top.swift", "Sources/B/Leaf.swift",
            "Tests/ATests/Low/PageTests.swift", "Tests/ATests/TopTests.swift", "Tests/ATests/Sample.swift",
            "Tests/ATests/Low/TopTests.swift", "Tests/ATests/High/OtherTests.swift", "Tests/BTests/LeafTests.swift",
        ]
        let files = paths.map { SourceFile(path: $0, text: "") }
        let findings = Repository(paths: [], swiftFiles: files).testFolderFindings()

        #expect(findings.map(\.path) == ["Tests/ATests/Low/TopTests.swift", "Tests/ATests/High/OtherTests.swift"])
    }

    @Test func `a data file that no source names is found`() {
        let test = SourceFile(path: "Tests/ATests/ATests.swift", text: "let a = \"Golden/page.hex\" // old.hex")
        let repository = Repository(
            paths: [
                "README.md", "Tests/ATests/Golden/page.hex", "Tests/ATests/old.hex", "Tests/ATests/Kept/README.md",
            ],
            swiftFiles: [test])

        #expect(repository.deadFileFindings().map(\.path) == ["Tests/ATests/old.hex"])
    }

    @Test func `a name that stands only where it is declared is found`() {
        let product = SourceFile(
            path: "Sources/A/A.swift",
            text: "struct A {\n    func used() {}\n    func dead() {}\n    var description: String { \"dead\" }\n}")
        let test = SourceFile(path: "Tests/ATests/ATests.swift", text: "func unused() { A().used() } // dead")
        let findings = Repository(paths: [], swiftFiles: [product, test]).deadNameFindings()

        #expect(findings.map(\.line) == [3])
    }

    @Test(arguments: [
        "add(1)", "add(1, to: [2])", "add(1, by: [2: 3]) { $0 }", "add { $0 }", "list.map(add)", "add(_:to:)",
        "add(1, 2, 3)",
        "add(\"a, to: b\\(c(d, e: 1))\")",
    ])
    func `an overload that no call fits is found by its labels`(call: String) {
        let product = SourceFile(
            path: "Sources/A/A.swift",
            text: """
                func add(_ a: Int..., to b: [Int: Dictionary<Int, Int>] = [:]) {}
                func add<T>(_ a: T, by b: Dictionary<Int, Int>, _ c: (T, Int) -> T) {}
                func add(over a: Int) {}
                func _add(under a: Int) {}
                func _add(on a: Int) {}
                func use() { add(over: 1 << 2) }
                """)
        let test = SourceFile(path: "Tests/ATests/ATests.swift", text: call)
        let lines = Repository(paths: [], swiftFiles: [product, test]).deadOverloadFindings().map(\.line)

        let fits: [String: [Int]] = [
            "add(1)": [2], "add(1, to: [2])": [2], "add(1, by: [2: 3]) { $0 }": [1], "add(1, 2, 3)": [2],
            "add(\"a, to: b\\(c(d, e: 1))\")": [2],
        ]
        #expect(lines == fits[call] ?? [])
    }
}
