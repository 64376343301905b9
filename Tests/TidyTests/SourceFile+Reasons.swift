// Rules about unchecked code: each such place states why it is safe.

extension SourceFile {
    /// The largest number of lines between a use and the reason above it.
    static let reasonDistanceMax = 12

    /// Each `unsafe`, `@unchecked Sendable` and `nonisolated(unsafe)` has a `SAFETY:` comment on its line, or at most
    /// `reasonDistanceMax` lines above it.
    ///
    /// A reason is for its own declaration: not for what follows the end of the braces around it. One in the header
    /// counts for nothing, because nobody reads it again where a line is changed.
    func reasonFindings() -> [Finding] {
        let sameLine = Set(tokens.filter { $0.kind == .comment && $0.text.contains("SAFETY:") }.map(\.line))
        // The last lines of the reasons within each pair of braces that is open.
        var reasons: [[Int]] = [[]]
        var (seen, findings): (Set<Int>, [Finding]) = ([], [])
        for token in tokens {
            switch token.kind {
            case .comment where token.text.contains("SAFETY:") && token.lastLine > header.count:
                reasons[reasons.count - 1].append(token.lastLine)
            case .mark where token.text == "{": reasons.append([])
            case .mark where token.text == "}" && reasons.count > 1: reasons.removeLast()
            case .word where token.text == "unsafe" || token.text == "unchecked":
                let near = (token.line - Self.reasonDistanceMax)...token.line
                if sameLine.contains(token.line) || reasons.contains(where: { $0.contains(where: near.contains) })
                    || !seen.insert(token.line).inserted
                {
                    continue
                }
                findings.append(
                    finding(token.line, "'\(token.text)' without a '// SAFETY:' comment in the lines above it"))
            default: break
            }
        }
        return findings
    }
}
