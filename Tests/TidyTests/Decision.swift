// The decisions of an article about speed, and the rule for them: a claim names its command and its day.
//
// Invariants
//   1. A decision begins with a paragraph whose first words are bold, and ends before the next one or a heading.

/// One decision of an article.
struct Decision {
    /// The bold words, without the period at their end.
    let title: String
    /// The line of the title.
    let line: Int
    /// The text with its title, as one line.
    let text: String

    /// Every decision of an article, in order, and the text before the first one.
    static func all(in article: String) -> (overview: String, decisions: [Decision]) {
        var (overview, found, isOpen): (String, [Decision], Bool) = ("", [], false)
        var wasBlank = true
        for (index, line) in article.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let title = wasBlank && line.hasPrefix("**") ? line.dropFirst(2).firstRange(of: "**") : nil
            wasBlank = line.isEmpty
            if let title {
                let words = line[..<title.lowerBound].dropFirst(2)
                found.append(
                    Decision(
                        title: String(words.hasSuffix(".") ? words.dropLast() : words), line: index + 1,
                        text: String(line)))
                isOpen = true
            } else if line.hasPrefix("#") {
                isOpen = false
            } else if isOpen, let last = found.popLast() {
                found.append(Decision(title: last.title, line: last.line, text: "\(last.text) \(line)"))
            } else if found.isEmpty {
                overview += " \(line)"
            }
        }
        return (overview, found)
    }

    /// Words with which a text states how much time, memory or work something takes.
    private static let measures: Set<Substring> = [
        "us", "ns", "ms", "instructions", "half", "third", "quarter", "fifth", "sixth", "eighth", "tenth", "twentieth",
    ]

    /// Whether the text states a measured number.
    var isClaim: Bool {
        text.contains("%") || text.split { !$0.isLetter }.contains(where: Self.measures.contains)
    }

    /// Whether the text has a command in backticks, or says that there is none.
    var hasCommand: Bool { Self.hasCommand(text) || text.contains("No command shows ") }

    /// Whether a text has a command in backticks.
    static func hasCommand(_ text: String) -> Bool {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().contains { offset, piece in
            offset % 2 == 1
                && ["bench --", "dbtool ", "swift run ", "valgrind --"].contains { piece.hasPrefix($0) }
        }
    }

    /// The title of the decision to whose command the text refers.
    var referredTitle: String? {
        guard let start = text.firstRange(of: "by the command of \"")?.upperBound else { return nil }
        return text[start...].split(separator: "\"").first.map(String.init)
    }

    /// Whether the text has a day, as in 23 November 2026.
    var hasDay: Bool {
        let months: Set<Substring> = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        let words = text.split { !$0.isLetter && !$0.isNumber }
        return zip(zip(words, words.dropFirst()), words.dropFirst(2)).contains { pair, year in
            (1...31).contains(Int(pair.0) ?? 0) && months.contains(pair.1) && Int(year).map { $0 >= 2026 } == true
        }
    }

    /// Each decision of the articles with a claim has a command, refers to one that has one, or says that there is
    /// none; and it has a day.
    ///
    /// - Parameter articles: The text of each article by its path.
    static func findings(in articles: [(path: String, text: String)]) -> [Finding] {
        let read = articles.map { (path: $0.path, parts: all(in: $0.text)) }
        let sources = Set(read.flatMap { $0.parts.decisions }.filter { hasCommand($0.text) }.map(\.title))
        return read.flatMap { path, parts in
            parts.decisions.filter(\.isClaim).flatMap { decision -> [Finding] in
                let refersToOverview =
                    decision.text.contains("by the command of the overview") && hasCommand(parts.overview)
                let isShown =
                    decision.hasCommand || refersToOverview || decision.referredTitle.map(sources.contains) == true
                var findings: [Finding] = []
                if !isShown {
                    findings.append(
                        Finding(
                            path, decision.line,
                            "\(decision.title): name the command in backticks, say whose it is ('by the command of "
                                + "the overview'), or write 'No command shows it; measured by hand on DAY'"))
                }
                if !decision.hasDay {
                    findings.append(Finding(path, decision.line, "\(decision.title): say on which day it was measured"))
                }
                return findings
            }
        }
    }
}
