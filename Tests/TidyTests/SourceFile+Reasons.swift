// Rules about unchecked code: each such place states why it is safe.

extension SourceFile {
    /// The largest number of lines between a use and the reason above it.
    static let reasonDistanceMax = 12

    /// Each `unsafe`, `@unchecked Sendable` and `nonisolated(unsafe)` has a `SAFETY:` comment at most
    /// `reasonDistanceMax` lines above it, or one in the file's header for the whole file.
    func reasonFindings() -> [Finding] {
        guard !header.contains(where: { $0.contains("SAFETY:") }) else { return [] }
        let reasons = tokens.filter { $0.kind == .comment && $0.text.contains("SAFETY:") }.map(\.lastLine)
        var seen: Set<Int> = []
        return code.compactMap { token in
            guard token.kind == .word, token.text == "unsafe" || token.text == "unchecked" else { return nil }
            let near = (token.line - Self.reasonDistanceMax)...token.line
            guard !reasons.contains(where: near.contains), seen.insert(token.line).inserted else { return nil }
            return finding(token.line, "'\(token.text)' without a '// SAFETY:' comment in the lines above it")
        }
    }
}
