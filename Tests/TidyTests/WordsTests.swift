// Words that have no place in the code: traps, notes of unfinished work, empty names, rules as messages of assertions,
// paths of one machine.

import Testing

@Suite struct WordsTests {
    @Test func `nothing traps that could throw, and no library prints`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.trapFindings() })
    }

    @Test func `no work is left as a note`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.unfinishedFindings() })
    }

    @Test func `no type and no file has an empty word in its name`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.nameFindings() })
    }

    @Test func `the message of an assertion says what is wrong, not what the rule is`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.assertionMessageFindings() })
    }

    @Test func `no comment begins with a clause that has no main clause`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.headlessFindings() })
    }

    @Test func `no path of one machine is written down`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.machinePathFindings() })
    }

    @Test(arguments: [
        "fatalError(\"never\")", "let a = try! b()", "let a = b as! C", "let s = \"\\(try! b())\"", "print(1)",
    ])
    func `a call that traps or prints is found`(text: String) {
        let file = SourceFile(path: "Sources/Espalier/X.swift", text: "\n" + text)

        #expect(file.trapFindings().map(\.line) == [2])
    }

    @Test func `the same words in a string or a comment are no code, and dbtool and tests print`() {
        let quoted = SourceFile(
            path: "Sources/Espalier/X.swift", text: "// try! it\nlet a = \"fatalError(\" + #\"as! \"# + `try`!")

        #expect(quoted.trapFindings().isEmpty)
        #expect(SourceFile(path: "Sources/Espalier/X.swift", text: "return try !isEmpty()").trapFindings().isEmpty)
        #expect(SourceFile(path: "Sources/dbtool/X.swift", text: "print(1)").trapFindings().isEmpty)
        #expect(SourceFile(path: "Tests/ATests/X.swift", text: "print(1)").trapFindings().isEmpty)
    }

    @Test(arguments: SourceFile.unfinishedMarks)
    func `a note of unfinished work is found`(mark: Substring) {
        #expect(
            SourceFile(path: "X.swift", text: "\n/* later\n \(mark): more */").unfinishedFindings().map(\.line) == [2])
        #expect(SourceFile(path: "X.swift", text: "let a = \"\(mark)\"").unfinishedFindings().isEmpty)
    }

    @Test func `an empty word in a name is found, and a longer word is none`() {
        let file = SourceFile(path: "Sources/A/PageUtil.swift", text: "struct StoreManager {}\nenum ManagedObject {}")

        #expect(file.nameFindings().map(\.line) == [0, 1])
        #expect(SourceFile.words(of: "BTree+Split2Way") == ["B", "Tree", "Split", "Way"])
    }

    @Test(arguments: [
        "assert(a > 0, \"each page has a number\")", "precondition(f(\"a\"), \"page \\(b(\"c\")) must be pinned\")",
        "preconditionFailure(\n\"every tree has a root\")",
    ])
    func `an assertion whose message states the rule is found`(text: String) {
        #expect(SourceFile(path: "Sources/A/X.swift", text: text).assertionMessageFindings().count == 1)
        #expect(SourceFile(path: "Tests/ATests/X.swift", text: text).assertionMessageFindings().isEmpty)
    }

    @Test(arguments: [
        "assert(a > 0, \"page \\(a) has no number\")", "assert(each(\"must\"))",
        "assert(once(), \"\\(f(\"must\")) bytes\")", "check(a, \"it must be so\")", "assert(a) // must",
    ])
    func `other words of an assertion, and other messages, are none`(text: String) {
        #expect(SourceFile(path: "Sources/A/X.swift", text: text).assertionMessageFindings().isEmpty)
    }

    @Test(arguments: [
        "/// What a save writes.", "// Who closes twice, closes nothing.", "let a = 1  // Where it begins.",
        "/// A page.\n///\n/// Which pages are free.", "/* Whatever comes. */", "// a\n\n// Whoever reads this.",
        "// Rules\n//\n//   1. Which page is free? It says.\n/// What is no question",
        "//\n// What is it, and\n// why.",
    ])
    func `a comment that begins without a main clause is found`(text: String) {
        #expect(SourceFile(path: "X.swift", text: text).headlessFindings().count == 1)
    }

    @Test(arguments: [
        "// What is free? All pages that no tree has.", "// A page that\n// Which is no sentence.",
        "let a = \"What a\"", "/// Whether it is free.", "// Pages. What is free is zero.",
        "/// Whichever comes first.", "// What\n// is it?",
    ])
    func `a question, a later sentence and another word are none`(text: String) {
        #expect(SourceFile(path: "X.swift", text: text).headlessFindings().isEmpty)
    }

    @Test(arguments: SourceFile.machineFolders)
    func `a path of one machine is found`(folder: String) {
        let text = "// see /\(folder)/notes\nlet a = \"file:///\(folder)/b\"\n// not a/\(folder)/b nor /\(folder)s/c\n"

        #expect(SourceFile(path: "X.swift", text: text).machinePathFindings().map(\.line) == [1, 2])
    }
}
