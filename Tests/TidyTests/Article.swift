// A Markdown text as the rules of the specification read it: rows of tables, and the codes that it defines and cites.
//
// Invariants
//   1. Lines between fences are code: they define and cite nothing.

/// One article.
struct Article {
    /// A row of a table that begins with a code.
    struct Row: Equatable {
        let code: String
        let line: Int
        /// The cells after the code.
        let cells: [String]

        /// The text of the row.
        var text: String { cells.first ?? "" }
        /// The tests in the last cell: the texts in backticks.
        var tests: [String] {
            let pieces = (cells.last ?? "").split(separator: "`", omittingEmptySubsequences: false)
            return pieces.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
    }

    let path: String
    private(set) var rows: [Row] = []
    /// The codes that the article defines: those of its rows, and those in bold.
    private(set) var definedCodes: Set<String> = []
    private(set) var citations: [Citation] = []

    init(path: String, text: String) {
        self.path = path
        var isFenced = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        for (number, line) in lines.map({ ($0.offset + 1, $0.element) }) {
            if line.drop(while: \.isWhitespace).hasPrefix("```") {
                isFenced.toggle()
                continue
            }
            if !isFenced { take(line, number) }
        }
    }

    private mutating func take(_ line: Substring, _ number: Int) {
        citations += Citation.codes(in: line).map { Citation(code: $0, path: path, line: number) }
        let bold = line.split(separator: "**", omittingEmptySubsequences: false).enumerated()
        for piece in bold where piece.offset % 2 == 1 && Citation.isCode(Array(piece.element.utf8)) {
            definedCodes.insert(String(piece.element))
        }
        guard line.hasPrefix("|") else { return }
        let cells = Self.cells(of: line)
        guard let code = cells.first, Citation.isCode(Array(code.utf8)) else { return }
        definedCodes.insert(code)
        rows.append(Row(code: code, line: number, cells: Array(cells.dropFirst())))
    }

    /// The cells of a row of a table; a bar within backticks does not end a cell.
    static func cells(of line: Substring) -> [String] {
        var (cells, isQuoted) = ([""], false)
        for character in line.dropFirst() {
            if character == "`" { isQuoted.toggle() }
            if character == "|" && !isQuoted { cells.append("") } else { cells[cells.count - 1].append(character) }
        }
        if cells.last?.allSatisfy(\.isWhitespace) == true { cells.removeLast() }
        return cells.map { cell in
            let begin = cell.drop(while: \.isWhitespace)
            return String(begin.reversed().drop(while: \.isWhitespace).reversed())
        }
    }
}
