// Switches that a process gets by its arguments or environment, and the lines that they make it write (DB-03, DB-04).

import Dispatch
import FoundationEssentials

/// A switch of the process.
enum ProcessSetting {
    /// The level that an argument or an environment variable gives a log; the argument counts if both do.
    ///
    /// A number above `greatest` is `greatest`. `report` gets a line about a text that is no number, which sets no log.
    static func level(
        argument: String, variable: String, greatest: Int,
        arguments: [String] = ProcessInfo.processInfo.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        report: (String) -> Void = ProcessSetting.report
    ) -> Int? {
        var (name, text) = (variable, environment[variable] ?? "")
        if let place = arguments.firstIndex(of: argument), place + 1 < arguments.count {
            (name, text) = (argument, arguments[place + 1])
        }
        guard !text.isEmpty else { return nil }
        guard let number = Int(text) else {
            report("\(name) is \(text.debugDescription), but its levels are the numbers from 0 (no log) to \(greatest)")
            return nil
        }
        return min(number, greatest)
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
