// The specification: its codes, and the articles in which each code has exactly one row.
//
// Invariants
//   1. Counts change only with the rows themselves: the number of a row that every article has lost is reported.

/// Articles that together have every code of some families, each in one row.
struct Specification {
    let paths: [String]
    /// The number of codes in each family, by the prefix of its codes.
    let counts: [String: Int]
    /// The article whose rows must each name a test.
    let shownPath: String?

    private static let folder = "Sources/Espalier/Espalier.docc/"
    /// The behaviors considered: those of Core Data, its predicates and SwiftData, features beyond them, and
    /// complaints.
    static let rows = Specification(
        paths: ["Behaviour.md", "Differences.md", "NotYet.md"].map { folder + $0 },
        counts: [
            "MO-": 43, "ID-": 8, "MC-": 64, "NT-": 9, "FR-": 28, "BR-": 10, "MD-": 33, "PS-": 29, "MP-": 11, "PH-": 8,
            "RC-": 9, "MG-": 14, "CK-": 6, "CS-": 1, "DB-": 5, "PR-": 18, "PX-": 14, "SD-": 36, "F-": 10, "C-": 17,
        ],
        shownPath: folder + "Behaviour.md")
    /// The promises of the engine, its rules of order, and the levels of its check.
    static let promises = Specification(
        paths: ["Sources/EspalierEngine/EspalierEngine.docc/Promises.md"], counts: ["P": 7, "F": 9, "L": 4],
        shownPath: nil)

    /// Every code of the families.
    var codes: Set<String> {
        Set(
            counts.flatMap { family, count in
                (1...count).map { number in
                    let isPadded = number < 10 && family.hasSuffix("-") && family != "F-"
                    return family + (isPadded ? "0" : "") + "\(number)"
                }
            })
    }

    /// Each code has one row in one of the articles, and each row has a code.
    func placeFindings(in articles: [Article]) -> [Finding] {
        let codes = codes
        var (findings, places): ([Finding], [String: String]) = ([], [:])
        for article in articles where paths.contains(article.path) {
            for row in article.rows {
                if !codes.contains(row.code) {
                    findings.append(Finding(article.path, row.line, "\(row.code) is no code of the specification"))
                } else if let place = places.updateValue("\(article.path):\(row.line)", forKey: row.code) {
                    findings.append(Finding(article.path, row.line, "\(row.code) has a row at \(place) already"))
                }
            }
        }
        let missing = codes.subtracting(places.keys).sorted()
        return findings
            + missing.map { Finding(paths[0], 0, "\($0) has no row, neither here nor in the articles beside") }
    }

    /// Each row has a text, and names only tests that exist; in the article at `shownPath` at least one.
    func rowFindings(in articles: [Article], tests: Set<String>) -> [Finding] {
        articles.filter { paths.contains($0.path) }.flatMap { article in
            article.rows.flatMap { row -> [Finding] in
                guard row.cells.count == 2, !row.text.isEmpty else {
                    return [Finding(article.path, row.line, "a row has a code, a text, and a cell for tests")]
                }
                if row.tests.isEmpty && article.path == shownPath {
                    return [Finding(article.path, row.line, "\(row.code) names no test: it belongs to another article")]
                }
                return row.tests.filter { !tests.contains($0) }.map {
                    Finding(article.path, row.line, "there is no test \($0)")
                }
            }
        }
    }

    /// Each code that is cited is defined in an article.
    static func citationFindings(_ citations: [Citation], definedCodes: Set<String>) -> [Finding] {
        citations.filter { !definedCodes.contains($0.code) }.map {
            Finding($0.path, $0.line, "no article defines \($0.code): say what is meant, or add a row")
        }
    }
}
