// The README is true: its example compiles and runs, it names every verb, and the files and folders that it names
// exist.

import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ReadmeTests {
    private static func readme() throws -> String {
        try String(contentsOf: Checkout.root.appending(path: "README.md"), encoding: .utf8)
    }

    @Test func `the example compiles as it stands there and prints what it says`() throws {
        let readme = try Self.readme()
        let program = try ExampleProgram(
            firstOf: readme, modules: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"])

        #expect(program.source.split(separator: "\n").count == 17)
        try withTemporaryFolder { folder in
            let run = try program.run(in: folder)

            #expect(run == "Pastel Blues by Nina Simone\n")
            #expect(ToolRun("check", folder.appendingPathComponent("music.espalier").path).code == 0)
        }
    }

    @Test func `every command of dbtool that the README names exists, and it names every one`() throws {
        let known = DBTool.verbs.map { $0.usage.name } + ["help"]

        let named = Self.namedCommands(in: try Self.readme())

        #expect(named.subtracting(known) == [], "the README names commands that do not exist")
        #expect(Set(known).subtracting(named) == [], "the README does not name these commands")
    }

    @Test(arguments: [
        ("Try `dbtool demo` and `dbtool\nfetch … --count`.", ["demo", "fetch"]),
        ("```\nswift run dbtool dump   # all\n```\nNot dbtool check.", ["dump"]),
        ("`a b c d e f g h i\nj-k`", ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j-k"]),
        ("`let it be` `Sources/dbtool/Verbs` `--product dbtool --static` `dbtool` then", [] as [String]),
    ])
    func `commands are the words after dbtool in code, and those of a long list`(readme: String, expected: [String]) {
        #expect(Self.namedCommands(in: readme).sorted() == expected)
    }

    /// The commands that code in a text names: the word after `dbtool`, and the words of a list of ten or more.
    private static func namedCommands(in readme: String) -> Set<String> {
        func isName(_ word: Substring) -> Bool {
            word.first?.isLetter == true && word.allSatisfy { $0.isASCII && $0.isLowercase || $0 == "-" }
        }
        // Three backticks are an odd number, too: code in blocks is between them as code in lines is.
        let code = readme.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { part in
            !part.offset.isMultiple(of: 2)
        }
        return code.reduce(into: []) { names, part in
            let words = part.element.split(whereSeparator: \.isWhitespace)
            if words.count >= 10, words.allSatisfy(isName) { names.formUnion(words.map(String.init)) }
            for (word, next) in zip(words, words.dropFirst()) where word == "dbtool" && isName(next) {
                names.insert(String(next))
            }
        }
    }

    @Test func `every file and folder that the README names exists`() throws {
        let words = try Self.readme().split { " `\n(),:;".contains($0) }
        let paths = words.filter {
            $0.hasPrefix("Sources/") || $0.hasPrefix("Tests/") || $0.hasPrefix(".") && $0.contains("/")
        }

        #expect(paths.count > 10)
        for path in paths {
            let name = path.hasSuffix(".") ? path.dropLast() : path
            #expect(FileManager.default.fileExists(atPath: Checkout.root.appending(path: String(name)).path), "\(name)")
        }
    }
}
