// The text operators: prepares the constant on the right side once, so that each object costs one pass over its text.
//
// Invariants
//   1. Both sides are folded the same way (TextFolding), so an index over folded text gives the same answer.
//   2. CONTAINS, BEGINSWITH and ENDSWITH compare Unicode scalars of the folded text; empty text is in every text. With
//      [w] the match must also begin and end between two characters of the text.
//   3. In LIKE, `?` matches one scalar, `*` any number (line breaks too), and `\` makes the next character a literal;
//      it takes O(text x pattern) time and does not recurse (PR-06).
//   4. MATCHES is a regular expression in ICU's syntax over scalars that has to match the whole text (PR-07).
//   5. CONTAINS, BEGINSWITH, ENDSWITH, and LIKE without `?`, take time proportional to the length of the text, whatever
//      the pattern.
// Not here: the search for bytes (BytePattern), and matches of borrowed bytes of rows (TextPattern+Bytes).

/// A pattern of a text operator, prepared for many texts.
package final class TextPattern: Sendable {
    typealias Options = ComparisonOptions

    enum Matcher: Sendable {
        case contains(BytePattern)
        case beginsWith([UInt8])
        case endsWith([UInt8])
        case like(LikePattern)
        case matches(PatternProgram)
        case never
    }

    let matcher: Matcher
    private let options: Options
    /// The pattern before folding.
    let source: String
    /// The folded text with which every match begins; `nil` if there is none.
    let requiredPrefix: String?
    /// The characters to find, if [w] requires whole ones.
    private let characters: [Character]?
    /// Whether a match of bytes in ASCII text may be within a character: only `"\r\n"` has two scalars there.
    let splitsLineEnd: Bool

    /// Prepares `pattern` for `operator`.
    ///
    /// - Throws: `InvalidPattern` if MATCHES has no regular expression on its right.
    init(_ operator: FetchPredicate.Comparison.Operator, _ pattern: String, _ options: Options) throws(InvalidPattern) {
        let folded = TextFolding.folded(pattern, options)
        var prefix: String?
        switch `operator` {
        case .contains: matcher = .contains(BytePattern(Array(folded.utf8)))
        case .beginsWith: (matcher, prefix) = (.beginsWith(Array(folded.utf8)), folded)
        case .endsWith: matcher = .endsWith(Array(folded.utf8))
        case .like:
            let like = LikePattern(pattern, options)
            (matcher, prefix) = (Self.matcher(of: like), like.literalPrefix)
        case .matches:
            // [d] folds the pattern like the text.
            let text =
                options.contains(.diacriticInsensitive)
                ? TextFolding.folded(pattern, .diacriticInsensitive) : TextFolding.composed(pattern)
            matcher = .matches(try PatternProgram(text, ignoresCase: options.contains(.caseInsensitive)))
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .in:
            matcher = .never
        }
        requiredPrefix = prefix?.isEmpty == false ? prefix : nil
        (self.options, source) = (options, pattern)
        let isWhole = options.contains(.wholeCharacters) && [.contains, .beginsWith, .endsWith].contains(`operator`)
        characters = isWhole ? Array(folded) : nil
        splitsLineEnd = folded.unicodeScalars.first == "\n" || folded.unicodeScalars.last == "\r"
    }

    /// The simplest matcher that means the same as a LIKE pattern.
    private static func matcher(of like: LikePattern) -> Matcher {
        guard let literals = like.literals else { return .like(like) }
        return switch (literals.count, literals[0].isEmpty, literals[literals.count - 1].isEmpty) {
        case (2, _, true): .beginsWith(literals[0])
        case (2, true, _): .endsWith(literals[1])
        case (3, true, true): .contains(BytePattern(literals[1]))
        default: .like(like)
        }
    }

    /// Whether a match must consist of whole characters.
    var findsWholeCharacters: Bool { characters != nil }

    /// Whether `text` matches.
    ///
    /// - Throws: `PatternLimit` if MATCHES takes more steps than the limit for one text.
    func matches(_ text: String) throws(PatternLimit) -> Bool {
        try matchesScalars(text) && characters.map { isWhole($0, in: text) } ?? true
    }

    /// Whether the characters of the pattern are characters of a text that contains its scalars.
    ///
    /// - Complexity: O(n) for most texts, O(n * count of the pattern) at worst.
    private func isWhole(_ pattern: [Character], in text: String) -> Bool {
        let text = Array(TextFolding.folded(text, options))
        guard text.count >= pattern.count else { return false }
        switch matcher {
        case .beginsWith: return text.starts(with: pattern)
        case .endsWith: return text.suffix(pattern.count).elementsEqual(pattern)
        default: return (0...text.count - pattern.count).contains { text[$0...].starts(with: pattern) }
        }
    }

    private func matchesScalars(_ text: String) throws(PatternLimit) -> Bool {
        switch matcher {
        // SAFETY: the closures read the folded bytes, and keep no pointer to them.
        case .contains(let part): return unsafe TextFolding.withFolded(text, options) { unsafe part.isIn($0) }
        case .beginsWith(let part): return unsafe TextFolding.withFolded(text, options) { unsafe $0.starts(with: part) }
        case .endsWith(let part):
            return unsafe TextFolding.withFolded(text, options) { unsafe $0.suffix(part.count).elementsEqual(part) }
        case .like(let pattern): return pattern.matches(text)
        case .matches(let program):
            let folded =
                options.contains(.diacriticInsensitive)
                ? TextFolding.folded(text, .diacriticInsensitive) : TextFolding.composed(text)
            var match = PatternMatch(program, folded)
            return try match.matchesWhole()
        case .never: return false
        }
    }
}

/// A LIKE pattern in pieces.
struct LikePattern: Sendable {
    private enum Piece: Equatable {
        case literal(Unicode.Scalar)
        case one
        case any
    }

    private let pieces: [Piece]
    private let options: TextPattern.Options
    /// The pieces in the form for ASCII text: a byte or a `ByteCode`.
    let byteCodes: [UInt16]
    /// The bytes before, between and after the stars; `nil` if one of the pieces is `?`.
    let literals: [[UInt8]]?
    /// The pieces in the form for the bytes of any text; `nil` if one of them is `?`.
    let parts: LikeParts?

    init(_ pattern: String, _ options: TextPattern.Options) {
        var pieces: [Piece] = []
        var literal = String.UnicodeScalarView()
        // Literal runs are folded as a whole: a letter and its accent may be two scalars.
        func endRun() {
            pieces += TextFolding.folded(String(literal), options).unicodeScalars.map(Piece.literal)
            literal.removeAll()
        }
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            switch scalar {
            case _ where isEscaped: (isEscaped, _) = (false, literal.append(scalar))
            case "\\": isEscaped = true
            case "*":
                endRun()
                if pieces.last != .any { pieces.append(.any) }
            case "?":
                endRun()
                pieces.append(.one)
            default: literal.append(scalar)
            }
        }
        if isEscaped { literal.append("\\") }
        endRun()
        self.pieces = pieces
        self.options = options
        byteCodes = pieces.map { piece in
            switch piece {
            case .one: ByteCode.one
            case .any: ByteCode.any
            case .literal(let scalar): scalar.isASCII ? UInt16(scalar.value) : ByteCode.never
            }
        }
        literals = pieces.contains(.one) ? nil : Self.literals(of: pieces)
        parts = literals.map { LikeParts($0) }
    }

    /// The bytes before, between and after the stars.
    private static func literals(of pieces: [Piece]) -> [[UInt8]] {
        var literals: [[UInt8]] = [[]]
        for piece in pieces {
            guard case .literal(let scalar) = piece else {
                literals.append([])
                continue
            }
            literals[literals.count - 1] += UTF8.encode(scalar).map(Array.init) ?? []
        }
        return literals
    }

    /// The folded text before the first wildcard.
    var literalPrefix: String {
        var prefix = String.UnicodeScalarView()
        for case .literal(let scalar) in pieces.prefix(while: { $0 != .one && $0 != .any }) { prefix.append(scalar) }
        return String(prefix)
    }

    /// Whether the whole of `text` matches.
    func matches(_ text: String) -> Bool {
        // SAFETY: the closure reads the folded bytes, and keeps no pointer to them.
        if let parts { return unsafe TextFolding.withFolded(text, options) { unsafe parts.match($0) } }
        let scalars = Array(TextFolding.folded(text, options).unicodeScalars)
        var (position, piece) = (0, 0)
        // The index of the last `*`, and the end of its match so far: the only place to which the search returns.
        var star: (piece: Int, end: Int)?
        while position < scalars.count {
            if piece < pieces.count, pieces[piece] == .any {
                star = (piece, position)
                piece += 1
            } else if piece < pieces.count, pieces[piece] == .one || pieces[piece] == .literal(scalars[position]) {
                (position, piece) = (position + 1, piece + 1)
            } else if let last = star {
                star = (last.piece, last.end + 1)
                (position, piece) = (last.end + 1, last.piece + 1)
            } else {
                return false
            }
        }
        return pieces[piece...].allSatisfy { $0 == .any }
    }
}
