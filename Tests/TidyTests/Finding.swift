// A message of one of this target's rules about a place in the repository.

import Testing

/// One breach of a rule, with its place.
struct Finding: Hashable, CustomStringConvertible {
    /// The path within the repository.
    let path: String
    /// The line, from 1; 0 if the finding is about the file as a whole.
    let line: Int
    /// The breach and its correction.
    let message: String

    init(_ path: String, _ line: Int, _ message: String) {
        (self.path, self.line, self.message) = (path, line, message)
    }

    var description: String { line == 0 ? "\(path): \(message)" : "\(path):\(line): \(message)" }
}

/// Fails the current test once for each finding, each with its place.
func expectNone(_ findings: [Finding], sourceLocation: SourceLocation = #_sourceLocation) {
    for finding in findings { Issue.record("\(finding.description)", sourceLocation: sourceLocation) }
}
