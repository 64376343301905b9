// Tables for people: columns as wide as their widest cell, numbers aligned right, text aligned left.
//
// Invariants
//   1. A cell never breaks its line: control characters are escaped, and a long text is cut with "…".
//   2. No line ends in a space.

/// A table that is filled row by row and rendered as a whole.
struct TextTable {
    /// A column.
    struct Column: Sendable {
        /// The heading.
        let title: String
        /// Whether cells are aligned to the right.
        let isNumber: Bool
        /// The greatest width in terminal columns.
        let widthMax: Int

        /// A column of text.
        static func text(_ title: String, widthMax: Int = 100) -> Column {
            Column(title: title, isNumber: false, widthMax: widthMax)
        }

        /// A column of numbers.
        static func number(_ title: String) -> Column { Column(title: title, isNumber: true, widthMax: 40) }
    }

    private let columns: [Column]
    private let hasHeader: Bool
    private var rows: [[String]] = []

    /// An empty table.
    init(_ columns: [Column], hasHeader: Bool = true) {
        self.columns = columns
        self.hasHeader = hasHeader
    }

    /// Whether there are no rows.
    var isEmpty: Bool { rows.isEmpty }

    /// Adds a row: one cell for each column.
    mutating func append(_ cells: [String]) {
        precondition(cells.count == columns.count, "\(cells.count) cells for \(columns.count) columns")
        rows.append(zip(cells, columns).map { DisplayText.cut(DisplayText.visible($0), to: $1.widthMax) })
    }

    /// All lines, each with its newline.
    func rendered() -> String {
        let header = columns.map(\.title)
        var widths = [Int](repeating: 0, count: columns.count)
        for row in hasHeader ? [header] + rows : rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], DisplayText.width(of: cell)) }
        }
        var lines =
            hasHeader ? [line(header, widths), line(widths.map { String(repeating: "-", count: $0) }, widths)] : []
        lines += rows.map { line($0, widths) }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The rows as objects, named by the headings.
    var json: JSONValue {
        .array(
            rows.map { row in
                .object(zip(columns, row).map { (name: $0.title, value: .string($1)) })
            })
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = ""
        for (index, cell) in cells.enumerated() {
            if index > 0 { text += "  " }
            let padding = String(repeating: " ", count: widths[index] - DisplayText.width(of: cell))
            text += columns[index].isNumber ? padding + cell : cell + padding
        }
        while text.last == " " { text.removeLast() }
        return text
    }
}
