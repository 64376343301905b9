// An edit of Swift source that still applies after the source was reworded: an old text, and a new text for its place.
//
// The place is the one that has the old text letter by letter; else the one that has the same tokens; else the nearest
// one, if few tokens differ and no other place is nearly as near.
//
// Invariants
//   1. A patch applies at one place or fails: two equal places are a failure.
//   2. An old text that is found letter by letter is replaced by the new text letter by letter.
//   3. At any other place an edit changes at least one token, or fails.
//
// Elsewhere: the likeness of two texts (TokenAlignment), the edited tokens (TokenEdit, TokenMerge). Not here: an old
// text that begins or ends within a token is found letter by letter only.

/// A replacement of one Swift text by another.
struct TokenPatch {
    /// The text to be replaced.
    let old: String
    /// The text that replaces it.
    let new: String

    /// A source after the edit.
    struct Outcome: Equatable {
        let text: String
        /// The line on which the place begins.
        let line: Int
        /// The distance of the place from the old text; `nil` if the old text was found letter by letter.
        let distance: Int?
    }

    /// A reason why a patch does not apply.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// No place is near enough; the nearest one, its first line and its distance.
        case isAbsent(line: Int, text: String, distance: Int, allowed: Int)
        /// No place has anything in common with the old text.
        case isUnknown
        /// Several places are as good.
        case isAmbiguous(lines: [Int])
        /// The source has already what the patch would make of it.
        case changesNothing(line: Int)

        /// The number of the line that the message is about; 0 if there is none.
        var line: Int {
            switch self {
            case .isAbsent(let line, _, _, _), .changesNothing(let line): line
            case .isAmbiguous(let lines): lines.first ?? 0
            case .isUnknown: 0
            }
        }

        var description: String {
            switch self {
            case .isAbsent(_, let text, let distance, let allowed):
                "the old text is gone: the nearest place has distance \(distance), and \(allowed) is allowed: \(text)"
            case .isUnknown: "the old text is gone, and no place resembles it"
            case .isAmbiguous(let lines):
                "the old text fits several places, on the lines \(lines.map { "\($0)" }.joined(separator: ", "))"
            case .changesNothing: "the edit changes nothing: the source has the new text already"
            }
        }
    }

    /// The largest distance of a place from an old text of `count` tokens: a quarter, rounded, and none for a text that
    /// is too short to be recognised.
    static func distanceMax(_ count: Int) -> Int { count < 4 ? 0 : (count + 2) / 4 }

    /// The least difference between the distances of the nearest place and of the second nearest one.
    static let distanceMargin = 1

    /// The source after the edit.
    func applied(to source: String) throws(Failure) -> Outcome {
        let ranges = source.ranges(of: old)
        if let range = ranges.first, ranges.count == 1 {
            let line = 1 + source[..<range.lowerBound].utf8.count { $0 == UInt8(ascii: "\n") }
            return Outcome(text: source.replacing(old, with: new), line: line, distance: nil)
        }
        let (oldTokens, newTokens, tokens) = (TokenText(old), TokenText(new), TokenText(source))
        let alignment = try alignment(of: oldTokens, in: tokens)
        let line = tokens.tokens[alignment.place.lowerBound].line
        let edit = TokenEdit(from: oldTokens.spellings, to: newTokens.spellings)
        guard let text = TokenMerge(edit, at: alignment, new: newTokens, source: tokens).text else {
            throw .changesNothing(line: line)
        }
        return Outcome(text: text, line: line, distance: alignment.distance)
    }

    /// The one place of the old text.
    private func alignment(of old: TokenText, in source: TokenText) throws(Failure) -> TokenAlignment {
        let equal = source.places(of: old.spellings)
        guard equal.count < 2 else { throw .isAmbiguous(lines: equal.map { source.tokens[$0].line }) }
        if let start = equal.first { return TokenAlignment(equalTokens: old.tokens.count, at: start) }
        let places = TokenAlignment.nearest(to: old, in: source)
        guard let best = places.first else { throw .isUnknown }
        let allowed = Self.distanceMax(old.tokens.count)
        guard best.distance <= allowed else {
            let token = source.tokens[best.place.lowerBound]
            throw .isAbsent(
                line: token.line, text: source.line(token.line), distance: best.distance, allowed: allowed)
        }
        let rivals = places.filter { $0.distance < best.distance + Self.distanceMargin }
        guard rivals.count == 1 else {
            throw .isAmbiguous(lines: rivals.map { source.tokens[$0.place.lowerBound].line }.sorted())
        }
        return best
    }
}
