// The tables of README's section "Speed", which have the numbers of Benchmarks/Results.md, and the lines of that file
// which have to stand in Benchmarks/Misses.md.
//
// Invariants
//   1. A number is copied and not rounded: each cell of a table in README is a cell of Results.md, letter by letter.

/// The head and the lines of `Benchmarks/Results.md`.
struct BenchmarkResults {
    /// The command that wrote the file.
    private(set) var command = ""
    /// The entries of the head by their names: date, commit, processor and others.
    private(set) var facts: [String: String] = [:]
    /// The cells of each line by the titles of their columns.
    private(set) var lines: [String: [String: String]] = [:]

    init(_ text: String) {
        var titles: [String] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("Written by `") {
                command = String(line.split(separator: "`")[1])
            } else if line.hasPrefix("* "), let colon = line.firstRange(of: ": ") {
                facts[String(line[..<colon.lowerBound].dropFirst(2))] = String(line[colon.upperBound...])
            } else if let cells = SpeedSection.cells(of: line) {
                if cells[0] == "line" { titles = cells }
                lines[cells[0]] = Dictionary(zip(titles, cells)) { first, _ in first }
            }
        }
    }

    /// The names of the lines on which SQLite is ahead by more than a tenth, ascending.
    var namesOfLinesBehind: [String] {
        lines.filter { _, figures in Double(figures["sqlite ÷ espalier"] ?? "").map { $0 < 0.9 } == true }.keys.sorted()
    }

    /// The day, the commit and the machine of the run, as README states them.
    var origin: String {
        let day = (facts["date"] ?? "").prefix(10).split(separator: "-").compactMap { Int($0) }
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        let isDate = day.count == 3 && months.indices.contains(day[1] - 1)
        let date = isDate ? "\(day[2]) \(months[day[1] - 1]) \(day[0])" : "an unknown day"
        let entries = ["commit", "processor", "time", "peers"].map { facts[$0] ?? "unknown \($0)" }
        return "Measured on \(date), commit \(entries[0]), \(entries[1]), \(entries[2]); \(entries[3])."
    }
}

/// The section "Speed" of a README.
struct SpeedSection {
    let text: String
    /// The benchmark lines that its tables name, in their order.
    let lineNames: [String]

    /// The section of a whole README; empty if it has none.
    init(of readme: String) {
        let start = readme.firstRange(of: "## Speed\n")?.lowerBound ?? readme.endIndex
        let end = readme[start...].dropFirst(2).firstRange(of: "\n## ")?.lowerBound ?? readme.endIndex
        text = String(readme[start..<end])
        lineNames = text.split(separator: "\n").compactMap { line in
            Self.cells(of: line).flatMap { Self.lineName(in: $0[0]) }
        }
    }

    /// The section with the numbers and the date of `results`: in each row that begins with the name of a line in
    /// backticks, each cell below a title of `results` is the cell of that line.
    func corrected(by results: BenchmarkResults) -> String {
        var titles: [String] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            if line.hasPrefix("Measured on ") { return results.origin }
            guard let cells = Self.cells(of: line) else { return String(line) }
            if cells[0] == "line" { titles = cells }
            guard let name = Self.lineName(in: cells[0]), let figures = results.lines[name] else { return String(line) }
            let right = zip(titles, cells).map { title, cell in title == "line" ? cell : figures[title] ?? "–" }
            return "| " + right.joined(separator: " | ") + " |"
        }
        return lines.joined(separator: "\n")
    }

    /// The cells of a row of a table; `nil` for other lines and for the row below the titles.
    static func cells(of line: Substring) -> [String]? {
        guard line.hasPrefix("| ") else { return nil }
        let pieces = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        let cells = pieces.map { piece in
            let begun = piece.drop { $0 == " " }
            return String(begun.reversed().drop { $0 == " " }.reversed())
        }
        return cells.isEmpty ? nil : cells
    }

    /// The texts in backticks in the first cells of the tables of a document.
    static func namesOfRows(in document: String) -> [String] {
        document.split(separator: "\n").compactMap { line in cells(of: line) }.flatMap { cells in
            cells[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
    }

    /// The text in backticks with which a cell begins.
    private static func lineName(in cell: String) -> String? {
        cell.hasPrefix("`") ? cell.split(separator: "`").first.map(String.init) : nil
    }
}
