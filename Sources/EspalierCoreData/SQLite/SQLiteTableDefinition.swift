// The columns that a CREATE TABLE statement names, and which of them is the row ID.
//
// Invariants
//   1. Any text gives a definition or a fault: the parser looks at each token at most twice and does not recurse.

/// The columns of a table.
package struct SQLiteTableDefinition: Hashable, Sendable {
    /// A column.
    package struct Column: Hashable, Sendable {
        package let name: String
        /// The declared type, in capitals; empty if there is none.
        package let type: String
        /// Whether a row that was written before the column was added may have another value than null.
        package let hasDefault: Bool
    }

    package let columns: [Column]
    /// The column that is declared INTEGER PRIMARY KEY, and so is the row ID.
    package let rowIDColumn: Int?
    package let isWithoutRowIDs: Bool
}

/// Reads a CREATE TABLE statement.
package struct SQLiteTableParser {
    /// The error in a statement.
    package struct Fault: Error {
        package let message: String
    }

    private enum Token: Equatable {
        /// A word without quotes: a keyword, a name or a number.
        case word(String)
        /// A name or text in quotes.
        case quoted(String)
        case mark(UInt8)

        func isWord(_ word: String) -> Bool {
            if case .word(let text) = self { text.uppercased() == word } else { false }
        }

        var isComma: Bool { self == .mark(UInt8(ascii: ",")) }

        var name: String? {
            switch self {
            case .word(let text), .quoted(let text): text
            case .mark: nil
            }
        }
    }

    private let bytes: [UInt8]

    package init(_ statement: String) { bytes = Array(statement.utf8) }

    /// The definition in the statement.
    package mutating func definition() throws(Fault) -> SQLiteTableDefinition {
        let tokens = try tokens()
        guard tokens.first?.isWord("CREATE") == true,
            let table = tokens.prefix(3).firstIndex(where: { $0.isWord("TABLE") }),
            !tokens.prefix(3).contains(where: { $0.isWord("VIRTUAL") })
        else { throw Fault(message: "the definition is not a CREATE TABLE statement") }
        guard let open = tokens[table...].firstIndex(of: .mark(UInt8(ascii: "("))) else {
            throw Fault(message: "the definition has no columns")
        }
        let (parts, end) = try parts(tokens, from: open)
        var columns: [SQLiteTableDefinition.Column] = []
        var (rowIDColumn, keyNames): (Int?, [String]?) = (nil, nil)
        for part in parts {
            let kinds = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
            if let first = part.first, kinds.contains(where: first.isWord) {
                keyNames = keyNames ?? Self.keyNames(part)
                continue
            }
            let (column, isRowID) = try Self.column(part)
            if isRowID { rowIDColumn = columns.count }
            columns.append(column)
        }
        if let keyNames, keyNames.count == 1,
            let place = columns.firstIndex(where: { $0.name.uppercased() == keyNames[0].uppercased() }),
            columns[place].type == "INTEGER"
        {
            rowIDColumn = place
        }
        guard (1...SQLiteRecord.columnCountMax).contains(columns.count) else {
            throw Fault(message: "the definition has \(columns.count) columns")
        }
        let options = tokens[end...]
        let isWithout = options.contains { $0.isWord("WITHOUT") } && options.contains { $0.isWord("ROWID") }
        return SQLiteTableDefinition(columns: columns, rowIDColumn: rowIDColumn, isWithoutRowIDs: isWithout)
    }

    /// The tokens between commas of the parenthesis at `open`, and the position after it.
    private func parts(_ tokens: [Token], from open: Int) throws(Fault) -> (parts: [ArraySlice<Token>], end: Int) {
        var (depth, start): (Int, Int) = (0, open + 1)
        var parts: [ArraySlice<Token>] = []
        for place in open..<tokens.count {
            switch tokens[place] {
            case .mark(UInt8(ascii: "(")): depth += 1
            case .mark(UInt8(ascii: ")")):
                depth -= 1
                guard depth == 0 else { continue }
                parts.append(tokens[start..<place])
                return (parts, place + 1)
            case .mark(UInt8(ascii: ",")) where depth == 1:
                parts.append(tokens[start..<place])
                start = place + 1
            default: break
            }
        }
        throw Fault(message: "the definition has no end")
    }

    /// The column of one part, and whether it is the row ID.
    private static func column(
        _ part: ArraySlice<Token>
    ) throws(Fault) -> (column: SQLiteTableDefinition.Column, isRowID: Bool) {
        guard let name = part.first?.name else { throw Fault(message: "a column has no name") }
        let rest = part.dropFirst()
        let constraints = [
            "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED",
            "AS",
        ]
        let typeEnd = rest.firstIndex { token in constraints.contains(where: token.isWord) } ?? rest.endIndex
        let type = rest[rest.startIndex..<typeEnd].compactMap(\.name).joined(separator: " ").uppercased()
        var (isKey, isDescending, hasDefault) = (false, false, false)
        var depth = 0
        for (place, token) in zip(rest.indices, rest).drop(while: { $0.0 < typeEnd }) {
            if token == .mark(UInt8(ascii: "(")) { depth += 1 }
            if token == .mark(UInt8(ascii: ")")) { depth -= 1 }
            guard depth == 0 else { continue }
            let next = rest.index(after: place) < rest.endIndex ? rest[rest.index(after: place)] : nil
            if token.isWord("PRIMARY"), next?.isWord("KEY") == true {
                isKey = true
                let order = place + 2
                isDescending = order < rest.endIndex && rest[order].isWord("DESC")
            }
            if token.isWord("DEFAULT") { hasDefault = next?.isWord("NULL") != true }
            if token.isWord("GENERATED") || token.isWord("AS") {
                throw Fault(message: "column \(name) is computed, which is not supported")
            }
        }
        let column = SQLiteTableDefinition.Column(name: name, type: type, hasDefault: hasDefault)
        return (column, isKey && !isDescending && type == "INTEGER")
    }

    /// The columns of the table's primary key, if the part is one.
    private static func keyNames(_ part: ArraySlice<Token>) -> [String]? {
        guard let primary = part.firstIndex(where: { $0.isWord("PRIMARY") }),
            let open = part[primary...].firstIndex(of: .mark(UInt8(ascii: "(")))
        else { return nil }
        var names: [String] = []
        var isFirst = true
        for token in part[part.index(after: open)...] {
            if token == .mark(UInt8(ascii: ")")) { break }
            if isFirst, let name = token.name { names.append(name) }
            isFirst = token.isComma
        }
        return names
    }

    // MARK: Tokens

    private func tokens() throws(Fault) -> [Token] {
        var tokens: [Token] = []
        var place = 0
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case UInt8(ascii: " "), 9, 10, 12, 13: place += 1
            case UInt8(ascii: "-") where place + 1 < bytes.count && bytes[place + 1] == byte:
                place = bytes[place...].firstIndex(of: 10) ?? bytes.count
            case UInt8(ascii: "/") where place + 1 < bytes.count && bytes[place + 1] == UInt8(ascii: "*"):
                place = endOfComment(from: place + 2)
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "["):
                tokens.append(.quoted(try quoted(at: &place)))
            case _ where Self.isOfWord(byte):
                let end = bytes[place...].firstIndex { !Self.isOfWord($0) } ?? bytes.count
                tokens.append(.word(String(decoding: bytes[place..<end], as: UTF8.self)))
                place = end
            default:
                tokens.append(.mark(byte))
                place += 1
            }
        }
        return tokens
    }

    private func endOfComment(from start: Int) -> Int {
        var place = start
        while place + 1 < bytes.count {
            if bytes[place] == UInt8(ascii: "*"), bytes[place + 1] == UInt8(ascii: "/") { return place + 2 }
            place += 1
        }
        return bytes.count
    }

    /// The text in quotes at `place`, which moves after it; two quotes in it stand for one.
    private func quoted(at place: inout Int) throws(Fault) -> String {
        let opening = bytes[place]
        let closing = opening == UInt8(ascii: "[") ? UInt8(ascii: "]") : opening
        var text: [UInt8] = []
        place += 1
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            guard byte == closing else {
                text.append(byte)
                continue
            }
            guard opening == closing, place < bytes.count, bytes[place] == closing else {
                return String(decoding: text, as: UTF8.self)
            }
            text.append(byte)
            place += 1
        }
        throw Fault(message: "a name in quotes has no closing quote")
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}
