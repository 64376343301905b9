// The rule about the length of lines in articles.

extension Article {
    /// A licence, whose lines are its author's.
    static let licenceName = "LICENSE.md"
    /// The beginning of a line that the benchmarks write into a file of their results.
    static let generatedBegin = "Written by `bench"

    /// No line is longer than `SourceFile.lineLengthMax`, except rows of tables, lines of code, and links that are
    /// longer by themselves.
    static func lineLengthFindings(path: String, text: String) -> [Finding] {
        guard !path.hasSuffix(licenceName) else { return [] }
        var (findings, isFenced): ([Finding], Bool) = ([], false)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop(while: \.isWhitespace)
            if content.hasPrefix("```") { isFenced.toggle() }
            guard line.utf8.count > SourceFile.lineLengthMax, line.count > SourceFile.lineLengthMax, !isFenced else {
                continue
            }
            let isLink = content.split(separator: " ").contains { $0.count > SourceFile.lineLengthMax / 2 }
            if isLink || content.hasPrefix("|") || content.hasPrefix(generatedBegin) { continue }
            findings.append(
                Finding(path, index + 1, "\(line.count) characters; at most \(SourceFile.lineLengthMax)"))
        }
        return findings
    }
}
