// Examples of the documentation, compiled and run unchanged.

import Foundation
import TestSupport
import Testing

/// A program that was cut out of a document.
struct ExampleProgram {
    /// The source text.
    let source: String
    /// The modules that the program is linked with.
    let modules: [String]

    /// The first Swift code block of `document`.
    init(firstOf document: String, modules: [String]) throws {
        let start = try #require(document.firstRange(of: "```swift\n")).upperBound
        let end = try #require(document[start...].firstRange(of: "\n```")).lowerBound
        source = String(document[start..<end])
        self.modules = modules
    }

    /// The text of each Swift code block of `document`, in order.
    static func blocks(of document: String) -> [String] {
        document.split(separator: "```swift\n", omittingEmptySubsequences: false).dropFirst().map { piece in
            String(piece[..<(piece.firstRange(of: "\n```")?.lowerBound ?? piece.endIndex)])
        }
    }

    /// Compiles the program against this build's modules, links their objects and runs it in `folder`; returns its
    /// output.
    ///
    /// - Parameter declarations: Text that is compiled after the program, with functions that nothing calls.
    func run(in folder: URL, before declarations: String = "") throws -> String {
        let products = Checkout.products
        let file = folder.appending(path: "main.swift")
        try Data("\(source)\n\(declarations)".utf8).write(to: file)
        var objects: [String] = []
        for module in modules {
            let build = products.appending(path: "\(module).build")
            // A build keeps the objects of source files that have been renamed, so only those of existing files are
            // linked.
            let sources = FileManager.default.enumerator(
                atPath: Checkout.root.appending(path: "Sources/\(module)").path)
            let names = try #require(sources).compactMap { ($0 as? String)?.split(separator: "/").last }
            objects += names.filter { $0.hasSuffix(".swift") }.map { build.appending(path: "\($0).o").path }
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
