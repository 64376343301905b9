// The text operators: what a constant on the right becomes once, so that each object costs one pass over its text.
//
// Invariants
//   1. Both sides are folded the same way (TextFolding), so an index over folded text gives the same answer.
//   2. CONTAINS, BEGINSWITH and ENDSWITH compare Unicode scalars of the folded text; empty text is in every text.
//   3. LIKE knows `?` (one scalar), `*` (any number, line breaks too) and `\` (the next character stands for itself);
//      it takes O(text x pattern) time and no stack (PR-06).
//   4. MATCHES is a Swift regular expression over scalars that has to match the whole text (PR-07).

import Synchronization

/// A pattern of a text operator, ready to be tried on many texts.
final class TextPattern: Sendable {
    typealias Options = FetchPredicate.Comparison.Options

    private enum Matcher: Sendable {
        case contains([UInt8])
        case beginsWith([UInt8])
        case endsWith([UInt8])
        case like(LikePattern)
        case matches(RegularExpression)
        case never
    }

    private let matcher: Matcher
    private let options: Options
    /// Folded text that every match begins with; `nil` if there is none.
    let requiredPrefix: String?

    /// Makes `pattern` ready for `operator`.
    ///
    /// - Throws: `InvalidPattern` if MATCHES has no regular expression on its right.
    init(_ operator: FetchPredicate.Comparison.Operator, _ pattern: String, _ options: Options) throws(InvalidPattern) {
        let folded = TextFolding.folded(pattern, options)
        var prefix: String?
        switch `operator` {
        case .contains: matcher = .contains(Array(folded.utf8))
        case .beginsWith: (matcher, prefix) = (.beginsWith(Array(folded.utf8)), folded)
        case .endsWith: matcher = .endsWith(Array(folded.utf8))
        case .like:
            let like = LikePattern(pattern, options)
            (matcher, prefix) = (.like(like), like.literalPrefix)
        case .matches: matcher = .matches(try RegularExpression(pattern, options))
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between, .in:
            matcher = .never
        }
        requiredPrefix = prefix?.isEmpty == false ? prefix : nil
        self.options = options
    }

    /// Whether `text` has what the operator asks for.
    func matches(_ text: String) -> Bool {
        switch matcher {
        case .contains(let part): TextPattern.bytes(Array(TextFolding.folded(text, options).utf8), contain: part)
        case .beginsWith(let part): TextFolding.folded(text, options).utf8.starts(with: part)
        case .endsWith(let part): TextFolding.folded(text, options).utf8.reversed().starts(with: part.reversed())
        case .like(let pattern): pattern.matches(text)
        case .matches(let expression): expression.matches(text)
        case .never: false
        }
    }

    private static func bytes(_ whole: [UInt8], contain part: [UInt8]) -> Bool {
        guard let first = part.first else { return true }
        guard whole.count >= part.count else { return false }
        return (0...whole.count - part.count).contains { start in
            whole[start] == first && whole[start..<start + part.count].elementsEqual(part)
        }
    }
}

/// A regular expression that cannot be read, and why.
struct InvalidPattern: Error {
    let pattern: String
    let reason: String
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
    }

    /// The folded text before the first wildcard.
    var literalPrefix: String {
        var prefix = String.UnicodeScalarView()
        for case .literal(let scalar) in pieces.prefix(while: { $0 != .one && $0 != .any }) { prefix.append(scalar) }
        return String(prefix)
    }

    /// Whether the whole of `text` fits.
    func matches(_ text: String) -> Bool {
        let scalars = Array(TextFolding.folded(text, options).unicodeScalars)
        var (position, piece) = (0, 0)
        // Where the last `*` stands, and how far its match reaches so far: the only place to go back to.
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

/// A regular expression that several threads may use.
final class RegularExpression: Sendable {
    /// Guards the expression: the standard library's type is not Sendable.
    private let expression: Mutex<Regex<AnyRegexOutput>>
    private let ignoresMarks: Bool

    init(_ pattern: String, _ options: TextPattern.Options) throws(InvalidPattern) {
        ignoresMarks = options.contains(.diacriticInsensitive)
        let text = ignoresMarks ? TextFolding.folded(pattern, .diacriticInsensitive) : TextFolding.composed(pattern)
        do {
            let expression = try Regex(text).matchingSemantics(.unicodeScalar)
            self.expression = Mutex(expression.ignoresCase(options.contains(.caseInsensitive)))
        } catch {
            throw InvalidPattern(pattern: pattern, reason: "\(error)")
        }
    }

    func matches(_ text: String) -> Bool {
        let text = ignoresMarks ? TextFolding.folded(text, .diacriticInsensitive) : TextFolding.composed(text)
        // A match that the engine gives up on is no match.
        return expression.withLock { ((try? $0.wholeMatch(in: text)) ?? nil) != nil }
    }
}
