// Runs of other programs: git, the compiler, built executables.
//
// Invariants
//   1. A program never waits for its reader: it writes to files, which are read after it has ended.
//   2. No program gets input.

package import Foundation

/// A program that ran to its end.
package struct Command: Sendable {
    /// The text that it wrote to standard output.
    package let output: String
    /// The text that it wrote to standard error.
    package let errors: String
    /// The exit code; negative for a program that a signal ended.
    package let code: Int32

    /// Runs a program found on PATH, or given by its whole path, and waits for it.
    ///
    /// - Parameter environment: Variables that are added to this process's own environment.
    /// - Throws: The error of the system if the program cannot be started.
    package init(
        _ program: String, _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]
    ) throws {
        let process = Process()
        process.executableURL = URL(filePath: program.hasPrefix("/") ? program : "/usr/bin/env")
        process.arguments = (program.hasPrefix("/") ? [] : [program]) + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        (output, errors) = try withTemporaryFolder { place in
            let paths = ["output", "errors"].map { place.appending(path: $0) }
            for path in paths { try Data().write(to: path) }
            process.standardOutput = try FileHandle(forWritingTo: paths[0])
            process.standardError = try FileHandle(forWritingTo: paths[1])
            try process.run()
            process.waitUntilExit()
            return (try Self.text(at: paths[0]), try Self.text(at: paths[1]))
        }
        let wasKilled = process.terminationReason == .uncaughtSignal
        code = wasKilled ? -process.terminationStatus : process.terminationStatus
    }

    private static func text(at path: URL) throws -> String {
        String(decoding: try Data(contentsOf: path), as: UTF8.self)
    }
}
