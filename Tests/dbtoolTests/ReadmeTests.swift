// The README is true: its examples compile, it names every verb, the files and folders that it names exist, and
// its numbers of speed are those of the last run of the benchmark.

import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ReadmeTests {
    private static func readme() throws -> String {
        try String(contentsOf: Checkout.root.appending(path: "README.md"), encoding: .utf8)
    }

    @Test func `the examples compile as they stand there, and the first one prints what it says`() throws {
        let readme = try Self.readme()
        let program = try ExampleProgram(
            firstOf: readme, modules: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"])
        let examples = ExampleProgram.blocks(of: readme)

        #expect(program.source.split(separator: "\n").count == 17)
        try #require(examples.count == 3 && examples[0] == program.source)
        // The other examples use the objects of the first one, and two of the application's own.
        let functions = """
            final class ShownList { func update(inserted: Set<ManagedObject>, changed: Set<ManagedObject>) {} }
            actor SearchIndex { func update(_ ids: [ObjectID], removing removed: [ObjectID]) {} }
            @MainActor func observe(_ list: ShownList, _ index: SearchIndex) async throws {
            \(examples[1])
            _ = token
            }
            @MainActor func undo() throws {
            \(examples[2])
            }
            """
        try withTemporaryFolder { folder in
            let run = try program.run(in: folder, before: functions)

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

    @Test func `every macro for classes and every article is named in the README`() throws {
        let readme = try Self.readme()
        let macros = try String(
            contentsOf: Checkout.root.appending(path: "Sources/Espalier/Macros.swift"), encoding: .utf8)
        let names = macros.split(separator: "\n").filter { $0.hasPrefix("public macro ") && !$0.contains("macro _") }
            .compactMap { $0.dropFirst("public macro ".count).split { !$0.isLetter }.first.map(String.init) }
        let sources = FileManager.default.enumerator(atPath: Checkout.root.appending(path: "Sources").path)
        let articles = try #require(sources).compactMap { $0 as? String }.filter { $0.hasSuffix(".md") }
            .compactMap { $0.split(separator: "/").last?.dropLast(".md".count) }.filter { $0 != "LICENSE" }

        #expect(names.count >= 6 && articles.count > 20)
        for name in names { #expect(readme.contains("@\(name)") || readme.contains("#\(name)"), "\(name)") }
        for article in articles { #expect(readme.contains(article), "\(article)") }
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

    @Test func `the speed table has the numbers of Results.md`() throws {
        let path = Checkout.root.appending(path: "Benchmarks/Results.md")
        let results = BenchmarkResults(try String(contentsOf: path, encoding: .utf8))
        let section = SpeedSection(of: try Self.readme())
        let unknown = section.lineNames.filter { results.lines[$0] == nil }
        let right = section.corrected(by: results)

        #expect(section.lineNames.count >= 20)
        #expect(unknown.isEmpty, "Results.md has no such lines: the rows of README begin with the names of its lines")
        #expect(results.command.hasPrefix("bench ") && section.text.contains("Benchmarks \(results.command)\n"))
        #expect(section.text.contains("\n\(results.origin)\n"), "README's section does not say when it was measured")
        if section.text != right {
            Issue.record("Results.md has other numbers. Replace the section of README by this one:\n\n\(right)")
        }
    }

    @Test func `every line that is behind SQLite by more than a tenth has a row in Misses.md`() throws {
        func document(_ name: String) throws -> String {
            try String(contentsOf: Checkout.root.appending(path: "Benchmarks/\(name)"), encoding: .utf8)
        }
        let results = BenchmarkResults(try document("Results.md"))
        let explained = SpeedSection.namesOfRows(in: try document("Misses.md"))

        let table = "| line | sqlite ÷ espalier |\n|---|---:|\n| b | 0.95 |\n| a | 0.89 |\n| c | – |\n"

        #expect(BenchmarkResults(table).namesOfLinesBehind == ["a"])
        #expect(SpeedSection.namesOfRows(in: "| a | b |\n|---|---|\n| `c`, `d` | `e` |\n`f`\n") == ["c", "d"])
        #expect(results.lines.count > 100 && explained.count > 30)
        for name in results.namesOfLinesBehind where !explained.contains(where: { name.contains($0) }) {
            Issue.record("\(name): \(results.lines[name] ?? [:]): say in Misses.md why, or that it is not profiled")
        }
    }

    @Test(arguments: [
        ("| `get a`, all | 1.20 | 3.10 |", "| `get a`, all | 1.20 | 3.10 |"),
        ("| `get a` | 1.2 | 3.1 |", "| `get a` | 1.20 | 3.10 |"), ("| `get b` | 0.5 | 2 |", "| `get b` | 0.500 | – |"),
        ("| `get c` | 9 | 9 |", "| `get c` | 9 | 9 |"), ("about `get a` | 9", "about `get a` | 9"),
        (
            "Measured on 1 May 2026.",
            "Measured on 7 May 2026, commit abc, a processor, 2 cores, wall clock; SQLite 3, LMDB 0."
        ),
    ])
    func `a speed table with other numbers or another date is corrected`(line: String, right: String) {
        let results = BenchmarkResults(
            """
            Written by `bench --quick`. Figures are medians.

            * date: 2026-05-07T08:49:18Z
            * commit: abc
            * processor: a processor, 2 cores
            * time: wall clock
            * peers: SQLite 3, LMDB 0

            | line | unit | ours | theirs ÷ ours | note |
            |---|---|---:|---:|---|
            | get a | us/op | 1.20 | 3.10 | all |

            | line | unit | ours |
            |---|---|---:|
            | get b | us/op | 0.500 |
            """)
        func readme(_ line: String) -> String {
            """
            # A

            ## Speed

            | line | ours | theirs ÷ ours |
            |---|---:|---:|
            \(line)

            ## B

            | `get a` | 1 | 2 |
            """
        }
        let section = SpeedSection(of: readme(line))

        #expect(results.command == "bench --quick")
        #expect(section.lineNames == (line.hasPrefix("|") ? [String(line.dropFirst(3).prefix(5))] : []))
        #expect(section.corrected(by: results) == SpeedSection(of: readme(right)).text)
    }
}
