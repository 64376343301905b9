// A Swift file of the repository as the rules read it: path, lines, tokens.

import Testing

/// One Swift file of the repository.
struct SourceFile: CustomTestStringConvertible {
    /// The path within the repository, with `/`.
    let path: String
    /// All lines without their ends; a final line break begins no further line.
    let lines: [Substring]
    /// Words, marks, strings and comments.
    let tokens: [Token]
    /// The tokens without comments and strings.
    let code: [Token]

    init(path: String, text: String) {
        self.path = path
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        self.lines = lines
        tokens = SwiftLexer.tokens(of: text)
        code = tokens.filter { $0.kind != .comment && $0.kind != .string }
    }

    /// The path, so that a failed expectation does not print the whole file.
    var testDescription: String { path }

    /// The file's name without `.swift`.
    var stem: String { String((path.split(separator: "/").last ?? "").dropLast(".swift".count)) }

    /// The folder under `Sources`, `Tests`, `Fuzz` or `Benchmarks` that contains the file: its module or test target.
    var target: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : ""
    }

    /// The folder within the target; empty for a file directly in the target.
    var folder: String { path.split(separator: "/").dropFirst(2).dropLast().joined(separator: "/") }

    /// Whether it is product code: under `Sources`.
    var isProduct: Bool { path.hasPrefix("Sources/") }

    /// Whether it is test code: under `Tests`.
    var isTest: Bool { path.hasPrefix("Tests/") }

    /// The comment lines before the first line of code.
    var header: ArraySlice<Substring> { lines.prefix { $0.hasPrefix("//") } }

    /// Whether the file has a test: `@Test` in its code.
    var hasTests: Bool { zip(code, code.dropFirst()).contains { $0.isCode("@") && $1.isCode("Test") } }

    /// A finding of this file.
    func finding(_ line: Int, _ message: String) -> Finding { Finding(path, line, message) }
}
