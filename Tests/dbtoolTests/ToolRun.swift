// Runs of the tool for tests: inside this process, or as the built executable.

import Foundation

@testable import dbtool

/// What a run printed and how it ended.
struct ToolRun {
    let output: String
    let errors: String
    let code: Int32

    /// Runs the tool inside this process.
    init(_ arguments: String..., isTerminal: Bool = false) {
        let (output, errors) = (StringSink(isTerminal: isTerminal), StringSink(isTerminal: isTerminal))
        let code = DBTool.run(arguments: arguments, console: Console(output: output, errors: errors))
        (self.output, self.errors, self.code) = (output.text, errors.text, code.rawValue)
    }

    /// Runs the built executable and waits for it.
    init(executable arguments: [String], in folder: URL? = nil) throws {
        let process = try Self.process(arguments, in: folder)
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        // Errors are short, so that reading the pipes one after the other cannot block.
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        let message = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        (self.output, self.errors, code) = (text, message, process.terminationStatus)
    }

    /// The built executable, ready to run.
    static func process(_ arguments: [String], in folder: URL? = nil) throws -> Process {
        let process = Process()
        process.executableURL = buildFolder.appendingPathComponent("dbtool")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        return process
    }

    /// Where the products of this build lie: the folder of the test bundle.
    static var buildFolder: URL {
        let program = URL(fileURLWithPath: CommandLine.arguments.first ?? "").resolvingSymlinksInPath()
        if program.path.contains(".build/") { return program.deletingLastPathComponent() }
        return Bundle.main.bundleURL
    }
}

/// A temporary folder that is removed with its content when the test ends.
func withTemporaryFolder<R>(_ body: (URL) throws -> R) throws -> R {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dbtool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder)
}
