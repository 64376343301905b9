// A lexer that cuts Swift source into words, marks, strings and comments, so that no rule takes text in a string for
// code.
//
// Invariants
//   1. Every token knows the line on which it begins and the line on which it ends.
//   2. Code inside a string's interpolation becomes tokens of its own, after the token of the string and within its
//      bytes. Apart from that no two tokens share a byte.
// Not here: regex literals between bare slashes; write `Regex` or `#/.../#` where they contain a quote.

/// One piece of Swift source.
struct Token: Equatable {
    enum Kind: Equatable {
        /// An identifier, a keyword or a number.
        case word
        /// An identifier in backticks, without them.
        case rawIdentifier
        /// One ASCII character of punctuation.
        case mark
        /// The text of a string literal, without its interpolations.
        case string
        /// A comment with its slashes.
        case comment
    }
    let kind: Kind
    let text: String
    /// The UTF-8 bytes of the token in the source, with the quotes of a string and the backticks of an identifier.
    let bytes: Range<Int>
    let line: Int
    let lastLine: Int
    /// Whether only white space is before the token on its line.
    let startsLine: Bool
    /// Whether white space is directly before the token.
    let followsSpace: Bool

    /// Whether the token is this keyword, identifier or punctuation.
    func isCode(_ text: String) -> Bool { (kind == .word || kind == .mark) && self.text == text }
}

/// Cuts one source text into tokens.
struct SwiftLexer {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var lineHasToken = false
    private var afterSpace = true
    private var tokens: [Token] = []

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// All tokens in the order of their first bytes.
    static func tokens(of text: String) -> [Token] {
        var lexer = SwiftLexer(text)
        lexer.lex(untilClosingParenthesis: false)
        return lexer.tokens
    }

    private func byte(_ offset: Int = 0) -> UInt8 {
        position + offset < bytes.count ? bytes[position + offset] : 0
    }

    private func isNext(_ text: String, after offset: Int = 0) -> Bool {
        bytes.dropFirst(position + offset).starts(with: text.utf8)
    }

    private mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") { (line, lineHasToken) = (line + 1, false) }
            position += 1
        }
    }

    private mutating func lex(untilClosingParenthesis: Bool) {
        var depth = 0
        while position < bytes.count {
            switch byte() {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t"), UInt8(ascii: "\r"): skipSpace()
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"): lexToken(.comment) { $0.skipLine() }
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): lexToken(.comment) { $0.skipBlockComment() }
            case UInt8(ascii: "`"): lexRawIdentifier()
            case UInt8(ascii: "\""): lexString(poundCount: 0)
            case UInt8(ascii: "#") where poundsBeforeQuote > 0: lexString(poundCount: poundsBeforeQuote)
            case UInt8(ascii: "#") where byte(1) == UInt8(ascii: "/"): lexToken(.string) { $0.skipRegex() }
            case let first where Self.isWord(first): lexToken(.word) { $0.skipWord() }
            case let mark:
                if mark == UInt8(ascii: "(") { depth += 1 }
                if mark == UInt8(ascii: ")") { depth -= 1 }
                lexToken(.mark) { $0.advance() }
                if untilClosingParenthesis && depth == 0 { return }
            }
        }
    }

    /// Whether a byte is part of identifiers, keywords and numbers.
    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 128...255:
            true
        default: false
        }
    }

    private mutating func lexToken(_ kind: Token.Kind, _ skip: (inout SwiftLexer) -> Void) {
        let (begin, firstLine, startsLine) = (position, line, !lineHasToken)
        skip(&self)
        let text = String(decoding: bytes[begin..<position], as: UTF8.self)
        insert(kind, text, from: begin, firstLine, startsLine, at: tokens.count)
    }

    private mutating func insert(
        _ kind: Token.Kind, _ text: String, from begin: Int, _ firstLine: Int, _ startsLine: Bool, at index: Int
    ) {
        let token = Token(
            kind: kind, text: text, bytes: begin..<position, line: firstLine, lastLine: line, startsLine: startsLine,
            followsSpace: afterSpace)
        tokens.insert(token, at: index)
        (lineHasToken, afterSpace) = (true, false)
    }

    private mutating func skipSpace() {
        afterSpace = true
        advance()
    }

    private mutating func skipWord() {
        while Self.isWord(byte()) { position += 1 }
    }

    private mutating func skipLine() {
        while position < bytes.count, byte() != UInt8(ascii: "\n") { position += 1 }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            if isNext("/*") {
                depth += 1
                advance(2)
            } else if isNext("*/") {
                depth -= 1
                advance(2)
            } else {
                advance()
            }
        } while depth > 0 && position < bytes.count
    }

    private mutating func skipRegex() {
        advance(2)
        while position < bytes.count, !isNext("/#") { advance(byte() == UInt8(ascii: "\\") ? 2 : 1) }
        advance(2)
    }

    private mutating func lexRawIdentifier() {
        let (begin, startsLine) = (position + 1, !lineHasToken)
        advance()
        while position < bytes.count, byte() != UInt8(ascii: "`"), byte() != UInt8(ascii: "\n") { advance() }
        let text = String(decoding: bytes[begin..<position], as: UTF8.self)
        advance()
        insert(.rawIdentifier, text, from: begin - 1, line, startsLine, at: tokens.count)
    }

    /// The number of `#` from here to a quote; 0 if no raw string begins here.
    private var poundsBeforeQuote: Int {
        var count = 0
        while byte(count) == UInt8(ascii: "#") { count += 1 }
        return byte(count) == UInt8(ascii: "\"") ? count : 0
    }

    /// Cuts out a string; code in its interpolations, and strings in that code, become tokens after it.
    private mutating func lexString(poundCount: Int) {
        let (begin, firstLine, startsLine, index) = (position, line, !lineHasToken, tokens.count)
        let pounds = String(repeating: "#", count: poundCount)
        advance(poundCount)
        let quote = isNext("\"\"\"") ? "\"\"\"" : "\""
        advance(quote.count)
        var text: [UInt8] = []
        while position < bytes.count, !(byte() == UInt8(ascii: "\"") && isNext(quote + pounds)) {
            if quote.count == 1 && byte() == UInt8(ascii: "\n") { break }
            if byte() == UInt8(ascii: "\\") && isNext(pounds, after: 1) {
                if byte(poundCount + 1) == UInt8(ascii: "(") {
                    advance(poundCount + 1)
                    lex(untilClosingParenthesis: true)
                    continue
                }
                text.append(byte())
                advance(poundCount + 1)
            }
            text.append(byte())
            advance()
        }
        advance(quote.count + poundCount)
        insert(.string, String(decoding: text, as: UTF8.self), from: begin, firstLine, startsLine, at: index)
    }
}
