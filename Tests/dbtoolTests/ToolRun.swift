// Runs of the tool for tests: inside this process, or as the built executable.

import Foundation
import TestSupport

@testable import dbtool

/// The output of a run and its exit code.
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
        let run = try Command(Self.executable.path, arguments, in: folder)
        (output, errors, code) = (run.output, run.errors, run.code)
    }

    /// The built executable.
    static var executable: URL { Checkout.products.appending(path: "dbtool") }

    /// A process of the built executable that has not been started yet.
    static func process(_ arguments: [String], in folder: URL) -> Process {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder
        return process
    }
}
