// The peak of a process's memory, for tests that run in a process of their own.

import Foundation

/// The peak of this process's resident memory in bytes.
///
/// - Throws: an error if the system does not tell it as Linux does.
package func peakByteCount() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let text = line?.split(whereSeparator: \.isWhitespace).dropFirst().first, let kibibytes = Int(text) else {
        throw CocoaError(.fileReadCorruptFile)
    }
    return kibibytes << 10
}
