// The shape of every file: a purpose on the first line, and sizes that a reader can manage.

import Testing

@Suite struct LayoutTests {
    @Test func `every file begins with its purpose`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.purposeFindings() })
    }

    @Test func `no file is too long`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.fileLengthFindings() })
    }

    @Test func `no line is too long`() {
        let repository = Repository.current
        expectNone(repository.swiftFiles.flatMap { $0.lineLengthFindings() })
        expectNone(
            repository.paths.filter { $0.hasSuffix(".md") }.flatMap { path in
                Article.lineLengthFindings(path: path, text: repository.text(of: path) ?? "")
            })
    }

    @Test func `no function is too long`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.functionLengthFindings() })
    }

    @Test(arguments: ["import A\n", "\n// A purpose of many words.\n", "/// Doc of a type instead.\n", "// Pages.\n"])
    func `a file without a purpose is found`(text: String) {
        #expect(SourceFile(path: "Sources/A/X.swift", text: text).purposeFindings().map(\.line) == [1])
    }

    @Test func `a manifest has its purpose below the tools version`() {
        let manifest = SourceFile(
            path: "Package.swift", text: "// swift-tools-version: 6.2\n//\n// The package and its targets.\n")
        let bare = SourceFile(path: "Package.swift", text: "// swift-tools-version: 6.2\nimport PackageDescription\n")

        #expect(manifest.purposeFindings().isEmpty)
        #expect(bare.purposeFindings().count == 1)
    }

    @Test func `a header that nobody reads to its end is found`() {
        let text = "// The purpose of the file.\n" + String(repeating: "// More.\n", count: SourceFile.headerLengthMax)

        #expect(SourceFile(path: "X.swift", text: text).purposeFindings().count == 1)
    }

    @Test func `a file of one line more is found`() {
        let most = String(repeating: "\n", count: SourceFile.lineCountMax)

        #expect(SourceFile(path: "X.swift", text: most).fileLengthFindings().isEmpty)
        #expect(SourceFile(path: "X.swift", text: most + "\n").fileLengthFindings().count == 1)
    }

    @Test func `a line of one character more is found, counted in characters`() {
        let most = String(repeating: "é", count: SourceFile.lineLengthMax)

        #expect(SourceFile(path: "X.swift", text: "\(most)\n").lineLengthFindings().isEmpty)
        #expect(SourceFile(path: "X.swift", text: "\n\(most)x\n").lineLengthFindings().map(\.line) == [2])
    }

    @Test func `a line of an article of one character more is found, but not in a table, in code or as a link`() {
        let words = String(repeating: "é ", count: SourceFile.lineLengthMax / 2 - 1) + "éé"
        let link = "[a](https://" + String(repeating: "b", count: SourceFile.lineLengthMax) + ")"
        let text = """
            \(words)
            \(words)x
              \(words)
            | \(words) |
            \(link)
            ```
            \(words)x
            ```
            Written by `bench --quick`. \(words)
            \(words)x
            """

        #expect(Article.lineLengthFindings(path: "a.md", text: text).map(\.line) == [2, 3, 10])
        #expect(Article.lineLengthFindings(path: "b/LICENSE.md", text: text).isEmpty)
    }

    @Test func `a function of one line more is found`() {
        func function(lines: Int) -> SourceFile {
            let body = String(repeating: "    step(\"}\") // }\n", count: lines - 2)
            return SourceFile(
                path: "X.swift", text: "func long<T>(a: () -> Void = {}) -> [T] {\n\(body)}\nfunc next() {}\n")
        }

        #expect(function(lines: SourceFile.functionLengthMax).functionLengthFindings().isEmpty)
        #expect(function(lines: SourceFile.functionLengthMax + 1).functionLengthFindings().map(\.line) == [1])
    }

    @Test func `a requirement has no body, and a call of init is no declaration`() {
        let text = "protocol P {\n    func a() -> Int\n    init(b: Int)\n}\nstruct S {\n    let s = S.init(b: 1)\n}\n"

        #expect(SourceFile(path: "X.swift", text: text).functions().isEmpty)
    }
}
