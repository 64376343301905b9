// Rules about the English of comments.

extension SourceFile {
    /// Words that begin a clause without a main clause after it, or a question.
    static let headlessWords: Set<Substring> = ["Who", "What", "Which", "Where", "Whoever", "Whatever"]

    /// The first sentence of each paragraph of a comment does not begin with a word of `headlessWords`, unless it is a
    /// question.
    ///
    /// A paragraph ends at an empty line of the comment. A comment after code on its line is a paragraph of its own.
    func headlessFindings() -> [Finding] {
        var findings: [Finding] = []
        var (text, start): (String, Token?) = ("", nil)
        func end() {
            if let start, let word = Self.headlessWord(text) {
                findings.append(
                    finding(start.line, "'\(word)' begins a sentence without a main clause: say which thing it is"))
            }
            (text, start) = ("", nil)
        }
        var last: Token?
        for token in tokens where token.kind == .comment {
            let content = token.text.drop { "/*! ".contains($0) }
            let continues =
                token.startsLine && last?.startsLine == true && last?.lastLine == token.line - 1
                && Self.slashes(token) == last.map(Self.slashes)
            if !continues || content.isEmpty { end() }
            last = token
            if content.isEmpty { continue }
            if start == nil { start = token }
            text.append(" ")
            text.append(contentsOf: content)
        }
        end()
        return findings
    }

    /// The number of slashes with which a comment begins: a comment of documentation has three.
    private static func slashes(_ token: Token) -> Int { token.text.prefix { $0 == "/" }.count }

    /// The word at the beginning of a text, if its first sentence is one without a main clause.
    private static func headlessWord(_ text: String) -> Substring? {
        // An item of a list begins with its number or a dash.
        let begin = text.drop { !$0.isLetter }
        let word = begin.prefix { $0.isLetter }
        guard headlessWords.contains(word) else { return nil }
        let ends = begin.indices.first { index in
            guard ".?!".contains(begin[index]) else { return false }
            let next = begin.index(after: index)
            return next == begin.endIndex || begin[next].isWhitespace
        }
        return ends.map { begin[$0] == "?" } == true ? nil : word
    }
}
