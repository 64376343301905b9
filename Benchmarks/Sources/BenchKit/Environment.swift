// The machine, the system and the source of a run.

import Foundation

/// The facts that a reader needs to judge a result.
package func environmentFacts(peers: [String]) -> [(name: String, value: String)] {
    let commit = output(of: ["git", "rev-parse", "--short", "HEAD"])
    let isClean = output(of: ["git", "status", "--porcelain", "--untracked-files=no"]).isEmpty
    let processor = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?
        .split(separator: "\n").first { $0.hasPrefix("model name") }?
        .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
    let fileSystem = output(of: ["stat", "-f", "-c", "%T", FileManager.default.temporaryDirectory.path])
    let load = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first ?? "unknown"
    return [
        ("date", ISO8601DateFormatter().string(from: Date())),
        ("commit", commit + (isClean ? "" : " with uncommitted changes")),
        ("system", output(of: ["uname", "-sr"])),
        ("processor", (processor ?? "unknown") + ", \(ProcessInfo.processInfo.activeProcessorCount) cores"),
        ("file system", fileSystem),
        (
            "time",
            countsProcessorTime
                ? "processor time, as other work ran (load \(load)); wall clock for durable commits and threads"
                : "wall clock, load \(load)"
        ),
        ("peers", peers.isEmpty ? "none found" : peers.joined(separator: ", ")),
    ]
}

private func output(of command: [String]) -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return "unknown" }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
}
