// The rule about vocabularies: one word for each thing, and one thing for each word.

extension Article {
    /// The name of the articles that define terms; each term in them is in italics where it is defined.
    static let vocabularyName = "Vocabulary.md"

    /// Each term that a vocabulary defines twice, whatever its letters' cases are.
    static func termFindings(path: String, text: String) -> [Finding] {
        var (findings, lines): ([Finding], [String: Int]) = ([], [:])
        for (term, line) in terms(in: text) {
            if let first = lines.updateValue(line, forKey: term.lowercased()) {
                findings.append(
                    Finding(path, line, "'\(term)' is defined on line \(first) already: give one of them another word"))
            }
        }
        return findings
    }

    /// The texts between single stars, with the lines on which they begin; stars in code and pairs of stars are none.
    private static func terms(in text: String) -> [(term: String, line: Int)] {
        var terms: [(term: String, line: Int)] = []
        var (open, openLine, line): (String?, Int, Int) = (nil, 0, 1)
        var (stars, isCode) = (0, false)
        for character in text + "\n" {
            // A star counts when the character after it is known to be none.
            if stars == 1, character != "*", !isCode {
                if let term = open {
                    terms.append((term.split(whereSeparator: \.isWhitespace).joined(separator: " "), openLine))
                    open = nil
                } else if !character.isWhitespace {
                    (open, openLine) = ("", line)
                }
            }
            stars = character == "*" ? stars + 1 : 0
            if character == "`" { isCode.toggle() }
            if character == "\n" { line += 1 }
            if character != "*" { open?.append(character) }
        }
        return terms
    }
}
