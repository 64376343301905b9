// A Swift text as its tokens: two texts that differ in white space, line breaks and comments have equal tokens.
//
// Invariants
//   1. The tokens ascend and share no byte: a string literal is one token, with the code in its interpolations.

/// A Swift text that is cut into tokens.
struct TokenText {
    /// The text in UTF-8.
    let bytes: [UInt8]
    /// Words, marks and strings.
    let tokens: [Token]
    /// The text of each token, with its quotes.
    let spellings: [String]

    init(_ text: String) {
        bytes = Array(text.utf8)
        var end = 0
        var tokens: [Token] = []
        for token in SwiftLexer.tokens(of: text) where token.kind != .comment && token.bytes.lowerBound >= end {
            tokens.append(token)
            end = token.bytes.upperBound
        }
        self.tokens = tokens
        let bytes = self.bytes
        spellings = tokens.map { String(decoding: bytes[$0.bytes], as: UTF8.self) }
    }

    /// The white space and the comments before a token.
    func space(before index: Int) -> ArraySlice<UInt8> {
        bytes[(index == 0 ? 0 : tokens[index - 1].bytes.upperBound)..<tokens[index].bytes.lowerBound]
    }

    /// The bytes of adjacent tokens, with the white space between them.
    func byteRange(of place: Range<Int>) -> Range<Int> {
        guard let first = place.first, let last = place.last else { return 0..<0 }
        return tokens[first].bytes.lowerBound..<tokens[last].bytes.upperBound
    }

    /// A line of the text, from 1, without the white space around it.
    func line(_ number: Int) -> String {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return String(decoding: lines[number - 1], as: UTF8.self).trimmingPrefix { $0.isWhitespace }.description
    }

    /// The first indices of all places at which these tokens follow each other.
    func places(of spellings: [String]) -> [Int] {
        guard let first = spellings.first, spellings.count <= self.spellings.count else { return [] }
        return (0...(self.spellings.count - spellings.count)).filter {
            self.spellings[$0] == first && self.spellings[$0...].starts(with: spellings)
        }
    }
}
