// Switches that a process gets by its arguments or environment, and the lines that they make it write (DB-03, DB-04).

import Dispatch
import FoundationEssentials

/// A switch of the process.
enum ProcessSetting {
    /// The number that an argument or an environment variable gives a switch; the argument counts if both do.
    static func number(
        argument: String, variable: String, arguments: [String] = ProcessInfo.processInfo.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Int? {
        var wanted = environment[variable]
        if let name = arguments.firstIndex(of: argument), name + 1 < arguments.count {
            wanted = arguments[name + 1]
        }
        return wanted.flatMap { Int($0) }
    }

    /// Writes the lines of `text` to the standard error.
    static func report(_ text: String) {
        let bytes = Array(text.split(separator: "\n").map { "espalier: \($0)\n" }.joined().utf8)
        let done = DispatchSemaphore(value: 0)
        // SAFETY: the data copies the bytes while the array lives.
        let data = unsafe bytes.withUnsafeBytes { unsafe DispatchData(bytes: $0) }
        DispatchIO.write(toFileDescriptor: 2, data: data, runningHandlerOn: .global()) { _, _ in done.signal() }
        // In the order of the calls, and before the program can end.
        done.wait()
    }
}
