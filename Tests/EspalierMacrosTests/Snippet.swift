// A piece of Swift compiled against the modules of this build: the messages of the compiler, and the expansions of
// macros.

import Foundation
import TestSupport

/// A source text and the messages of the compiler about it.
struct Snippet {
    /// One error, and the line of the source that it is about; 0 if that is unknown.
    struct Fault: Hashable, CustomStringConvertible {
        let line: Int
        let text: String

        var description: String { "\(line): \(text)" }
    }

    /// The lines of the source.
    let lines: [Substring]
    /// The output of the compiler.
    let log: String
    /// Whether the source compiled without error.
    let isValid: Bool
    /// The diagnostics as the compiler serializes them for other tools, as text: with the code of every fix.
    let diagnostics: String
    /// The source after every fix that the compiler offers.
    let fixed: String

    /// Compiles `source` as an application's file: in Swift 6 mode, with no import but its own.
    ///
    /// The compiler emits its intermediate language, because only that stage checks what crosses isolation regions.
    /// - Parameter options: More options of the compiler.
    init(_ source: String, options: [String] = []) throws {
        let products = Checkout.products
        let (run, serialized) = try withTemporaryFolder { folder in
            let list = folder.appending(path: "Snippet.dia")
            let file = folder.appending(path: "Snippet.swift")
            try Data(source.utf8).write(to: file)
            let plugin = products.appending(path: "EspalierMacros-tool").path + "#EspalierMacros"
            let run = try Command(
                "swiftc",
                [
                    "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-module-name", "Snippet",
                    "-parse-as-library",
                    "-I", products.appending(path: "Modules").path,
                    "-load-plugin-executable", plugin,
                    "-Xfrontend", "-serialize-diagnostics-path", "-Xfrontend", list.path,
                ] + options + [file.path])
            return (run, (try? Data(contentsOf: list)) ?? Data())
        }
        fixed = Self.applying(SerializedFixes(Array(serialized)).fixes, to: source)
        diagnostics = String(decoding: serialized, as: UTF8.self)
        lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        (log, isValid) = (run.errors, run.code == 0)
    }

    private static func applying(_ fixes: [SourceFix], to source: String) -> String {
        var bytes = Array(source.utf8)
        for fix in fixes.sorted(by: { $0.offset > $1.offset }) where fix.offset <= fix.end && fix.end <= bytes.count {
            bytes.replaceSubrange(fix.offset..<fix.end, with: fix.text)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The errors in the order of their lines.
    ///
    /// An error inside an expansion has the line of the macro.
    var faults: [Fault] {
        var faults: [Fault] = []
        var pending: [String] = []
        for line in log.split(separator: "\n") {
            let isMessage = line.hasPrefix("/") || line.hasPrefix("macro expansion ")
            if isMessage, let message = line.firstRange(of: ": error: ") {
                let whole = line[message.upperBound...]
                let text = String(whole[..<(whole.firstRange(of: " (from macro '")?.lowerBound ?? whole.endIndex)])
                if let number = Self.lineNumber(line) {
                    faults.append(Fault(line: number, text: text))
                } else {
                    pending.append(text)
                }
            } else if line.contains("expanded code originates here"), let number = Self.lineNumber(line) {
                faults += pending.map { Fault(line: number, text: $0) }
                pending = []
            }
        }
        return Set(faults + pending.map { Fault(line: 0, text: $0) }).sorted { ($0.line, $0.text) < ($1.line, $1.text) }
    }

    /// The errors that the source itself expects, by `// error: part of the text` at the end of a line.
    var expectedFaults: [Fault] {
        lines.enumerated().compactMap { index, line in
            line.firstRange(of: "// error: ").map { Fault(line: index + 1, text: String(line[$0.upperBound...])) }
        }
    }

    /// Whether the compiler reported exactly the errors that the source expects.
    var isAsExpected: Bool {
        faults.count == expectedFaults.count
            && zip(faults, expectedFaults).allSatisfy { $0.line == $1.line && $0.text.contains($1.text) }
    }

    /// The line of the source that a message is about; `nil` if the message is about another file.
    private static func lineNumber(_ message: Substring) -> Int? {
        message.firstRange(of: "Snippet.swift:").flatMap { Int(message[$0.upperBound...].prefix { $0.isNumber }) }
    }
}
