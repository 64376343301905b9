// Splits the text of a predicate into tokens; the article Behaviour has the grammar.
//
// Invariants
//   1. Any text gives a token or a located error; each call advances or is at the end.
//   2. Columns count characters from 1, as an editor does; the lexer itself works on Unicode scalars.

import FoundationEssentials

/// One token and its place in the text.
struct PredicateToken {
    enum Kind: Equatable {
        /// A name or a keyword; function names include their colons.
        case word(String)
        /// A name after `#`, never a keyword.
        case escapedWord(String)
        /// A collection operator such as `@count`, with the `@`.
        case collectionOperator(String)
        /// `$name`, without the `$`.
        case variable(String)
        /// The text between quotes, with escapes replaced.
        case string(String)
        case number(AttributeValue)
        /// A whole number that exceeds the greatest Int64 by one: an Int64 only with a minus sign, otherwise a decimal.
        case int64MinMagnitude
        /// `%@`, `%K`, `%ld` ...
        case placeholder(String)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// The index of its first scalar.
    let start: Int
    /// The text as written.
    let text: String
    /// The form that the grammar compares: a word in upper case, a symbol unchanged, empty for other tokens.
    let keyword: String

    init(kind: Kind, start: Int, text: String) {
        (self.kind, self.start, self.text) = (kind, start, text)
        switch kind {
        case .word(let word): keyword = word.uppercased()
        case .symbol(let symbol): keyword = symbol
        default: keyword = ""
        }
    }
}

struct PredicateLexer {
    /// The whole text, for error messages.
    let text: String
    private let scalars: [Unicode.Scalar]
    private let columns: [Int]
    private var position = 0

    private static let longSymbols: Set<String> = ["**", "==", "=<", "=>", "<=", ">=", "<>", "!=", "&&", "||", ":="]
    private static let shortSymbols: Set<Unicode.Scalar> = [
        "=", "<", ">", "!", "+", "-", "*", "/", "(", ")", "{", "}", "[", "]", ",", ".",
        "&", "|",
    ]

    init(_ text: String) {
        self.text = text
        scalars = Array(text.unicodeScalars)
        var columns: [Int] = []
        columns.reserveCapacity(scalars.count + 1)
        var column = 1
        for character in text {
            for _ in character.unicodeScalars { columns.append(column) }
            column += 1
        }
        self.columns = columns + [column]
    }

    /// The column of the scalar at `index`.
    func column(at index: Int) -> Int { columns[min(index, columns.count - 1)] }

    func error(_ reason: FetchPredicateError.Reason, at index: Int, suggestion: String? = nil) -> FetchPredicateError {
        FetchPredicateError(reason, text: text, column: column(at: index), suggestion: suggestion)
    }

    mutating func next() throws(FetchPredicateError) -> PredicateToken {
        while position < scalars.count, PredicateLexer.isSpace(scalars[position]) { position += 1 }
        let start = position
        guard let first = peek() else { return PredicateToken(kind: .end, start: start, text: "") }
        let kind: PredicateToken.Kind
        switch first {
        case "\"", "'": kind = try string(quote: first)
        case "%": kind = try placeholder()
        case "$", "@", "#": kind = try prefixedWord(first)
        case "0"..."9": kind = try number()
        case _ where first.beginsName: kind = .word(functionName())
        default: kind = try symbol()
        }
        return PredicateToken(kind: kind, start: start, text: string(start..<position))
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? scalar == " " || ("\t"..."\r").contains(scalar) : scalar.properties.isWhitespace
    }

    private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
        position + offset < scalars.count ? scalars[position + offset] : nil
    }

    private func string(_ range: Range<Int>) -> String {
        var view = String.UnicodeScalarView()
        for index in range { view.append(scalars[index]) }
        return String(view)
    }

    private mutating func word() -> String {
        let start = position
        while let scalar = peek(), scalar.continuesName { position += 1 }
        return string(start..<position)
    }

    /// A word, with colons if it is the name of a function: `from:subtract:`, but not `x := 1`.
    private mutating func functionName() -> String {
        let start = position
        _ = word()
        while peek() == ":", peek(1) != "=" {
            position += 1
            _ = word()
        }
        return string(start..<position)
    }

    private mutating func prefixedWord(_ prefix: Unicode.Scalar) throws(FetchPredicateError) -> PredicateToken.Kind {
        position += 1
        guard let first = peek(), first.beginsName else {
            throw error(.unexpected(found: "'\(prefix)'", expected: "a name after it"), at: position - 1)
        }
        let name = word()
        return prefix == "$" ? .variable(name) : prefix == "@" ? .collectionOperator("@" + name) : .escapedWord(name)
    }

    private mutating func symbol() throws(FetchPredicateError) -> PredicateToken.Kind {
        let pair = string(position..<min(position + 2, scalars.count))
        if PredicateLexer.longSymbols.contains(pair) {
            position += 2
            return .symbol(pair)
        }
        if PredicateLexer.shortSymbols.contains(scalars[position]) {
            position += 1
            return .symbol(String(scalars[position - 1]))
        }
        let found = "'\(Character(scalars[position]))'"
        throw error(.unexpected(found: found, expected: "a name, a value, an operator or a parenthesis"), at: position)
    }

    private mutating func string(quote: Unicode.Scalar) throws(FetchPredicateError) -> PredicateToken.Kind {
        let start = position
        position += 1
        var content = String.UnicodeScalarView()
        while let scalar = peek() {
            position += 1
            if scalar == quote { return .string(String(content)) }
            content.append(scalar == "\\" ? try escape() : scalar)
        }
        throw error(.unterminated("string"), at: start)
    }

    private mutating func escape() throws(FetchPredicateError) -> Unicode.Scalar {
        let start = position - 1
        guard let scalar = peek() else { return "\\" }
        position += 1
        switch scalar {
        case "\\", "\"", "'": return scalar
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let digits = string(position..<min(position + 4, scalars.count))
            guard digits.count == 4, let value = UInt32(digits, radix: 16), let escaped = Unicode.Scalar(value) else {
                throw error(.invalidEscape("\\u" + digits), at: start)
            }
            position += 4
            return escaped
        default: throw error(.invalidEscape("\\" + String(Character(scalar))), at: start)
        }
    }

    private mutating func placeholder() throws(FetchPredicateError) -> PredicateToken.Kind {
        let start = position
        position += 1
        while let scalar = peek(), "hlqzjtL0123456789.+-".unicodeScalars.contains(scalar) { position += 1 }
        guard let conversion = peek(), "@KdiuoxXDUfFeEgGaAsSc".unicodeScalars.contains(conversion) else {
            let found = "'\(string(start..<min(position + 1, scalars.count)))'"
            throw error(.unexpected(found: found, expected: "a placeholder such as %@, %K, %ld or %f"), at: start)
        }
        position += 1
        return .placeholder(string(start..<position))
    }

    private mutating func number() throws(FetchPredicateError) -> PredicateToken.Kind {
        let start = position
        if peek() == "0", let radix = radix(of: peek(1)) {
            position += 2
            let digits = word()
            guard let value = Int64(digits, radix: radix) else { throw malformedNumber(from: start) }
            return .number(.integer(value))
        }
        skipDigits()
        if let date = dateText(from: start) {
            throw error(
                .unexpected(
                    found: "'\(date)'", expected: "the date in quotes, '\(date)T00:00:00Z', or spaces around -"),
                at: start)
        }
        if peek() == ".", let next = peek(1), ("0"..."9").contains(next) {
            position += 1
            skipDigits()
        }
        if peek() == "e" || peek() == "E" {
            position += 1
            if peek() == "+" || peek() == "-" { position += 1 }
            skipDigits()
        }
        if let next = peek(), next.continuesName {
            _ = word()
            throw malformedNumber(from: start)
        }
        let text = string(start..<position)
        if let integer = Int64(text) { return .number(.integer(integer)) }
        if text == "9223372036854775808" { return .int64MinMagnitude }
        guard let double = Double(text) else { throw malformedNumber(from: start) }
        // A number with more digits than a double can hold stays exact.
        if let decimal = Decimal(exactly: text), Decimal(exactly: double.description) != decimal {
            return .number(.decimal(decimal))
        }
        return .number(.double(double))
    }

    /// A date such as 2024-01-31 that begins at `start`: without this check it would be parsed as a subtraction.
    private func dateText(from start: Int) -> String? {
        guard position - start == 4, start + 10 <= scalars.count else { return nil }
        let text = string(start..<start + 10)
        let isDate = text.unicodeScalars.enumerated().allSatisfy { index, scalar in
            index == 4 || index == 7 ? scalar == "-" : ("0"..."9").contains(scalar)
        }
        let isLonger = start + 10 < scalars.count && scalars[start + 10].continuesName
        return isDate && !isLonger ? text : nil
    }

    private func radix(of scalar: Unicode.Scalar?) -> Int? {
        switch scalar {
        case "x", "X": 16
        case "o", "O": 8
        case "b", "B": 2
        default: nil
        }
    }

    private mutating func skipDigits() {
        while let scalar = peek(), ("0"..."9").contains(scalar) { position += 1 }
    }

    private func malformedNumber(from start: Int) -> FetchPredicateError {
        error(.unexpected(found: "'\(string(start..<position))'", expected: "a number"), at: start)
    }
}
