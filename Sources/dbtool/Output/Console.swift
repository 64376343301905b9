// The two sinks of text, which are files in the tool and strings in tests.

import Foundation

/// A receiver of text.
protocol TextSink: AnyObject {
    /// Appends text.
    func write(_ text: String)
    /// Appends text in UTF-8.
    func write(_ bytes: [UInt8])
    /// Writes out the buffered text.
    func flush()
    /// Whether the sink is a terminal.
    var isTerminal: Bool { get }
    /// The reason why text was lost; `nil` if none was.
    var failure: String? { get }
}

/// The two sinks of a run.
struct Console {
    /// Results.
    let output: any TextSink
    /// Errors and progress.
    let errors: any TextSink

    /// Writes a line of results.
    func print(_ line: String = "") { output.write(line + "\n") }

    /// Writes a JSON value as one line of results.
    func print(_ json: JSONValue) { output.write(json.compact + "\n") }
}

/// A sink on a file descriptor.
///
/// Buffers up to 64 KiB; standard error is flushed with each write, so that nothing is lost if the process is killed.
final class FileSink: TextSink {
    private let file: FileHandle
    private let isUnbuffered: Bool
    private var buffer: [UInt8] = []
    private(set) var failure: String?

    /// A sink on `file`.
    init(_ file: FileHandle) {
        self.file = file
        isUnbuffered = file === FileHandle.standardError || isatty(file.fileDescriptor) == 1
    }

    var isTerminal: Bool { isatty(file.fileDescriptor) == 1 }

    func write(_ text: String) { write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) {
        buffer.append(contentsOf: bytes)
        if isUnbuffered || buffer.count >= 1 << 16 { flush() }
    }

    func flush() {
        guard !buffer.isEmpty, failure == nil else { return }
        do {
            try file.write(contentsOf: Data(buffer))
        } catch {
            failure = (error as NSError).localizedDescription
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// A sink that stores the text, for tests.
final class StringSink: TextSink {
    /// All text that was written.
    private(set) var text = ""
    let isTerminal: Bool
    let failure: String? = nil

    /// An empty sink.
    init(isTerminal: Bool = false) { self.isTerminal = isTerminal }

    func write(_ text: String) { self.text += text }
    func write(_ bytes: [UInt8]) { text += String(decoding: bytes, as: UTF8.self) }
    func flush() {}
}
