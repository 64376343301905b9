// Unchecked code has its reason beside it.

import Testing

@Suite struct ReasonsTests {
    @Test func `every unsafe use says why it is safe`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.reasonFindings() })
    }

    @Test(arguments: [
        "let a = unsafe load()", "extension A: @unchecked Sendable {}", "nonisolated(unsafe) var a = 0",
        "// It is unsafe without the word.\nlet a = unsafe load()",
        "// SAFETY: too far above.\n" + String(repeating: "\n", count: SourceFile.reasonDistanceMax + 1)
            + "let a = unsafe load()",
    ])
    func `a use without a reason is found`(text: String) {
        let file = SourceFile(path: "X.swift", text: "import A\n" + text)

        #expect(file.reasonFindings().map(\.line) == [file.lines.count])
    }

    @Test(arguments: [
        "// SAFETY: in bounds by the line above.\nlet a = unsafe load()", "let a = unsafe load() // SAFETY: in bounds.",
        "let a = array.unsafe.b(\"unsafe\") // SAFETY: a name of somebody else's.", "let unsafety = 1",
    ])
    func `a reason beside the use is enough`(text: String) {
        #expect(SourceFile(path: "X.swift", text: "import A\n" + text).reasonFindings().isEmpty)
    }

    @Test func `a reason in the header is none, however near the use is`() {
        let text = "// A purpose of the file.\n// SAFETY: all offsets were checked on load.\nlet a = unsafe load()\n"

        #expect(SourceFile(path: "X.swift", text: text).reasonFindings().map(\.line) == [3])
    }

    @Test func `a reason in one function is none for the next, and one above a function is enough within it`() {
        let reason = "// SAFETY: in bounds.\n"
        let ended = "import A\nfunc a() {\n\(reason)unsafe load()\n}\nfunc b() {\nunsafe load()\n}\n"
        let above = "import A\n\(reason)func a() {\nif b { unsafe load() }\n}\n"

        #expect(SourceFile(path: "X.swift", text: ended).reasonFindings().map(\.line) == [7])
        #expect(SourceFile(path: "X.swift", text: above).reasonFindings().isEmpty)
    }
}
