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

    @Test func `every command of dbtool that the README names exists`() throws {
        let readme = try Self.readme()

        for verb in DBTool.verbs { #expect(readme.contains(verb.usage.name), "\(verb.usage.name)") }
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
