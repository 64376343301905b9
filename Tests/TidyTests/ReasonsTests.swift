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

    @Test func `a reason in the header holds for the whole file`() {
        let text =
            "// A purpose of the file.\n// SAFETY: all offsets were checked on load.\nimport A\n"
            + String(repeating: "\n", count: 50) + "let a = unsafe load()\n"

        #expect(SourceFile(path: "X.swift", text: text).reasonFindings().isEmpty)
    }
}
