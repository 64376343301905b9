// The README says what is true: its example compiles and runs, its module table is the architecture's.

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
        let start = try #require(readme.firstRange(of: "```swift\n")).upperBound
        let end = try #require(readme[start...].firstRange(of: "\n```")).lowerBound
        let example = String(readme[start..<end])

        #expect(example.split(separator: "\n").count == 15)
        try withTemporaryFolder { folder in
            let run = try Self.compileAndRun(example, in: folder)

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

    /// Compiles a program against the modules of this build, links their objects, runs it in `folder`.
    private static func compileAndRun(_ source: String, in folder: URL) throws -> String {
        let products = Checkout.products
        let file = folder.appending(path: "main.swift")
        try Data(source.utf8).write(to: file)
        var objects: [String] = []
        for module in ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"] {
            let build = products.appending(path: "\(module).build")
            let names = try FileManager.default.contentsOfDirectory(atPath: build.path)
            objects += names.filter { $0.hasSuffix(".o") }.map { build.appending(path: $0).path }
        }
        let program = folder.appending(path: "example")
        let plugin = products.appending(path: "EspalierMacros-tool").path + "#EspalierMacros"
        let build = try Command(
            "swiftc",
            [
                "-swift-version", "6", "-I", products.appending(path: "Modules").path, "-load-plugin-executable",
                plugin, file.path, "-o", program.path,
            ] + objects, in: folder)
        #expect(build.code == 0, "\(build.errors)\(build.output)")
        let run = try Command(program.path, [], in: folder)
        #expect(run.code == 0, "\(run.errors)")
        return run.output
    }
}
